"""Claude Code's WebSearch tool: the target that serves it, and the form of its response.

The response has one search block and one result block for each search, then the text: Claude Code counts and
reads these. It reads only the words of text blocks, so citations are also written into the text. An error
that a retry cannot fix is sent as the result of the search, with its reason: after an HTTP error the client
would repeat the search without the restriction that failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from groundwire.errors import (
    ForbiddenForKey,
    GroundwireError,
    InvalidArguments,
    InvalidQuery,
    QuotaExhausted,
)
from groundwire.faces.gateway.handler import Batches
from groundwire.faces.gateway.rendering import Renderer, Rendering
from groundwire.model import (
    Answer,
    Cited,
    Event,
    Failed,
    Finished,
    Message,
    Request,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Started,
    Text,
    TextDelta,
    TextSettled,
    ToolChoice,
    UsageSeen,
    Verbatim,
    assemble,
)
from groundwire.model.value import replace

if TYPE_CHECKING:
    from groundwire.client_protocol import ResolvedTarget
    from groundwire.server.app import HttpApp

SEARCH_OFF = "none"
"""Value of `gateway.search` that turns off the special treatment of WebSearch."""

_CODES: tuple[tuple[type[GroundwireError], str], ...] = (
    (InvalidQuery, "invalid_tool_input"),
    (InvalidArguments, "invalid_tool_input"),
    (QuotaExhausted, "too_many_requests"),
)


def search_target(app: HttpApp, model: str) -> ResolvedTarget:
    """Target of an agent's own search: the configured one, else the target of the model if it can search."""
    chosen = app.settings.search
    if chosen and chosen != SEARCH_OFF:
        return app.groundwire.resolve(chosen)
    target = app.groundwire.resolve(model)
    return target if app.groundwire.can_search(target.provider) else app.groundwire.resolve()


async def web_search_events(
    start: Callable[[], Batches], query: str, rendering: Rendering = "both"
) -> Batches:
    """The events in the order that Claude Code reads; a vendor's verbatim bytes pass unchanged."""
    held: list[Event] = []
    verbatim = False
    try:
        async with aclosing(start()) as batches:
            async for batch in batches:
                verbatim = verbatim or any(isinstance(event, Verbatim) for event in batch)
                if verbatim:
                    yield [*held, *batch]
                    held = []
                else:
                    held += batch
    except GroundwireError as error:
        if verbatim or held or error.retryable or isinstance(error, ForbiddenForKey):
            raise
        yield list(failed_search_events(query, error))
        return
    if held:
        events = list(ordered_events(held, query))
        if rendering != "structured":
            events = Renderer(keep_citations=rendering == "both").feed(events)
        yield events


def failed_search_events(query: str, error: GroundwireError) -> Iterator[Event]:
    """A search that failed, with the reason as text."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "unavailable")
    yield Started()
    yield SearchCalled(0, SearchCall("search_0", (query,)))
    yield SearchReturned(1, SearchResult("search_0", error=code))
    yield TextDelta(2, f"The web search failed: {error.message}")
    yield TextSettled(2)
    yield Finished()


def ordered_events(events: Sequence[Event], query: str) -> Iterator[Event]:
    """Searches, each with its result, then the text with its citations, then the end of the stream."""
    answer = assemble(events)
    yield Started(answer.id, answer.model, _provider(events))
    index = 0
    for call, result in pair_searches(answer, query):
        yield SearchCalled(index, call)
        yield SearchReturned(index + 1, result)
        index += 2
    if answer.text:
        yield TextDelta(index, answer.text)
        yield from map(Cited, answer.citations)
        yield TextSettled(index)
    yield from answer.warnings
    yield UsageSeen(answer.usage)
    yield next((event for event in events if isinstance(event, Finished | Failed)), Finished("other"))


def pair_searches(answer: Answer, query: str) -> list[tuple[SearchCall, SearchResult]]:
    """Every search with its result. If the provider reports no results, the cited sources are the result."""
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


_OPENING = "Perform a web search for the query: "
_RULES = "Search the web for what the user asks, and sum up what the pages say in a few sentences."


def side_query(request: Request) -> str:
    """The query of Claude Code's side request; empty for any other request. Queries may span lines."""
    if request.search is None or request.tools or len(request.messages) != 1:
        return ""
    message = request.messages[0]
    if message.role != "user" or not message.text.startswith(_OPENING):
        return ""
    query = message.text[len(_OPENING) :]
    return query if query.strip() else ""


def as_search(request: Request, query: str) -> Request:
    """The side request as a plain search request."""
    return replace(
        request,
        messages=(Message("user", (Text(query),)),),
        system=(Text(_RULES),),
        tool_choice=ToolChoice("search"),
        reasoning=None,
    )
