"""Cutting text into blocks: a citation of Anthropic's applies to the whole of its block.

Citations are added in any order; `pieces` then cuts a stretch of text wherever a known claim begins or
ends, and says what each piece is cited for. A claim that reaches over several pieces is repeated on each of
them, up to a budget: claims nested in each other would else grow with the square of their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from groundwire.model import Citation

MAX_REPEATS = 2_000
"""How many citations of an answer are told again on a later block of their claim."""


class Piece(NamedTuple):
    """Text between two cuts, and the citations that apply to all of it."""

    text: str
    citations: tuple[Citation, ...]


class Cutter:
    """One sweep over the text; knows the citations whose text is still to come."""

    __slots__ = ("_active", "_count", "_ends", "_new", "_points", "_repeats", "_starts", "_told")

    def __init__(self) -> None:
        self._count = 0
        self._starts: list[tuple[int, int, Citation]] = []
        self._ends: list[tuple[int, int]] = []
        self._active: dict[int, Citation] = {}
        self._new: dict[int, Citation] = {}
        self._points: dict[int, dict[int, Citation]] = {}
        self._told: tuple[Citation, ...] | None = ()
        self._repeats = MAX_REPEATS

    def add(self, citation: Citation) -> None:
        """Take a citation with a span."""
        if citation.span is None:
            return
        start, end = citation.span
        self._count += 1
        heappush(self._ends, (end, self._count))
        if start == end:
            self._points.setdefault(end, {})[self._count] = citation
        else:
            heappush(self._starts, (start, self._count, citation))
        self._told = None

    def pieces(self, text: str, start: int) -> Iterator[Piece]:
        """Cut the text, which begins at position `start` of the answer."""
        position, end = start, start + len(text)
        while position < end:
            self._move(position)
            stop = end
            if self._starts:
                stop = min(stop, self._starts[0][0])
            if self._ends:
                stop = min(stop, self._ends[0][0])
            yield Piece(text[position - start : stop - start], self._current())
            position = stop

    def _move(self, position: int) -> None:
        while self._starts and self._starts[0][0] <= position:
            _, number, citation = heappop(self._starts)
            if citation.span is not None and citation.span.end > position:
                self._active[number] = self._new[number] = citation
                self._told = None
        while self._ends and self._ends[0][0] <= position:
            end, number = heappop(self._ends)
            self._active.pop(number, None)
            self._points.pop(end, None)
            self._told = None

    def _current(self) -> tuple[Citation, ...]:
        if self._told is None:
            self._new |= self._due_points()
            repeated = len(self._active) - len(self._new)
            current = self._new
            if repeated <= self._repeats:
                self._repeats -= repeated
                current = self._active
            self._told = tuple(current[number] for number in sorted(current))
            self._new = {}
        return self._told

    def _due_points(self) -> dict[int, Citation]:
        """A point takes all text since the claim before it: it is due when its end is the next one."""
        points = self._points.pop(self._ends[0][0], {}) if self._ends else {}
        self._active |= points
        return points
