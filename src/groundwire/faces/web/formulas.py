r"""Formulas in Markdown: `\(…\)` and `$…$` in a line, `\[…\]` and `$$…$$` on their own; written as MathML.

A dollar sign is usually money, and a backslash before a bracket usually escapes it. Between them must be
something that only a formula has. What cannot be converted is shown as it was written.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

MATH_TAGS = frozenset(
    {
        *("math", "mi", "mn", "mo", "ms", "mtext", "mspace", "mrow", "mfrac", "msqrt", "mroot", "mstyle"),
        *("msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd", "mpadded"),
        *("mphantom", "menclose"),
    }
)
MATH_ATTRIBUTES = {
    "math": {"display"},
    "mo": {"stretchy", "fence", "form"},
    "mspace": {"width"},
    "mtd": {"columnalign"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "mfrac": {"linethickness"},
    "mi": {"mathvariant"},
}
FORMULAS = "formulas"
"""Set in the environment of a text that may have formulas."""
_LONGEST = 2_000
_INLINE = ((r"\(", r"\)", False), (r"\[", r"\]", True), ("$$", "$$", True), ("$", "$", False))
"""Opening and closing delimiter, and whether the formula is displayed on its own."""
_FORMULA = re.compile(r"\\[A-Za-z]|[\^_={}<>]|^[A-Za-z]$|^[A-Za-z0-9]+(?:[-+*/][A-Za-z0-9]+)+$")
_WORD = re.compile(r"\w")
_MARKUP_IN_TEXT = re.compile(r"\\(?:text|mbox|href)\w*\s*\{[^}]*[<>&]|\\href")
"""The converter copies it unescaped; the sanitiser would drop the words with it."""
_FAILURES = (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)
"""What the converter raises for formulas that are not complete, besides its own exceptions."""
_DEEPEST = 40
"""Braces within braces: the converter calls itself for each."""


def add_formulas(parser: MarkdownIt) -> None:
    """Teach a parser formulas: tokens `formula` with the source as content and `display` in meta."""
    parser.inline.ruler.before("escape", "formula", _read_inline)
    parser.block.ruler.before(
        "fence", "formula_block", _read_block, {"alt": ["paragraph", "blockquote", "list"]}
    )


def _read_inline(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  as the parser calls it
    for opening, closing, display in _INLINE if state.env.get(FORMULAS) else ():
        if not state.src.startswith(opening, state.pos):
            continue
        start = state.pos + len(opening)
        end = state.src.find(closing, start, min(state.posMax, start + _LONGEST))
        source = state.src[start:end] if end >= 0 else ""
        if not _FORMULA.search(source.strip()) or (opening == "$" and not _is_alone(state.src, start, end)):
            continue
        if not silent:
            token = state.push("formula", "math", 0)
            token.content, token.markup, token.meta = source, opening, {"display": display}
        state.pos = end + len(closing)
        return True
    return False


def _is_alone(text: str, start: int, end: int) -> bool:
    """Do two dollar signs enclose what is between them, and are not the signs of two amounts or variables?"""
    around = text[start - 2 : start - 1] + text[end + 1 : end + 2]
    source = text[start:end]
    return source == source.strip() and "\n" not in source and not _WORD.search(around)


def _read_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:  # noqa: FBT001
    """A formula that begins a line with `$$` or `\\[`, up to the line that ends with its other half."""
    start = state.bMarks[first] + state.tShift[first]
    opening = state.src[start : start + 2]
    closing = {"$$": "$$", r"\[": r"\]"}.get(opening)
    if closing is None or not state.env.get(FORMULAS) or state.is_code_block(first):
        return False
    lines: list[str] = []
    for line in range(first, last):
        begin = state.bMarks[line] + state.tShift[line] + (2 if line == first else 0)
        text = state.src[begin : state.eMarks[line]].rstrip()
        if not text and line != first:
            return False
        lines.append(text.removesuffix(closing))
        if text.endswith(closing):
            source = "\n".join(lines)
            if not _FORMULA.search(source.strip()) or len(source) > _LONGEST:
                return False
            if not silent:
                token = state.push("formula", "math", 0)
                token.content, token.markup, token.meta = source, opening, {"display": True}
                token.map, token.block = [first, line + 1], True
                state.line = line + 1
            return True
    return False


@lru_cache(maxsize=512)
def formula_html(source: str, *, display: bool) -> str:
    """A formula as MathML, or as its source. The caller sanitises it."""
    from latex2mathml import exceptions  # noqa: PLC0415  on the first formula: it takes half a second
    from latex2mathml.converter import convert  # noqa: PLC0415

    kinds = (kind for kind in vars(exceptions).values() if isinstance(kind, type))
    own = (kind for kind in kinds if issubclass(kind, Exception))
    failures: tuple[type[Exception], ...] = (*own, *_FAILURES)
    html = ""
    if _is_balanced(source) and not _MARKUP_IN_TEXT.search(source):
        try:
            html = convert(source, display="block" if display else "inline")
        except failures:
            html = ""
    # An unknown command is copied with its backslash.
    if not html or "\\" in html:
        return f'<code class="formula">{escape(source.strip())}</code>'
    return html


def _is_balanced(source: str) -> bool:
    depth = 0
    for char in source.replace(r"\{", "").replace(r"\}", ""):
        depth += (char == "{") - (char == "}")
        if not 0 <= depth <= _DEEPEST:
            return False
    return depth == 0
