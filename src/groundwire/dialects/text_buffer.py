"""Text of an answer while it is received, so that spans can be resolved and checked."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate


class TextBuffer:
    """Text by part. Offsets are code points over the text of all parts."""

    __slots__ = ("_chunks", "_lengths", "_newest", "_order", "_starts", "_total")

    def __init__(self) -> None:
        self._chunks: dict[int, list[str]] = {}
        self._lengths: dict[int, int] = {}
        self._newest = -1
        self._total = 0
        # The start of each part, in order of their numbers; None when it has to be recomputed. Text for the
        # newest part never makes that necessary.
        self._order: list[int] = []
        self._starts: list[int] | None = []

    def add(self, part: int, text: str) -> None:
        """Append text to a part."""
        chunks = self._chunks.get(part)
        if chunks is not None:
            chunks.append(text)
            self._lengths[part] += len(text)
            if part != self._newest:
                self._starts = None
        else:
            self._begin(part, text)
        self._total += len(text)

    def start(self, part: int) -> int:
        """Return the offset of a part in the text of the whole answer."""
        if part == self._newest:
            return self._total - self._lengths.get(part, 0)
        starts = self._part_starts()
        index = bisect_left(self._order, part)
        return starts[index] if index < len(starts) else self._total

    def text(self, part: int) -> str:
        """Return the text of one part so far."""
        chunks = self._chunks.get(part)
        if not chunks:
            return ""
        if len(chunks) > 1:
            chunks[:] = ["".join(chunks)]
        return chunks[0]

    def whole(self) -> str:
        """Return the text of the answer so far."""
        return "".join(self.text(part) for part in sorted(self._chunks))

    def slice(self, start: int, end: int) -> str:
        """Return a slice of the whole text; only the parts it overlaps are read."""
        starts = self._part_starts()
        index = max(bisect_right(starts, start) - 1, 0)
        pieces: list[str] = []
        while index < len(starts) and starts[index] < end:
            base = starts[index]
            pieces.append(self.text(self._order[index])[max(start - base, 0) : end - base])
            index += 1
        return "".join(pieces)

    def __len__(self) -> int:
        return self._total

    def _begin(self, part: int, text: str) -> None:
        self._chunks[part] = [text]
        self._lengths[part] = len(text)
        if part > self._newest and self._starts is not None:
            self._order.append(part)
            self._starts.append(self._total)
        else:
            self._starts = None
        self._newest = max(self._newest, part)

    def _part_starts(self) -> list[int]:
        if self._starts is None:
            self._order = sorted(self._chunks)
            lengths = (self._lengths[part] for part in self._order[:-1])
            self._starts = list(accumulate(lengths, initial=0))
        return self._starts
