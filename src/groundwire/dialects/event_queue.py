"""Event queue of a stream decoder: what is decoded, until it is returned.

The readers of a decoder's parts refer to the queue and not to the decoder. So a decoder is in no reference
cycle, and its memory is free as soon as its stream has ended.
"""

from __future__ import annotations

from groundwire.dialects.source_audit import (
    CONTENT_EVENTS,
    EMPTY_ANSWER,
    SourceAudit,
    expects_content,
    has_content,
)
from groundwire.dialects.text_buffer import TextBuffer
from groundwire.model import Cited, Event, Failed, Finished, TextDelta
from groundwire.model.answer import CITATIONS_CUT
from groundwire.model.source import MAX_EVIDENCE

TERMINAL = (Finished, Failed)


class EventQueue:
    """Queue of events with exactly one terminal event, after which nothing is queued."""

    __slots__ = (
        *("_evidence_left", "_is_empty", "_needs_content", "_parts"),
        *("audit", "events", "has_ended", "text_buffer"),
    )

    def __init__(self, *, needs_content: bool) -> None:
        self._needs_content = needs_content
        self._is_empty = True
        self._parts = 0
        self._evidence_left = MAX_EVIDENCE
        self.audit = SourceAudit()
        self.events: list[Event] = []
        self.has_ended = False
        self.text_buffer = TextBuffer()

    def emit(self, event: Event) -> None:
        """Queue an event; events after a terminal one are dropped."""
        if self.has_ended:
            return
        if type(event) is TextDelta:
            self.text_buffer.add(event.part, event.text)
        elif isinstance(event, CONTENT_EVENTS):
            if self._is_empty:
                self._is_empty = not has_content(event)
            self.audit.add_event(event)
            if isinstance(event, Cited):
                self._cite(event)
                return
        elif isinstance(event, TERMINAL):
            self.has_ended = True
            self._warn(event)
        self.events.append(event)

    def emit_text(self, part: int, text: str) -> None:
        """Queue a text delta: the fast form of `emit`."""
        if not self.has_ended:
            self.text_buffer.add(part, text)
            self.events.append(TextDelta(part, text))

    def next_part(self) -> int:
        """Return the number of a new part."""
        self._parts += 1
        return self._parts - 1

    def reserve_parts(self, count: int) -> None:
        """Let `next_part` go on after so many parts."""
        self._parts = count

    def take(self) -> list[Event]:
        """Return the events, and empty the queue."""
        events, self.events = self.events, []
        return events

    def _warn(self, end: Event) -> None:
        if isinstance(end, Finished) and (warning := self.audit.warning()):
            self.events.append(warning)
        if self._needs_content and self._is_empty and expects_content(end) and not len(self.text_buffer):
            self.events.append(EMPTY_ANSWER)

    def _cite(self, event: Cited) -> None:
        """Queue a citation; the first one beyond the limit becomes a warning, the rest are dropped."""
        if self._evidence_left < 0:
            return
        self._evidence_left -= len(event.citation.evidence)
        if self._evidence_left < 0:
            self.events.append(CITATIONS_CUT)
        else:
            self.events.append(event)
