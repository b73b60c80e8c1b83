"""Cutting text into blocks: a citation of Anthropic's applies to the whole of its block.

Citations are added in any order; `pieces` then cuts a stretch of text wherever a known claim begins or
ends, and says what each piece is cited for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from groundwire.model import Citation, Span


class Piece(NamedTuple):
    """Text between two cuts, and the citations that apply to all of it."""

    text: str
    citations: tuple[Citation, ...]


class Cutter:
    """Knows the citations whose text is still to come."""

    __slots__ = ("_active", "_changed", "_cuts", "_open")

    def __init__(self) -> None:
        self._open: list[Citation] = []
        self._cuts: list[int] = []
        self._active: list[tuple[Citation, ...]] = []
        self._changed = False

    def add(self, citation: Citation) -> None:
        """Take a citation with a span."""
        self._open.append(citation)
        self._changed = True

    def pieces(self, text: str, start: int) -> Iterator[Piece]:
        """Cut the text, which begins at position `start` of the answer."""
        if self._changed:
            self._prepare(start)
        if not self._cuts:
            if text:
                yield Piece(text, ())
            return
        end = start + len(text)
        index = bisect_right(self._cuts, start) - 1
        position = start
        while position < end:
            cut = self._cuts[index + 1] if index + 1 < len(self._cuts) else end
            stop = min(cut, end)
            citations = self._active[index] if index >= 0 else ()
            yield Piece(text[position - start : stop - start], citations)
            position = stop
            index += 1

    def _prepare(self, position: int) -> None:
        """Sweep once over all cuts from here on; citations that lie behind are forgotten."""
        self._changed = False
        self._open = [
            citation for citation in self._open if citation.span is not None and citation.span.end > position
        ]
        ranges = list(self._ranges(position))
        self._cuts = sorted({cut for span, _ in ranges for cut in span})
        self._active = [()] * len(self._cuts)
        for span, citation in ranges:
            for index in range(bisect_left(self._cuts, span.start), bisect_left(self._cuts, span.end)):
                self._active[index] = (*self._active[index], citation)

    def _ranges(self, position: int) -> Iterator[tuple[Span, Citation]]:
        """The text each citation takes up. A point takes all since the claim before it."""
        ends = sorted({position, *(citation.span.end for citation in self._open if citation.span)})
        for citation in self._open:
            if citation.span is not None:
                start, end = citation.span
                if start == end:
                    start = ends[bisect_left(ends, end) - 1]
                yield Span(max(start, position), end), citation
