"""Budgets do not leak or drift: aborted requests, lost answers of the store, new days, several gateways.

Named issues are those of LiteLLM's proxy.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from decimal import Decimal
from pathlib import Path
from threading import Event
from time import time

import pytest

from groundwire.errors import GroundwireError
from groundwire.model.access import KeyLimits
from groundwire.server.auth import fingerprint
from groundwire.server.budgets import Budgets
from groundwire.store.base import BudgetState
from groundwire.store.ledger import periods
from groundwire.store.sql import SqlStore
from tests.faces.gateway.serving import running_server, wait_for_open_requests
from tests.memory_folders import tmp_path
from tests.server.billing_upstream import KEY, NANO_OUTPUT, BillingUpstream, budgeted_service
from tests.server.test_budgets import COST, PLENTY, SMALL, Bench, bench

__all__ = ["tmp_path"]
pytestmark = pytest.mark.server

SECONDS = 20.0
STALLED = "tokens 100 80 4 stall 2"
UNANSWERED = "tokens 10 5 2 stall 0"


def guard_of(here: Bench) -> Budgets:
    guard: Budgets = here.app.groundwire.spending_guard  # type: ignore[attr-defined]
    return guard


async def until_bills(upstream: BillingUpstream, count: int, output_tokens: int = 0) -> None:
    """Wait until the upstream answers so many requests, and has sent so much."""
    async with asyncio.timeout(SECONDS):
        while sum(bill.output_tokens >= output_tokens for bill in upstream.bills) < count:
            await asyncio.sleep(0.01)


async def leave(call: asyncio.Task[object]) -> None:
    """Disconnect the client of a request in progress."""
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call


@asynccontextmanager
async def second_gateway(here: Bench, folder: Path) -> AsyncIterator[Bench]:
    """Another gateway with the same ledger."""
    app = budgeted_service({"scripted": here.upstream.url}, folder, here.limits)
    async with running_server(app) as (url, _):
        yield Bench(url, app, here.upstream, here.store, here.limits, here.client)


async def test_issue_33325_what_one_gateway_spends_counts_on_the_other(tmp_path: Path) -> None:
    """Each replica compared the budget with what it had spent itself."""
    limit = KeyLimits(usd_per_day=Decimal(4 * COST) / 10**9)
    async with bench(tmp_path, limit) as here, second_gateway(here, tmp_path) as there:
        statuses = []
        for number in range(6):
            statuses.append((await (here, there)[number % 2].ask(SMALL))[0])
            await here.settled()
            await there.settled()
        assert statuses == [200] * 4 + [402] * 2
        assert (await here.settled()).day.spent == here.upstream.nano_usd == 4 * COST


@pytest.fixture
def database_time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the database; its only element can be changed."""
    now = [periods(time())[0].ends - 3600.0]
    monkeypatch.setattr(SqlStore, "_now", lambda *_: now[0])
    return now


async def test_issue_34733_a_new_day_does_not_overwrite_what_was_spent_in_it(
    tmp_path: Path, database_time: list[float]
) -> None:
    """The reset of a window overwrote what had been spent since it began."""
    async with bench(tmp_path, KeyLimits(usd_per_day=Decimal(2 * COST) / 10**9)) as here:
        for _ in range(2):
            assert (await here.ask(SMALL))[0] == 200
            await here.settled()
        assert (await here.ask(SMALL))[0] == 402
        database_time[0] += 7200
        assert (await here.ask(SMALL))[0] == 200
        assert (await here.settled()).day.spent == COST
        # A second gateway that starts in the new day resets nothing.
        async with second_gateway(here, tmp_path) as there:
            assert (await there.ask(SMALL))[0] == 200
            assert (await there.settled()).day.spent == 2 * COST
            assert {(await one.ask(SMALL))[0] for one in (here, there)} == {402}
            # Of answers that begin the next day at the same time, each counts.
            database_time[0] += 86_400
            here.limits[KEY] = PLENTY
            statuses = await asyncio.gather(*((here, there)[n % 2].ask(SMALL) for n in range(12)))
            assert {status for status, _ in statuses} == {200}
            await here.settled()
            assert (await there.settled()).day.spent == 12 * COST


async def test_issue_28247_gateways_that_start_together_do_not_inflate_what_was_spent(tmp_path: Path) -> None:
    """Each replica that found no counter added the spend of the database to a shared one."""
    limit = KeyLimits(usd_per_day=Decimal(9 * COST) / 10**9)
    async with bench(tmp_path, limit) as here, AsyncExitStack() as stack:
        for _ in range(3):
            assert (await here.ask(SMALL))[0] == 200
            await here.settled()
        others = [await stack.enter_async_context(second_gateway(here, tmp_path)) for _ in range(4)]
        states = await asyncio.gather(*(one.settled() for one in others))
        assert {state.day.spent for state in states} == {3 * COST}
        for one in others:
            assert (await one.ask(SMALL))[0] == 200
            await one.settled()  # until then, the most that the request could cost is reserved
        for one in (here, *others):
            assert (await one.settled()).day.spent == here.upstream.nano_usd == 7 * COST


async def test_a_request_over_midnight_belongs_to_the_day_in_which_it_was_sent(
    tmp_path: Path, database_time: list[float]
) -> None:
    async with bench(tmp_path) as here:
        asking = asyncio.ensure_future(here.stream(STALLED))
        await until_bills(here.upstream, 1, output_tokens=40)
        yesterday = database_time[0]
        database_time[0] += 7200
        assert (await here.ask(SMALL))[0] == 200
        await leave(asking)
        today = await here.settled()
        assert (today.day.spent, today.day.reserved) == (COST, 0)
        database_time[0] = yesterday
        before = await here.settled()
        assert before.day.spent == here.upstream.nano_usd - COST
        assert before.day.reserved == before.month.reserved == 0


async def test_a_client_that_leaves_before_the_first_byte_leaves_no_reservation(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        asking = [asyncio.ensure_future(here.stream(UNANSWERED)) for _ in range(5)]
        await until_bills(here.upstream, 5)
        reserved = here.store.budget(fingerprint(KEY)).day.reserved
        assert reserved > 0
        for one in asking:
            await leave(one)
        state = await here.settled()
        assert (state.day.reserved, state.month.reserved) == (0, 0)
        assert state.day.spent <= reserved


async def test_a_client_that_leaves_while_the_budget_is_reserved_leaves_no_reservation(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        real, may_reserve, started = here.store.reserve_budget, Event(), Event()

        class SlowStore:
            settle_budget = here.store.settle_budget

            def reserve_budget(self, *arguments: object) -> BudgetState:
                started.set()
                assert may_reserve.wait(SECONDS)
                return real(*arguments)  # type: ignore[arg-type]

        guard_of(here)._store = SlowStore()  # type: ignore[assignment]
        asking = asyncio.ensure_future(here.stream(SMALL))
        assert await asyncio.to_thread(started.wait, SECONDS)
        await leave(asking)
        await wait_for_open_requests(here.app, 0)
        may_reserve.set()
        state = await here.settled()
        assert (state.day.spent, state.day.reserved) == (0, 0)
        assert not here.upstream.bills


async def test_reservations_whose_confirmation_is_lost_are_released(tmp_path: Path) -> None:
    """The database commits, and the connection breaks before it can say so."""
    async with bench(tmp_path) as here:
        guard, is_away = guard_of(here), True

        class LossyStore:
            def reserve_budget(self, *arguments: object) -> BudgetState:
                state = here.store.reserve_budget(*arguments)  # type: ignore[arg-type]
                if is_away:
                    raise GroundwireError("the connection broke after the commit")
                return state

            def settle_budget(self, name: str, amount: int) -> bool:
                if is_away:
                    raise GroundwireError("the database is away")
                return here.store.settle_budget(name, amount)

        guard._store = LossyStore()  # type: ignore[assignment]
        assert [(await here.ask(SMALL))[0] for _ in range(3)] == [503] * 3
        assert not here.upstream.bills
        await guard.aclose()
        assert here.store.budget(fingerprint(KEY)).day.reserved
        is_away = False
        assert (await here.ask(SMALL))[0] == 200
        state = await here.settled()
        assert (state.day.spent, state.day.reserved) == (COST, 0)


async def test_retries_at_the_same_time_are_counted_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        here.upstream.fails = 6
        statuses = [status for status, _ in await asyncio.gather(*(here.ask(SMALL) for _ in range(20)))]
        assert (await here.settled()).day.spent == here.upstream.nano_usd == statuses.count(200) * COST
        assert statuses.count(200) >= 14


async def test_a_gateway_that_starts_while_requests_run_reads_the_ledger_as_it_is(tmp_path: Path) -> None:
    """Nothing is kept in a counter that a new process would have to seed."""
    limit = KeyLimits(usd_per_day=Decimal("0.000000001"))
    async with bench(tmp_path, limit) as here:
        asking = asyncio.ensure_future(here.stream(STALLED))
        await until_bills(here.upstream, 1, output_tokens=40)
        async with second_gateway(here, tmp_path) as there:
            assert (await there.ask(SMALL))[0] == 429, "the whole budget is reserved on the other gateway"
            here.limits[KEY] = PLENTY
            assert (await there.ask(SMALL))[0] == 200
            await leave(asking)
            assert (await there.settled()).day.spent == here.upstream.nano_usd
            assert (await here.settled()).day.spent == here.upstream.nano_usd > 40 * NANO_OUTPUT


async def test_a_limit_that_changes_under_traffic_leaves_the_ledger_exact(tmp_path: Path) -> None:
    limits = (KeyLimits(usd_per_day=Decimal("0.000000001")), KeyLimits(usd_per_month=Decimal("0.02")), PLENTY)
    async with bench(tmp_path) as here:
        gate = asyncio.Semaphore(10)

        async def ask(number: int) -> int:
            async with gate:
                here.limits[KEY] = limits[number // 5 % 3]
                return (await here.ask(f"tokens {number + 1} 5 2 finish"))[0]

        statuses = await asyncio.gather(*(ask(number) for number in range(90)))
        assert set(statuses) == {200, 402} or set(statuses) == {200, 402, 429}
        state = await here.settled()
        assert state.day.spent == state.month.spent == here.upstream.nano_usd
        assert statuses.count(200) == len(here.upstream.bills)
        here.limits[KEY] = KeyLimits(usd_per_day=Decimal(state.day.spent) / 10**9)
        assert (await here.ask(SMALL))[0] == 402
        here.limits[KEY] = KeyLimits(usd_per_day=Decimal(state.day.spent + 1) / 10**9)
        assert (await here.ask(SMALL))[0] == 200
