"""Tool loop: gives web search to a model that has none, and pages if the client declares a tool for that.

The model is offered a search function, an engine runs its calls, and the answer looks like that of a provider
with native search. The function is never visible to the client; calls of the client's own functions pass
through. A turn is limited in rounds and searches, and is one answer: parts, offsets and usage add up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import aclosing
from typing import Protocol

from groundwire.dialects.text_buffer import TextBuffer
from groundwire.engine.compose.answer import sources_in
from groundwire.engine.pages import Engine, Page, Passage
from groundwire.errors import GroundwireError, TimedOut
from groundwire.model import (
    Cited,
    Event,
    Failed,
    Finished,
    Message,
    Request,
    SearchCall,
    SearchCalled,
    SearchOptions,
    SearchResult,
    SearchReturned,
    Source,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    Usage,
    UsageSeen,
    Warned,
    assemble,
)
from groundwire.model.cost import rounded_usd
from groundwire.model.value import replace, value
from groundwire.providers.policy import Capabilities, prepare
from groundwire.providers.pricing import ModelPrices
from groundwire.providers.spec import Batches, Provider
from groundwire.routing.continuation import add_usage, with_continuation
from groundwire.routing.metering import CURRENT_BILL
from groundwire.routing.tool_loop.fetch import (
    NOT_ACCESSIBLE,
    FetchOptions,
    addresses_of,
    check_address,
    fetch_error_code,
    fetch_options,
    first_passages,
    known_addresses,
    parse_url,
)
from groundwire.routing.tool_loop.prompt import (
    INVALID,
    LIMIT,
    SearchOffer,
    error_code,
    failure_text,
    offer_search,
    parse_query,
    passages_for,
    results_text,
    withdraw_functions,
)
from groundwire.routing.tool_loop.round import NumberedPassages, SearchRound, SearchToolCall, is_new_event
from groundwire.text.domains import admits

MAX_ROUNDS = 6
MAX_SEARCHES = 10
SECONDS = 60.0
"""Time limit of one search."""
_TRUNCATED = frozenset({"length", "filtered", "refused"})


class OpenPage(Protocol):
    """Reads a page: from the embedded index, or if it is `live`, from a public address of the web."""

    async def __call__(self, url: str, *, live: bool = True) -> Page:
        """The page. Raises the error that prevents reading it."""
        ...


@value
class _SearchOutcome:
    """The outcome of one search call."""

    call: SearchCall
    result: SearchResult
    text: str
    """The result text for the model."""
    warnings: tuple[Warned, ...] = ()


class ToolLoopProvider:
    """A provider with an engine that runs its searches. The engine is created on the first search."""

    def __init__(
        self,
        provider: Provider,
        engine: Callable[[], Engine],
        capabilities: Capabilities,
        rounds: int = MAX_ROUNDS,
        prices: ModelPrices | None = None,
        open_page: OpenPage | None = None,
    ) -> None:
        """`capabilities` are those of the engine: the options that its searches honour. `prices` are its
        prices; without them searches are free. Without `open_page`, no pages are opened for a model."""
        self._provider = provider
        self._engine = engine
        self._rounds = rounds
        self._prices = prices
        self._open_page = open_page
        self._capabilities = replace(
            capabilities,
            kind="model",
            functions_with_search=True,
            streaming=provider.capabilities.streaming,
            search="native",
            pauses=False,
        )

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def model(self) -> str:
        return self._provider.model

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def batches(self, request: Request) -> Batches:
        """The answer, with the searches that the model calls."""
        choice = request.tool_choice
        fetches = self._open_page is not None and fetch_options(request) is not None
        if not (request.search or fetches) or (choice is not None and choice.mode == "none"):
            plain = request if request.search is None else replace(request, search=None, wire=None)
            async with aclosing(with_continuation(self._provider, plain)) as batches:
                async for batch in batches:
                    yield batch
            return
        prepared = prepare(request, self.capabilities, self.name)
        if prepared.warnings:
            yield prepared.warnings
        options = prepared.request.search or SearchOptions()
        fetch = fetch_options(prepared.request) or FetchOptions()
        turn = _ToolLoopState(offer_search(prepared.request), options, fetch, self._rounds, self._prices)
        async with aclosing(self._run_rounds(turn)) as batches:
            async for batch in batches:
                yield batch

    async def _run_rounds(self, turn: _ToolLoopState) -> Batches:
        for number in range(self._rounds):
            current = turn.begin()
            async with aclosing(with_continuation(self._provider, turn.request)) as batches:
                async for batch in batches:
                    if events := turn.new_events(current.read(batch), number):
                        yield events
            if rest := turn.new_events(current.close(), number):
                yield rest
            turn.count(current)
            if isinstance(current.end, Failed):
                yield (turn.total_usage(), current.end)
                return
            if not current.calls:
                break
            calls = turn.calls(current)
            yield [SearchCalled(turn.part_of(call), search) for call, search in calls]
            outcomes = await self._run_searches(turn, [search for _, search in calls])
            yield turn.returned(calls, outcomes)
            if current.client_calls or _was_truncated(current):
                break
            turn.next_request(current, outcomes, last=number + 2 >= self._rounds)
        yield turn.finish()

    async def _run_searches(self, turn: _ToolLoopState, calls: Sequence[SearchCall]) -> list[_SearchOutcome]:
        """Run all calls of a round concurrently; those beyond the limits fail."""
        work = []
        searches = 0
        for call in calls:
            if call.kind == "open":
                turn.fetches += 1
                allowed = turn.fetches <= turn.fetch.limit
                work.append(self._fetch(turn, call) if allowed else _failed_search(call, LIMIT))
            else:
                allowed = turn.searches + searches < turn.limit
                searches += allowed
                work.append(self._search(turn, call) if allowed else _failed_search(call, LIMIT))
        turn.bill(searches)
        return list(await asyncio.gather(*work))

    async def _fetch(self, turn: _ToolLoopState, call: SearchCall) -> _SearchOutcome:
        """Open a page that the conversation or a search named."""
        if not call.url or self._open_page is None:
            return await _failed_search(call, INVALID)
        try:
            check_address(call.url, turn.known, turn.fetch)
            async with asyncio.timeout(SECONDS):
                page = await self._open_page(call.url, live=turn.options.live is not False)
        except TimeoutError:
            return await _failed_search(call, NOT_ACCESSIBLE)
        except GroundwireError as error:
            return await _failed_search(call, fetch_error_code(error))
        passages = first_passages(page, turn.fetch.characters)
        sources = tuple(replace(source, state="opened") for source in sources_in(passages).values())
        text = results_text(call.url, turn.passages.add(passages))
        return _SearchOutcome(call, SearchResult(call.id, sources), text)

    async def _search(self, turn: _ToolLoopState, call: SearchCall) -> _SearchOutcome:
        if not call.queries:
            return await _failed_search(call, INVALID)
        options = turn.options
        try:
            async with asyncio.timeout(SECONDS):
                found = await self._engine().find(
                    call.queries[0], options, passages_for(options.context_size)
                )
        except TimeoutError:
            return await _failed_search(call, "unavailable", TimedOut(f"no result within {SECONDS:.0f} s"))
        except GroundwireError as error:
            return await _failed_search(call, error_code(error), error)
        passages = _allowed(found.passages, options)
        sources = tuple(sources_in(passages).values())
        text = results_text(call.queries[0], turn.passages.add(passages))
        return _SearchOutcome(call, SearchResult(call.id, sources), text, found.warnings)


async def _failed_search(call: SearchCall, code: str, error: GroundwireError | None = None) -> _SearchOutcome:
    warnings = (Warned("search_failed", f"the search failed: {error.message}"),) if error else ()
    return _SearchOutcome(call, SearchResult(call.id, error=code), failure_text(code), warnings)


class _ToolLoopState:
    """The state of a turn over its rounds."""

    def __init__(
        self,
        offered: SearchOffer,
        options: SearchOptions,
        fetch: FetchOptions,
        rounds: int,
        prices: ModelPrices | None,
    ) -> None:
        self._prices = prices
        self.request = offered.request
        self.options = options
        self.limit = min(MAX_SEARCHES if options.max_uses is None else options.max_uses, MAX_SEARCHES)
        self.searches = 0
        self.fetch = fetch
        self.fetches = 0
        self.known = set(known_addresses(offered.request.messages))
        """The addresses of pages that may be opened."""
        self.passages = NumberedPassages()
        self._offer = offered
        self._names = frozenset({offered.name, offered.fetch_name} - {""})
        self._rounds = rounds
        self._transcript = TextBuffer()
        self._part = 0
        self._round: SearchRound | None = None
        self._usage = Usage()
        self._warned: set[Event] = set()
        self._cited = False
        self._unknown = 0

    def begin(self) -> SearchRound:
        """Start the next round."""
        self._round = SearchRound(
            self._names, self.passages, self._transcript, self._part, cites=self._offer.cites
        )
        return self._round

    def new_events(self, events: Sequence[Event], number: int) -> list[Event]:
        """The events without repetitions from earlier rounds."""
        self._cited = self._cited or any(isinstance(event, Cited) for event in events)
        return [event for event in events if is_new_event(event, number, self._warned)]

    def bill(self, count: int) -> None:
        """Count searches, and add what the engine charges for them to the bill."""
        self.searches += count
        bill = CURRENT_BILL.get()
        if bill is not None and self._prices is not None:
            bill.add(self._prices.cost(Usage(searches=count)))

    def count(self, current: SearchRound) -> None:
        """Add the usage of a round."""
        self._usage = add_usage(self._usage, assemble(current.received).usage)
        self._unknown += current.unknown

    def calls(self, current: SearchRound) -> list[tuple[SearchToolCall, SearchCall]]:
        """The calls of our functions in a round, with the `SearchCall` that the caller sees."""
        return [(call, self._decoded(call)) for call in current.calls]

    def _decoded(self, call: SearchToolCall) -> SearchCall:
        if call.name == self._offer.fetch_name:
            return SearchCall(call.id, kind="open", url=parse_url(call.arguments))
        query = parse_query(call.arguments)
        return SearchCall(call.id, (query,) if query else ())

    def part_of(self, call: SearchToolCall) -> int:
        """The part number of a search call."""
        return self._part + 2 * call.part

    def returned(
        self, calls: Sequence[tuple[SearchToolCall, SearchCall]], outcomes: Sequence[_SearchOutcome]
    ) -> list[Event]:
        """The results of the searches, then the events that were held back for them."""
        events: list[Event] = []
        for (call, _), outcome in zip(calls, outcomes, strict=True):
            self.known |= set(addresses_of(outcome.result.sources))
            events.append(SearchReturned(self.part_of(call) + 1, outcome.result))
            events += self.new_events(outcome.warnings, 1)
        current = self._round
        return events + (self.new_events(current.held, 1) if current else [])

    def next_request(self, current: SearchRound, outcomes: Sequence[_SearchOutcome], *, last: bool) -> None:
        """Prepare the next request, with the search results appended."""
        answer = assemble(current.received)
        results = tuple(
            ToolResult(
                _wire_id(answer.parts, index, self._names),
                (Text(outcome.text),),
                name=call.name,
                is_error=bool(outcome.result.error),
            )
            for index, (call, outcome) in enumerate(zip(current.calls, outcomes, strict=True))
        )
        request = replace(
            self.request,
            messages=(*self.request.messages, answer.message, Message("user", results)),
            tool_choice=_without_force(self.request.tool_choice),
        )
        self.request = withdraw_functions(request, self._exhausted(last=last))
        self._part = current.next_part

    def _exhausted(self, *, last: bool) -> frozenset[str]:
        """The functions that the model may not call again."""
        limits = {
            self._offer.name: self.searches >= self.limit,
            self._offer.fetch_name: self.fetches >= self.fetch.limit,
        }
        return frozenset(name for name, reached in limits.items() if name and (last or reached))

    def finish(self) -> tuple[Event, ...]:
        """The last events: warnings, total usage, end."""
        current = self._round
        end = current.end if current is not None and isinstance(current.end, Finished) else Finished("other")
        if current is not None and current.calls and not _was_truncated(current):
            end = Finished("tool_calls") if current.client_calls else Finished("stop")
        return (*self._warnings(current), self.total_usage(), end)

    def total_usage(self) -> UsageSeen:
        """The usage of the whole turn so far."""
        total = add_usage(self._usage, Usage(searches=self.searches, fetches=self.fetches or None))
        if self._prices is None or total.cost is None:
            return UsageSeen(total)
        charged = self._prices.cost(Usage(searches=self.searches)).usd
        if charged is None:
            return UsageSeen(replace(total, cost=None, search_cost=None))
        searches = rounded_usd(charged)
        return UsageSeen(add_usage(total, Usage(cost=searches, search_cost=searches or None)))

    def _warnings(self, current: SearchRound | None) -> Iterator[Warned]:
        if current is not None and current.calls and not current.client_calls and not _was_truncated(current):
            yield Warned("search_limit", f"the model wanted to search on after {self._rounds} rounds")
        if self._unknown:
            yield Warned("unknown_citation", f"numbers that no passage has: {self._unknown}; not cited")
        if len(self.passages) and not self._cited and not (current and current.client_calls):
            yield Warned("not_cited", "pages were found, but the answer cites none of them")


def _was_truncated(current: SearchRound) -> bool:
    return isinstance(current.end, Finished) and current.end.reason in _TRUNCATED


def _wire_id(parts: Sequence[object], index: int, names: Collection[str]) -> str:
    """The id that the provider gave the nth call of our functions."""
    own = [part.id for part in parts if isinstance(part, ToolCall) and part.name in names]
    return own[index] if index < len(own) else ""


def _without_force(choice: ToolChoice | None) -> ToolChoice | None:
    """The tool choice of a follow-up request: a forced call has been made."""
    return choice if choice is None or choice.mode == "auto" else ToolChoice("auto")


def _allowed(passages: Sequence[Passage], options: SearchOptions) -> tuple[Passage, ...]:
    """The passages that the domain lists admit, from at most `max_sources` pages."""
    kept = [passage for passage in passages if admits(options, Source(passage.url))]
    pages = list(dict.fromkeys(passage.url for passage in kept))
    few = set(pages[: options.max_sources])
    return tuple(passage for passage in kept if passage.url in few)
