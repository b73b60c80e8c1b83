"""Breakers that gateways share: they open and close together, and one of them probes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from groundwire.routing import shared_health
from groundwire.routing.health import Breaker, BreakerPolicy, Health
from groundwire.routing.shared_health import SharedHealth
from groundwire.transport.redis import RedisLink
from tests.servers.fixtures import redis, redis_server
from tests.servers.redis import RedisServer

__all__ = ["redis", "redis_server"]
pytestmark = pytest.mark.server

SECONDS = 20.0
REST = BreakerPolicy(rest=0.2)
LONG = BreakerPolicy(rest=1000.0)


@asynccontextmanager
async def gateways(url: str, count: int, policy: BreakerPolicy) -> AsyncIterator[list[Breaker]]:
    """The breakers of one provider on so many gateways."""
    async with AsyncExitStack() as stack:
        made = []
        for _ in range(count):
            link = RedisLink(url, call_seconds=2.0, beat_seconds=0.1)
            health = Health(asyncio.get_running_loop().time, policy)
            SharedHealth(link, health)
            await link.start()
            stack.push_async_callback(link.aclose)
            made.append(health.of("p"))
        yield made


async def until(check: Callable[[], object]) -> None:
    async with asyncio.timeout(SECONDS):
        while not check():
            await asyncio.sleep(0.01)


def fail(breaker: Breaker) -> None:
    for _ in range(5):
        breaker.record(ok=False)
    assert breaker.is_open


async def test_a_breaker_opens_and_closes_everywhere(redis: str) -> None:
    async with gateways(redis, 3, LONG) as (a, b, c):
        fail(a)
        await until(lambda: b.is_open and c.is_open)
        assert not b.admits()
        b.record(ok=True)  # the last target of a plan is called although its breaker is open
        await until(lambda: not a.is_open and not c.is_open)
        assert a.admits()


async def test_a_gateway_that_starts_later_knows_the_open_breakers(redis: str) -> None:
    async with gateways(redis, 1, LONG) as (a,):
        fail(a)
        await asyncio.sleep(0.2)
        async with gateways(redis, 1, LONG) as (b,):
            await until(lambda: b.is_open)
            assert b.open_seconds is not None
            assert b.open_seconds >= 0.1


async def test_a_breaker_that_another_gateway_closed_is_not_opened_again(
    redis: str, redis_server: RedisServer
) -> None:
    """Whatever is late: here the messages never arrive, and no heartbeat has compared the breakers."""
    link = RedisLink(redis, call_seconds=2.0, beat_seconds=1000.0)
    health = Health(asyncio.get_running_loop().time, LONG)
    shared = SharedHealth(link, health)
    link.listen("breaker", lambda _: None)
    await link.start()
    try:
        fail(health.of("p"))
        await until(lambda: redis_server.command("HLEN", "groundwire:{health}") == b":1")
        await until(lambda: not link._tasks)
        redis_server.command("HDEL", "groundwire:{health}", "p")
        await shared.compare()
        assert not health.of("p").is_open
        await until(lambda: not link._tasks)
        assert redis_server.command("HLEN", "groundwire:{health}") == b":0"
    finally:
        await link.aclose()


async def test_one_gateway_probes_at_a_time(redis: str) -> None:
    async with gateways(redis, 3, REST) as breakers:
        fail(breakers[0])
        await until(lambda: all(one.is_open for one in breakers))
        probing: list[Breaker] = []

        def try_all() -> bool:
            probing.extend(one for one in breakers if one.admits())
            return bool(probing)

        await until(try_all)
        for _ in range(30):
            try_all()
            await asyncio.sleep(0.01)
        assert len(probing) == 1
        probing[0].record(ok=True)
        await until(lambda: not any(one.is_open for one in breakers))


async def test_after_a_failed_probe_all_rest_again_and_another_may_probe(redis: str) -> None:
    async with gateways(redis, 2, REST) as (a, b):
        fail(a)
        await until(lambda: b.is_open)
        await until(a.admits)
        a.record(ok=False)
        await until(lambda: b.open_seconds is not None and b.open_seconds < 0.19)
        await until(b.admits)
        b.release()  # cancelled, without a verdict
        await until(a.admits)


PROBE = "groundwire:{health}:probe:p"


@pytest.mark.parametrize("asked_again", [False, True], ids=["never", "too late"])
async def test_a_permission_that_is_not_used_is_returned(
    redis: str, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, asked_again: bool
) -> None:
    async with gateways(redis, 2, REST) as (a, b):
        fail(a)
        await until(lambda: b.is_open)
        with monkeypatch.context() as patch:
            patch.setattr(shared_health, "UNUSED_SECONDS", 0.0)
            await until(lambda: redis_server.command("EXISTS", PROBE) == b":1" or a.admits())
            await until(
                lambda: redis_server.command("EXISTS", PROBE) == b":0" or (asked_again and a.admits())
            )
        await until(b.admits)


async def test_without_redis_every_gateway_decides_alone(redis: str, redis_server: RedisServer) -> None:
    async with gateways(redis, 2, REST) as (a, b):
        with redis_server.away():
            fail(a)
            assert not b.is_open
            await until(a.admits)
            a.release()
        # The new Redis is empty: the breaker that opened meanwhile is added to it.
        await until(lambda: b.is_open)
