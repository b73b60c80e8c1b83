"""The words of an answer with numbers put in, and each number still known as one.

Numbers are placed by the text layer, under a disguise that answers do not have, so that they can be told
from a `[1]` of the answer's own words when they become links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from groundwire.model import Answer, Citation, SearchCall, Source, Text
from groundwire.text.markers import place_markers, strip_markers

_DIGITS = 9
MARK = rf"\[1(\d{{{_DIGITS}}})\]"
_MARK = re.compile(MARK)

Numbers = Callable[[Source], int | None]


def mark(text: str, citations: Iterable[Citation], numbers: Numbers, breaks: Iterable[int] = ()) -> str:
    """The text with disguised numbers."""

    def disguised(source: Source) -> int | None:
        number = numbers(source)
        return None if number is None else 10**_DIGITS + number

    return strip_markers(place_markers(text, citations, disguised, breaks))


def split_marks(text: str) -> Iterator[str | int]:
    """Words and numbers in turn."""
    position = 0
    for match in _MARK.finditer(text):
        if match.start() > position:
            yield text[position : match.start()]
        yield int(match[1])
        position = match.end()
    if position < len(text):
        yield text[position:]


def paragraph_breaks(answer: Answer) -> list[int]:
    """Where a new paragraph begins though the words do not say so: after a search, or in another phase."""
    breaks: list[int] = []
    position = 0
    previous: Text | None = None
    searched = False
    for part in answer.parts:
        if isinstance(part, SearchCall):
            searched = True
        elif isinstance(part, Text) and part.text:
            if previous is not None and (searched or previous.phase != part.phase):
                breaks.append(position)
            position += len(part.text)
            previous = part
            searched = False
    return breaks
