"""A composition told as the events of an answer, so that it travels like any provider's."""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.engine.compose.answer import THIN_EVIDENCE, Composition, sources_in
from groundwire.engine.compose.phrases import phrase
from groundwire.engine.compose.polishing import one_line
from groundwire.engine.pages import Found
from groundwire.model import (
    NOTHING_FOUND,
    Citation,
    Cited,
    Event,
    ExtrasSeen,
    Finished,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Started,
    TextDelta,
    TextSettled,
    Usage,
    UsageSeen,
    Warned,
)
from groundwire.text.markdown import PLAIN_TEXT_EXTRAS

SEARCH = "search_0"
_TEXT_PART = 2


def tell(query: str, found: Found, composition: Composition) -> Iterator[Event]:
    """One search and its answer; that nothing was found is said in words, and for programs."""
    yield Started()
    yield SearchStarted(0, SEARCH)
    yield SearchCalled(0, SearchCall(SEARCH, found.queries or (query,)))
    # Pages that answer nothing are no sources: beside "nothing was found" they would contradict it.
    sources = tuple(sources_in(found.passages).values()) if composition.found else ()
    yield SearchReturned(1, SearchResult(SEARCH, sources))
    text = composition.text or nothing_found(query)
    if composition.is_plain or not composition.text:
        yield ExtrasSeen(_TEXT_PART, PLAIN_TEXT_EXTRAS)
    yield from _text(text, composition.citations)
    yield TextSettled(_TEXT_PART)
    yield from found.warnings
    yield from composition.notes
    if not composition.found or any(note.code == THIN_EVIDENCE for note in composition.notes):
        yield from found.advice
    if not composition.found:
        yield Warned(NOTHING_FOUND, "no page answers the question; try other words or fewer restrictions")
    yield UsageSeen(Usage(searches=1))
    yield Finished("stop", "" if composition.found else NOTHING_FOUND)


def nothing_found(query: str) -> str:
    """The plain sentence that no page answers."""
    return phrase("nothing", query).format(query=one_line(query))


def _text(text: str, citations: tuple[Citation, ...]) -> Iterator[Event]:
    """The text sentence by sentence, each followed by its citation."""
    position = 0
    for citation in sorted(citations, key=_end):
        end = _end(citation)
        if end > position:
            yield TextDelta(_TEXT_PART, text[position:end])
            position = end
        yield Cited(citation)
    if position < len(text):
        yield TextDelta(_TEXT_PART, text[position:])


def _end(citation: Citation) -> int:
    return citation.span.end if citation.span is not None else 0
