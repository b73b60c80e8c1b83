"""Citations in the words of the answer, for clients that drop them where they belong.

`markers` writes `[n]` after each claim and a list of sources at the end, and tells no citations; `both` does
the same and tells them too, at their new places. Text that nothing comes between becomes one part: some
clients show only the last. A text is held until it is settled, because its numbers stand inside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import aclosing
from typing import Literal, TypeAlias

from groundwire.dialects.transcript import Transcript
from groundwire.faces.gateway.conversation import Batches
from groundwire.model import (
    Assembler,
    Citation,
    Cited,
    Event,
    ExtrasSeen,
    Failed,
    Finished,
    Source,
    Span,
    TextDelta,
    TextSettled,
    ToolCallDelta,
    Verbatim,
)
from groundwire.model.parts import Phase
from groundwire.model.value import replace
from groundwire.text.markdown import render_sources
from groundwire.text.marking import mark
from groundwire.text.sources import source_key

Rendering: TypeAlias = Literal["structured", "markers", "both"]
RENDERINGS: tuple[Rendering, ...] = ("structured", "markers", "both")


async def rendered(batches: Batches, mode: Rendering, *, passes: bool = False) -> Batches:
    """The answer in another rendering; with `passes`, the vendor's own bytes stay as they are."""
    render = _Renderer(keeps=mode == "both")
    passing = mode == "structured"
    async with aclosing(batches):
        async for batch in batches:
            passing = passing or (passes and any(isinstance(event, Verbatim) for event in batch))
            if passing:
                yield batch
            elif told := render.feed(batch):
                yield told


class _Renderer:
    """Holds text, and lets it go with its numbers."""

    def __init__(self, *, keeps: bool) -> None:
        self._keeps = keeps
        self._numbers: dict[str, int] = {}
        self._sources: list[Source] = []
        self._listed = 0
        self._assembler = Assembler()
        self._transcript = Transcript()
        self._held: list[Event] = []
        self._citations: list[Citation] = []
        self._unsettled: set[int] = set()
        self._written = 0
        """How much text has gone out."""
        self._part: int | None = None
        """The text part that is being written; None after anything else."""
        self._phase: Phase = ""

    def feed(self, batch: Sequence[Event]) -> list[Event]:
        """What may go out now."""
        told: list[Event] = []
        for event in batch:
            self._assembler.feed(event)
            match event:
                case Cited(citation):
                    self._citations.append(citation)
                    continue
                case Verbatim():
                    continue
                case TextDelta(part, text):
                    self._unsettled.add(part)
                    self._transcript.add(part, text)
                case TextSettled(part):
                    self._unsettled.discard(part)
                case Finished() | Failed():
                    self._unsettled.clear()
            self._held.append(event)
            told += self._released()
        return told

    def _released(self) -> Iterator[Event]:
        while self._held and not (
            isinstance(self._held[0], TextDelta) and self._held[0].part in self._unsettled
        ):
            event = self._held[0]
            if isinstance(event, TextDelta):
                yield from self._text(event.part)
            else:
                self._held.pop(0)
                yield from self._other(event)

    def _text(self, part: int) -> Iterator[Event]:
        """A whole text part, as far as it was told."""
        said = [event for event in self._held if isinstance(event, TextDelta) and event.part == part]
        self._held = [
            event for event in self._held if not (isinstance(event, TextDelta) and event.part == part)
        ]
        start, text = self._transcript.start(part), self._transcript.text(part)
        end = start + len(text)
        inside = [item for item in self._citations if item.span and start <= item.span.start < end]
        self._citations = [item for item in self._citations if item not in inside]
        shifted = [replace(item, span=_shift(item.span, -start, len(text))) for item in inside]
        marked = mark(text, shifted, self._number)
        if said[0].phase != self._phase:
            yield from self._close()
        if self._part is None:
            self._part, self._phase = part, said[0].phase
        yield TextDelta(self._part, marked.text, self._phase)
        if self._keeps:
            yield from (
                Cited(replace(item, span=_shift(item.span, self._written))) for item in marked.citations
            )
        self._written += len(marked.text)

    def _number(self, source: Source) -> int:
        key = source_key(source)
        if key not in self._numbers:
            self._sources.append(source)
            self._numbers[key] = len(self._sources)
        return self._numbers[key]

    def _other(self, event: Event) -> Iterator[Event]:
        match event:
            case TextSettled():
                pass  # the part may go on; all is settled by what ends it
            case ExtrasSeen():
                pass  # whatever was signed is not what is told now
            case Finished() | Failed() | ToolCallDelta():
                yield from self._end()
                yield from self._close()
                yield event
            case _:
                if getattr(event, "part", None) is not None:
                    yield from self._close()
                yield event

    def _close(self) -> Iterator[Event]:
        """Nothing is added any more to the text that is being written."""
        if self._part is not None:
            yield TextSettled(self._part)
        self._part = None

    def _end(self) -> Iterator[Event]:
        """The list of sources, of which each stands there once."""
        for citation in self._citations:
            for item in citation.evidence:
                self._number(item.source)
        if self._keeps:
            yield from (Cited(replace(citation, span=None)) for citation in self._citations)
        self._citations.clear()
        if self._part is not None and len(self._sources) > self._listed:
            lines = render_sources(self._sources)
            self._listed = len(self._sources)
            yield TextDelta(self._part, f"\n\n{lines}", self._phase)
            self._written += len(lines) + 2


def _shift(span: Span | None, points: int, limit: int | None = None) -> Span | None:
    if span is None:
        return None
    end = span.end + points
    return Span(span.start + points, end if limit is None else min(end, limit))
