"""Claude Code's own web search: who serves it, and what its answer looks like.

The answer is one search block and one result block for each search, then the text: that is what Claude Code
counts and reads. Of the text blocks it reads the words alone, so citations are also written into the text.
What cannot be mended by asking again is told as the result of the search, with its reason: an HTTP error
would make the client ask again without the restriction that could not be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from groundwire.errors import GroundwireError, InvalidArguments, InvalidQuery, QuotaExhausted
from groundwire.faces.gateway.handler import Batches
from groundwire.faces.gateway.rendering import Renderer, Rendering
from groundwire.model import (
    Answer,
    Cited,
    Event,
    Failed,
    Finished,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Started,
    TextDelta,
    TextSettled,
    UsageSeen,
    Verbatim,
    assemble,
)
from groundwire.model.value import replace
from groundwire.routing.resolve import AUTO, resolve

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Gateway

OFF = "none"
"""The setting `gateway.search` with which nothing is served but what was asked."""

_CODES: tuple[tuple[type[GroundwireError], str], ...] = (
    (InvalidQuery, "invalid_tool_input"),
    (InvalidArguments, "invalid_tool_input"),
    (QuotaExhausted, "too_many_requests"),
)


def search_target(gateway: Gateway, model: str) -> tuple[str, str]:
    """Who serves an agent's own search: the target set for it, else the model's own, if that can search."""
    config, usable = gateway.groundwire.config, gateway.groundwire.usable()
    chosen = gateway.settings.search
    if chosen and chosen != OFF:
        return resolve(chosen, config.aliases, usable)
    provider, own = resolve(model, config.aliases, usable)
    return (AUTO, "") if config.provider(provider).search == "none" else (provider, own)


async def side_answer(ask: Callable[[], Batches], query: str, mode: Rendering = "both") -> Batches:
    """The answer in the form that is read; bytes of the vendor's own pass as they are."""
    held: list[Event] = []
    passing = False
    try:
        async with aclosing(ask()) as batches:
            async for batch in batches:
                passing = passing or any(isinstance(event, Verbatim) for event in batch)
                if passing:
                    yield [*held, *batch]
                    held = []
                else:
                    held += batch
    except GroundwireError as error:
        if passing or held or error.retryable:
            raise
        yield list(refused(query, error))
        return
    if held:
        events = list(arranged(held, query))
        yield events if mode == "structured" else Renderer(keep_citations=mode == "both").feed(events)


def refused(query: str, error: GroundwireError) -> Iterator[Event]:
    """A search that was not made, and why."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "unavailable")
    yield Started()
    yield SearchCalled(0, SearchCall("search_0", (query,)))
    yield SearchReturned(1, SearchResult("search_0", error=code))
    yield TextDelta(2, f"The web search was not made: {error.message}")
    yield TextSettled(2)
    yield Finished()


def arranged(events: Sequence[Event], query: str) -> Iterator[Event]:
    """Searches, each with its result, then the text with its citations; then the end as it was told."""
    answer = assemble(events)
    yield Started(answer.id, answer.model, _provider(events))
    number = 0
    for call, result in paired(answer, query):
        yield SearchCalled(number, call)
        yield SearchReturned(number + 1, result)
        number += 2
    if answer.text:
        yield TextDelta(number, answer.text)
        yield from map(Cited, answer.citations)
        yield TextSettled(number)
    yield from answer.warnings
    yield UsageSeen(answer.usage)
    yield next((event for event in events if isinstance(event, Finished | Failed)), Finished("other"))


def paired(answer: Answer, query: str) -> list[tuple[SearchCall, SearchResult]]:
    """Every search with what it found. Who tells no results is taken to have found what is cited."""
    results = {part.call_id: part for part in answer.parts if isinstance(part, SearchResult)}
    calls = [part for part in answer.parts if isinstance(part, SearchCall) and part.kind == "search"]
    known = {part.id for part in answer.parts if isinstance(part, SearchCall)}
    calls += [SearchCall(call_id, (query,)) for call_id in results if call_id not in known]
    cited = tuple(replace(source, state="retrieved") for source in answer.sources if source.state == "cited")
    if not calls and cited:
        calls = [SearchCall("search_0", (query,))]
    listed = {source.url for result in results.values() for source in result.sources}
    unlisted: tuple[Source, ...] = tuple(source for source in cited if source.url not in listed)
    pairs = []
    for call in calls:
        result = results.get(call.id)
        if result is None:
            result, unlisted = SearchResult(call.id, unlisted), ()
        pairs.append((call, result))
    return pairs


def _provider(events: Sequence[Event]) -> str:
    return next((event.provider for event in events if isinstance(event, Started)), "")
