"""One round of a turn in which we search for the model: what it said, and what of it the caller is told.

The model's searches become searches of the answer, its numbers become citations of the claims before them,
and whatever else it says passes. Each number of a part is doubled: the result of a search stands right
behind its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from groundwire.dialects.text_buffer import TextBuffer
from groundwire.engine.compose.answer import sources_in
from groundwire.engine.compose.sentences import split_sentences
from groundwire.engine.compose.writing import supporting_quote
from groundwire.engine.pages import Passage
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Failed,
    Finished,
    SearchStarted,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    UsageSeen,
    Verbatim,
    Warned,
)
from groundwire.model.value import replace
from groundwire.text.annotate import CitedNumbers, NumberReader

_SLACK = " \t\n,;:.!?…。"
_UNSAID = (UsageSeen, Verbatim)


class Shelf:
    """The passages of all searches, numbered from one; what is found again keeps its number."""

    def __init__(self) -> None:
        self._passages: list[Passage] = []
        self._numbers: dict[tuple[str, str], int] = {}

    def __len__(self) -> int:
        return len(self._passages)

    def add(self, passages: Iterable[Passage]) -> list[tuple[int, Passage]]:
        """Put passages there, and say their numbers."""
        numbered: list[tuple[int, Passage]] = []
        for passage in passages:
            key = (passage.url, passage.text)
            if key not in self._numbers:
                self._passages.append(passage)
                self._numbers[key] = len(self._passages)
            numbered.append((self._numbers[key], passage))
        return numbered

    def holds(self, number: int) -> bool:
        """Is there a passage of that number?"""
        return 0 < number <= len(self._passages)

    def evidence(self, numbers: Iterable[int], claim: str) -> tuple[Evidence, ...]:
        """The passages behind a claim; quoted is what bears it out, or nothing."""
        chosen = [self._passages[number - 1] for number in numbers]
        sources: dict[str, Source] = sources_in(chosen)
        return tuple(
            Evidence(replace(sources[passage.url], state="cited"), supporting_quote(claim, passage))
            for passage in chosen
        )


class OwnCall:
    """A call of the search while it comes in."""

    __slots__ = ("_arguments", "id", "part")

    def __init__(self, part: int, call_id: str) -> None:
        self.part = part
        self.id = call_id
        self._arguments: list[str] = []

    def add(self, arguments: str) -> None:
        """More of its arguments."""
        self._arguments.append(arguments)

    @property
    def arguments(self) -> str:
        """As far as they have come."""
        return "".join(self._arguments)


class Round:
    """Reads the events of one round."""

    def __init__(self, name: str, shelf: Shelf, transcript: TextBuffer, first_part: int, *, cites: bool):
        """`name` is that of the search function; parts are numbered from `first_part` on."""
        self.said: list[Event] = []
        self.calls: list[OwnCall] = []
        self.clients: set[int] = set()
        """Parts that are calls of the client's own functions."""
        self.held: list[Event] = []
        """What followed a search, and is told after its result."""
        self.end: Finished | Failed | None = None
        self._name = name
        self._shelf = shelf
        self._cites = cites
        self._transcript = transcript
        self._first = first_part
        self._waiting: dict[int, list[Event]] = {}
        self._own: dict[int, OwnCall] = {}
        self._seen: set[int] = set()
        self._readers: dict[int, NumberReader] = {}
        self._raw = TextBuffer()
        self._marked: dict[int, int] = {}
        self._texts: set[int] = set()
        self._settled: set[int] = set()
        self._highest = -1

    @property
    def next_part(self) -> int:
        """The first number that this round has not used."""
        return self._first + 2 * (self._highest + 1)

    def read(self, batch: Sequence[Event]) -> list[Event]:
        """What the caller is told of these events now."""
        told: list[Event] = []
        for event in batch:
            self.said.append(event)
            if isinstance(event, Finished | Failed):
                self.end = event
            elif not isinstance(event, _UNSAID):
                told += self._now(self._shown(event))
        return told

    def close(self) -> list[Event]:
        """What is left to tell when the model has stopped: all its words are settled."""
        told: list[Event] = []
        for part in sorted(self._texts - self._settled):
            told += self._now(self._settle(part))
        for events in self._waiting.values():
            told += self._now(map(self._moved, events))
        self._waiting.clear()
        return told

    def _now(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if self._waits(event):
                self.held.append(event)
            else:
                yield event

    @property
    def unknown(self) -> int:
        """How many numbers were cited that nobody gave the model."""
        return sum(reader.unknown for reader in self._readers.values())

    def _waits(self, event: Event) -> bool:
        """Does it belong behind a search whose result is not there yet?"""
        if not self.calls or isinstance(event, SearchStarted):
            return False
        if isinstance(event, Cited):
            return any(isinstance(item, TextDelta) for item in self.held)
        part: int | None = getattr(event, "part", None)
        return part is not None and part > self._first + 2 * self.calls[0].part

    def _shown(self, event: Event) -> Iterator[Event]:
        part: int | None = getattr(event, "part", None)
        if part is None:
            yield self._replaced(event) if isinstance(event, Cited) else event
            return
        self._highest = max(self._highest, part)
        if part in self._own:
            if isinstance(event, ToolCallDelta):
                self._own[part].add(event.arguments)
            return
        if part not in self._seen and not self._recognised(part, event):
            self._waiting.setdefault(part, []).append(event)
            return
        if part in self._own:
            self._waiting.pop(part, None)
            yield SearchStarted(self._first + 2 * part, self._own[part].id)
            return
        yield from map(self._moved, self._waiting.pop(part, ()))
        yield from self._passed(part, event)

    def _recognised(self, part: int, event: Event) -> bool:
        """Is it clear by now what the part is? A signature may come before the call it belongs to."""
        if isinstance(event, ExtrasSeen):
            return False
        if isinstance(event, ToolCallDelta):
            if not event.name:
                return False
            if event.name == self._name:
                before = [item for item in self._waiting.get(part, ()) if isinstance(item, ToolCallDelta)]
                named = event.id or next((item.id for item in before if item.id), "")
                call = OwnCall(part, named or f"search_{self._first + 2 * part}")
                for item in (*before, event):
                    call.add(item.arguments)
                self.calls.append(call)
                self._own[part] = call
                return True
            self.clients.add(part)
        self._seen.add(part)
        return True

    def _passed(self, part: int, event: Event) -> Iterator[Event]:
        if isinstance(event, TextDelta):
            self._texts.add(part)
        if not self._cites or not isinstance(event, TextDelta | TextSettled):
            if isinstance(event, TextDelta):
                self._transcript.add(self._first + 2 * part, event.text)
            elif isinstance(event, TextSettled):
                self._settled.add(part)
            yield self._moved(event)
        elif isinstance(event, TextSettled):
            yield from self._settle(part)
        else:
            self._raw.add(part, event.text)
            reader = self._readers.get(part)
            if reader is None:
                reader = self._readers[part] = NumberReader(self._shelf.holds)
            yield from self._words(part, reader.feed(event.text), event)

    def _settle(self, part: int) -> Iterator[Event]:
        self._settled.add(part)
        if part in self._readers:
            yield from self._words(part, self._readers[part].close(), TextDelta(part, ""))
        yield TextSettled(self._first + 2 * part)

    def _words(self, part: int, pieces: Iterable[str | CitedNumbers], event: TextDelta) -> Iterator[Event]:
        told = self._first + 2 * part
        for piece in pieces:
            if isinstance(piece, CitedNumbers):
                yield from self._cited(told, piece.known)
            else:
                self._transcript.add(told, piece)
                yield replace(event, part=told, text=piece)

    def _cited(self, part: int, numbers: tuple[int, ...]) -> Iterator[Event]:
        text = self._transcript.text(part)
        span = claim_before(text, self._marked.get(part, 0))
        self._marked[part] = len(text)
        if span is not None:
            start = self._transcript.start(part)
            evidence = self._shelf.evidence(numbers, text[span.start : span.end])
            yield Cited(Citation(Span(span.start + start, span.end + start), evidence))

    def _moved(self, event: Event) -> Event:
        """The event under the number that its part has in the whole turn."""
        part: int | None = getattr(event, "part", None)
        return event if part is None else replace(event, part=self._first + 2 * part)

    def _replaced(self, event: Cited) -> Event:
        """A citation of the model's own, where its words went to."""
        span = event.citation.span
        if span is None:
            return event
        return Cited(replace(event.citation, span=Span(self._place(span.start), self._place(span.end))))

    def _place(self, offset: int) -> int:
        parts = sorted(self._readers)
        part = next((part for part in reversed(parts) if self._raw.start(part) <= offset), None)
        if part is None:
            return offset
        inside = self._readers[part].map_offset(offset - self._raw.start(part))
        return self._transcript.start(self._first + 2 * part) + inside


def claim_before(text: str, previous: int) -> Span | None:
    """What a citation at the end of the text speaks for: the sentence, or what of it is new."""
    line = text.rfind("\n", 0, len(text.rstrip())) + 1
    start = max(previous, line)
    if not text[start:].strip(_SLACK):
        start = line
    sentences = [piece for piece in split_sentences(text[start:]) if piece.kind not in ("bullet", "rule")]
    if sentences:
        start += sentences[-1].start
    end = len(text.rstrip())
    start += len(text[start:end]) - len(text[start:end].lstrip(_SLACK))
    return Span(start, end) if start < end else None


def first_told(event: Event, number: int, warned: set[Event]) -> bool:
    """Is this no repetition of what an earlier round said already?"""
    if isinstance(event, Started):
        return number == 0
    if isinstance(event, Warned):
        if event in warned:
            return False
        warned.add(event)
    return True
