"""Answers as text and as Markdown.

`render_answer` writes an answer for reading: `[n]` where sources are cited, and the list of sources at the
end.

The embedded engine returns page text, in which `object.__init__` and `a * b * c` mean themselves. Its text
parts are marked as plain text in their extras; `to_markdown` escapes them where Markdown is expected, and
moves the spans of their citations. In plain text, too, lines that are indented by four spaces after a blank
line are preformatted: code and tables.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from groundwire.model import Answer, Extras, Part, Source, Text
from groundwire.model.value import replace
from groundwire.text.annotate import NumberWriter, annotate_numbers, map_citation, paragraph_breaks
from groundwire.text.lazy_pattern import lazy_pattern
from groundwire.text.sources import Numbering, label_of, number_answer


def render_answer(answer: Answer) -> str:
    """The text with `[n]`, an empty line, and the list of sources if there are any."""
    numbering = number_answer(answer)
    body = render_body(answer, numbering)
    return f"{body}\n\n{render_sources(numbering.sources)}" if numbering.sources else body


def render_body(answer: Answer, numbering: Numbering) -> str:
    """The text with `[n]`; an empty line separates commentary from the answer."""
    writer = NumberWriter(numbering.number)
    return annotate_numbers(answer.text, answer.citations, writer, paragraph_breaks(answer), strip=True).text


def render_sources(sources: Iterable[Source]) -> str:
    """`Sources:` and one line for each source: `[1] Title (URL)`."""
    lines = (
        f"[{number}] {label_of(source)}" + (f" ({source.url})" if source.url else "")
        for number, source in enumerate(sources, 1)
    )
    return "\n".join(["Sources:", *lines])


NAME = "engine"
PLAIN_TEXT_EXTRAS: Extras = {NAME: {"format": "plain"}}
"""The extras of a text part that is plain text."""

# In CommonMark `_` between letters is never emphasis, and `&` means itself unless a reference follows.
_INLINE = lazy_pattern(r"[\\`*\[\]<~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")
_LINE_START = lazy_pattern(r"(?P<indent>[ \t]*)(?:(?P<block>[#>|+=-])|\d+(?P<item>[.)]))?")
_SPACE = "&#32;"
_CODE_INDENT = "    "


def is_plain_text(answer: Answer) -> bool:
    """Is the text of an answer plain text and not Markdown?"""
    texts = [part for part in answer.parts if isinstance(part, Text) and part.text]
    return bool(texts) and all(is_plain_text_part(part.extras) for part in texts)


def is_plain_text_part(extras: Extras) -> bool:
    """Do the extras of a text part say that it is plain text?"""
    return extras.get(NAME, {}).get("format") == "plain"


def to_markdown(answer: Answer) -> Answer:
    """The answer with its text as Markdown; unchanged unless it is plain text."""
    if not is_plain_text(answer):
        return answer
    text, map_offset = escape_markdown(answer.text)
    parts: list[Part] = []
    position = 0
    for part in answer.parts:
        if isinstance(part, Text):
            end = position + len(part.text)
            extras = {name: item for name, item in part.extras.items() if name != NAME}
            markdown = text[map_offset(position) : map_offset(end)]
            part = replace(part, text=markdown, extras=extras)  # noqa: PLW2901
            position = end
        parts.append(part)
    citations = tuple(map_citation(citation, map_offset) for citation in answer.citations)
    return replace(answer, parts=tuple(parts), citations=citations)


def escape_markdown(text: str) -> tuple[str, Callable[[int], int]]:
    """Markdown that renders as the plain text, and a function that maps offsets of the text to it."""
    pieces: list[str] = []
    ends: list[int] = []
    shifts: list[int] = []
    position = added = 0
    for index, escaped in _changes(text):
        pieces += (text[position:index], escaped)
        position = index + 1
        added += len(escaped) - 1
        ends.append(position)
        shifts.append(added)
    pieces.append(text[position:])

    def map_offset(offset: int) -> int:
        index = bisect_right(ends, offset)
        return offset + (shifts[index - 1] if index else 0)

    return "".join(pieces), map_offset


def _changes(text: str) -> Iterator[tuple[int, str]]:
    """The offset of every character that must be escaped, in order, and its replacement."""
    lines = text.split("\n")
    start = 0
    is_code, is_blank = False, True
    for number, line in enumerate(lines):
        is_code = line.startswith(_CODE_INDENT) and (is_code or is_blank)
        is_blank = not line.strip()
        if not is_code:
            yield from ((start + index, escaped) for index, escaped in _line_changes(line))
        start += len(line) + 1
        # A line break is kept with a hard break; blank lines separate paragraphs anyway.
        if not (is_code or is_blank) and number + 1 < len(lines) and lines[number + 1].strip():
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
