"""One round of the tool loop: reads the model's events, and emits those that the caller sees.

Calls of our functions become search events, passage numbers in the text become citations of the claim
before them, and everything else passes. Part numbers are doubled, so that the result of a search can follow
its call immediately.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from groundwire.dialects.text_buffer import TextBuffer
from groundwire.engine.compose.answer import sources_in
from groundwire.engine.compose.sentences import split_sentences
from groundwire.engine.compose.synthesis import supporting_quote
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

_CLAIM_PADDING = " \t\n,;:.!?…。"
_NOT_EMITTED = (UsageSeen, Verbatim)


class NumberedPassages:
    """The passages of all searches, numbered from one; a passage that is found again keeps its number."""

    def __init__(self) -> None:
        self._passages: list[Passage] = []
        self._numbers: dict[tuple[str, str], int] = {}

    def __len__(self) -> int:
        return len(self._passages)

    def add(self, passages: Iterable[Passage]) -> list[tuple[int, Passage]]:
        """Add passages, and return them with their numbers."""
        numbered: list[tuple[int, Passage]] = []
        for passage in passages:
            key = (passage.url, passage.text)
            if key not in self._numbers:
                self._passages.append(passage)
                self._numbers[key] = len(self._passages)
            numbered.append((self._numbers[key], passage))
        return numbered

    def contains(self, number: int) -> bool:
        """Is there a passage with this number?"""
        return 0 < number <= len(self._passages)

    def evidence(self, numbers: Iterable[int], claim: str) -> tuple[Evidence, ...]:
        """The passages as evidence for a claim, each with the quote that supports it, if any."""
        chosen = [self._passages[number - 1] for number in numbers]
        sources: dict[str, Source] = sources_in(chosen)
        return tuple(
            Evidence(replace(sources[passage.url], state="cited"), supporting_quote(claim, passage))
            for passage in chosen
        )


class SearchToolCall:
    """A call of one of our functions while its arguments arrive."""

    __slots__ = ("_arguments", "id", "name", "part")

    def __init__(self, part: int, call_id: str, name: str) -> None:
        self.part = part
        self.id = call_id
        self.name = name
        self._arguments: list[str] = []

    def add(self, arguments: str) -> None:
        """Append to the arguments."""
        self._arguments.append(arguments)

    @property
    def arguments(self) -> str:
        """The arguments received so far."""
        return "".join(self._arguments)


class SearchRound:
    """Translates the events of one round."""

    def __init__(
        self,
        names: frozenset[str],
        passages: NumberedPassages,
        transcript: TextBuffer,
        first_part: int,
        *,
        cites: bool,
    ):
        """`names` are those of our functions; parts are numbered from `first_part` on."""
        self.received: list[Event] = []
        self.calls: list[SearchToolCall] = []
        self.client_calls: set[int] = set()
        """Parts that are calls of the client's own functions."""
        self.held: list[Event] = []
        """Events that followed a search, to be emitted after its result."""
        self.end: Finished | Failed | None = None
        self._names = names
        self._passages = passages
        self._cites = cites
        self._transcript = transcript
        self._first = first_part
        self._undecided: dict[int, list[Event]] = {}
        self._calls_by_part: dict[int, SearchToolCall] = {}
        self._decided: set[int] = set()
        self._readers: dict[int, NumberReader] = {}
        self._raw = TextBuffer()
        self._claim_ends: dict[int, int] = {}
        self._texts: set[int] = set()
        self._settled: set[int] = set()
        self._highest = -1

    @property
    def next_part(self) -> int:
        """The first part number that this round has not used."""
        return self._first + 2 * (self._highest + 1)

    def read(self, batch: Sequence[Event]) -> list[Event]:
        """The events that the caller sees now."""
        emitted: list[Event] = []
        for event in batch:
            self.received.append(event)
            if isinstance(event, Finished | Failed):
                self.end = event
            elif not isinstance(event, _NOT_EMITTED):
                emitted += self._not_held(self._translated(event))
        return emitted

    def close(self) -> list[Event]:
        """The remaining events when the model has stopped: all its text is settled."""
        emitted: list[Event] = []
        for part in sorted(self._texts - self._settled):
            emitted += self._not_held(self._settle(part))
        for events in self._undecided.values():
            emitted += self._not_held(map(self._renumbered, events))
        self._undecided.clear()
        return emitted

    def _not_held(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if self._must_wait(event):
                self.held.append(event)
            else:
                yield event

    @property
    def unknown(self) -> int:
        """The number of citations of passages that do not exist."""
        return sum(reader.unknown for reader in self._readers.values())

    def _must_wait(self, event: Event) -> bool:
        """Does the event follow a search whose result is not there yet?"""
        if not self.calls or isinstance(event, SearchStarted):
            return False
        if isinstance(event, Cited):
            return any(isinstance(item, TextDelta) for item in self.held)
        part: int | None = getattr(event, "part", None)
        return part is not None and part > self._first + 2 * self.calls[0].part

    def _translated(self, event: Event) -> Iterator[Event]:
        part: int | None = getattr(event, "part", None)
        if part is None:
            yield self._moved_citation(event) if isinstance(event, Cited) else event
            return
        self._highest = max(self._highest, part)
        if part in self._calls_by_part:
            if isinstance(event, ToolCallDelta):
                self._calls_by_part[part].add(event.arguments)
            return
        if part not in self._decided and not self._decide(part, event):
            self._undecided.setdefault(part, []).append(event)
            return
        if part in self._calls_by_part:
            self._undecided.pop(part, None)
            yield SearchStarted(self._first + 2 * part, self._calls_by_part[part].id)
            return
        yield from map(self._renumbered, self._undecided.pop(part, ()))
        yield from self._passed_on(part, event)

    def _decide(self, part: int, event: Event) -> bool:
        """Decide what the part is, if that is clear by now: a signature may precede its call."""
        if isinstance(event, ExtrasSeen):
            return False
        if isinstance(event, ToolCallDelta):
            if not event.name:
                return False
            if event.name in self._names:
                before = [item for item in self._undecided.get(part, ()) if isinstance(item, ToolCallDelta)]
                call_id = event.id or next((item.id for item in before if item.id), "")
                call = SearchToolCall(part, call_id or f"search_{self._first + 2 * part}", event.name)
                for item in (*before, event):
                    call.add(item.arguments)
                self.calls.append(call)
                self._calls_by_part[part] = call
                return True
            self.client_calls.add(part)
        self._decided.add(part)
        return True

    def _passed_on(self, part: int, event: Event) -> Iterator[Event]:
        if isinstance(event, TextDelta):
            self._texts.add(part)
        if not self._cites or not isinstance(event, TextDelta | TextSettled):
            if isinstance(event, TextDelta):
                self._transcript.add(self._first + 2 * part, event.text)
            elif isinstance(event, TextSettled):
                self._settled.add(part)
            yield self._renumbered(event)
        elif isinstance(event, TextSettled):
            yield from self._settle(part)
        else:
            self._raw.add(part, event.text)
            reader = self._readers.get(part)
            if reader is None:
                reader = self._readers[part] = NumberReader(self._passages.contains)
            yield from self._text_events(part, reader.feed(event.text), event)

    def _settle(self, part: int) -> Iterator[Event]:
        self._settled.add(part)
        if part in self._readers:
            yield from self._text_events(part, self._readers[part].close(), TextDelta(part, ""))
        yield TextSettled(self._first + 2 * part)

    def _text_events(
        self, part: int, pieces: Iterable[str | CitedNumbers], event: TextDelta
    ) -> Iterator[Event]:
        number = self._first + 2 * part
        for piece in pieces:
            if isinstance(piece, CitedNumbers):
                yield from self._cited(number, piece.known)
            else:
                self._transcript.add(number, piece)
                yield replace(event, part=number, text=piece)

    def _cited(self, part: int, numbers: tuple[int, ...]) -> Iterator[Event]:
        text = self._transcript.text(part)
        span = claim_before(text, self._claim_ends.get(part, 0))
        self._claim_ends[part] = len(text)
        if span is not None:
            start = self._transcript.start(part)
            evidence = self._passages.evidence(numbers, text[span.start : span.end])
            yield Cited(Citation(Span(span.start + start, span.end + start), evidence))

    def _renumbered(self, event: Event) -> Event:
        """The event with the part number of the whole turn."""
        part: int | None = getattr(event, "part", None)
        return event if part is None else replace(event, part=self._first + 2 * part)

    def _moved_citation(self, event: Cited) -> Event:
        """A citation by the provider itself, with its span in the emitted text."""
        span = event.citation.span
        if span is None:
            return event
        return Cited(
            replace(
                event.citation, span=Span(self._emitted_offset(span.start), self._emitted_offset(span.end))
            )
        )

    def _emitted_offset(self, offset: int) -> int:
        parts = sorted(self._readers)
        part = next((part for part in reversed(parts) if self._raw.start(part) <= offset), None)
        if part is None:
            return offset
        inside = self._readers[part].map_offset(offset - self._raw.start(part))
        return self._transcript.start(self._first + 2 * part) + inside


def claim_before(text: str, previous: int) -> Span | None:
    """The claim of a citation at the end of the text: the last sentence, or its part after `previous`."""
    line = text.rfind("\n", 0, len(text.rstrip())) + 1
    start = max(previous, line)
    if not text[start:].strip(_CLAIM_PADDING):
        start = line
    sentences = [piece for piece in split_sentences(text[start:]) if piece.kind not in ("bullet", "rule")]
    if sentences:
        start += sentences[-1].start
    end = len(text.rstrip())
    start += len(text[start:end]) - len(text[start:end].lstrip(_CLAIM_PADDING))
    return Span(start, end) if start < end else None


def is_new_event(event: Event, number: int, warned: set[Event]) -> bool:
    """Is this event new, rather than a repetition from an earlier round?"""
    if isinstance(event, Started):
        return number == 0
    if isinstance(event, Warned):
        if event in warned:
            return False
        warned.add(event)
    return True
