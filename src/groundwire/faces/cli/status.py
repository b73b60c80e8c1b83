"""One line on standard error that says what is going on, and leaves no trace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from groundwire.faces.cli.console import DIM, Console, styled
from groundwire.faces.cli.paper import shortened
from groundwire.model import Event, SearchCalled, SearchStarted
from groundwire.text.sanitise import one_line

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES = "-\\|/"
_PERIOD = 0.12
_PATIENCE = 3
"""Seconds before the line says how long it has been."""


class Status:
    """The line. On a terminal that cannot take lines back, what would stand there is said once."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._clock = clock
        self._text = ""
        self._since = clock()
        self._frame = 0
        self._drawn = False
        encoding = (console.stderr.encoding or "").lower().replace("-", "")
        self._frames = _FRAMES if encoding == "utf8" else _PLAIN_FRAMES

    def show(self, text: str) -> None:
        """Say something, in the place of what was said before."""
        text = one_line(text)
        if text == self._text:
            return
        self._text = text
        self._since = self._clock()
        if self._console.notes_live:
            self._draw()
        elif self._console.stderr.isatty():
            self._console.note(text)

    def clear(self) -> None:
        """Say nothing."""
        self._text = ""
        if self._drawn:
            self._drawn = False
            self._console.write_note("\r\x1b[2K")

    async def spin(self) -> None:
        """Show that time passes; runs until it is cancelled."""
        while self._console.notes_live:
            await asyncio.sleep(_PERIOD)
            self._frame += 1
            if self._text:
                self._draw()

    def _draw(self) -> None:
        seconds = int(self._clock() - self._since)
        passed = f" ({seconds} s)" if seconds >= _PATIENCE else ""
        columns, _ = self._console.size()
        sign = self._frames[self._frame % len(self._frames)]
        line = f"{sign} {shortened(self._text, columns - 16)}{passed}"
        self._drawn = True
        self._console.write_note("\r\x1b[2K" + (styled(line, DIM) if self._console.notes_colored else line))


def describe(event: Event) -> str:
    """What a searching provider is doing; empty for any other event."""
    if isinstance(event, SearchStarted):
        return "Searching the web…"
    if isinstance(event, SearchCalled):
        call = event.call
        if call.kind == "search":
            return f"Searching: {' · '.join(call.queries)}" if call.queries else "Searching the web…"
        return f"Reading: {call.url}" if call.url else "Reading a page…"
    return ""
