"""The response cache that gateways share: one upstream request for all, and what happens to its leader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.errors import Overloaded
from groundwire.model import Event, Finished, Message, Request, SearchOptions, Started, Text, TextDelta
from groundwire.model.value import replace
from groundwire.routing.cache import CacheLimits, CacheStatus, ResponseCache, cache_key
from groundwire.routing.shared_cache import SharedAnswers, answer_keys, decode_answer, encode_answer
from groundwire.transport import shared_values
from groundwire.transport.redis import RedisLink
from tests.model.strategies import cases, events
from tests.servers.fixtures import redis, redis_server
from tests.servers.redis import RedisServer

__all__ = ["redis", "redis_server"]
pytestmark = pytest.mark.server

QUESTION = Request((Message("user", (Text("q?"),)),), "auto", search=SearchOptions())
SECONDS = 20.0
LIMIT = 4 * 2**20


class SlowProvider:
    """Counts its requests, and answers when it is told to."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.go_on = asyncio.Event()
        self.outcome: list[Event | Exception] = []

    def of(self, gateway: str) -> Callable[..., AsyncGenerator[Sequence[Event], None]]:
        async def batches(
            request: Request, *, provider: str, model: str
        ) -> AsyncGenerator[Sequence[Event], None]:
            self.calls.append(gateway)
            yield (Started(), TextDelta(0, gateway))
            await self.go_on.wait()
            end = self.outcome.pop(0) if self.outcome else Finished()
            if isinstance(end, Exception):
                raise end
            yield (end,)

        return batches


class CachingGateway:
    """A cache on its own link to Redis."""

    def __init__(self, cache: ResponseCache, link: RedisLink) -> None:
        self.cache = cache
        self.link = link
        self.notes: list[CacheStatus] = []

    async def ask(self, request: Request = QUESTION) -> str:
        batches = self.cache.batches(request, provider="p", model="m", note=self.notes.append)
        async with aclosing(batches):
            found = [event async for batch in batches for event in batch]
        return "".join(event.text for event in found if isinstance(event, TextDelta))


@asynccontextmanager
async def gateways(
    url: str, provider: SlowProvider, *names: str, seconds: float = 60.0, namespace: str = "n"
) -> AsyncIterator[list[CachingGateway]]:
    async with AsyncExitStack() as stack:
        made = []
        for name in names:
            link = RedisLink(url, call_seconds=2.0, beat_seconds=0.05)
            await link.start()
            stack.push_async_callback(link.aclose)
            clock = asyncio.get_running_loop().time
            cache = ResponseCache(provider.of(name), seconds, clock, CacheLimits())
            cache.shared = SharedAnswers(link, seconds, LIMIT, namespace)
            made.append(CachingGateway(cache, link))
        yield made


async def until(check: Callable[[], object]) -> None:
    async with asyncio.timeout(SECONDS):
        while not check():
            await asyncio.sleep(0.005)


async def test_equal_requests_on_two_gateways_are_one_upstream_request(redis: str) -> None:
    provider = SlowProvider()
    async with gateways(redis, provider, "a", "b") as (a, b):
        asked = [asyncio.create_task(one.ask()) for one in (a, b) for _ in range(50)]
        await until(lambda: provider.calls)
        await asyncio.sleep(0.05)
        provider.go_on.set()
        answers = await asyncio.gather(*asked)
        assert len(set(answers)) == 1
        assert len(provider.calls) == 1
        states = [note.state for note in a.notes + b.notes]
        assert (states.count("miss"), states.count("shared")) == (1, 99)
        assert await b.ask() == await a.ask() == answers[0]
        assert {a.notes[-1].state, b.notes[-1].state} == {"hit"}


async def test_a_later_gateway_has_the_answer_from_redis_with_its_age(redis: str) -> None:
    provider = SlowProvider()
    provider.go_on.set()
    async with gateways(redis, provider, "a") as (a,):
        assert await a.ask() == "a"
        await until(lambda: not a.link._tasks)
        async with gateways(redis, provider, "b") as (b,):
            assert [await b.ask(), await b.ask()] == ["a", "a"]
            assert [note.state for note in b.notes] == ["hit", "hit"]
    assert provider.calls == ["a"]


async def test_an_answer_from_redis_does_not_live_longer_for_it(
    redis: str, redis_server: RedisServer
) -> None:
    provider = SlowProvider()
    provider.go_on.set()
    async with gateways(redis, provider, "a", "b") as (a, b):
        await a.ask()
        await until(lambda: not a.link._tasks)
        key = answer_keys(f"n:{cache_key(QUESTION, 'p', 'm').hex()}")[0]
        assert redis_server.command("PEXPIRE", key, "20000") == b":1"  # 40 of 60 seconds have passed
        await b.ask()
        assert b.notes[-1].state == "hit"
        assert b.notes[-1].age in (40, 41)
        await b.ask()
        assert b.notes[-1].age in (40, 41, 42)


async def test_another_gateway_takes_over_when_the_leader_dies(
    redis: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = 1.5
    monkeypatch.setattr(shared_values, "LEASE_SECONDS", lease)
    monkeypatch.setattr(shared_values, "RENEW_SECONDS", 0.1)
    provider = SlowProvider()
    async with gateways(redis, provider, "a", "b", "c") as (a, b, c):
        leading = asyncio.create_task(a.ask())
        await until(lambda: provider.calls == ["a"])
        following = [asyncio.create_task(one.ask()) for one in (b, c)]
        await asyncio.sleep(lease * 1.2)
        assert provider.calls == ["a"], "the leader renews its lease"
        a.link.is_up = False  # as if the process had been killed: nothing is renewed or released
        a.link._beating.cancel() if a.link._beating else None
        await until(lambda: len(provider.calls) == 2)
        provider.go_on.set()
        answers = await asyncio.gather(*following)
        assert answers == [provider.calls[1]] * 2
        assert len(provider.calls) == 2
        await leading


async def test_a_leader_whose_clients_leave_hands_over_at_once(redis: str) -> None:
    provider = SlowProvider()
    async with gateways(redis, provider, "a", "b") as (a, b):
        leading = asyncio.create_task(a.ask())
        await until(lambda: provider.calls == ["a"])
        following = asyncio.create_task(b.ask())
        await asyncio.sleep(0.05)
        leading.cancel()
        with suppress(asyncio.CancelledError):
            await leading
        await until(lambda: provider.calls == ["a", "b"])
        provider.go_on.set()
        assert await following == "b"
        assert await a.ask() == "b"


async def test_followers_that_leave_do_not_matter(redis: str) -> None:
    provider = SlowProvider()
    async with gateways(redis, provider, "a", "b") as (a, b):
        leading = asyncio.create_task(a.ask())
        await until(lambda: provider.calls)
        following = [asyncio.create_task(b.ask()) for _ in range(5)]
        await asyncio.sleep(0.05)
        for task in following[:4]:
            task.cancel()
        provider.go_on.set()
        assert (await leading, await following[4], provider.calls) == ("a", "a", ["a"])


@pytest.mark.parametrize("end", [Overloaded("gone"), Finished("length")])
async def test_after_an_answer_that_cannot_be_shared_the_others_ask_themselves(
    redis: str, end: Event | Exception
) -> None:
    provider = SlowProvider()
    provider.outcome = [end]
    async with gateways(redis, provider, "a", "b") as (a, b):
        leading = asyncio.create_task(a.ask())
        await until(lambda: provider.calls == ["a"])
        following = asyncio.create_task(b.ask())
        await asyncio.sleep(0.05)
        provider.go_on.set()
        with suppress(Overloaded):
            await leading
        assert await following == "b"
        assert provider.calls == ["a", "b"]


@pytest.mark.parametrize("stored", ["", "garbage", "groundwire answer 1\nnot zlib", "groundwire answer 2\n"])
async def test_a_damaged_or_foreign_entry_is_a_miss_and_is_replaced(
    redis: str, redis_server: RedisServer, stored: str
) -> None:
    provider = SlowProvider()
    provider.go_on.set()
    key = answer_keys(f"n:{cache_key(QUESTION, 'p', 'm').hex()}")[0]
    redis_server.command("SET", key, stored, "PX", "60000")
    async with gateways(redis, provider, "a", "b") as (a, b):
        assert await a.ask() == "a"
        await until(lambda: not a.link._tasks)
        assert await b.ask() == "a"
        assert a.notes == [CacheStatus("miss")]


async def test_gateways_with_another_configuration_share_no_answers(redis: str) -> None:
    provider = SlowProvider()
    provider.go_on.set()
    async with (
        gateways(redis, provider, "a", namespace="one") as (a,),
        gateways(redis, provider, "b", namespace="other") as (b,),
    ):
        assert (await a.ask(), await b.ask()) == ("a", "b")


async def test_answers_of_searches_with_other_restrictions_are_not_shared(redis: str) -> None:
    provider = SlowProvider()
    provider.go_on.set()
    restricted = replace(QUESTION, search=SearchOptions(allowed_domains=("a.example",)))
    async with gateways(redis, provider, "a", "b") as (a, b):
        assert (await a.ask(), await b.ask(restricted)) == ("a", "b")


async def test_without_redis_every_gateway_answers_alone(redis: str, redis_server: RedisServer) -> None:
    provider = SlowProvider()
    provider.go_on.set()
    async with gateways(redis, provider, "a", "b") as (a, b):
        with redis_server.away():
            assert (await a.ask(), await b.ask()) == ("a", "b")
        assert [note.state for note in a.notes + b.notes] == ["miss", "miss"]


async def test_a_follower_goes_on_alone_when_redis_is_lost(redis: str, redis_server: RedisServer) -> None:
    provider = SlowProvider()
    async with gateways(redis, provider, "a", "b") as (a, b):
        leading = asyncio.create_task(a.ask())
        await until(lambda: provider.calls == ["a"])
        following = asyncio.create_task(b.ask())
        await asyncio.sleep(0.05)
        with redis_server.away():
            await until(lambda: provider.calls == ["a", "b"])
            provider.go_on.set()
            assert (await leading, await following) == ("a", "b")


@cases(30)
@given(st.lists(st.lists(events(), max_size=4).map(tuple), max_size=4).map(tuple))
def test_an_answer_survives_its_stored_form(batches: tuple[tuple[Event, ...], ...]) -> None:
    assert decode_answer(encode_answer(batches), LIMIT) == batches


@given(st.data())
def test_no_damage_is_read_as_an_answer(data: st.DataObject) -> None:
    stored = encode_answer([(Started(), TextDelta(0, "some text of an answer")), (Finished(),)])
    at = data.draw(st.integers(0, len(stored) - 1))
    changed = stored[:at] + bytes([stored[at] ^ data.draw(st.integers(1, 255))]) + stored[at + 1 :]
    whole = decode_answer(stored, LIMIT)
    assert decode_answer(changed, LIMIT) in (None, whole)
    assert decode_answer(stored[:at], LIMIT) is None


def test_a_small_entry_cannot_become_a_large_answer() -> None:
    stored = encode_answer([(Started(), TextDelta(0, "x" * 100_000)), (Finished(),)])
    assert len(stored) < 2000
    assert decode_answer(stored, 2000) is None
