"""What each request to a provider costs, in the usage of the answer and on the bill."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from decimal import Decimal

import pytest

from groundwire.engine.pages import EngineResult
from groundwire.errors import GroundwireError, Interrupted, Overloaded, TimedOut, Unreachable
from groundwire.model import (
    Answer,
    Event,
    Failed,
    Finished,
    Message,
    Request,
    SearchCall,
    SearchCalled,
    SearchOptions,
    Started,
    Text,
    TextDelta,
    Usage,
    UsageSeen,
    assemble,
)
from groundwire.model.batch import FastPath, OpeningBatch
from groundwire.model.cost import ConfiguredPrices, to_nano
from groundwire.model.value import replace
from groundwire.providers.policy import Capabilities, engine_capabilities
from groundwire.providers.pricing import PriceList
from groundwire.providers.spec import Batches, Provider, flatten
from groundwire.routing.continuation import with_continuation
from groundwire.routing.failover import Router
from groundwire.routing.health import Health
from groundwire.routing.metering import Bill, MeteredProvider, PricingTerms, terms_of, with_bill
from groundwire.routing.resolve import Plan, ResolvedTarget
from groundwire.routing.tool_loop.provider import ToolLoopProvider
from tests.routing.test_failover import ScriptedProvider
from tests.routing.test_tool_loop import ANSWERS, QUESTION, SEARCHES, SNOW, Model, ScriptedEngine

PRICES = PriceList({name: ConfiguredPrices(input=1.0, output=10.0, search=5.0) for name in ("a", "b", "m")})
REQUEST = Request((Message("user", (Text("why?"),)),))


def used(tokens: int, output: int, searches: int | None = None) -> UsageSeen:
    return UsageSeen(Usage(tokens, output, searches=searches))


def metered(provider: Provider) -> MeteredProvider:
    return MeteredProvider(provider, terms_of(PRICES, provider.name))


async def collect(batches: Batches, bill: Bill | None = None) -> list[Event]:
    return [event async for event in flatten(batches if bill is None else with_bill(bill, batches))]


async def answer_of(batches: Batches, bill: Bill | None = None) -> Answer:
    return assemble(await collect(batches, bill))


def micro(bill: Bill) -> int:
    return to_nano(bill.usd) // 1000


async def test_the_last_usage_of_an_answer_has_its_cost() -> None:
    provider = ScriptedProvider("a", [Started(), TextDelta(0, "x"), used(100, 20, 3), Finished()])
    bill = Bill()
    usage = (await answer_of(metered(provider).batches(REQUEST), bill)).usage
    assert (usage.cost, usage.search_cost) == (0.0003 + 0.015, 0.015)
    assert bill.usd == Decimal("0.0153")


async def test_the_end_names_the_price_list_that_the_cost_is_from() -> None:
    provider = ScriptedProvider("tavily", [Started(), UsageSeen(Usage(searches=2)), Finished()])
    answer = await answer_of(MeteredProvider(provider, terms_of(PriceList(), "tavily")).batches(REQUEST))
    assert answer.usage.cost == 0.016
    assert "genai-prices" in str(answer.extras["groundwire"]["prices"])
    configured = ScriptedProvider("a", [Started(), used(100, 20), Finished()])
    assert (await answer_of(metered(configured).batches(REQUEST))).extras == {}


async def test_a_provider_without_a_price_has_no_cost_and_not_zero() -> None:
    provider = ScriptedProvider("unknown", [Started(), used(100, 20), Finished()])
    bill = Bill()
    assert (await answer_of(metered(provider).batches(REQUEST), bill)).usage.cost is None
    assert (bill.usd, bill.has_unknown) == (Decimal(0), True)


async def test_a_cost_that_the_provider_reports_is_kept() -> None:
    usage = Usage(100, 20, cost=0.5)
    provider = ScriptedProvider("a", [Started(), UsageSeen(usage), Finished()])
    bill = Bill()
    assert (await answer_of(metered(provider).batches(REQUEST), bill)).usage == usage
    assert bill.usd == Decimal("0.5")


async def test_searches_that_the_provider_does_not_count_are_priced_by_its_rule() -> None:
    searched = SearchCalled(0, SearchCall("s", ("one", "two")))
    provider = ScriptedProvider("a", [Started(), searched, used(0, 0), Finished()])
    provider.capabilities = Capabilities(billing=(("", "query"),))
    assert (await answer_of(metered(provider).batches(REQUEST))).usage.search_cost == 0.01


async def test_the_rounds_of_a_paused_turn_are_priced_one_by_one() -> None:
    long = PriceList({"a": ConfiguredPrices(input=1.0, output=10.0)})
    provider = ScriptedProvider(
        "a",
        [Started(), TextDelta(0, "x"), used(100, 20), Finished("pause")],
        [Started(), TextDelta(0, "y"), used(200, 5), Finished()],
    )
    bill = Bill()
    metered_one = MeteredProvider(provider, PricingTerms(long, "a", ""))
    usage = (await answer_of(with_continuation(metered_one, REQUEST), bill)).usage
    assert usage.input_tokens == 300
    assert usage.cost == pytest.approx(0.0003 + 0.00025)
    assert micro(bill) == 550


async def test_the_rounds_of_a_tool_loop_are_booked_each_with_the_searches_of_its_engine() -> None:
    model = Model("m", SEARCHES, ANSWERS)
    engine = ScriptedEngine(EngineResult((SNOW,)))
    tavily = terms_of(PriceList(), "tavily")
    loop = ToolLoopProvider(
        metered(model), lambda: engine, engine_capabilities(engine.honours), prices=tavily.prices("")
    )
    bill = Bill()
    usage = (await answer_of(loop.batches(QUESTION), bill)).usage
    tokens = 2 * (10 + 10)  # two rounds of ten tokens in and one out
    assert usage.cost == pytest.approx(tokens / 1e6 + 0.008)
    assert usage.search_cost == 0.008
    assert micro(bill) == tokens + 8000


# Attempts that fail


def router(*providers: ScriptedProvider) -> tuple[Router, Plan]:
    async def sleep(_: float) -> None:
        pass

    known: dict[str, Provider] = {provider.name: metered(provider) for provider in providers}
    health = Health(lambda: 0.0)
    targets = tuple(ResolvedTarget(name, "m") for name in known)
    return Router(known, health=health, sleep=sleep, random=lambda: 0.0), Plan(targets, 60.0)


async def test_an_attempt_that_failed_over_is_booked_with_what_it_used() -> None:
    broken = ScriptedProvider("a", [Started(), used(1000, 7), Interrupted("it broke off")])
    good = ScriptedProvider("b", [Started(), TextDelta(0, "x"), used(10, 1), Finished()])
    routes, plan = router(broken, good)
    bill = Bill()
    answer = await answer_of(routes.batches(REQUEST, plan), bill)
    tries = len(broken.calls)
    assert tries >= 1
    assert micro(bill) == tries * (1000 + 70) + 20
    assert answer.usage.cost == 20 / 1e6, "the answer itself has the cost of the provider that gave it"


@pytest.mark.parametrize("error", [Overloaded("no", status=529), Unreachable("no connection")])
async def test_an_error_response_costs_nothing(error: GroundwireError) -> None:
    routes, plan = router(ScriptedProvider("a", [error]))
    bill = Bill()
    with pytest.raises(GroundwireError):
        await collect(routes.batches(REQUEST, plan), bill)
    assert (bill.usd, bill.has_unknown) == (Decimal(0), False)


async def test_a_request_that_timed_out_costs_its_input() -> None:
    bill = Bill()
    with pytest.raises(TimedOut):
        await collect(metered(ScriptedProvider("a", [TimedOut("late")])).batches(REQUEST), bill)
    assert bill.usd > 0


async def test_an_answer_that_breaks_off_costs_what_was_reported_and_received() -> None:
    events: list[Event | GroundwireError] = [
        Started(),
        used(50, 1),
        TextDelta(0, "x" * 30),
        Failed(Interrupted("cut")),
    ]
    bill = Bill()
    await collect(metered(ScriptedProvider("a", events)).batches(REQUEST), bill)
    assert micro(bill) == 50 + 10 * (1 + 10)


# Aborts


async def test_an_aborted_answer_costs_what_was_reported_and_received() -> None:
    provider = ScriptedProvider("a", [Started(), used(50, 1), TextDelta(0, "x" * 30), used(999, 999)])
    bill = Bill()
    async with aclosing(with_bill(bill, metered(provider).batches(REQUEST))) as batches:
        async for batch in batches:
            if any(isinstance(event, TextDelta) for event in batch):
                break
    assert micro(bill) == 50 + 10 * (1 + 10)


class FastProvider:
    """Sends content over the fast path, then nothing."""

    name, model, capabilities = "a", "m", Capabilities()

    def __init__(self, *, reports: bool) -> None:
        self._reports = reports
        self.path = FastPath()

    async def batches(self, request: Request) -> Batches:
        if self._reports:
            self.path.usage_so_far = lambda: Usage(70, 9)
        yield OpeningBatch([Started(), used(50, 1), TextDelta(0, "xxx")], self.path)
        assert self.path.write_events is not None
        assert self.path.write_events([TextDelta(0, "y" * 27)])
        await asyncio.sleep(3600)
        yield [Finished()]


@pytest.mark.parametrize(("reports", "cost"), [(False, 50 + 10 * (1 + 10)), (True, 70 + 10 * 9)])
async def test_content_of_the_fast_path_is_counted(reports: bool, cost: int) -> None:
    bill = Bill()
    written: list[Event] = []

    def write(events: Sequence[Event]) -> bool:
        written.extend(events)
        return True

    async def read() -> None:
        async with aclosing(
            with_bill(bill, metered(FastProvider(reports=reports)).batches(REQUEST))
        ) as batches:
            async for batch in batches:
                assert isinstance(batch, OpeningBatch)
                batch.fast_path.write_events = write

    reading = asyncio.create_task(read())
    async with asyncio.timeout(10):
        while not written:
            await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait([reading])
    assert written == [TextDelta(0, "y" * 27)]
    assert micro(bill) == cost


async def test_without_a_bill_the_fast_path_is_left_alone() -> None:
    path = FastPath()

    class Fast(FastProvider):
        async def batches(self, request: Request) -> Batches:
            yield OpeningBatch([Started(), TextDelta(0, "x")], path)

    async with aclosing(metered(Fast(reports=False)).batches(REQUEST)) as batches:
        async for batch in batches:
            assert isinstance(batch, OpeningBatch)
            assert batch.fast_path is path
    assert path.write_events is None


async def test_bills_of_concurrent_requests_are_separate() -> None:
    async def one(tokens: int) -> int:
        provider = ScriptedProvider("a", [Started(), TextDelta(0, "x"), used(tokens, 0), Finished()])
        bill = Bill()
        async for _ in with_bill(bill, metered(provider).batches(REQUEST)):
            await asyncio.sleep(0)
        return micro(bill)

    assert await asyncio.gather(*(one(tokens) for tokens in range(1, 20))) == list(range(1, 20))


# The most that a request can cost


def test_a_tool_loop_can_cost_all_its_rounds_and_searches() -> None:
    once = terms_of(PRICES, "m")
    loop = replace(once, rounds=6, engine=terms_of(PRICES, "tavily"))
    request = replace(REQUEST, search=SearchOptions(max_uses=2))
    one = once.dearest(replace(request, search=None), "m", Capabilities()).usd
    most = loop.dearest(request, "m", engine_capabilities(frozenset())).usd
    assert one is not None
    assert most is not None
    assert most > 6 * one + Decimal("0.016") - one


def test_the_engine_that_a_model_writes_for_costs_both() -> None:
    writer = terms_of(PRICES, "m")
    engine = replace(
        terms_of(PriceList(), "tavily"), writer=lambda request: writer.dearest(request, "m", Capabilities())
    )
    request = replace(REQUEST, search=SearchOptions())
    both = engine.dearest(request, "", engine_capabilities(frozenset())).usd
    alone = terms_of(PriceList(), "tavily").dearest(request, "", engine_capabilities(frozenset())).usd
    assert alone == Decimal("0.008")
    assert both is not None
    assert both > alone
