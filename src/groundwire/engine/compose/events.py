"""Turns a composition into the event stream of an answer, as any provider emits it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groundwire.engine.compose.answer import THIN_EVIDENCE, Composition, phrase, sources_in
from groundwire.engine.compose.clean import one_line
from groundwire.engine.pages import LINK_EXTRAS, EngineResult
from groundwire.model import (
    NOTHING_FOUND,
    Citation,
    Cited,
    Event,
    ExtrasSeen,
    Finished,
    JsonObject,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Started,
    TextDelta,
    TextSettled,
    Usage,
    UsageSeen,
    Warned,
)
from groundwire.model.value import replace
from groundwire.text.markdown import PLAIN_TEXT_EXTRAS

SEARCH_ID = "search_0"
_TEXT_PART = 2


def composition_events(
    query: str, found: EngineResult, composition: Composition, searches: int = 1
) -> Iterator[Event]:
    """The events of a search and its answer. If nothing was found, text and warning code say so."""
    yield Started()
    yield SearchStarted(0, SEARCH_ID)
    yield SearchCalled(0, SearchCall(SEARCH_ID, found.queries or (query,)))
    # Pages that answer nothing are not reported as sources: they would contradict "nothing was found".
    sources = _sources(found, composition.citations) if composition.found else ()
    yield SearchReturned(1, SearchResult(SEARCH_ID, tuple(sources)))
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
        yield Warned(NOTHING_FOUND, "No page answers the question. Try other words or fewer restrictions.")
    yield UsageSeen(Usage(searches=searches))
    yield Finished("stop", "" if composition.found else NOTHING_FOUND)


def link_events(query: str, found: EngineResult) -> Iterator[Event]:
    """The events of a search whose pages are the result."""
    yield Started()
    yield SearchStarted(0, SEARCH_ID)
    yield SearchCalled(0, SearchCall(SEARCH_ID, found.queries or (query,)))
    yield SearchReturned(1, SearchResult(SEARCH_ID, tuple(_listed_sources(found))))
    yield from found.warnings
    yield UsageSeen(Usage(searches=1))
    yield Finished("stop", "" if found.passages else NOTHING_FOUND)


def _sources(found: EngineResult, citations: Iterable[Citation]) -> Iterator[Source]:
    """What was found: first what is cited, in the order of the text, so that a client that numbers sources as
    they are listed counts from one; then the rest, best first."""
    known = sources_in(found.passages)
    evidence = (item.source for citation in sorted(citations, key=_end) for item in citation.evidence)
    cited = {source.url: known.get(source.url) or replace(source, state="retrieved") for source in evidence}
    yield from (cited | known).values()


def _listed_sources(found: EngineResult) -> Iterator[Source]:
    """Each page once, with its best passage, and its score relative to the best one."""
    top = max((passage.score for passage in found.passages), default=0.0)
    listed: set[str] = set()
    for passage in found.passages:
        page = passage.url.partition("#")[0]
        if page not in listed:
            listed.add(page)
            score = round(passage.score / top, 4) if top > 0 else 0.0
            details: JsonObject = {"score": score, "service": found.service}
            yield Source(
                passage.url,
                passage.title,
                excerpts=(passage.text,) if passage.text else (),
                date=passage.published,
                extras={LINK_EXTRAS: details},
            )


def nothing_found(query: str) -> str:
    """The sentence that reports that no page answers."""
    return phrase("nothing", query).format(query=one_line(query))


def _text(text: str, citations: tuple[Citation, ...]) -> Iterator[Event]:
    """Text deltas, each followed by the citation that ends there."""
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
