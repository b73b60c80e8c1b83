"""Text while it comes in, and the moment when a citation of it may be told.

Annotations lag behind or run ahead of the text, and are repeated by every `done` event. A citation is told
once, as soon as its place is certain: at once if the text is there and bears it out, else when the part is
complete. Parts settle in their order, so that the place of each in the whole answer is known.

The Codex backend searches and links its sources without annotating anything. An answer with a search and no
annotation at all is cited by its links; until that is certain, a part with links is not settled.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from groundwire.dialects.base import StreamDecoder
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json
from groundwire.dialects.openai_responses.citations import (
    Annotation,
    Key,
    anchor_of,
    decode_annotation,
    derive,
    derive_numbers,
    is_misplaced,
    place,
    place_early,
)
from groundwire.dialects.openai_responses.parts import part_extras
from groundwire.dialects.openai_responses.wire import NAME
from groundwire.model import (
    NO_EXTRAS,
    Citation,
    Cited,
    Extras,
    ExtrasSeen,
    Json,
    Source,
    Span,
    TextDelta,
    TextSettled,
    Warned,
)
from groundwire.model.parts import Phase
from groundwire.model.source import MAX_EVIDENCE
from groundwire.text.annotate import MarkerStripper
from groundwire.text.spans import LinkLocator


class _Pending:
    """Annotations that wait for text, by how much of it they need: each is looked at again when it is there,
    not with every word and every other annotation."""

    __slots__ = ("_count", "_ends", "_new", "_undecided", "_wholes")

    def __init__(self) -> None:
        self._count = 0
        self._new: list[Annotation] = []
        self._ends: list[tuple[int, int, Annotation]] = []
        self._wholes: list[tuple[int, int, Annotation]] = []
        self._undecided: list[Annotation] = []

    def __bool__(self) -> bool:
        return bool(self._new or self._ends or self._wholes or self._undecided)

    def add(self, annotation: Annotation) -> None:
        self._new.append(annotation)

    def hold(self, annotation: Annotation, end: int | None) -> None:
        """Until the part reaches `end`, or without one until it is complete."""
        if end is None:
            self._undecided.append(annotation)
        else:
            self._count += 1
            heappush(self._ends, (end, self._count, annotation))

    def hold_whole(self, annotation: Annotation, end: int) -> None:
        """Until the whole answer reaches `end`."""
        self._count += 1
        heappush(self._wholes, (end, self._count, annotation))

    def take_due(self, is_there: Callable[[int], bool], total: int) -> list[Annotation]:
        due, self._new = self._new, []
        while self._ends and is_there(self._ends[0][0]):
            due.append(heappop(self._ends)[-1])
        while self._wholes and self._wholes[0][0] <= total:
            due.append(heappop(self._wholes)[-1])
        return due

    def take_decided(self, total: int) -> list[Annotation]:
        """The part is complete: all but those that wait for other parts."""
        due, self._undecided = self._undecided, []
        return [*self.take_due(lambda _: True, total), *due]

    def take_all(self) -> list[Annotation]:
        wholes, self._wholes = sorted(self._wholes), []
        return [*self.take_decided(0), *(entry[-1] for entry in wholes)]


class TextReader:
    """One content part of a message."""

    __slots__ = (
        "_decoder",
        "_is_described",
        "_kept",
        "_links",
        "_message",
        "_others",
        "_pending",
        "_stripper",
        "is_complete",
        "is_done",
        "is_last",
        "is_settled",
        "known",
        "length",
        "part",
        "phase",
        "start",
    )

    def __init__(self, decoder: StreamDecoder, item_id: str, phase: Phase) -> None:
        self._decoder = decoder
        self._message: Extras = {NAME: {"id": item_id}} if item_id else NO_EXTRAS
        self._stripper = MarkerStripper(private_only=True)
        self._others: list[Json] = []
        self._kept: set[str] = set()
        self._links: LinkLocator | None = None
        self._is_described = False
        self.part = decoder.next_part()
        self.phase = phase
        self.length = 0
        self.start = 0
        self.is_complete = False
        self.is_done = False
        self.is_last = False
        self.is_settled = False
        self.known: set[Key] = set()
        self._pending = _Pending()

    def feed(self, delta: str) -> None:
        """More of the text."""
        if not self.is_complete:
            self._tell(self._stripper.feed(delta))

    def complete(self, whole: str | None = None) -> None:
        """The text has ended; `whole` is all of it, where it is repeated."""
        if self.is_complete:
            return
        rest = self._stripper.close()
        if whole is not None:
            # What the deltas left out is told now; what they told cannot be taken back.
            stripper = MarkerStripper(private_only=True)
            text = stripper.feed(whole) + stripper.close()
            told = self.text
            if text.startswith(told):
                rest, self._stripper = text[len(told) :], stripper
        self._tell(rest)
        self.is_complete = True

    def describe(self, part: Fields) -> None:
        """What belongs to the text besides its web citations."""
        if self._is_described:
            return
        self._is_described = True
        extras = part_extras(part, self._others)
        if extras and not self.length:
            self._decoder.emit(TextDelta(self.part, "", self.phase))
        if extras:
            self._decoder.emit(ExtrasSeen(self.part, extras))

    def describe_message(self, extras: Extras) -> None:
        """What belongs to the message of the text; an empty text needs none of it."""
        if self.length and extras != self._message:
            self._message = extras
            self._decoder.emit(ExtrasSeen(self.part, extras))

    def keep(self, annotation: Fields) -> bool:
        """Keep an annotation that is no web citation; says whether it is new."""
        key = dump_json(annotation.raw)
        if key in self._kept:
            return False
        self._kept.add(key)
        self._others.append(annotation.raw)
        return True

    def rename(self, phase: Phase) -> None:
        """Some servers tell the phase of a message only at its end."""
        if phase and not self.phase:
            self.phase = phase
            if self.length:
                self._decoder.emit(TextDelta(self.part, "", phase))

    @property
    def text(self) -> str:
        """The text so far."""
        return self._decoder.transcript.text(self.part)

    @property
    def is_waiting(self) -> bool:
        """Are there annotations whose place is not certain yet?"""
        return bool(self._pending)

    def wait(self, annotation: Annotation) -> None:
        """Take an annotation."""
        self._pending.add(annotation)

    def certain(self) -> list[Citation]:
        """The pending citations whose place is certain by now, in offsets of the part."""
        text = self.text
        total = len(self._decoder.transcript)
        found: list[Citation] = []
        for annotation in self._due(len(text), total):
            if len(found) >= MAX_EVIDENCE:
                break  # more is not kept, and an address may be linked to thousands of times
            whole = self._whole(annotation)
            if whole is not None and whole.end > total:
                self._pending.hold_whole(annotation, whole.end)
            elif whole is not None:
                span = Span(whole.start - self.start, whole.end - self.start)
                found.append(Citation(span, (annotation.evidence,), anchor_of(annotation, "")))
            elif self.is_complete:
                found += self._place(annotation, text)
            elif (citation := place_early(annotation, text, self._stripper.map_offset)) is not None:
                found.append(citation)
            else:
                is_ahead = self._stripper.map_offset(annotation.end) > len(text)
                self._pending.hold(annotation, annotation.end if is_ahead else None)
        return found

    def _due(self, length: int, total: int) -> list[Annotation]:
        if self.is_last:
            return self._pending.take_all()
        if self.is_complete:
            return self._pending.take_decided(total)
        return self._pending.take_due(lambda end: self._stripper.map_offset(end) <= length, total)

    def _whole(self, annotation: Annotation) -> Span | None:
        """The span of which the annotation is a piece, if that is true; cut off where the text broke off."""
        whole = annotation.whole
        if whole is None or max(whole.start, self.start) != self.start + annotation.start:
            return None
        if self.is_last:
            whole = Span(whole.start, min(whole.end, len(self._decoder.transcript)))
        return whole if 0 <= whole.start < whole.end else None

    def _place(self, annotation: Annotation, text: str) -> list[Citation]:
        if self._links is None:
            self._links = LinkLocator(text)
        placed = place(annotation, text, self._stripper.map_offset, self._links)
        if is_misplaced(annotation, placed[0]):
            message = f"The place of a citation of {annotation.url} is not in the text."
            self._decoder.emit(Warned("citation_unplaced", message))
        return placed

    def _tell(self, text: str) -> None:
        if not text:
            return
        if not self.length and self._message:
            # Who passes the text on needs the id of its message before the first word.
            self._decoder.emit(ExtrasSeen(self.part, self._message))
        self.length += len(text)
        self._decoder.emit(TextDelta(self.part, text, self.phase))


class Settling:
    """All text parts of an answer, in order."""

    def __init__(self, decoder: StreamDecoder) -> None:
        self._decoder = decoder
        self._texts: list[TextReader] = []
        self._settled = 0
        self._base = 0
        self._is_annotated = False
        self._pieces: set[tuple[int, int, str, str]] = set()
        self._files: set[str] = set()
        self.has_searched = False
        self.numbered: dict[str, Source] = {}

    def open(self, item_id: str, phase: Phase) -> TextReader:
        """A new text part."""
        text = TextReader(self._decoder, item_id, phase)
        self._texts.append(text)
        return text

    def annotate(self, text: TextReader, fields: Fields) -> None:
        """An annotation, perhaps told before."""
        annotation = decode_annotation(fields)
        if annotation is None:
            if text.keep(fields):
                self._warn_of_file(fields)
            return
        if annotation.key in text.known:
            return
        text.known.add(annotation.key)
        if annotation.whole is not None:
            # Only the first piece of a citation speaks for it.
            piece = (*annotation.whole, annotation.url, annotation.evidence.quote)
            if piece in self._pieces:
                return
            self._pieces.add(piece)
        text.wait(annotation)
        if not self._is_annotated:
            self._is_annotated = True
            self.advance()
        self.tell(text)

    def _warn_of_file(self, annotation: Fields) -> None:
        names = (annotation.get(key) for key in ("filename", "title", "file_id"))
        name = next((name for name in names if isinstance(name, str) and name), annotation.text("type"))
        if name not in self._files:
            self._files.add(name)
            message = f"The answer cites {name}, which has no address: only clients of Responses can show it."
            self._decoder.emit(Warned("file_citation", message))

    def tell(self, text: TextReader) -> None:
        """The citations of a part that are certain, if it is certain where the part begins."""
        if not text.is_waiting:
            return
        if not text.is_settled:
            if text is not self._texts[self._settled]:
                return
            text.start = self._base
        self._cite(text, text.certain())

    def advance(self) -> None:
        """Settle what is done, as far as nothing before it is open."""
        while self._settled < len(self._texts):
            text = self._texts[self._settled]
            self.tell(text)
            if not text.is_done or text.is_waiting or self._may_be_derived(text):
                return
            self._settle(text)

    def finish(self, *, derive_citations: bool) -> None:
        """All text has been told."""
        for text in self._texts:
            text.complete()
            text.is_done = text.is_last = True
        is_bare = self.has_searched and not self._is_annotated
        self._is_annotated = True
        start = 0
        for text in self._texts if derive_citations and is_bare else ():
            text.start = start
            if text.phase != "refusal":
                self._cite(text, [*derive(text.text), *derive_numbers(text.text, self.numbered)])
            start += text.length
        self.advance()

    def _may_be_derived(self, text: TextReader) -> bool:
        if not self.has_searched or self._is_annotated:
            return False
        return "](http" in text.text or (bool(self.numbered) and "[" in text.text)

    def _settle(self, text: TextReader) -> None:
        text.is_settled = True
        text.start = self._base
        self._base += text.length
        self._settled += 1
        if text.length:
            self._decoder.emit(TextSettled(text.part))

    def _cite(self, text: TextReader, citations: list[Citation]) -> None:
        for citation in citations:
            span = citation.span
            if span is not None:
                span = Span(text.start + span.start, text.start + span.end)
            self._decoder.emit(Cited(Citation(span, citation.evidence, citation.anchor)))
