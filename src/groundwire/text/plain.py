"""Answers in plain text, and plain text as Markdown.

What an engine extracts is page text: `object.__init__` and `a * b * c` mean themselves. Its text parts say so
in their extras. Wherever Markdown is expected, such a text is escaped, and its spans move with it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

from groundwire.model import Answer, Citation, Extras, Part, Span, Text
from groundwire.model.value import replace

NAME = "engine"
PLAIN: Extras = {NAME: {"format": "plain"}}
"""The extras of a text part that is plain text."""

# In CommonMark `_` between letters is never emphasis, and `&` means itself unless a reference follows.
_INLINE = re.compile(r"[\\`*\[\]<~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")
_LINE_START = re.compile(r"(?P<indent>[ \t]*)(?:(?P<block>[#>|+=-])|\d+(?P<item>[.)]))?")
_SPACE = "&#32;"


def is_plain(answer: Answer) -> bool:
    """Is the text of an answer plain text, not Markdown?"""
    texts = [part for part in answer.parts if isinstance(part, Text) and part.text]
    return bool(texts) and all(is_plain_part(part.extras) for part in texts)


def is_plain_part(extras: Extras) -> bool:
    """Do the extras of a text part say that it is plain text?"""
    return extras.get(NAME, {}).get("format") == "plain"


def in_markdown(answer: Answer) -> Answer:
    """The answer with its text as Markdown: the same, unless it is plain text."""
    if not is_plain(answer):
        return answer
    text, place = escape_markdown(answer.text)
    parts: list[Part] = []
    position = 0
    for part in answer.parts:
        if isinstance(part, Text):
            end = position + len(part.text)
            extras = {name: item for name, item in part.extras.items() if name != NAME}
            part = replace(part, text=text[place(position) : place(end)], extras=extras)  # noqa: PLW2901
            position = end
        parts.append(part)
    citations = tuple(_moved(citation, place) for citation in answer.citations)
    return replace(answer, parts=tuple(parts), citations=citations)


def _moved(citation: Citation, place: Callable[[int], int]) -> Citation:
    if citation.span is None:
        return citation
    return replace(citation, span=Span(place(citation.span.start), place(citation.span.end)))


def escape_markdown(text: str) -> tuple[str, Callable[[int], int]]:
    """The Markdown that shows a plain text as it is, and where a position of it went."""
    pieces: list[str] = []
    ends: list[int] = []
    moved: list[int] = []
    position = more = 0
    for index, written in _changes(text):
        pieces += (text[position:index], written)
        position = index + 1
        more += len(written) - 1
        ends.append(position)
        moved.append(more)
    pieces.append(text[position:])

    def place(offset: int) -> int:
        index = bisect_right(ends, offset)
        return offset + (moved[index - 1] if index else 0)

    return "".join(pieces), place


def _changes(text: str) -> Iterator[tuple[int, str]]:
    """Every character that must be written otherwise, in order, and how."""
    lines = text.split("\n")
    start = 0
    for number, line in enumerate(lines):
        yield from ((start + index, written) for index, written in _line_changes(line))
        start += len(line) + 1
        # Two lines stay two; blank lines part paragraphs as they do anyway.
        if line.strip() and number + 1 < len(lines) and lines[number + 1].strip():
            yield start - 1, "\\\n"


def _line_changes(line: str) -> Iterator[tuple[int, str]]:
    if not line.strip():
        return
    begin = _LINE_START.match(line)
    first = 0
    if begin is not None:
        first = begin.end("indent")
        yield from ((index, _SPACE) for index in range(first))
        for group in ("block", "item"):
            if begin[group]:
                yield begin.start(group), f"\\{begin[group]}"
                first = begin.end(group)
    yield from ((match.start(), f"\\{match[0]}") for match in _INLINE.finditer(line, first))
