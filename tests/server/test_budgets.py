"""Budgets of keys, from the client's request to the ledger. Named issues are those of LiteLLM's proxy."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import cast

import aiohttp
import pytest
from yarl import URL

from groundwire.config.schema import GatewaySettings
from groundwire.errors import GroundwireError
from groundwire.model.access import KeyLimits
from groundwire.model.cost import ConfiguredPrices, from_nano
from groundwire.server.app import HttpApp
from groundwire.server.auth import fingerprint
from groundwire.store.base import BudgetState, Store
from groundwire.store.open import open_store
from tests.faces.gateway.serving import running_server, wait_for_open_requests
from tests.figures import Figures
from tests.memory_folders import tmp_path
from tests.server.billing_upstream import (
    KEY,
    NANO_INPUT,
    NANO_OUTPUT,
    OTHER_KEY,
    PRICES,
    BillingUpstream,
    billing_upstream,
    budgeted_service,
)

__all__ = ["tmp_path"]
pytestmark = pytest.mark.server

PLENTY = KeyLimits(usd_per_day=Decimal(1000))
SMALL = "tokens 10 5 1 finish"
COST = 10 * NANO_INPUT + 5 * NANO_OUTPUT


@dataclass
class Bench:
    """A running gateway with budgets, its upstream and its store."""

    url: str
    app: HttpApp
    upstream: BillingUpstream
    store: Store
    limits: dict[str, KeyLimits]
    client: aiohttp.ClientSession

    async def ask(self, question: str, key: str = KEY, **more: object) -> tuple[int, dict[str, object]]:
        body = {"model": "scripted/m", "messages": [{"role": "user", "content": question}], **more}
        headers = {"authorization": f"Bearer {key}"}
        async with self.client.post(f"{self.url}/v1/chat/completions", json=body, headers=headers) as reply:
            return reply.status, await reply.json(content_type=None)

    async def stream(self, question: str, *, leave_after: int | None = None, key: str = KEY) -> int:
        """Stream an answer; disconnect after a number of chunks of text."""
        body = {"model": "scripted/m", "stream": True, "messages": [{"role": "user", "content": question}]}
        headers = {"authorization": f"Bearer {key}"}
        chunks = 0
        async with self.client.post(f"{self.url}/v1/chat/completions", json=body, headers=headers) as reply:
            async for line in reply.content:
                chunks += line.count(b"part ")
                if leave_after is not None and chunks >= leave_after:
                    reply.close()
                    break
            return reply.status

    async def settled(self, key: str = KEY) -> BudgetState:
        """The ledger, when no request is open and nothing is reserved."""
        await wait_for_open_requests(self.app, 0)
        async with asyncio.timeout(20):
            while (state := await asyncio.to_thread(self.store.budget, fingerprint(key))).day.reserved:
                await asyncio.sleep(0.01)
        return state


@asynccontextmanager
async def bench(folder: Path, limit: KeyLimits = PLENTY, **settings: object) -> AsyncIterator[Bench]:
    limits = {KEY: limit}
    connector = aiohttp.TCPConnector(limit=0)
    async with billing_upstream() as upstream, aiohttp.ClientSession(connector=connector) as client:
        app = budgeted_service({"scripted": upstream.url}, folder, limits, **settings)
        store = open_store(f"sqlite:///{folder}/groundwire.db")
        try:
            async with running_server(app) as (url, _):
                yield Bench(url, app, upstream, store, limits, client)
        finally:
            store.close()


async def test_a_request_is_settled_by_what_the_provider_billed(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        status, body = await here.ask(SMALL)
        assert status == 200
        assert (await here.settled()).day.spent == COST == here.upstream.nano_usd
        usage = body["usage"]
        assert isinstance(usage, dict)
        assert usage["cost"] == COST / 10**9


async def test_a_spent_budget_is_refused_with_402_and_the_time_of_its_reset(tmp_path: Path) -> None:
    async with bench(tmp_path, KeyLimits(usd_per_day=Decimal("0.00001"))) as here:
        assert (await here.ask(SMALL))[0] == 200
        spent = await here.settled()
        async with here.client.post(
            f"{here.url}/v1/messages",
            json={"model": "scripted/m", "max_tokens": 5, "messages": [{"role": "user", "content": SMALL}]},
            headers={"x-api-key": KEY},
        ) as reply:
            body = await reply.json()
            assert reply.status == 402
            assert 0 < int(reply.headers["retry-after"]) <= 86_400
        assert body["error"]["type"] == "billing_error"
        assert "$0.00006 of $0.00001 this day" in body["error"]["message"]
        assert "T00:00:00Z" in body["error"]["message"]
        assert len(here.upstream.bills) == 1
        assert (await here.settled()).day.spent == spent.day.spent
        status, chat = await here.ask(SMALL)
        assert (status, chat["error"]["type"]) == (402, "insufficient_quota")  # type: ignore[index]


async def test_a_key_without_a_budget_never_touches_the_store(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        calls: list[str] = []
        budgets = here.app.groundwire.spending_guard  # type: ignore[attr-defined]
        for name in ("reserve_budget", "settle_budget"):
            setattr(budgets._store, name, lambda *_, name=name: calls.append(name))
        assert (await here.ask(SMALL, OTHER_KEY))[0] == 200
        assert not calls


async def test_a_lost_store_refuses_keys_with_a_budget_and_no_others(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        budgets = here.app.groundwire.spending_guard  # type: ignore[attr-defined]

        class Lost:
            def reserve_budget(self, *_: object) -> BudgetState:
                raise GroundwireError("the database is away")

            def settle_budget(self, *_: object) -> bool:
                return False

        budgets._store = Lost()
        headers = {"authorization": f"Bearer {KEY}"}
        body = {"model": "scripted/m", "messages": [{"role": "user", "content": SMALL}]}
        async with here.client.post(f"{here.url}/v1/chat/completions", json=body, headers=headers) as reply:
            assert reply.status == 503
            assert reply.headers["retry-after"] == "5"
            assert "store" in (await reply.json())["error"]["message"]
        assert not here.upstream.bills
        assert (await here.ask(SMALL, OTHER_KEY))[0] == 200


async def test_an_unknown_price_is_refused_unless_a_fallback_is_configured(tmp_path: Path) -> None:
    async with bench(tmp_path, prices={}) as here:
        status, body = await here.ask(SMALL)
        assert status == 403
        assert "the price of scripted/m is not known" in body["error"]["message"]  # type: ignore[index]
        assert (await here.ask(SMALL, OTHER_KEY))[0] == 200
    async with bench(tmp_path / "2", prices={"*": ConfiguredPrices(1.0, 1.0)}) as here:
        assert (await here.ask(SMALL))[0] == 200
        assert (await here.settled()).day.spent == 15_000


async def test_a_changed_limit_applies_to_the_next_request(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        assert (await here.ask(SMALL))[0] == 200
        await here.settled()
        here.limits[KEY] = KeyLimits(usd_per_month=Decimal("0.00001"))
        status, body = await here.ask(SMALL)
        assert (status, "this month" in body["error"]["message"]) == (402, True)  # type: ignore[index]
        here.limits[KEY] = PLENTY
        assert (await here.ask(SMALL))[0] == 200
        del here.limits[KEY]
        assert (await here.ask(SMALL))[0] == 200


async def test_cached_and_shared_answers_cost_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, gateway=GatewaySettings(cache_seconds=60)) as here:
        question = {"model": "scripted/m", "input": SMALL, "tools": [{"type": "web_search"}]}
        headers = {"authorization": f"Bearer {KEY}"}
        for state in ("miss", "hit", "hit"):
            async with here.client.post(f"{here.url}/v1/responses", json=question, headers=headers) as reply:
                assert reply.status == 200
                assert reply.headers["x-groundwire-cache"] == state
                await reply.read()
        assert len(here.upstream.bills) == 1
        assert (await here.settled()).day.spent == here.upstream.nano_usd


async def test_mcp_is_charged_too(tmp_path: Path) -> None:
    """A second way in must not bypass the budget, as the test page of LiteLLM did (PR 9658)."""
    async with bench(tmp_path, KeyLimits(usd_per_day=Decimal("0.00001"))) as here:
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "websearch", "arguments": {"query": SMALL}},
        }
        headers = {
            "authorization": f"Bearer {KEY}",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-06-18",
        }
        texts = []
        for _ in range(2):
            async with here.client.post(f"{here.url}/mcp", json=call, headers=headers) as reply:
                assert reply.status == 200
                texts.append(await reply.text())
            await here.settled()
        assert len(here.upstream.bills) == 1
        assert "part 1" in texts[0]
        assert '"grounded":false' in texts[0].replace(" ", "")
        assert "budget of this API key is spent" in texts[1]


async def test_the_chat_page_is_charged_too(tmp_path: Path) -> None:
    async with (
        bench(tmp_path, KeyLimits(usd_per_day=Decimal("0.00001"))) as here,
        aiohttp.ClientSession(here.url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        async with browser.post("/login", data={"key": KEY, "token": await token_of(browser, "/login")}):
            pass
        headers = {"x-groundwire-token": await token_of(browser, "/")}
        texts = []
        for _ in range(2):
            async with browser.post("/chat/ask", json={"text": SMALL}, headers=headers) as reply:
                texts.append(await reply.text())
            await here.settled()
        assert len(here.upstream.bills) == 1
        assert (await here.settled()).day.spent == COST
        assert "part 1" in texts[0]
        assert "budget" in texts[1]


async def token_of(browser: aiohttp.ClientSession, path: str) -> str:
    async with browser.get(path) as page:
        found = re.search(r'(?:data-token|name="token" value)="(\w+)"', await page.text())
    assert found
    return found[1]


# Failures and aborts


async def test_each_attempt_that_was_billed_is_booked(tmp_path: Path) -> None:
    """A request that fails over costs what all its attempts cost."""
    async with bench(tmp_path) as here:
        here.upstream.fails = 1  # an error response is not billed; the retry is
        assert (await here.ask(SMALL))[0] == 200
        assert (await here.settled()).day.spent == COST


async def test_an_aborted_answer_costs_what_was_reported_until_then(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.stream("tokens 1000 900 9 stall 3", leave_after=3)
        spent = (await here.settled()).day.spent
        assert spent == here.upstream.nano_usd == 1000 * NANO_INPUT + 300 * NANO_OUTPUT


async def gemini(here: Bench, question: str, *, leaves: bool = False) -> None:
    """A client of the provider's own dialect: its bytes are passed through."""
    body = {"contents": [{"role": "user", "parts": [{"text": question}]}]}
    path = "/v1beta/models/scripted%2Fm:streamGenerateContent?alt=sse"
    headers = {"x-goog-api-key": KEY}
    async with here.client.post(URL(f"{here.url}{path}", encoded=True), json=body, headers=headers) as reply:
        assert reply.status == 200
        if leaves:
            await reply.content.readuntil(b"part 2")
            reply.close()
        else:
            await reply.read()


async def test_an_answer_that_is_passed_through_is_booked_exactly(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await gemini(here, "tokens 321 54 3 finish")
        assert (
            (await here.settled()).day.spent == here.upstream.nano_usd == 321 * NANO_INPUT + 54 * NANO_OUTPUT
        )


async def test_an_aborted_answer_that_is_passed_through_is_estimated_upwards(tmp_path: Path) -> None:
    """Its usage is not read before the end; the estimate is at most what the model may write."""
    async with bench(tmp_path) as here:
        await gemini(here, "tokens 30 20 6 stall 2", leaves=True)
        spent = (await here.settled()).day.spent
        assert here.upstream.bills[0].output_tokens * NANO_OUTPUT < spent
        assert spent <= 200 * NANO_INPUT + 1000 * NANO_OUTPUT


async def test_a_refused_request_reserves_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        here.upstream.fails = 100
        assert (await here.ask(SMALL))[0] >= 500
        state = await here.settled()
        assert (state.day.spent, state.day.reserved) == (0, 0)


MANY = 1000
"""From this number of requests on, a test writes down its figures."""


# LiteLLM's issues


async def concurrent(here: Bench, count: int, question: str = SMALL) -> list[int]:
    return [status for status, _ in await asyncio.gather(*(here.ask(question) for _ in range(count)))]


async def test_issue_26672_a_spent_budget_is_enforced(tmp_path: Path) -> None:
    """Budget enforcement bypassed although the spend exceeds the budget."""
    async with bench(tmp_path, KeyLimits(usd_per_day=Decimal("0.0001"))) as here:
        statuses = []
        for _ in range(6):
            statuses.append((await here.ask(SMALL))[0])
            await here.settled()
        assert statuses == [200, 200, 402, 402, 402, 402]


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.thorough)])
async def test_issue_34732_concurrent_requests_exceed_the_budget_by_one_reservation(
    tmp_path: Path, count: int, figures: Figures
) -> None:
    """Concurrent requests pass the check before any spend is recorded. Also R25."""
    async with bench(tmp_path, KeyLimits(usd_per_day=Decimal("0.000000001"))) as here:
        statuses = await concurrent(here, count, "tokens 10 5 2 finish")
        assert statuses.count(200) == len(here.upstream.bills)
        assert set(statuses) <= {200, 402, 429}
        assert statuses.count(200) == 1
        assert (await here.settled()).day.spent == here.upstream.nano_usd
        if count >= MANY:
            figures.add("R25", f"of {count:,} requests at once for the last unit, sent to the provider", 1)


async def test_issue_27639_reservations_do_not_leak(tmp_path: Path) -> None:
    """Reservations that are never released refuse requests of a key that has spent next to nothing."""
    limit = KeyLimits(usd_per_day=Decimal("0.05"))
    async with bench(tmp_path, limit) as here:
        for number in range(8):
            here.upstream.fails = 10 if number == 3 else 0
            await here.stream("tokens 1 2 2 stall 1" if number % 2 else SMALL, leave_after=1)
        here.upstream.fails = 0
        state = await here.settled()
        assert state.day.reserved == 0
        assert (await here.ask(SMALL))[0] == 200


async def test_issue_27735_what_is_enforced_is_what_is_shown(tmp_path: Path) -> None:
    """The check used another number than the one that was shown for the key."""
    async with bench(tmp_path) as here:
        for _ in range(3):
            await here.ask(SMALL)
        shown = (await here.settled()).day.spent
        here.limits[KEY] = KeyLimits(usd_per_day=Decimal(shown) / 10**9)
        assert (await here.ask(SMALL))[0] == 402
        here.limits[KEY] = KeyLimits(usd_per_day=Decimal(shown + 1) / 10**9)
        assert (await here.ask(SMALL))[0] == 200


async def test_issue_30460_a_repeated_write_does_not_inflate_the_counters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counters grew with every timeout, because writes that had succeeded were repeated."""
    monkeypatch.setattr("groundwire.server.budgets._RETRY_SETTLE", 0.01)
    async with bench(tmp_path) as here:
        budgets = here.app.groundwire.spending_guard  # type: ignore[attr-defined]
        real = budgets._store.settle_budget
        failures = iter([True, False] * 50)

        def settle(name: str, amount: int) -> bool:
            settled: bool = real(name, amount)
            if next(failures):
                raise GroundwireError("the connection broke after the commit")
            return settled

        budgets._store.settle_budget = settle
        for _ in range(2):
            assert (await here.ask(SMALL))[0] == 200
        assert (await here.settled()).day.spent == 2 * COST
        await budgets.aclose()
        assert (await here.settled()).day.spent == 2 * COST


FREE = ConfiguredPrices(input=0.0, output=0.0, search=0.0)


async def test_issue_10973_a_spent_budget_does_not_block_what_is_free(tmp_path: Path) -> None:
    """A budget that is spent also blocked models that cost nothing."""
    async with bench(tmp_path, KeyLimits(usd_per_day=Decimal(0)), prices={"scripted": FREE}) as here:
        assert (await here.ask(SMALL))[0] == 200
        assert (await here.settled()).day.spent == 0


async def test_issue_41344_a_free_model_with_a_paid_fallback_is_checked(tmp_path: Path) -> None:
    """The budget was checked for the model that was requested, not for the one that was billed."""
    limits = {KEY: KeyLimits(usd_per_day=Decimal("0.00001"))}
    async with billing_upstream() as free, billing_upstream() as paid, aiohttp.ClientSession() as client:
        urls = {"free": free.url, "paid": paid.url}
        app = budgeted_service(urls, tmp_path, limits, prices={"free": FREE, "paid": PRICES})
        store = open_store(f"sqlite:///{tmp_path}/groundwire.db")
        async with running_server(app) as (url, _):
            here = Bench(url, app, paid, store, limits, client)
            statuses = []
            for _ in range(2):
                free.fails = 100
                statuses.append((await here.ask(SMALL, model="auto"))[0])
                spent = (await here.settled()).day.spent
            assert statuses == [200, 402]
            assert spent == paid.nano_usd == COST
        store.close()


async def test_issue_35524_a_request_that_cannot_be_priced_is_not_sent(tmp_path: Path) -> None:
    """The reservation was skipped if the cost could not be estimated. With `auto`, a provider without a known
    price is left out."""
    limits = {KEY: PLENTY}
    async with billing_upstream() as unknown, billing_upstream() as known, aiohttp.ClientSession() as client:
        urls = {"unknown": unknown.url, "known": known.url}
        app = budgeted_service(urls, tmp_path, limits, prices={"known": PRICES})
        store = open_store(f"sqlite:///{tmp_path}/groundwire.db")
        async with running_server(app) as (url, _):
            here = Bench(url, app, known, store, limits, client)
            assert (await here.ask(SMALL, model="unknown/m"))[0] == 403
            assert (await here.ask(SMALL, model="auto"))[0] == 200
            assert (await here.settled()).day.spent == known.nano_usd == COST
        assert not unknown.bills
        store.close()


# R25: the ledger is the provider's own count


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.thorough)])
async def test_the_ledger_equals_the_upstreams_own_count(
    tmp_path: Path, count: int, figures: Figures
) -> None:
    """Whole, streamed and aborted answers, and errors, at random."""
    chance = Random(25)
    async with bench(tmp_path) as here:
        gate = asyncio.Semaphore(40)

        async def one() -> None:
            tokens_in, tokens_out, chunks = (
                chance.randint(1, 5000),
                chance.randint(6, 900),
                chance.randint(1, 6),
            )
            kind = chance.random()
            async with gate:
                if kind < 0.4:
                    await here.ask(f"tokens {tokens_in} {tokens_out} {chunks} finish")
                elif kind < 0.7:
                    await here.stream(f"tokens {tokens_in} {tokens_out} {chunks} finish")
                else:
                    after = chance.randint(1, chunks)
                    await here.stream(
                        f"tokens {tokens_in} {tokens_out} {chunks + 1} stall {after}", leave_after=after
                    )

        await asyncio.gather(*(one() for _ in range(count)))
        state = await here.settled()
        assert len(here.upstream.bills) == count
        assert state.day.spent == here.upstream.nano_usd
        aborted = sum(not bill.is_finished for bill in here.upstream.bills)
        assert aborted > count // 10
        if count >= MANY:
            figures.add("R25", "requests, after which the ledger equals the provider's bill", count)
            figures.add("R25", "of them aborted by the client", aborted)


@asynccontextmanager
async def gateway_process(
    upstream: str, folder: Path
) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """A gateway that can be killed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.server.budget_process", upstream, str(folder), "1000"),
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            url = (await process.stdout.readline()).decode().strip()
        yield url, process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.parametrize("killed", [3, pytest.param(60, marks=pytest.mark.thorough)])
async def test_a_killed_gateway_leaves_a_ledger_that_is_exact_for_what_ended(
    tmp_path: Path, killed: int, figures: Figures
) -> None:
    """R25. What ended before the kill is booked to the nano-USD; what did not counts with its reservation,
    which is at least what the provider has billed."""
    async with billing_upstream() as upstream, aiohttp.ClientSession() as client:
        async with gateway_process(upstream.url, tmp_path) as (url, process):
            store = open_store(f"sqlite:///{tmp_path}/groundwire.db")
            here = Bench(url, cast("HttpApp", None), upstream, store, {}, client)
            async with asyncio.timeout(30):
                while True:
                    try:
                        await here.ask(SMALL)
                        break
                    except aiohttp.ClientConnectionError:
                        await asyncio.sleep(0.02)
                for number in range(5):
                    assert (await here.ask(f"tokens {number + 10} {number + 1} 2 finish"))[0] == 200
                await here.stream("tokens 50 90 3 stall 2", leave_after=2)
                ended = upstream.nano_usd
                while store.budget(fingerprint(KEY)).day.reserved:
                    await asyncio.sleep(0.02)
                assert store.budget(fingerprint(KEY)).day.spent == ended
                stalled = [asyncio.create_task(here.stream("tokens 100 80 4 stall 2")) for _ in range(killed)]
                while sum(bill.output_tokens == 40 for bill in upstream.bills) < killed:
                    await asyncio.sleep(0.02)
                process.kill()  # kill -9
                await asyncio.gather(*stalled, return_exceptions=True)
        left = store.budget(fingerprint(KEY))
        assert left.day.spent == ended
        assert upstream.nano_usd > ended
        assert left.day.spent + left.day.reserved >= upstream.nano_usd
        reservation = left.day.reserved // killed
        assert left.day.reserved == killed * reservation
        if killed >= 60:
            figures.add("R25", "requests killed with their gateway, each counted as it was reserved", killed)
        # Another gateway goes on with the same ledger.
        limit = {KEY: KeyLimits(usd_per_day=from_nano(left.day.spent + left.day.reserved))}
        app = budgeted_service({"scripted": upstream.url}, tmp_path, limit)
        async with running_server(app) as (second, _):
            there = Bench(second, app, upstream, store, limit, client)
            assert (await there.ask(SMALL))[0] == 429, "the lease of the lost requests is not over yet"
            limit[KEY] = PLENTY
            assert (await there.ask(SMALL))[0] == 200
        store.close()
