"""The docstring of a source file, read from its first words: the rest of the file is not looked at."""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from pathlib import Path

_READ = 64_000
_BETWEEN = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.ENCODING)
_LITERAL = re.compile(r"([a-zA-Z]*)('''|\"\"\"|'|\")")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_KNOWN = frozenset("\\'\"abfnrtvx01234567NuU\n")


def file_docstring(path: Path) -> str:
    """What a module says of itself; empty if it says nothing, or cannot be read."""
    try:
        with path.open(encoding="utf-8") as file:
            source = file.read(_READ)
    except (OSError, UnicodeDecodeError):
        return ""
    return source_docstring(source)


def source_docstring(source: str) -> str:
    """The same for text that is read already."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.STRING:
                return _meant(token.string)
            if token.type not in _BETWEEN:
                return ""
    except (tokenize.TokenError, SyntaxError):
        return ""
    return ""


def _meant(literal: str) -> str:
    """What a literal stands for. Escapes that mean nothing stand for themselves, without a warning."""
    opening = _LITERAL.match(literal)
    prefix = opening[1].lower() if opening else ""
    if "b" in prefix or "f" in prefix:
        return ""
    if "r" not in prefix:
        literal = _ESCAPE.sub(lambda found: found[0] if found[1] in _KNOWN else "\\" + found[0], literal)
    try:
        return inspect.cleandoc(str(ast.literal_eval(literal)))
    except (SyntaxError, ValueError):
        return ""
