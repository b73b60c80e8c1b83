"""Syntax highlighting of code blocks, on the server.

Pygments splits the code into tokens; only a few classes are written, which the style sheet colours in both
themes. Only languages of a list are highlighted: each lexer is a set of regular expressions, and a hostile
answer must not be able to choose a slow one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from typing import TypeAlias

from groundwire.model.value import value

_LONGEST = 20_000
_LEXERS = {
    **dict.fromkeys(("python", "py", "python3", "py3"), "python"),
    **dict.fromkeys(("pycon", "python-repl", "doctest"), "pycon"),
    **dict.fromkeys(("javascript", "js", "jsx", "mjs", "node"), "javascript"),
    **dict.fromkeys(("typescript", "ts", "tsx"), "typescript"),
    **dict.fromkeys(("bash", "sh", "shell", "zsh", "console", "shell-session"), "bash"),
    **dict.fromkeys(("c++", "cpp", "cc", "cxx"), "cpp"),
    **dict.fromkeys(("yaml", "yml"), "yaml"),
    **dict.fromkeys(("rust", "rs"), "rust"),
    **dict.fromkeys(("go", "golang"), "go"),
    **dict.fromkeys(("csharp", "c#", "cs"), "csharp"),
    **dict.fromkeys(("ruby", "rb"), "ruby"),
    **dict.fromkeys(("kotlin", "kt"), "kotlin"),
    **dict.fromkeys(("diff", "patch"), "diff"),
    **dict.fromkeys(("dockerfile", "docker"), "docker"),
    **dict.fromkeys(("ini", "cfg", "conf"), "ini"),
    **{
        name: name
        for name in ("c", "css", "html", "java", "json", "lua", "php", "sql", "swift", "toml", "xml")
    },
}
"""The lexer of each language that may follow a fence."""
_CLASSES = (
    ("Token.Keyword", "k"),
    ("Token.Name.Function", "f"),
    ("Token.Name.Class", "f"),
    ("Token.Name.Tag", "k"),
    ("Token.Name.Decorator", "f"),
    ("Token.Name.Builtin", "b"),
    ("Token.Name.Attribute", "b"),
    ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "n"),
    ("Token.Comment", "c"),
    ("Token.Operator.Word", "k"),
    ("Token.Generic.Prompt", "c"),
    ("Token.Generic.Deleted", "d"),
    ("Token.Generic.Inserted", "s"),
)
_PYTHON = re.compile(
    r"(?m)^(?:async )?(?:def|class) \w+.*:$|^import \w|^from [\w.]+ import |^@\w+|^(?:for|with|while) .+:$"
)
_PROMPT = re.compile(r"(?m)^\s*>>> ")

Placeholder: TypeAlias = re.Pattern[str]


@value
class _CodeToken:
    """A piece of code and its class; empty for plain code."""

    kind: str
    text: str


def highlight(code: str, language: str, placeholder: Placeholder | None = None) -> str:
    """Code as HTML. Placeholders are not part of the code and stay where they are."""
    marks = [(match.start(), match[0]) for match in placeholder.finditer(code)] if placeholder else []
    plain = placeholder.sub("", code) if placeholder else code
    tokens = _tokens(plain, _LEXERS.get(language.strip().lower(), "") or _guess(language, plain))
    return "".join(_written(tokens, _shifted(marks)))


def _guess(language: str, code: str) -> str:
    """Python is recognised without a name: the embedded engine quotes its documentation."""
    if language.strip():
        return ""
    return "pycon" if _PROMPT.search(code) else "python" if _PYTHON.search(code) else ""


def _shifted(marks: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The marks with their offsets in the code without them."""
    removed, shifted = 0, []
    for start, text in marks:
        shifted.append((start - removed, text))
        removed += len(text)
    return shifted


def _written(tokens: tuple[_CodeToken, ...], marks: list[tuple[int, str]]) -> Iterator[str]:
    position, waiting = 0, list(marks)
    for token in tokens:
        pieces: list[str] = []
        start = 0
        while waiting and waiting[0][0] < position + len(token.text):
            offset, mark = waiting.pop(0)
            pieces += (escape(token.text[start : offset - position], quote=False), mark)
            start = offset - position
        pieces.append(escape(token.text[start:], quote=False))
        html = "".join(pieces)
        yield f'<span class="hl-{token.kind}">{html}</span>' if token.kind else html
        position += len(token.text)
    yield "".join(mark for _, mark in waiting)


@lru_cache(maxsize=256)
def _tokens(code: str, lexer: str) -> tuple[_CodeToken, ...]:
    if not lexer or len(code) > _LONGEST:
        return (_CodeToken("", code),)
    # On the first code block: it takes a while.
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # noqa: PLC0415

    found = get_lexer_by_name(lexer, stripnl=False, ensurenl=False).get_tokens(code)
    tokens = _joined((_class_of(str(kind)), text) for kind, text in found)
    # A lexer normalises line ends; then the marks would be misplaced.
    return tokens if "".join(token.text for token in tokens) == code else (_CodeToken("", code),)


def _joined(pieces: Iterator[tuple[str, str]]) -> tuple[_CodeToken, ...]:
    joined: list[_CodeToken] = []
    for kind, text in pieces:
        if joined and joined[-1].kind == kind:
            joined[-1] = _CodeToken(kind, joined[-1].text + text)
        else:
            joined.append(_CodeToken(kind, text))
    return tuple(joined)


def _class_of(kind: str) -> str:
    return next((name for prefix, name in _CLASSES if kind.startswith(prefix)), "")
