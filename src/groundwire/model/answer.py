"""The answer: its events assembled.

`Assembler` takes events one by one; `assemble` takes them all. The result is in a normal form, so that the
same answer from another dialect, or in another order, is the same value: one citation for each span, sorted
by position, each source of a span once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from groundwire.errors import GroundwireError
from groundwire.model.events import (
    Cited,
    Event,
    ExtrasSeen,
    Failed,
    Finished,
    FinishReason,
    PartAdded,
    ReasoningDelta,
    SearchCalled,
    SearchReturned,
    Started,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageSeen,
    Warned,
)
from groundwire.model.extras import NO_EXTRAS, Extras, merge_extras
from groundwire.model.parts import (
    Image,
    Opaque,
    Part,
    Phase,
    Reasoning,
    SearchCall,
    SearchResult,
    Text,
    ToolCall,
)
from groundwire.model.request import Message
from groundwire.model.source import (
    MAX_EVIDENCE,
    Anchor,
    Citation,
    Evidence,
    EvidenceKey,
    Source,
    SourceMerge,
    Span,
    evidence_key,
)
from groundwire.model.value import replace, value


class Search(NamedTuple):
    """One query, page fetch or pattern search, in a form for display."""

    query: str
    kind: str
    state: Literal["running", "done", "failed"]
    error: str = ""
    """Why it failed, as a short code."""


@value
class Answer:
    """A complete answer."""

    parts: tuple[Part, ...] = ()
    """Text, reasoning, searches, function calls and images, in order."""
    citations: tuple[Citation, ...] = ()
    """Citations, sorted by position."""
    usage: Usage = Usage()
    warnings: tuple[Warned, ...] = ()
    finish: FinishReason | None = None
    """Why the answer ended; None if it was interrupted."""
    detail: str = ""
    """The provider's own reason, if it is more specific."""
    error: GroundwireError | None = None
    """The error that interrupted the answer."""
    id: str = ""
    """The provider's id of the answer."""
    model: str = ""
    """The model that answered."""
    extras: Extras = NO_EXTRAS

    @property
    def text(self) -> str:
        """The text of all text parts; spans count over it."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def message(self) -> Message:
        """The answer as an assistant message, to be sent back with the next request."""
        return Message("assistant", self.parts, self.citations)

    @property
    def grounded(self) -> bool:
        """Whether the answer cites any source."""
        return bool(self.citations)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Every URL once, in order of first mention, with the strongest state it reached."""
        return sources_of(self.parts, self.citations)

    @property
    def searches(self) -> tuple[Search, ...]:
        """Every query, opened page and searched pattern."""
        results = {part.call_id: part for part in self.parts if isinstance(part, SearchResult)}
        return tuple(
            search
            for part in self.parts
            if isinstance(part, SearchCall)
            for search in _searches(part, results.get(part.id))
        )


CITATIONS_CUT = Warned(
    "citations_cut", f"The answer has more than {MAX_EVIDENCE} citations; the rest was left out."
)


def assemble(events: Iterable[Event]) -> Answer:
    """Assemble the answer of a sequence of events."""
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    return assembler.answer()


class _PartDraft:
    """A part while its events arrive."""

    __slots__ = ("call_id", "chunks", "extras", "kind", "name", "phase", "whole")

    def __init__(self) -> None:
        self.kind: type[Text | Reasoning | ToolCall] | None = None
        self.chunks: list[str] = []
        self.phase: Phase = ""
        self.call_id = ""
        self.name = ""
        self.whole: Image | Opaque | SearchCall | SearchResult | None = None
        self.extras: Extras = NO_EXTRAS

    def part(self) -> Part | None:
        if self.whole is not None:
            return _with_extras(self.whole, self.extras)
        text = "".join(self.chunks)
        if self.kind is Text:
            return Text(text, self.phase, self.extras) if text or self.extras else None
        if self.kind is ToolCall:
            return ToolCall(self.call_id, self.name, text or "{}", self.extras)
        return Reasoning(text, self.extras) if self.kind is Reasoning else None


class Assembler:
    """Assembles events into an answer; `answer` may be called at any time."""

    def __init__(self) -> None:
        self._drafts: dict[int, _PartDraft] = {}
        self._citations: dict[tuple[Span | None, Anchor], dict[EvidenceKey, Evidence]] = {}
        self._evidence_left = MAX_EVIDENCE
        self._head = Answer()
        self._warnings: list[Warned] = []

    def feed(self, event: Event) -> None:
        """Add one event."""
        if type(event) is TextDelta and not event.phase:  # as most of them
            draft = self._drafts.get(event.part) or self._draft(event.part)
            draft.kind = Text
            draft.chunks.append(event.text)
            return
        match event:
            case TextDelta() | ReasoningDelta() | ToolCallDelta():
                self._extend(event)
            case SearchCalled(part, whole) | SearchReturned(part, whole) | PartAdded(part, whole):
                self._draft(part).whole = whole
            case ExtrasSeen(part, extras):
                draft = self._draft(part)
                draft.extras = merge_extras(draft.extras, extras)
            case Cited(citation):
                self._cite(citation)
            case _:
                self._update_head(event)

    def answer(self) -> Answer:
        """The answer so far."""
        parts = (self._drafts[number].part() for number in sorted(self._drafts))
        citations = (
            Citation(span, tuple(evidence.values()), anchor)
            for (span, anchor), evidence in sorted(self._citations.items(), key=_position)
        )
        return replace(
            self._head,
            parts=tuple(part for part in parts if part is not None),
            citations=tuple(citations),
            warnings=tuple(self._warnings),
        )

    def _draft(self, number: int) -> _PartDraft:
        draft = self._drafts.get(number)
        if draft is None:
            draft = self._drafts[number] = _PartDraft()
        return draft

    def _extend(self, event: TextDelta | ReasoningDelta | ToolCallDelta) -> None:
        draft = self._draft(event.part)
        match event:
            case TextDelta():
                draft.kind = Text
                draft.chunks.append(event.text)
                draft.phase = event.phase or draft.phase
            case ReasoningDelta():
                draft.kind = Reasoning
                draft.chunks.append(event.text)
            case ToolCallDelta():
                draft.kind = ToolCall
                draft.chunks.append(event.arguments)
                draft.call_id = event.id or draft.call_id
                draft.name = event.name or draft.name

    def _cite(self, citation: Citation) -> None:
        known = self._citations.get((citation.span, citation.anchor))
        if known is None and self._evidence_left > 0:
            known = self._citations[citation.span, citation.anchor] = {}
        for item in citation.evidence:
            key = evidence_key(item)
            if known is not None and key in known:
                continue
            if known is None or self._evidence_left <= 0:
                self._cut()
                return
            known[key] = item
            self._evidence_left -= 1

    def _cut(self) -> None:
        if self._evidence_left == 0:
            self._evidence_left = -1
            self._warnings.append(CITATIONS_CUT)

    def _update_head(self, event: Event) -> None:
        match event:
            case Started():
                self._head = replace(self._head, id=event.id, model=event.model)
            case UsageSeen():
                self._head = replace(self._head, usage=event.usage)
            case Warned():
                self._warnings.append(event)
            case Finished():
                self._head = replace(
                    self._head, finish=event.reason, detail=event.detail, extras=event.extras
                )
            case Failed():
                self._head = replace(self._head, error=event.error)


def _with_extras(
    part: Image | Opaque | SearchCall | SearchResult, extras: Extras
) -> Image | Opaque | SearchCall | SearchResult:
    if not extras or isinstance(part, Opaque):
        return part
    return replace(part, extras=merge_extras(part.extras, extras))


def _position(
    item: tuple[tuple[Span | None, Anchor], dict[EvidenceKey, Evidence]],
) -> tuple[bool, Span, str]:
    (span, anchor), _ = item
    return span is None, span or Span(0, 0), anchor


def sources_of(parts: Iterable[Part], citations: Iterable[Citation]) -> tuple[Source, ...]:
    """Every URL once, in order of first mention, with the strongest state it reached.

    The first mention gives the value; later ones fill empty fields and add their excerpts.
    """
    merged: dict[tuple[str, str], SourceMerge] = {}
    for source in _mentions(parts, citations):
        key = (source.url, "" if source.url else source.title)
        known = merged.get(key)
        if known is None:
            merged[key] = SourceMerge(source)
        else:
            known.add(source)
    return tuple(merge.source() for merge in merged.values())


def _mentions(parts: Iterable[Part], citations: Iterable[Citation]) -> Iterable[Source]:
    parts = tuple(parts)
    failed = {part.call_id for part in parts if isinstance(part, SearchResult) and part.error}
    for part in parts:
        if isinstance(part, SearchResult):
            yield from part.sources
        elif isinstance(part, SearchCall) and part.url and part.kind != "search" and part.id not in failed:
            yield Source(part.url, state="opened")
    for citation in citations:
        for item in citation.evidence:
            yield replace(item.source, state="cited")


def _searches(call: SearchCall, result: SearchResult | None) -> Iterable[Search]:
    state: Literal["running", "done", "failed"] = "running"
    if result is not None:
        state = "failed" if result.error else "done"
    subjects = call.queries if call.kind == "search" else (call.pattern or call.url,)
    error = result.error if result is not None else ""
    return (Search(subject, call.kind, state, error) for subject in subjects)
