"""Metering: what each request to a provider costs, in its usage and on the bill of the client's request.

A client's request may lead to several requests to providers: attempts that failed, rounds of a tool loop,
continued turns. Each is priced on its own, because prices depend on the size of a request. The sum is in the
usage of the answer; `Bill` also has the requests that were aborted or failed over, and of those what was used
until then.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from decimal import Decimal
from functools import lru_cache
from typing import Protocol, TypeAlias

from groundwire.errors import GroundwireError, Interrupted, TimedOut
from groundwire.model import (
    Event,
    Failed,
    Finished,
    ReasoningDelta,
    Request,
    Started,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageSeen,
    Verbatim,
)
from groundwire.model.batch import FastPath, OpeningBatch
from groundwire.model.cost import Cost, rounded_usd
from groundwire.model.events import NO_USAGE
from groundwire.model.extras import merge_extras
from groundwire.model.value import replace, value
from groundwire.providers.policy import Capabilities
from groundwire.providers.pricing import (
    ModelPrices,
    PriceList,
    are_prices_loaded,
    input_estimate,
    is_listed,
    load_prices,
    tokens_of_bytes,
    vendor_of,
)
from groundwire.providers.spec import Batches, Provider
from groundwire.routing.attempt import SearchCounter

FindPrices: TypeAlias = Callable[[str], ModelPrices]
"""The prices of a provider's model."""


@value
class PricingTerms:
    """Whose prices apply to a provider, and how many requests it may need for one answer."""

    price_list: PriceList
    provider: str
    vendor: str
    dialect: str = ""
    rounds: int = 1
    engine: PricingTerms | None = None
    """The engine that runs the searches of a model without web search."""
    writer: Callable[[Request], Cost] | None = None
    """The most that the model costs that writes the answers of an engine."""

    def prices(self, model: str) -> ModelPrices:
        """The prices of a model."""
        return self.price_list.of(self.provider, model, self.vendor, self.dialect)

    def dearest(self, request: Request, model: str, capabilities: Capabilities) -> Cost:
        """The most that a request can cost."""
        if self.engine is None:
            own = self.prices(model).dearest(request, capabilities, self.rounds)
            return _sum(own, self.writer(request)) if self.writer is not None else own
        searches = request.search.max_uses if request.search is not None else 0
        found = self.engine.prices("").cost(Usage(searches=MAX_SEARCHES if searches is None else searches))
        return _sum(self.prices(model).dearest(request, capabilities, self.rounds, billed=False), found)


MAX_SEARCHES = 10
"""The most searches of a turn whose searches an engine runs."""


def _sum(first: Cost, second: Cost) -> Cost:
    if first.usd is None or second.usd is None:
        return Cost()
    return replace(first, tokens=first.tokens + second.tokens, searches=first.searches + second.searches)


def terms_of(price_list: PriceList, provider: str, base_url: str = "", dialect: str = "") -> PricingTerms:
    """The terms of a provider; without an address, those of its name."""
    return PricingTerms(price_list, provider, vendor_of(provider, base_url), dialect)


class Bill:
    """What a client's request has cost so far, over all requests to providers."""

    __slots__ = ("has_unknown", "usd")

    def __init__(self) -> None:
        self.usd = Decimal(0)
        self.has_unknown = False
        """Is the price of a part not known?"""

    def add(self, cost: Cost) -> None:
        """Add what one request to a provider cost."""
        if cost.usd is None:
            self.has_unknown = True
        else:
            self.usd += cost.usd


CURRENT_BILL: ContextVar[Bill | None] = ContextVar("current_bill", default=None)
"""The bill of the request in progress; None if costs are not recorded."""


@value
class Quote:
    """The most that a request can cost."""

    usd: Decimal | None
    """None if no target of the request has a known price."""
    unpriced: tuple[str, ...] = ()
    """The targets whose price is not known, as `provider/model`."""
    seconds: float = 0.0
    """The time limit of the request."""


class SpendingGuard(Protocol):
    """Decides whether a request may be sent, and books what it cost."""

    def is_needed(self) -> bool:
        """Does the request in progress have a budget?"""
        ...

    def guard(self, quote: Quote, send: Callable[[], Batches]) -> Batches:
        """The answer, if the budget allows it; raises `TurnedAway` otherwise."""
        ...


_ENDS = (Finished, Failed)
_METERED = frozenset({Started, UsageSeen, Finished, Failed})
"""The events that a price depends on; all others are at most counted."""


class Meter:
    """Prices one request to a provider by its events."""

    def __init__(
        self, request: Request, model: str, capabilities: Capabilities, find_prices: FindPrices
    ) -> None:
        self.counts_content = False
        """Is content counted, to estimate the output of an answer that is aborted?"""
        self._request = request
        self._model = model
        self._answered_by = ""
        self._find_prices = find_prices
        self._counter = SearchCounter(capabilities, model)
        self._usage = NO_USAGE
        self._unreported = 0
        """Bytes of content since the provider reported its usage."""
        self._is_billed = True
        self._final: Cost | None = None
        self.usage_so_far: Callable[[], Usage | None] | None = None
        """The usage that the provider has reported, where it is not an event before the end."""

    def feed(self, batch: Sequence[Event]) -> Sequence[Event]:
        """The same events, with the cost in the usage before the end."""
        batch = self._counter.feed(batch)
        for index, event in enumerate(batch):
            if type(event) not in _METERED:
                if self.counts_content:
                    self.count(event)
                continue
            match event:
                case Started(model=model) if model:
                    self._answered_by = model
                case UsageSeen(usage):
                    self._usage, self._unreported = usage, 0
                case Finished():
                    priced = self._priced_usage(is_final=True)
                    return [*batch[:index], *priced, self._with_prices(event), *batch[index + 1 :]]
                case Failed(error):
                    self.fail(error)
                    return [*batch[:index], *self._priced_usage(is_final=False), *batch[index:]]
        return batch

    def count(self, event: Event) -> None:
        """Count content. Of bytes that are passed through only the size is known."""
        match event:
            case TextDelta() | ReasoningDelta():
                self._unreported += len(event.text.encode("utf-8", "replace"))
            case ToolCallDelta():
                self._unreported += len(event.arguments)
            case Verbatim():
                self._unreported += len(event.data)

    def fail(self, error: GroundwireError) -> None:
        """The request failed. Vendors do not bill error responses; a broken or late answer they do."""
        self._is_billed = isinstance(error, TimedOut | Interrupted) and getattr(error, "status", None) is None

    def cost(self) -> Cost:
        """What the request cost; of one that was aborted, what it had used."""
        if self._final is not None:
            return self._final
        reported = self.usage_so_far() if self.usage_so_far is not None else None
        if reported is not None and reported != NO_USAGE:
            self._usage, self._unreported = reported, 0
        usage = self._usage
        if usage == NO_USAGE and not self._unreported and not self._is_billed:
            return Cost("free")
        searches = self._counter.completed_usage()
        estimate = (usage.output_tokens or 0) + tokens_of_bytes(self._unreported)
        most = self._find_prices(self._model).most_output(self._request)
        return self._price(
            replace(
                usage,
                input_tokens=usage.input_tokens or input_estimate(self._request),
                output_tokens=min(estimate, max(most, usage.output_tokens or 0)),
                searches=searches.searches if searches is not None else usage.searches,
            )
        )

    def _priced_usage(self, *, is_final: bool) -> Sequence[UsageSeen]:
        if self._usage == NO_USAGE:
            return ()
        cost = self._price(self._usage)
        if is_final:
            self._final = cost
        if cost.usd is None or self._usage.cost is not None:
            return ()
        return (
            UsageSeen(
                replace(
                    self._usage, cost=rounded_usd(cost.usd), search_cost=rounded_usd(cost.searches) or None
                )
            ),
        )

    def _with_prices(self, end: Finished) -> Finished:
        """The end of an answer, with the price list that its cost is from."""
        if self._final is None or not self._final.prices:
            return end
        return replace(end, extras=merge_extras(end.extras, {"groundwire": {"prices": self._final.prices}}))

    def _price(self, usage: Usage) -> Cost:
        """The price of the model that answered; of the one that was requested if the former has none."""
        options = self._request.search
        requested, answered = self._model, self._answered_by
        cost = self._find_prices(answered or requested).cost(usage, options)
        if cost.usd is None and answered and requested and answered != requested:
            cost = self._find_prices(requested).cost(usage, options)
        return cost


_PRICED_MODELS = 64
"""Models of a provider whose prices are kept."""


class MeteredProvider:
    """A provider whose answers contain their cost."""

    def __init__(self, provider: Provider, terms: PricingTerms) -> None:
        self.name = provider.name
        self.capabilities = provider.capabilities
        self._provider = provider
        self._find_prices = lru_cache(_PRICED_MODELS)(terms.prices)
        self._is_listed = is_listed(terms.vendor)

    @property
    def model(self) -> str:
        return self._provider.model

    async def batches(self, request: Request) -> Batches:
        """The answer, with its cost in the last usage."""
        bill = CURRENT_BILL.get()
        meter = Meter(request, request.model or self.model, self.capabilities, self._find_prices)
        meter.counts_content = bill is not None
        path: FastPath | None = None
        # In a thread, while the provider answers.
        must_load = self._is_listed and not are_prices_loaded()
        loading = asyncio.ensure_future(asyncio.to_thread(load_prices)) if must_load else None
        batches = self._provider.batches(request)
        try:
            try:
                async for batch in batches:
                    if loading is not None and any(isinstance(event, _ENDS) for event in batch):
                        await asyncio.shield(loading)
                    if bill is not None:
                        path = path or _metered_path(batch, meter)
                    priced = meter.feed(batch)
                    yield OpeningBatch(priced, path) if path is not None else priced
            finally:
                await batches.aclose()
        except GroundwireError as error:
            meter.fail(error)
            raise
        finally:
            if bill is not None:
                bill.add(meter.cost())


def _metered_path(batch: Sequence[Event], meter: Meter) -> FastPath | None:
    """A fast path whose content is counted."""
    if not isinstance(batch, OpeningBatch):
        return None
    inner, outer = batch.fast_path, FastPath()
    meter.usage_so_far = inner.usage_so_far

    def write_events(events: Sequence[Event]) -> bool:
        if outer.write_events is None or not outer.write_events(events):
            return False
        for event in events:
            meter.count(event)
        return True

    def write_bytes(data: bytes) -> bool:
        if outer.write_bytes is None or not outer.write_bytes(data):
            return False
        meter.count(Verbatim(data))
        return True

    if any(isinstance(event, Verbatim) for event in batch):
        inner.write_bytes = write_bytes
    else:
        inner.write_events = write_events
    return outer


async def with_bill(bill: Bill, batches: Batches) -> AsyncGenerator[Sequence[Event], None]:
    """The batches; what they cost is added to the bill."""
    async with aclosing(batches):
        while True:
            # Set for each step: between two steps the context belongs to the caller.
            token = CURRENT_BILL.set(bill)
            try:
                batch = await anext(batches, None)
            finally:
                CURRENT_BILL.reset(token)
            if batch is None:
                return
            yield batch
