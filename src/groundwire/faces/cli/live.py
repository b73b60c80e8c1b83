"""An answer on a terminal, word by word, with its numbers.

Words are written as they come. Numbers that come with their claim (Anthropic, OpenAI) are written at once,
in the order in which they appear. Words from a link on wait for the next event, for the citation that turns
the link into a number follows at once. Numbers that come when all is said (Gemini, Chat) cannot be
put into lines already written: if these are all still on the screen, they are written again as they should;
if not, they stay, and the list of sources quotes what each source is cited for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.faces.cli.console import Console
from groundwire.faces.cli.ink import Ink, Run
from groundwire.faces.cli.marked import mark, paragraph_breaks
from groundwire.faces.cli.paper import Paper
from groundwire.faces.cli.status import Status, describe
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    ExtrasSeen,
    Finished,
    Source,
    Span,
    TextDelta,
    TextSettled,
)
from groundwire.model.value import replace
from groundwire.text.links import find_markdown_links
from groundwire.text.plain import is_plain_part
from groundwire.text.sources import number_answer, source_key

MEASURE = 100
"""Longer lines are hard to read."""

_LONGEST_WAIT = 600
_LINK_BEGUN = re.compile(r"\(?\[[^\[\]\n]{0,400}(?:\](?:\((?:[^\s()]|\([^\s()]*\))*\)?)?)?$")
_FOREIGN_AT_END = re.compile("[\ue200【][^】\ue201\n]{0,200}$")


class Order:
    """Numbers sources in the order in which they are asked for."""

    def __init__(self) -> None:
        self.sources: list[Source] = []
        self._numbers: dict[str, int] = {}

    def number(self, source: Source) -> int:
        """The number of a source; a new one if it has none."""
        key = source_key(source)
        if key not in self._numbers:
            self.sources.append(source)
            self._numbers[key] = len(self.sources)
        return self._numbers[key]

    def take(self, citation: Citation) -> None:
        """Number the sources of a citation."""
        for item in citation.evidence:
            self.number(item.source)

    @property
    def addresses(self) -> dict[int, str]:
        """Where each number leads."""
        return {number: source.url for number, source in enumerate(self.sources, 1)}


class Live:
    """Writes an answer while it comes."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._status = status
        self._size = console.size()
        self._ink = Ink(colored=console.colored, linked=console.linked)
        self._paper = self._new_paper()
        self._written: list[Run] = []
        self._order = Order()
        self._tail = ""
        self._base = 0
        self._waiting: list[Citation] = []
        self._late: list[Citation] = []
        self._last: TextDelta | None = None
        self._broken = False
        """Has the line been ended after the last word?"""

    def feed(self, event: Event) -> None:
        """Write what an event tells."""
        match event:
            case TextDelta():
                self._begin_paragraph(event)
                self._release(_settled(self._tail, fresh=self._paper.fresh))
                self._tail += event.text
                self._release(_before_links(self._tail, _settled(self._tail, fresh=self._paper.fresh)))
            case Cited(citation):
                self._cite(citation)
            case TextSettled() | Finished():
                self._release(len(self._tail))
            case ExtrasSeen(extras=extras) if is_plain_part(extras):
                self._ink = replace(self._ink, is_plain=True)
            case _:
                self._show(describe(event))

    def finish(self, answer: Answer) -> Order:
        """Write what waits, and all of it again if numbers are missing and can still be put in.

        The result is how the sources of what stands there now are numbered.
        """
        self._status.clear()
        self._release(len(self._tail))
        self._paper.close()
        order, runs = self.whole(answer)
        if _visible(runs) != _visible(self._written):
            if not self._is_on_screen():
                return self._order_of_late() if self._order.sources else order
            above = f"\x1b[{self._paper.rows}A" if self._paper.rows else ""
            self._console.write(f"{above}\r\x1b[J")
            self._paper = self._new_paper()
            self._paper.feed(runs)
            self._paper.close()
            self._late.clear()
        return order

    def _order_of_late(self) -> Order:
        """The numbers that stand there, and then the others."""
        for citation in self._late:
            self._order.take(citation)
        return self._order

    def end(self, *, apart: bool) -> None:
        """Leave the cursor on a line of its own; `apart` with an empty line before it."""
        if apart:
            self._paper.blank()
        else:
            self._paper.end_line()

    @property
    def unplaced(self) -> list[Citation]:
        """Citations whose numbers stand nowhere in what was written."""
        return self._late

    def whole(self, answer: Answer) -> tuple[Order, list[Run]]:
        """An answer with all its numbers, in the order in which they appear."""
        order = Order()
        for citation in answer.citations:
            order.take(citation)
        if not order.sources:
            order.sources.extend(number_answer(answer).sources)
        text = mark(answer.text, answer.citations, order.number, paragraph_breaks(answer))
        return order, self._ink.runs(text.strip(), order.addresses)

    def _begin_paragraph(self, event: TextDelta) -> None:
        self._status.clear()
        if self._last is not None and self._last.phase != event.phase:
            self._break()
        self._last = event

    def _show(self, doing: str) -> None:
        if doing:
            self._break()
            self._status.show(doing)

    def _break(self) -> None:
        """A new paragraph; the status line, too, needs a line of its own."""
        self._release(len(self._tail))
        if self._written:
            self._written.append(Run("\n\n"))
            self._paper.blank()
            self._broken = True

    def _cite(self, citation: Citation) -> None:
        span = citation.span
        start = None if span is None else span.start if citation.anchor == "marker" else span.end
        if start is None or start < self._base + self._broken:
            self._late.append(citation)
            return
        # Others may follow for the same place: numbers are written with the next word.
        self._waiting.append(citation)

    def _release(self, length: int) -> None:
        """Write so much of what waits, and the numbers in it."""
        if not length and not self._waiting:
            return
        end = self._base + length
        ready = [item for item in self._waiting if item.span is not None and item.span.end <= end]
        self._waiting = [item for item in self._waiting if item not in ready]
        text = mark(self._tail[:length], self._shifted(ready), self._order.number)
        runs = self._ink.runs(text, self._order.addresses, fresh=self._paper.fresh)
        self._tail = self._tail[length:]
        self._base = end
        self._broken = self._broken and not length
        self._written += runs
        self._paper.feed(runs)

    def _shifted(self, citations: list[Citation]) -> Iterator[Citation]:
        """The same, counted from the first word that is not yet written."""
        for citation in citations:
            if citation.span is not None:
                start, end = citation.span
                yield replace(citation, span=Span(max(start - self._base, 0), end - self._base))

    def _new_paper(self) -> Paper:
        return Paper(min(self._size[0], MEASURE), self._console.write)

    def _is_on_screen(self) -> bool:
        return self._console.size() == self._size and self._paper.rows < self._size[1] - 1


def _settled(text: str, *, fresh: bool) -> int:
    """How much of a text will look the same whatever follows."""
    line = text.rfind("\n") + 1
    last = text[line:]
    places = [match.start() for match in (_LINK_BEGUN.search(text), _FOREIGN_AT_END.search(text)) if match]
    if (line or fresh) and last.startswith("#"):
        places.append(line)
    places += (text.rindex(sign) for sign in ("**", "`") if last.count(sign) % 2)
    if (len(text) - len(text.rstrip("*"))) % 2:
        places.append(len(text) - 1)
    place = min(places, default=len(text))
    return place if len(text) - place <= _LONGEST_WAIT else len(text)


def _before_links(text: str, end: int) -> int:
    """How much of a text comes before its first link, up to an end."""
    return min(end, *(link.span.start for link in find_markdown_links(text)), len(text))


def _visible(runs: list[Run]) -> str:
    """What a reader sees, whatever the number of empty lines."""
    return re.sub(r"\s*\n\s*", "\n", "".join(run.text for run in runs)).strip()
