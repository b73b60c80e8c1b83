"""The text of an answer while it comes in, so that spans can be placed and checked."""

from __future__ import annotations


class Transcript:
    """Text by part. Offsets are code points; `start` of a part counts all text of earlier parts."""

    __slots__ = ("_chunks", "_lengths")

    def __init__(self) -> None:
        self._chunks: dict[int, list[str]] = {}
        self._lengths: dict[int, int] = {}

    def add(self, part: int, text: str) -> None:
        if part in self._chunks:
            self._chunks[part].append(text)
            self._lengths[part] += len(text)
        else:
            self._chunks[part] = [text]
            self._lengths[part] = len(text)

    def start(self, part: int) -> int:
        """Where the text of a part begins in the whole answer."""
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

    def __len__(self) -> int:
        return sum(self._lengths.values())
