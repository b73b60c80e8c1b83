"""Where the text of an answer stands in `content`.

Spans count over all text of the answer in the order of its parts. `content` holds that text without
refusals, which have a field of their own, and in the order in which a stream happened to send it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from groundwire.dialects.openai_chat.annotations import encode_annotation
from groundwire.dialects.openai_chat.parts import own
from groundwire.model import Citation, Json, Part, Span, Text


class Layout:
    """Remembers what went where, and moves spans along."""

    __slots__ = ("_lengths", "_runs", "_sent")

    def __init__(self) -> None:
        self._lengths: dict[int, int] = {}
        self._runs: list[tuple[int, int, int]] = []
        self._sent = 0

    @classmethod
    def of(cls, parts: Iterable[Part]) -> Layout:
        """The layout of parts told in order."""
        layout = cls()
        for number, part in enumerate(parts):
            if isinstance(part, Text):
                layout.add(number, len(part.text), shown=part.phase != "refusal")
        return layout

    def add(self, part: int, length: int, *, shown: bool) -> None:
        """So many more characters of a part; `shown` are those that go to `content`."""
        start = self._lengths.get(part, 0)
        self._lengths[part] = start + length
        if shown and length:
            if not self._runs or self._runs[-1][0] != part:
                self._runs.append((part, start, self._sent))
            self._sent += length

    def annotations(self, parts: Iterable[Part], citations: Iterable[Citation]) -> list[Json]:
        """All annotations: one for each source of each citation, then those of other types kept verbatim."""
        place = self._placer()
        told: list[Json] = [
            encode_annotation(item, place(citation.span) if citation.span else None)
            for citation in citations
            for item in citation.evidence
        ]
        for part in parts:
            kept = own(part.extras).get("annotations") if isinstance(part, Text) else None
            told += kept if isinstance(kept, list) else ()
        return told

    def _placer(self) -> _Placer:
        starts: dict[int, int] = {}
        total = 0
        for part in sorted(self._lengths):
            starts[part] = total
            total += self._lengths[part]
        bounds = [*(position for _, _, position in self._runs), self._sent]
        return _Placer(
            sorted(
                (starts[part] + start, position, end - position)
                for (part, start, position), end in zip(self._runs, bounds[1:], strict=True)
            )
        )


class _Placer:
    """Runs of text: where each begins in the answer, where in `content`, and how long it is."""

    __slots__ = ("_begins", "_runs")

    def __init__(self, runs: list[tuple[int, int, int]]) -> None:
        self._runs = runs
        self._begins = [begin for begin, _, _ in runs]

    def __call__(self, span: Span) -> Span | None:
        """The span in `content`; None if it is not there."""
        last = self._position(span.end - 1)
        first = last if span.start == span.end else self._position(span.start)
        if first is None or last is None or first > last:
            return None
        return Span(last + 1 if span.start == span.end else first, last + 1)

    def _position(self, offset: int) -> int | None:
        index = bisect_right(self._begins, offset) - 1
        if index < 0:
            return None
        begin, position, length = self._runs[index]
        return position + offset - begin if offset - begin < length else None
