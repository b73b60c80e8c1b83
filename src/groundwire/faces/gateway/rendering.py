"""Citations written into the text of an answer, for clients that do not show structured ones.

`markers` writes `[n]` after each claim (in the place of each marker anchor) and one list of sources at the
end of the text, and removes the citations; `both` does the same and keeps the citations, at their new
positions.

A text part is held until it is settled, because its numbers belong inside it. Adjacent text parts become one.
Searches that a provider reports after the text they served are moved before it. Once something is cited,
whatever follows the text waits for more text or for the end, so that the list closes the last text part: some
clients print nothing else.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from heapq import heappop, heappush
from itertools import count
from typing import Literal, NamedTuple, TypeAlias

from groundwire.faces.gateway.handler import Batches
from groundwire.model import (
    Citation,
    Cited,
    Event,
    ExtrasSeen,
    Failed,
    Finished,
    PartAdded,
    ReasoningDelta,
    SearchCalled,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Verbatim,
)
from groundwire.model.parts import Phase
from groundwire.model.value import replace
from groundwire.text.markdown import render_sources
from groundwire.text.marking import mark
from groundwire.text.sources import source_key

Rendering: TypeAlias = Literal["structured", "markers", "both"]
RENDERINGS: tuple[Rendering, ...] = ("structured", "markers", "both")

_PartEvent: TypeAlias = (
    ReasoningDelta | ToolCallDelta | SearchStarted | SearchCalled | SearchReturned | PartAdded | ExtrasSeen
)


async def rendered(batches: Batches, mode: Rendering, *, passes: bool = False) -> Batches:
    """The answer in another rendering; with `passes`, the vendor's own bytes stay as they are."""
    renderer = Renderer(keep_citations=mode == "both")
    passing = mode == "structured"
    async with aclosing(batches):
        async for batch in batches:
            passing = passing or (passes and any(isinstance(event, Verbatim) for event in batch))
            if passing:
                yield batch
            elif events := renderer.feed(batch):
                yield events


class Renderer:
    """Rewrites the events of one answer."""

    def __init__(self, *, keep_citations: bool) -> None:
        self._input = _Input()
        self._output = _Output(keep_citations=keep_citations)

    def feed(self, batch: Sequence[Event]) -> list[Event]:
        """The events that can be sent now."""
        events: list[Event] = []
        for event in batch:
            if isinstance(event, Cited):
                self._output.add_citation(event.citation)
            else:
                self._input.add(event)
                events += self._drain()
        return events

    def _drain(self) -> Iterator[Event]:
        for entry in self._input.ready():
            match entry:
                case _Text():
                    yield from self._output.write_text(entry)
                case Finished() | Failed():
                    yield from self._output.close()
                    yield entry
                case (
                    ReasoningDelta()
                    | ToolCallDelta()
                    | SearchStarted()
                    | SearchCalled()
                    | SearchReturned()
                    | PartAdded()
                    | ExtrasSeen()
                ):
                    yield from self._output.write_part(entry)
                case _:
                    yield entry


class _Text:
    """A text part while it is collected."""

    __slots__ = ("chunks", "phase", "settled")

    def __init__(self, phase: Phase) -> None:
        self.chunks: list[str] = []
        self.phase = phase
        self.settled = False


class _Input:
    """Puts the events of the provider in order: one entry for each text part, late searches first."""

    def __init__(self) -> None:
        self._queue: deque[Event | _Text] = deque()
        self._unsettled: dict[int, _Text] = {}
        self._late: list[Event] = []
        self._extras: dict[int, list[ExtrasSeen]] = {}
        """Of parts whose kind is not known yet."""
        self._is_text: dict[int, bool] = {}
        self._late_parts: set[int] = set()

    def add(self, event: Event) -> None:
        """Take one event other than a citation."""
        match event:
            case Verbatim():
                pass
            case TextDelta(part, text, phase):
                self._text(part, phase).chunks.append(text)
            case TextSettled(part):
                self._settle(part)
            case ExtrasSeen(part):
                self._add_extras(event, part)
            case SearchStarted(part) | SearchCalled(part) | SearchReturned(part):
                if self._unsettled:
                    self._late_parts.add(part)
                self._add_part_event(event, part)
            case ReasoningDelta(part) | ToolCallDelta(part) | PartAdded(part):
                self._add_part_event(event, part)
            case Finished() | Failed():
                self._settle(*self._unsettled)
                self._queue.append(event)
            case _:
                self._queue.append(event)

    def ready(self) -> Iterator[Event | _Text]:
        """Take out what nothing unsettled precedes."""
        while self._queue:
            first = self._queue[0]
            if isinstance(first, _Text):
                if not first.settled:
                    return
                yield from self._take_late()
            yield self._queue.popleft()

    def _text(self, part: int, phase: Phase) -> _Text:
        found = self._unsettled.get(part)
        if found is None:
            found = self._unsettled[part] = _Text(phase)
            self._is_text[part] = True
            self._extras.pop(part, None)
            # Text follows these searches, so they stay where they were reported.
            self._queue += self._take_late()
            self._queue.append(found)
        return found

    def _settle(self, *parts: int) -> None:
        for part in parts:
            if part in self._unsettled:
                self._unsettled.pop(part).settled = True

    def _add_part_event(self, event: Event, part: int) -> None:
        self._is_text[part] = False
        events = (event, *self._extras.pop(part, ()))
        if part in self._late_parts:
            self._late += events
        else:
            self._queue += events

    def _take_late(self) -> list[Event]:
        late, self._late = self._late, []
        self._late_parts.clear()
        return late

    def _add_extras(self, event: ExtrasSeen, part: int) -> None:
        """Signatures stay with their part, unless they sign a text that is rewritten here."""
        if part not in self._is_text:
            self._extras.setdefault(part, []).append(event)
        elif not self._is_text[part]:
            self._add_part_event(event, part)


class _Segment(NamedTuple):
    """Where a written text part begins, and how positions in it moved."""

    start: int
    written: int
    place: Callable[[int], int]


class _Output:
    """Writes parts under new numbers, in the order in which they are sent."""

    def __init__(self, *, keep_citations: bool) -> None:
        self._keep_citations = keep_citations
        self._cited = False
        self._placed: list[tuple[int, int, Citation]] = []
        """A heap by the end of the span, then by the order of arrival."""
        self._order = count()
        self._unplaced: list[Citation] = []
        self._numbers: dict[str, int] = {}
        self._sources: list[Source] = []
        self._segments: list[_Segment] = []
        self._read = 0
        self._written = 0
        self._parts: dict[int, int] = {}
        self._count = 0
        self._open: int | None = None
        """The text part that is being written."""
        self._phase: Phase = ""
        self._after: list[_PartEvent] = []
        """What follows the open text part."""

    def add_citation(self, citation: Citation) -> None:
        """Keep a citation until its text is written."""
        self._cited = True
        if citation.span is None:
            self._unplaced.append(citation)
        else:
            heappush(self._placed, (citation.span.end, next(self._order), citation))

    def write_part(self, event: _PartEvent) -> Iterator[Event]:
        """Send an event of a part that is not text."""
        if self._open is not None and self._cited:
            self._after.append(event)
        else:
            yield from self._end_text()
            yield self._renumbered(event)

    def write_text(self, entry: _Text) -> Iterator[Event]:
        """Send a text part with its numbers."""
        text = "".join(entry.chunks)
        start = self._read
        self._read += len(text)
        if not text:
            return
        marked = mark(text, self._citations_in(start, self._read), self._number)
        if self._after or entry.phase != self._phase:
            yield from self._end_text()
        self._phase = entry.phase
        yield TextDelta(self._text_part(), marked.text, self._phase)
        self._segments.append(_Segment(start, self._written, marked.place))
        if self._keep_citations:
            yield from (Cited(self._moved(citation, start)) for citation in marked.citations)
        self._written += len(marked.text)

    def close(self) -> Iterator[Event]:
        """Write the list of sources, and send what waited for it."""
        self._unplaced += (replace(citation, span=None) for _, _, citation in sorted(self._placed))
        for citation in self._unplaced:
            for item in citation.evidence:
                self._number(item.source)
        if self._sources:
            lines = render_sources(self._sources)
            part = self._text_part()
            yield TextDelta(part, f"\n\n{lines}" if self._written else lines, self._phase)
        if self._keep_citations:
            yield from map(Cited, self._unplaced)
        yield from self._end_text()

    def _citations_in(self, start: int, end: int) -> list[Citation]:
        """The citations whose spans end in this text, with spans counted from its beginning."""
        found: list[Citation] = []
        while self._placed and self._placed[0][0] <= end:
            _, _, citation = heappop(self._placed)
            span = citation.span
            if span is None or (span.end <= start and start):  # its text is sent already
                self._unplaced.append(replace(citation, span=None))
            else:
                found.append(replace(citation, span=Span(span.start - start, span.end - start)))
        return found

    def _moved(self, citation: Citation, start: int) -> Citation:
        if citation.span is None:
            return citation
        begin, end = citation.span
        if begin >= 0:
            return replace(citation, span=Span(begin + self._written, end + self._written))
        # The claim began in an earlier text part.
        index = bisect_right(self._segments, begin + start, key=lambda segment: segment.start) - 1
        segment = self._segments[index]
        first = segment.written + segment.place(begin + start - segment.start)
        return replace(citation, span=Span(first, end + self._written))

    def _number(self, source: Source) -> int:
        key = source_key(source)
        if key not in self._numbers:
            self._sources.append(source)
            self._numbers[key] = len(self._sources)
        return self._numbers[key]

    def _text_part(self) -> int:
        if self._open is None:
            self._open = self._new_part()
        return self._open

    def _end_text(self) -> Iterator[Event]:
        if self._open is not None:
            yield TextSettled(self._open)
            self._open = None
        yield from map(self._renumbered, self._after)
        self._after.clear()

    def _renumbered(self, event: _PartEvent) -> Event:
        if event.part not in self._parts:
            self._parts[event.part] = self._new_part()
        return replace(event, part=self._parts[event.part])

    def _new_part(self) -> int:
        self._count += 1
        return self._count - 1
