"""Citation rendering for clients that do not show structured citations.

`markers` writes `[n]` after each claim (instead of each marker anchor) and one list of sources at the end of
the text, and removes the citations; `both` does the same and keeps the citations, at their new positions.

A text part is held back until it is settled, because its numbers belong inside it. Adjacent text parts become
one. Searches that a provider reports after the text they served are moved before it. Once something is cited,
events after the text wait for more text or for the end, so that the list closes the last text part: some
clients print nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

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
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Verbatim,
)
from groundwire.model.parts import Phase
from groundwire.model.value import replace
from groundwire.text.annotate import NumberWriter, StreamAnnotator
from groundwire.text.markdown import render_sources
from groundwire.text.sources import SourceNumberer

Rendering: TypeAlias = Literal["structured", "markers", "both"]
RENDERINGS: tuple[Rendering, ...] = ("structured", "markers", "both")

_PartEvent: TypeAlias = (
    ReasoningDelta | ToolCallDelta | SearchStarted | SearchCalled | SearchReturned | PartAdded | ExtrasSeen
)


class UnlessVerbatim:
    """A renderer for answers that may be the provider's own bytes, which pass unchanged."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self._passing = False

    def feed(self, batch: Sequence[Event]) -> Sequence[Event]:
        """The events that can be sent now."""
        self._passing = self._passing or any(isinstance(event, Verbatim) for event in batch)
        return batch if self._passing else self._renderer.feed(batch)


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
    """Orders the events of the provider: one entry for each text part, late searches before it."""

    def __init__(self) -> None:
        self._queue: deque[Event | _Text] = deque()
        self._unsettled: dict[int, _Text] = {}
        self._late: list[Event] = []
        self._extras: dict[int, list[ExtrasSeen]] = {}
        """Extras of parts whose kind is not known yet."""
        self._is_text: dict[int, bool] = {}
        self._late_parts: set[int] = set()

    def add(self, event: Event) -> None:
        """Add an event other than a citation."""
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
        """Remove and return the entries before the first unsettled text."""
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
        """Keep extras with their part; those of text parts are dropped, because the text is rewritten."""
        if part not in self._is_text:
            self._extras.setdefault(part, []).append(event)
        elif not self._is_text[part]:
            self._add_part_event(event, part)


class _Output:
    """Writes parts under new numbers, in the order in which they are sent."""

    def __init__(self, *, keep_citations: bool) -> None:
        self._keep_citations = keep_citations
        self._cited = False
        self._numberer = SourceNumberer()
        self._annotator = StreamAnnotator()
        # A citation that is kept covers its own marker, also next to one with the same number.
        self._writer = NumberWriter(self._numberer.number, repeat=True)
        self._unplaced: list[Citation] = []
        self._parts: dict[int, int] = {}
        self._count = 0
        self._open: int | None = None
        """The text part that is being written."""
        self._phase: Phase = ""
        self._after: list[_PartEvent] = []
        """Events after the open text part."""

    def add_citation(self, citation: Citation) -> None:
        """Queue a citation until its text is written."""
        self._cited = True
        if not self._annotator.add(citation):
            self._unplaced.append(replace(citation, span=None))

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
        if not text:
            return
        chunk = self._annotator.write(text, self._writer)
        if self._after or entry.phase != self._phase:
            yield from self._end_text()
        self._phase = entry.phase
        yield TextDelta(self._text_part(), chunk.text, self._phase)
        if self._keep_citations:
            yield from map(Cited, chunk.citations)

    def close(self) -> Iterator[Event]:
        """Write the list of sources, and send the events that waited for it."""
        self._unplaced += (replace(citation, span=None) for citation in self._annotator.pending())
        for citation in self._unplaced:
            self._numberer.add(citation)
        if self._numberer.sources:
            lines = render_sources(self._numberer.sources)
            part = self._text_part()
            yield TextDelta(part, f"\n\n{lines}" if self._annotator.length else lines, self._phase)
        if self._keep_citations:
            yield from map(Cited, self._unplaced)
        yield from self._end_text()

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
