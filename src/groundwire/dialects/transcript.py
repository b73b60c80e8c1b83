"""The text of an answer while it comes in, so that spans can be placed and checked."""

from __future__ import annotations


class Transcript:
    """Text by part. Offsets are code points; `start` of a part counts all text of earlier parts."""

    __slots__ = ("_chunks", "_lengths", "_newest", "_total")

    def __init__(self) -> None:
        self._chunks: dict[int, list[str]] = {}
        self._lengths: dict[int, int] = {}
        self._newest = -1
        self._total = 0

    def add(self, part: int, text: str) -> None:
        """More text of a part."""
        chunks = self._chunks.get(part)
        if chunks is not None:
            chunks.append(text)
            self._lengths[part] += len(text)
        else:
            self._chunks[part] = [text]
            self._lengths[part] = len(text)
            self._newest = max(self._newest, part)
        self._total += len(text)

    def start(self, part: int) -> int:
        """Where the text of a part begins in the whole answer."""
        if part == self._newest:
            return self._total - self._lengths.get(part, 0)
        return sum(length for number, length in self._lengths.items() if number < part)

    def text(self, part: int) -> str:
        """The text of one part so far."""
        chunks = self._chunks.get(part)
        if not chunks:
            return ""
        if len(chunks) > 1:
            chunks[:] = ["".join(chunks)]
        return chunks[0]

    def whole(self) -> str:
        """The text of the answer so far."""
        return "".join(self.text(part) for part in sorted(self._chunks))

    def slice(self, start: int, end: int) -> str:
        """A stretch of the whole text; cheap where it lies in the part that came last."""
        base = self.start(self._newest)
        if start >= base:
            return self.text(self._newest)[start - base : end - base]
        return self.whole()[start:end]

    def __len__(self) -> int:
        return self._total
