"""Live renderer: writes an answer to a terminal while it arrives, and shows progress in a status line.

Text is written as it arrives. Numbers that arrive with their claim (Anthropic, OpenAI) are written at once.
Text from a link on waits for the next event, because the citation that replaces the link by a number follows
it immediately. Numbers that arrive at the end (Gemini, Chat) cannot be inserted into written lines: if all
lines are still on the screen, the answer is written again; if not, the lines stay, and the list of sources
quotes the claims of each source.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from groundwire.faces.cli.console import DIM, Console, styled
from groundwire.faces.cli.style import LineWriter, Run, Styler, shorten
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    ExtrasSeen,
    Finished,
    SearchCall,
    SearchCalled,
    SearchStarted,
    TextDelta,
    TextSettled,
)
from groundwire.model.value import replace
from groundwire.text.annotate import (
    NumberWriter,
    Placeholders,
    StreamAnnotator,
    annotate_numbers,
    paragraph_breaks,
    unfinished_marker,
)
from groundwire.text.lazy_pattern import lazy_pattern
from groundwire.text.links import find_markdown_links
from groundwire.text.markdown import is_plain_text_part
from groundwire.text.sanitise import one_line
from groundwire.text.sources import SourceNumberer, number_answer

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES = "-\\|/"
_PERIOD = 0.12
_SHOW_TIME_AFTER = 3
"""Seconds before the elapsed time is shown."""

_DRAW_INTERVAL = 0.1
_NOTE_INTERVAL = 2.0
_LONGEST_NOTE_INTERVAL = 60.0


class Status:
    """The status line. A terminal that cannot overwrite lines gets each text once."""

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
        """Replace the text of the status line."""
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
        """Remove the status line."""
        self._text = ""
        if self._drawn:
            self._drawn = False
            self._console.write_note("\r\x1b[2K")

    @asynccontextmanager
    async def spinning(self) -> AsyncGenerator[None, None]:
        """Animate the status line for the duration of the block, then remove it."""
        task = asyncio.create_task(self.spin())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            self.clear()

    async def spin(self) -> None:
        """Animate the status line until cancelled."""
        while self._console.notes_live:
            await asyncio.sleep(_PERIOD)
            self._frame += 1
            if self._text:
                self._draw()

    def _draw(self) -> None:
        seconds = int(self._clock() - self._since)
        elapsed = f" ({seconds} s)" if seconds >= _SHOW_TIME_AFTER else ""
        columns, _ = self._console.size()
        frame = self._frames[self._frame % len(self._frames)]
        line = f"{frame} {shorten(self._text, columns - 16)}{elapsed}"
        self._drawn = True
        self._console.write_note("\r\x1b[2K" + (styled(line, DIM) if self._console.notes_colored else line))


def describe(event: Event) -> str:
    """What a searching provider is doing; empty for events that do not say it."""
    if isinstance(event, SearchStarted):
        return "Searching…"
    if isinstance(event, SearchCalled):
        call = event.call
        if call.kind == "search":
            return f"Searching: {' · '.join(call.queries)}" if call.queries else "Searching…"
        return f"Reading: {call.url}" if call.url else "Reading a page…"
    return ""


MAX_WIDTH = 100
"""Columns; longer lines are hard to read."""

_LONGEST_WAIT = 600
_LINK_BEGUN = lazy_pattern(r"\(?\[[^\[\]\n]{0,400}(?:\](?:\((?:[^\s()]|\([^\s()]*\))*\)?)?)?$")


class ProgressLine:
    """The progress of long work: a status line on a terminal; elsewhere lines, at first after two seconds,
    then after twice as long each time, up to a minute."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._clock = clock
        self.status = Status(console, clock)
        self._shown = clock()
        self._note_interval = _NOTE_INTERVAL

    def show(self, text: str, *, brief: str = "") -> None:
        """Show the progress; where lines stay, as the `brief` text if there is one."""
        is_live = self._console.notes_live
        if self._clock() - self._shown < (_DRAW_INTERVAL if is_live else self._note_interval):
            return
        self._shown = self._clock()
        if is_live:
            self.status.show(text)
        else:
            self._note_interval = min(2 * self._note_interval, _LONGEST_NOTE_INTERVAL)
            self._console.note(one_line(brief or text))

    def clear(self) -> None:
        """Remove the line."""
        self.status.clear()


class LiveRenderer:
    """Writes an answer while it arrives."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._status = status
        self._size = console.size()
        self._styler = Styler(colored=console.colored, linked=console.linked)
        self._lines = self._line_writer()
        self._written: list[Run] = []
        self._numberer = SourceNumberer()
        self._annotator = StreamAnnotator(join=True, strip=True)
        self._tail = ""
        """Text that is not written yet."""
        self._late: list[Citation] = []
        self._last: TextDelta | None = None

    def feed(self, event: Event) -> None:
        """Write what an event adds."""
        match event:
            case TextDelta():
                self._begin_text(event)
                self._release(self._stable_length())
                self._tail += event.text
                self._release(_before_links(self._tail, self._stable_length()))
            case Cited(citation):
                if self._annotator.add(citation):
                    # More may follow for the same position: numbers are written with the next word.
                    self._numberer.add(citation)
                else:
                    self._late.append(citation)
            case TextSettled() | Finished():
                self._release(len(self._tail))
            case ExtrasSeen(extras=extras) if is_plain_text_part(extras):
                self._styler = replace(self._styler, is_plain=True)
            case _:
                self._show(describe(event))

    def finish(self, answer: Answer) -> SourceNumberer:
        """Write the rest, or everything again if numbers are missing and can still be inserted.

        Returns the numbers of the sources as they are on the screen now.
        """
        self._status.clear()
        self._release(len(self._tail))
        self._lines.close()
        numberer, runs = self.whole(answer)
        if _visible(runs) != _visible(self._written):
            if not self._is_on_screen():
                return self._with_late() if self._numberer.sources else numberer
            above = f"\x1b[{self._lines.rows}A" if self._lines.rows else ""
            self._console.write(f"{above}\r\x1b[J")
            self._lines = self._line_writer()
            self._lines.feed(runs)
            self._lines.close()
            self._late.clear()
        return numberer

    def end(self, *, blank_line: bool) -> None:
        """Move the cursor to a new line, optionally after a blank one."""
        if blank_line:
            self._lines.blank()
        else:
            self._lines.end_line()

    @property
    def unplaced(self) -> list[Citation]:
        """Citations whose numbers are not in the written text."""
        return self._late

    def whole(self, answer: Answer) -> tuple[SourceNumberer, list[Run]]:
        """A complete answer with all its numbers, in the order in which they were cited."""
        numberer = SourceNumberer()
        for citation in answer.citations:
            numberer.add(citation)
        if not numberer.sources:
            numberer.sources.extend(number_answer(answer).sources)
        placeholders = Placeholders(answer.text)
        writer = NumberWriter(numberer.number, placeholders)
        breaks = paragraph_breaks(answer, after=(SearchCall,))
        text = annotate_numbers(answer.text, answer.citations, writer, breaks, strip=True).text
        return numberer, self._styler.runs(text.strip(), numberer.urls, placeholders=placeholders)

    def _with_late(self) -> SourceNumberer:
        """The numbers on the screen, followed by those of citations that could not be written."""
        for citation in self._late:
            self._numberer.add(citation)
        return self._numberer

    def _begin_text(self, event: TextDelta) -> None:
        self._status.clear()
        if self._last is not None and self._last.phase != event.phase:
            self._end_paragraph()
        self._last = event

    def _show(self, doing: str) -> None:
        if doing:
            self._end_paragraph()
            self._status.show(doing)

    def _end_paragraph(self) -> None:
        """Begin a new paragraph; the status line needs a line of its own, too."""
        self._release(len(self._tail))
        if self._written:
            self._written.append(Run("\n\n"))
            self._lines.blank()
            self._annotator.end_paragraph()

    def _release(self, length: int) -> None:
        """Write so much of the tail, with the numbers of the citations that end in it."""
        if not length and not self._annotator.pending():
            return
        text, self._tail = self._tail[:length], self._tail[length:]
        placeholders = Placeholders(text)
        chunk = self._annotator.write(text, NumberWriter(self._numberer.number, placeholders))
        runs = self._styler.runs(
            chunk.text,
            self._numberer.urls,
            at_line_start=self._lines.at_line_start,
            placeholders=placeholders,
        )
        self._written += runs
        self._lines.feed(runs)

    def _stable_length(self) -> int:
        """How much of the tail looks the same whatever follows."""
        text = self._tail
        line = text.rfind("\n") + 1
        last = text[line:]
        begun = _LINK_BEGUN.search(text)
        offsets = [unfinished_marker(text), *((begun.start(),) if begun else ())]
        if (line or self._lines.at_line_start) and last.startswith("#"):
            offsets.append(line)
        offsets += (text.rindex(markup) for markup in ("**", "`") if last.count(markup) % 2)
        if (len(text) - len(text.rstrip("*"))) % 2:
            offsets.append(len(text) - 1)
        stable = min(offsets)
        return stable if len(text) - stable <= _LONGEST_WAIT else len(text)

    def _line_writer(self) -> LineWriter:
        return LineWriter(min(self._size[0], MAX_WIDTH), self._console.write)

    def _is_on_screen(self) -> bool:
        return self._console.size() == self._size and self._lines.rows < self._size[1] - 1


def _before_links(text: str, end: int) -> int:
    """The offset of the first link of a text, or an end before it."""
    return min(end, *(link.span.start for link in find_markdown_links(text)), len(text))


def _visible(runs: list[Run]) -> str:
    """The text of runs, without regard to the number of empty lines."""
    return re.sub(r"\s*\n\s*", "\n", "".join(run.text for run in runs)).strip()
