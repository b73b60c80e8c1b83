"""Where the citations of an outgoing stream go, and when its content parts may close.

Spans count over the whole text, annotations within their part. So a citation can be told when all parts
before are settled and its text is out; one that reaches over several parts is told piece by piece. Those that
wait are told in the order of their places. A part stays open until it is settled, and the last one as long
as nothing follows it: it takes the citations without a place.
"""

from __future__ import annotations

from bisect import insort
from heapq import heappop, heappush

from groundwire.dialects.openai_responses.citations import MAX_REPEATS
from groundwire.dialects.openai_responses.writing import MessageWriter, TextWriter
from groundwire.model import Citation, Span


class _Waiting:
    """A citation that waits for its text, and whether a part of it has been told."""

    __slots__ = ("citation", "is_told", "span")

    def __init__(self, citation: Citation, span: Span) -> None:
        self.citation = citation
        self.span = span
        self.is_told = False

    def tell(self, text: TextWriter) -> None:
        """The share of a part in it."""
        start, end = max(self.span.start, text.start), min(self.span.end, text.end)
        is_point = self.span.start == self.span.end
        if text.phase != "refusal" and (start < end or (is_point and text.start < end)):
            text.cite(self.citation, start, end)
            self.is_told = True


class Placing:
    """All text parts of a stream, in order, and the citations that wait for them."""

    def __init__(self) -> None:
        self._texts: list[TextWriter] = []
        self._left = 0
        self._base = 0
        self._waiting: list[tuple[Span, str, int, _Waiting]] = []
        self._count = 0
        self._unplaced: list[Citation] = []
        self._repeats = MAX_REPEATS

    def open(self, text: TextWriter) -> None:
        """A part begins."""
        insort(self._texts, text, key=lambda other: other.part)
        if text is self._texts[-1]:
            self._frontier()

    def grow(self) -> None:
        """A part has more text: tell what has been waiting for it."""
        if self._waiting:
            self._frontier()

    def cite(self, citation: Citation) -> None:
        """A citation."""
        span = citation.span
        if span is None or span.end <= 0 or span.start > span.end:
            self._unplaced.append(citation)
            return
        self._count += 1
        heappush(self._waiting, (span, citation.anchor, self._count, _Waiting(citation, span)))
        self._frontier()

    def settle(self, current: MessageWriter | None, *, keep_last: bool = True) -> None:
        """Close what is settled, as far as nothing before it is open.

        The message `current` stays open, and so does its last part, unless another one is to follow it.
        """
        while (text := self._frontier()) is not None and text.is_settled and not self._unplaced:
            if keep_last and text.message is current and text is current.texts[-1]:
                return
            self._leave(text)
            text.close()
            if text.message is not current and text is text.message.texts[-1]:
                text.message.close()

    def finish(self) -> None:
        """All text is out: every citation finds its place now, or has none."""
        while (text := self._frontier()) is not None:
            self._leave(text)
        while self._waiting:
            self._drop(heappop(self._waiting)[-1])
        takers = [text for text in self._texts if text.phase != "refusal"]
        for citation in self._unplaced if takers else ():
            takers[-1].cite_unplaced(citation)
        self._unplaced.clear()

    def _frontier(self) -> TextWriter | None:
        """The first part that has not been left; tells what it can."""
        if self._left == len(self._texts):
            return None
        text = self._texts[self._left]
        text.start = self._base
        while self._waiting and self._waiting[0][0].end <= text.end:
            self._tell(heappop(self._waiting)[-1], text)
        return text

    def _leave(self, text: TextWriter) -> None:
        """A part has all its text: what reaches beyond it is told as far as it goes."""
        rest = []
        while self._waiting and _concerns(self._waiting[0][0], text):
            entry = heappop(self._waiting)
            if entry[0].end <= text.end:
                self._tell(entry[-1], text)
            else:
                entry[-1].tell(text)
                self._repeats -= 1
                if self._repeats > 0 or not entry[-1].is_told:
                    rest.append(entry)
        for entry in rest:
            heappush(self._waiting, entry)
        self._base = text.end
        self._left += 1

    def _tell(self, waiting: _Waiting, text: TextWriter) -> None:
        """The last share of a citation. One that is about text long closed is left to the response."""
        waiting.tell(text)
        if waiting.span.end > text.start:
            self._drop(waiting)

    def _drop(self, waiting: _Waiting) -> None:
        if not waiting.is_told:
            self._unplaced.append(waiting.citation)


def _concerns(span: Span, text: TextWriter) -> bool:
    """Does a span begin in a part or before it? A point at its end belongs to it."""
    return span.start < text.end or span.end <= text.end
