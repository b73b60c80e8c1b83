"""Rate limits: the window, the same decisions in memory, SQLite and Redis, and over several gateways."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import dialect
from groundwire.model import Usage
from groundwire.model.access import KeyLimits
from groundwire.model.value import replace
from groundwire.server.rate_limits import (
    DECIDE_IN_REDIS,
    Decision,
    MemoryWindows,
    RateLimiter,
    SqliteWindows,
    Window,
    decide,
    limit_error,
    limit_headers,
    limit_key,
    share,
    used_tokens,
)
from groundwire.server.token_estimate import MAX_OUTPUT_TOKENS, OUTPUT_TOKENS, request_tokens
from groundwire.transport.redis import LuaScript, RedisLink
from tests.faces.gateway.raw import check_error
from tests.servers.fixtures import redis, redis_server
from tests.servers.redis import RedisServer

__all__ = ["redis", "redis_server"]
pytestmark = pytest.mark.server

TEN = KeyLimits(requests_per_minute=10)
THOUSAND = KeyLimits(tokens_per_minute=1000)

# Requests at increasing times, with the tokens that they reserve.
TRACES = st.lists(st.tuples(st.floats(0, 40), st.integers(0, 60)), max_size=40)
LIMITS = st.builds(
    KeyLimits, st.none() | st.integers(0, 8), st.none() | st.integers(0, 200), st.none(), st.none()
)


def times(trace: list[tuple[float, int]]) -> list[tuple[float, int]]:
    now, moments = 1000.0, []
    for gap, tokens in trace:
        now += gap
        moments.append((now, tokens))
    return moments


@given(TRACES, LIMITS)
def test_no_minute_has_more_than_the_limit(trace: list[tuple[float, int]], limits: KeyLimits) -> None:
    window: Window = {}
    admitted: list[tuple[float, int]] = []
    for now, tokens in times(trace):
        if decide(window, now, limits, tokens).admitted:
            cost = 0 if limits.tokens_per_minute is None else min(tokens, limits.tokens_per_minute)
            admitted.append((now, cost))
    for start, _ in admitted:
        minute = [tokens for at, tokens in admitted if start <= at < start + 60]
        assert limits.requests_per_minute is None or len(minute) <= limits.requests_per_minute
        assert limits.tokens_per_minute is None or sum(minute) <= limits.tokens_per_minute
    assert len(window) <= 61


@given(TRACES, LIMITS)
def test_a_request_is_admitted_after_the_time_that_its_refusal_named(
    trace: list[tuple[float, int]], limits: KeyLimits
) -> None:
    window: Window = {}
    for now, tokens in times(trace):
        decision = decide(window, now, limits, tokens)
        if not decision.admitted and limits.requests_per_minute != 0:
            assert 0 < decision.wait <= 61
            later = {second: list(spent) for second, spent in window.items()}
            assert decide(later, now + decision.wait + 0.001, limits, tokens).admitted


def test_a_window_slides() -> None:
    window: Window = {}
    assert [decide(window, 100.0 + n, TEN, 0).admitted for n in range(12)] == [True] * 10 + [False] * 2
    refused = decide(window, 112.5, TEN, 0)
    assert refused.wait == 161 - 112.5
    assert decide(window, 161.0, TEN, 0).admitted
    assert not decide(window, 161.5, TEN, 0).admitted


def test_a_request_that_is_larger_than_the_limit_needs_an_empty_window() -> None:
    window: Window = {}
    assert decide(window, 100.0, THOUSAND, 5000).admitted
    assert not decide(window, 101.0, THOUSAND, 1).admitted
    assert decide(window, 161.0, THOUSAND, 5000).admitted


@asynccontextmanager
async def linked(url: str, count: int = 1, beat: float = 0.05) -> AsyncIterator[list[RedisLink]]:
    async with AsyncExitStack() as stack:
        links = [RedisLink(url, call_seconds=5.0, beat_seconds=beat) for _ in range(count)]
        for link in links:
            await link.start()
            stack.push_async_callback(link.aclose)
        yield links


GIVEN_CLOCK = "local time = {ARGV[4], ARGV[5]}\n"


@pytest.mark.parametrize("examples", [30, pytest.param(300, marks=pytest.mark.thorough)])
def test_redis_and_memory_decide_the_same(redis: str, redis_server: RedisServer, examples: int) -> None:
    """The script is run with the times of the trace instead of the clock of Redis."""
    script = LuaScript(GIVEN_CLOCK + DECIDE_IN_REDIS)

    async def compare(trace: list[tuple[float, int]], limits: KeyLimits) -> None:
        async with linked(redis) as (link,):
            window: Window = {}
            for now, tokens in times(trace):
                second, micro = int(now), int(now % 1 * 1_000_000)
                here = decide(window, second + micro / 1_000_000, limits, tokens)
                bounds = (limits.requests_per_minute, limits.tokens_per_minute)
                cost = 0 if bounds[1] is None else min(tokens, bounds[1])
                arguments = (*(-1 if one is None else one for one in bounds), cost, second, micro)
                reply = await link.run(script, ("{trace}",), arguments)
                assert reply is not None
                there = list(map(int, reply))
                assert there[:4] == [here.admitted, here.requests, here.tokens, second]
                for milliseconds, seconds in zip(there[4:], here[4:], strict=True):
                    assert milliseconds / 1000 == pytest.approx(seconds, abs=0.0021)

    @settings(max_examples=examples)
    @given(TRACES, LIMITS)
    def check(trace: list[tuple[float, int]], limits: KeyLimits) -> None:
        redis_server.command("FLUSHALL")
        asyncio.run(compare(trace, limits))

    check()


async def admitted_of(limiters: list[RateLimiter], requests: int, limits: KeyLimits, tokens: int = 0) -> int:
    admissions = await asyncio.gather(
        *(limiters[n % len(limiters)].admit("key", limits, tokens) for n in range(requests))
    )
    return sum(admission.decision.admitted for admission in admissions)


async def test_a_limit_is_exact_over_gateways_whose_clocks_differ(redis: str) -> None:
    async with linked(redis, 2) as (one, other):
        limiters = [RateLimiter(one), RateLimiter(other, clock=lambda: monotonic() + 300)]
        assert await admitted_of(limiters, 60, TEN) == 10
        refused = (await limiters[1].admit("key", TEN, 0)).decision
        assert 0 < refused.wait <= 61
        assert (await limiters[0].admit("another key", TEN, 0)).decision.admitted


async def test_reserved_tokens_are_settled_by_the_usage(redis: str) -> None:
    async with linked(redis) as (link,):
        for limiter in (RateLimiter(link), RateLimiter()):
            first = await limiter.admit("key", THOUSAND, 900)
            assert first.decision.admitted
            assert not (await limiter.admit("key", THOUSAND, 200)).decision.admitted
            limiter.settle(first.reservation, Usage(input_tokens=100, output_tokens=50))
            async with asyncio.timeout(20):
                while await used(limiter) != 150 + 200:
                    await asyncio.sleep(0.01)


async def used(limiter: RateLimiter) -> int:
    """The tokens that are used after a request of 200, which is settled to nothing."""
    admission = await limiter.admit("key", THOUSAND, 200)
    if admission.decision.admitted:
        limiter.settle(admission.reservation, None)
    return admission.decision.tokens


def test_an_answer_without_a_count_keeps_its_reservation() -> None:
    assert used_tokens(None) == 0
    assert used_tokens(Usage()) is None
    assert used_tokens(Usage(input_tokens=5)) == 5

    async def main() -> int:
        limiter = RateLimiter()
        admission = await limiter.admit("key", THOUSAND, 400)
        limiter.settle(admission.reservation, Usage())
        return (await limiter.admit("key", THOUSAND, 1)).decision.tokens

    assert asyncio.run(main()) == 401


async def test_settling_what_a_restarted_redis_does_not_know_gives_nothing_away(
    redis: str, redis_server: RedisServer
) -> None:
    # A heartbeat that notices the loss would count once more what was admitted since.
    async with linked(redis, beat=60.0) as (link,):
        limiter = RateLimiter(link)
        lost = (await limiter.admit("key", THOUSAND, 900)).reservation
        redis_server.command("FLUSHALL")
        await limiter.admit("key", THOUSAND, 300)
        assert lost.shared_second is not None
        limiter.settle(replace(lost, shared_second=lost.shared_second - 5), None)
        while link._tasks:
            await asyncio.sleep(0.01)
        assert (await limiter.admit("key", THOUSAND, 1)).decision.tokens == 301


async def test_without_redis_a_gateway_enforces_its_share(redis: str, redis_server: RedisServer) -> None:
    async with linked(redis, 2) as links:
        while any(link.gateways != 2 for link in links):
            await asyncio.sleep(0.01)
        limiters = [RateLimiter(link) for link in links]
        with redis_server.away():
            assert await admitted_of(limiters[:1], 20, TEN) == 5
            assert await admitted_of(limiters[1:], 20, TEN) == 5


async def test_what_redis_admitted_counts_while_it_is_lost(redis: str, redis_server: RedisServer) -> None:
    async with linked(redis, 2) as links:
        while any(link.gateways != 2 for link in links):
            await asyncio.sleep(0.01)
        limiters = [RateLimiter(link) for link in links]
        assert await admitted_of(limiters[:1], 8, TEN) == 8
        with redis_server.away():
            assert await admitted_of(limiters[:1], 20, TEN) == 0
            assert await admitted_of(limiters[1:], 20, TEN) == 5


@pytest.mark.parametrize("fault", ["hanging", "away"])
async def test_a_redis_that_returns_learns_what_was_admitted(
    redis: str, redis_server: RedisServer, fault: str
) -> None:
    async with AsyncExitStack() as stack:
        links = [RedisLink(redis, call_seconds=0.2, beat_seconds=0.05) for _ in range(2)]
        limiters = [RateLimiter(link) for link in links]
        for link in links:
            await link.start()
            stack.push_async_callback(link.aclose)
        while any(link.gateways != 2 for link in links):
            await asyncio.sleep(0.01)
        limits = KeyLimits(requests_per_minute=20, tokens_per_minute=2000)
        assert await admitted_of(limiters[:1], 8, limits, 10) == 8
        with getattr(redis_server, fault)():
            assert await admitted_of(limiters[:1], 30, limits, 10) == 2
            assert await admitted_of(limiters[1:], 30, limits, 10) == 10
        async with asyncio.timeout(20):  # until both have reported
            while redis_server.command("HVALS", limit_key("key")) == b"*0":
                await asyncio.sleep(0.01)
            while (await limiters[0].admit("key", KeyLimits(0), 0)).decision.requests < 20:
                await asyncio.sleep(0.01)
        assert await admitted_of(limiters, 30, limits, 10) == 0
        refused = (await limiters[1].admit("key", limits, 10)).decision
        assert refused.requests == 20 or fault == "hanging", "calls in its buffers count when it goes on"
        assert refused.tokens == 10 * refused.requests


def test_a_share_is_never_nothing_unless_the_limit_is() -> None:
    assert share(KeyLimits(10, 1000), 3) == KeyLimits(3, 333)
    assert share(KeyLimits(2, None), 5) == KeyLimits(1, None)
    assert share(KeyLimits(0, 0), 5) == KeyLimits(0, 0)


def work(path: str) -> int:
    """How many of ten requests one worker admits."""
    with closing(SqliteWindows(path)) as windows:
        limiter = RateLimiter(windows=windows, processes=4)
        return asyncio.run(admitted_of([limiter], 10, TEN))


@pytest.mark.parametrize(
    "pool", [ThreadPoolExecutor, pytest.param(ProcessPoolExecutor, marks=pytest.mark.thorough)]
)
def test_workers_without_redis_count_in_one_file(
    tmp_path: Path, pool: type[ThreadPoolExecutor | ProcessPoolExecutor]
) -> None:
    with pool(4) as workers:
        assert sum(workers.map(work, [str(tmp_path / "limits.db")] * 4)) == 10


def test_a_file_that_cannot_be_used_leaves_each_worker_its_share() -> None:
    class Broken(MemoryWindows):
        def decide(self, key: str, now: float, limits: KeyLimits, tokens: int) -> Decision:
            raise sqlite3.OperationalError("database or disk is full")

        def add(self, key: str, second: int, requests: int, tokens: int) -> None:
            raise sqlite3.OperationalError("database or disk is full")

    limiter = RateLimiter(windows=Broken(), processes=4)
    assert asyncio.run(admitted_of([limiter], 20, KeyLimits(requests_per_minute=20))) == 5


def test_memory_keeps_a_bounded_number_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    windows = MemoryWindows()
    for number in range(10_000):
        windows.decide(str(number), 0.0, TEN, 0)
    assert len(windows) == 8192


def test_headers_say_what_is_left() -> None:
    limits = KeyLimits(requests_per_minute=10, tokens_per_minute=1000)
    window: Window = {}
    assert dict(limit_headers(limits, decide(window, 100.5, limits, 300))) == {
        "x-ratelimit-limit-requests": "10",
        "x-ratelimit-remaining-requests": "9",
        "x-ratelimit-reset-requests": "61s",
        "x-ratelimit-limit-tokens": "1000",
        "x-ratelimit-remaining-tokens": "700",
        "x-ratelimit-reset-tokens": "61s",
    }
    assert limit_headers(KeyLimits(), decide(window, 100.5, limits, 0)) == ()


@pytest.mark.parametrize(
    "name", ["anthropic_messages", "openai_responses", "openai_chat", "gemini", "gemini_interactions"]
)
def test_the_error_has_the_form_of_the_dialect(name: str) -> None:
    error = limit_error(TEN, decide({}, 100.0, KeyLimits(requests_per_minute=0), 0))
    status, body = dialect(name).encode_error(error, Reply("id"))
    assert status == 429
    check_error(name, status, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"messages": [{"role": "user", "content": "x" * 400}], "max_tokens": 50}, 150),
        ({"input": "x" * 400, "max_output_tokens": 10**6}, 100 + MAX_OUTPUT_TOKENS),
        ({"contents": [], "generationConfig": {"maxOutputTokens": 7}}, 7),
        ({"messages": []}, OUTPUT_TOKENS),
        ({"image_url": {"url": "data:image/png;base64," + "A" * 100_000}, "max_tokens": 0}, 1600),
        ([], OUTPUT_TOKENS),
    ],
)
def test_tokens_are_estimated_from_the_body_of_any_dialect(body: object, tokens: int) -> None:
    assert request_tokens(json.loads(json.dumps(body))) == tokens
