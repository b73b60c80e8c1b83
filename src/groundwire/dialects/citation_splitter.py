"""Splits a text where its citations begin and end, for dialects that bind citations to blocks of text."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from groundwire.model import Citation

MAX_REPEATS = 2_000
"""How many citations of an answer are repeated on a later block of their claim."""


class CitedText(NamedTuple):
    """Text between two boundaries, and the citations that apply to all of it."""

    text: str
    citations: tuple[Citation, ...]


class CitationSplitter:
    """Splits text into blocks, whose citations apply to the whole block.

    Citations are added in any order; `pieces` then splits a range of text wherever a known claim begins or
    ends. A claim that covers several pieces is repeated on each of them, up to a budget: nested claims would
    otherwise grow with the square of their number.
    """

    __slots__ = ("_active", "_count", "_ends", "_last_citations", "_new", "_points", "_repeats", "_starts")

    def __init__(self) -> None:
        self._count = 0
        self._starts: list[tuple[int, int, Citation]] = []
        self._ends: list[tuple[int, int]] = []
        self._active: dict[int, Citation] = {}
        self._new: dict[int, Citation] = {}
        self._points: dict[int, dict[int, Citation]] = {}
        self._last_citations: tuple[Citation, ...] | None = ()
        self._repeats = MAX_REPEATS

    def add(self, citation: Citation) -> None:
        """Add a citation with a span."""
        if citation.span is None:
            return
        start, end = citation.span
        self._count += 1
        heappush(self._ends, (end, self._count))
        if start == end:
            self._points.setdefault(end, {})[self._count] = citation
        else:
            heappush(self._starts, (start, self._count, citation))
        self._last_citations = None

    def is_whole(self, end: int, citations: tuple[Citation, ...]) -> bool:
        """Whether the text up to `end` is one piece, with these citations of the text before it."""
        if self._starts and self._starts[0][0] < end:
            return False
        if self._ends and self._ends[0][0] < end:
            return False
        return self._last_citations is citations

    def pieces(self, text: str, start: int) -> Iterator[CitedText]:
        """Split the text, which begins at offset `start` of the answer."""
        position, end = start, start + len(text)
        while position < end:
            self._move(position)
            stop = end
            if self._starts:
                stop = min(stop, self._starts[0][0])
            if self._ends:
                stop = min(stop, self._ends[0][0])
            yield CitedText(text[position - start : stop - start], self._current())
            position = stop

    def _move(self, position: int) -> None:
        while self._starts and self._starts[0][0] <= position:
            _, number, citation = heappop(self._starts)
            if citation.span is not None and citation.span.end > position:
                self._active[number] = self._new[number] = citation
                self._last_citations = None
        while self._ends and self._ends[0][0] <= position:
            end, number = heappop(self._ends)
            self._active.pop(number, None)
            self._points.pop(end, None)
            self._last_citations = None

    def _current(self) -> tuple[Citation, ...]:
        if self._last_citations is None:
            self._new |= self._due_points()
            repeated = len(self._active) - len(self._new)
            current = self._new
            if repeated <= self._repeats:
                self._repeats -= repeated
                current = self._active
            self._last_citations = tuple(current[number] for number in sorted(current))
            self._new = {}
        return self._last_citations

    def _due_points(self) -> dict[int, Citation]:
        """A point covers all text since the previous claim: it is due when its end is the next one."""
        points = self._points.pop(self._ends[0][0], {}) if self._ends else {}
        self._active |= points
        return points
