"""Who is told the events that steps mean."""

from __future__ import annotations

from typing import Protocol

from groundwire.dialects.text_buffer import TextBuffer
from groundwire.model import Event, TextDelta


class Teller(Protocol):
    """Who is told the events; a stream decoder is one."""

    text_buffer: TextBuffer

    def emit(self, event: Event) -> None: ...

    def next_part(self) -> int: ...


class Notes:
    """A teller that just keeps the events."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.text_buffer = TextBuffer()
        self._parts = 0

    def emit(self, event: Event) -> None:
        """Keep an event."""
        if isinstance(event, TextDelta):
            self.text_buffer.add(event.part, event.text)
        self.events.append(event)

    def next_part(self) -> int:
        """A number for a new part."""
        self._parts += 1
        return self._parts - 1
