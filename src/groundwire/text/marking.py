"""Numbers put into a text whose citations stay: where every place goes when `[n]` comes in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple

from groundwire.model import Citation, Source, Span
from groundwire.model.value import replace
from groundwire.text.markers import edits


class Marked(NamedTuple):
    """The text with numbers, and its citations in it."""

    text: str
    citations: tuple[Citation, ...]
    place: Callable[[int], int]
    """Where a position of the text without numbers is in the text with them."""


def mark(text: str, citations: Iterable[Citation], number: Callable[[Source], int | None]) -> Marked:
    """`[n]` after each claim, and in the place of each marker; spans are moved along."""
    citations = tuple(citations)
    cuts, marks = edits(text, citations, number)
    pieces: list[str] = []
    map_ = _Map()
    position = length = 0
    for point in sorted({*cuts, *marks}):
        kept = text[position:point] if point > position else ""
        end = max(cuts.get(point, point), position)
        signs = "".join(f"[{value}]" for value in sorted(marks.get(point, ())))
        pieces += (kept, signs)
        length += len(kept)
        map_.add(point, max(end, point), length, length + len(signs))
        length += len(signs)
        position = max(end, point)
    pieces.append(text[position:])
    return Marked("".join(pieces), tuple(_moved(citation, map_) for citation in citations), map_.behind)


class _Map:
    """Old places to new ones."""

    __slots__ = ("_edits", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._edits: list[tuple[int, int, int]] = []

    def add(self, start: int, end: int, before: int, after: int) -> None:
        """The text from `start` to `end` became that from `before` to `after`."""
        self._starts.append(start)
        self._edits.append((end, before, after))

    def before(self, place: int) -> int:
        """Where a place is if what is put in there comes after it."""
        index = bisect_right(self._starts, place) - 1
        if index >= 0 and self._starts[index] == place:
            return self._edits[index][1]
        return self._after(index, place)

    def behind(self, place: int) -> int:
        """Where a place is if what is put in there comes before it."""
        return self._after(bisect_right(self._starts, place) - 1, place)

    def _after(self, index: int, place: int) -> int:
        if index < 0:
            return place
        end, _, after = self._edits[index]
        return after + max(place - end, 0)


def _moved(citation: Citation, map_: _Map) -> Citation:
    if citation.span is None:
        return citation
    start, end = citation.span
    if citation.anchor == "marker":
        return replace(citation, span=Span(map_.before(start), map_.behind(start)))
    begin = min(map_.behind(start), map_.before(end)) if start < end else map_.before(end)
    return replace(citation, span=Span(begin, map_.before(end)))
