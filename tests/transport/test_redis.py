"""The connection to Redis: scripts, messages, heartbeats, and what happens while it is lost."""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path
from time import monotonic, sleep

import pytest
from redis import Redis
from redis.crc import key_slot

from groundwire.errors import ConfigError
from groundwire.model import Finished
from groundwire.model.access import KeyLimits
from groundwire.routing.health import Health
from groundwire.routing.shared_cache import SharedAnswers, answer_keys
from groundwire.routing.shared_health import SharedHealth, breaker_keys
from groundwire.server.idempotency import StoredResponse
from groundwire.server.rate_limits import RateLimiter, limit_key
from groundwire.server.shared_responses import SharedResponses
from groundwire.testing.fault_proxy import FaultProxy, Faults
from groundwire.transport.redis import LuaScript, RedisLink, announce, message, probe
from tests.servers.fixtures import redis, redis_server
from tests.servers.process import free_port, own_folder
from tests.servers.redis import RedisServer
from tests.transport.certificates import certificate

__all__ = ["redis", "redis_server"]
pytestmark = pytest.mark.server

COUNT = LuaScript("return {redis.call('INCR', KEYS[1])}")
SECONDS = 20.0


@asynccontextmanager
async def linked(url: str, *, call_seconds: float = 2.0) -> AsyncIterator[RedisLink]:
    link = RedisLink(url, call_seconds=call_seconds, beat_seconds=0.05)
    await link.start()
    try:
        yield link
    finally:
        await link.aclose()


async def until(check: Callable[[], object]) -> None:
    async with asyncio.timeout(SECONDS):
        while not check():
            await asyncio.sleep(0.01)


async def test_a_script_runs_and_is_loaded_again_after_a_flush(redis: str, redis_server: RedisServer) -> None:
    async with linked(redis) as link:
        assert await link.run(COUNT, ("n",), ()) == [1]
        redis_server.command("SCRIPT", "FLUSH")
        assert await link.run(COUNT, ("n",), ()) == [2]


async def test_gateways_know_how_many_they_are(redis: str) -> None:
    async with linked(redis) as one:
        async with linked(redis) as other:
            await until(lambda: one.gateways == other.gateways == 2)
        await until(lambda: one.gateways == 1)


async def test_a_message_reaches_every_gateway_and_other_texts_are_ignored(
    redis: str, redis_server: RedisServer
) -> None:
    received: list[str] = []
    async with linked(redis) as one, linked(redis) as other:
        for link in (one, other):
            link.listen("topic", received.append)
        async with asyncio.timeout(SECONDS):  # both have subscribed
            while redis_server.command("PUBLISH", one.channel, "not one of ours") != b":2":
                await asyncio.sleep(0.01)
        assert await asyncio.to_thread(announce, redis, "topic")
        await until(lambda: len(received) == 2)
        assert message("topic", "text") == '["topic", "text"]'


async def test_a_redis_that_hangs_costs_one_short_wait_and_one_warning(
    redis: str, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with linked(redis, call_seconds=0.2) as link:
        with redis_server.hanging():
            replies = await asyncio.gather(*(link.run(COUNT, ("n",), ()) for _ in range(50)))
            assert replies == [None] * 50
            assert not link.is_up
            began = asyncio.get_running_loop().time()
            assert [await link.run(COUNT, ("n",), ()) for _ in range(1000)] == [None] * 1000
            waited = asyncio.get_running_loop().time() - began
            assert waited < 0.2, "a thousand calls do not wait once between them"
            assert link.problem == "no response within 0.2 s"
        await until(lambda: link.is_up)
        assert await link.run(COUNT, ("n",), ()) is not None
    lost = [record for record in caplog.records if "cannot be used" in record.message]
    assert len(lost) == 1


async def test_a_redis_that_is_killed_comes_back_with_its_messages(
    redis: str, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    received: list[str] = []
    async with linked(redis) as link:
        link.listen("topic", received.append)
        with redis_server.away():
            await until(lambda: not link.is_up)
            assert await link.run(COUNT, ("n",), ()) is None
            assert link.problem == "no connection"
        await until(lambda: link.is_up)
        assert await link.run(COUNT, ("n",), ()) == [1]

        async with asyncio.timeout(SECONDS):
            while not received:
                await asyncio.to_thread(announce, redis, "topic")
                await asyncio.sleep(0.02)
    assert "can be used again" in caplog.text


async def test_connections_from_before_a_restart_do_not_make_it_lost_again(
    redis: str, redis_server: RedisServer
) -> None:
    async with linked(redis) as link:

        async def all_at_once() -> int:
            replies = await asyncio.gather(*(link.run(COUNT, ("n",), ()) for _ in range(16)))
            return sum(reply is not None for reply in replies)

        assert await all_at_once() == 16  # each on a connection of its own
        with redis_server.away():
            await until(lambda: not link.is_up)
        await until(lambda: link.is_up)
        assert await all_at_once() == 16
        assert link.losses == 1


async def test_a_partition_heals_by_itself(redis: str, redis_server: RedisServer) -> None:
    async with (
        FaultProxy("127.0.0.1", redis_server.port) as proxy,
        linked(f"redis://127.0.0.1:{proxy.port}/0", call_seconds=0.2) as link,
    ):
        assert await link.run(COUNT, ("n",), ()) == [1]
        proxy.faults = Faults(partitioned=True)
        assert await link.run(COUNT, ("n",), ()) is None
        proxy.faults = Faults()
        await until(lambda: link.is_up)
        proxy.faults = Faults(refused=True, cut_after=0)
        await until(lambda: not link.is_up)
        proxy.faults = Faults()
        await until(lambda: link.is_up)


async def test_a_gateway_starts_without_redis_and_uses_it_when_it_comes(redis_server: RedisServer) -> None:
    with redis_server.away():
        link = RedisLink(redis_server.url, beat_seconds=0.05)
        await link.start()
        assert (link.is_up, link.gateways) == (False, 1)
    try:
        await until(lambda: link.is_up)
    finally:
        await link.aclose()


PASSWORD = "open-sesame-8412"  # noqa: S105  of a server of this test


@pytest.fixture(scope="module")
def locked_server() -> Iterator[RedisServer]:
    with closing(RedisServer(password=PASSWORD)) as server:
        yield server


async def test_a_password_is_used_and_a_wrong_one_is_never_shown(
    locked_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with linked(locked_server.url) as link:
        assert await link.run(COUNT, ("n",), ()) == [1]
    wrong = locked_server.url.replace(PASSWORD, "guessed-4711-secret")
    for url in (wrong, locked_server.url.replace(f":{PASSWORD}@", "")):
        async with linked(url) as link:
            assert not link.is_up
            assert link.problem == "it refused the user or the password"
        usable, detail = await asyncio.to_thread(probe, url)
        assert (usable, "refused the user or the password" in detail) == (False, True)
        assert not await asyncio.to_thread(announce, url, "topic")
        assert "guessed" not in detail + link.problem
    assert "guessed" not in caplog.text
    assert PASSWORD not in caplog.text


@pytest.mark.parametrize(
    "url",
    ["redis://:sec/ret@host:6379/0", "redis://u:secret@host:port/0", "redis://u:secret@host/0?no_such=1"],
)
def test_an_address_that_cannot_be_read_is_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RedisLink(url)
    assert not re.search("sec|ret@", caught.value.message.replace("percent-encode", ""))


@pytest.fixture
def cluster() -> Iterator[RedisServer]:
    """One of three nodes, each of which has a third of the slots."""
    with ExitStack() as stack:
        nodes: list[RedisServer] = []
        for first, last in ((0, 5460), (5461, 10922), (10923, 16383)):
            bus = str(free_port())
            node = stack.enter_context(
                closing(RedisServer("--cluster-enabled", "yes", "--cluster-port", bus))
            )
            assert node.command("CLUSTER", "ADDSLOTSRANGE", str(first), str(last)) == b"+OK"
            if nodes:
                nodes[0].command("CLUSTER", "MEET", "127.0.0.1", str(node.port), bus)
            nodes.append(node)
        ends = monotonic() + SECONDS
        while not all(_is_in_order(node) for node in nodes):
            assert monotonic() < ends
            sleep(0.05)
        yield nodes[0]


def _is_in_order(node: RedisServer) -> bool:
    with Redis.from_url(node.url) as client:
        return "'cluster_state': 'ok'" in str(client.execute_command("CLUSTER INFO"))


@pytest.mark.thorough
async def test_a_cluster_is_recognised(cluster: RedisServer) -> None:
    received: list[str] = []
    async with linked(cluster.url) as link:
        for number in range(60):
            assert await link.run(COUNT, (f"n{number}",), ()) == [1]
        link.listen("topic", received.append)
        async with asyncio.timeout(SECONDS):
            while not received:
                await asyncio.to_thread(announce, cluster.url, "topic")
                await asyncio.sleep(0.02)


@pytest.mark.thorough
async def test_every_script_keeps_to_one_slot_of_a_cluster(cluster: RedisServer) -> None:
    async with linked(cluster.url) as link:
        limiter, health = RateLimiter(link), Health(asyncio.get_running_loop().time)
        SharedHealth(link, health)
        answers, responses = SharedAnswers(link, 60.0, 2**20, "n"), SharedResponses(link)
        for number in range(30):
            admission = await limiter.admit(f"key {number}", KeyLimits(5, 100), 50)
            assert admission.decision.admitted
            limiter.settle(admission.reservation, None)
            lease = answers.lease(bytes([number]))
            assert await lease.find() is None
            assert lease.is_held
            lease.end(((Finished(),),), failed=False)
            once = responses.lease("caller", f"key {number}")
            assert await once.find() is None
            once.end(StoredResponse(b"", 200, (), b""), 60.0)
            for _ in range(5):
                health.of(f"provider {number}").record(ok=False)
        await until(lambda: not link._tasks)
        assert await answers.lease(bytes([3])).find() is not None
        assert await responses.lease("caller", "key 3").find() is not None
        assert (link.losses, link.is_up) == (0, True)


@pytest.mark.parametrize("name", ["a", "openai/gpt", "0123456789abcdef:ff", "ü}{", "{x}"])
def test_all_keys_of_a_decision_are_in_one_slot(name: str) -> None:
    for keys in (answer_keys(name), breaker_keys(name), (limit_key(name),)):
        assert len({key_slot(key.encode()) for key in keys}) == 1


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that the user of the server can read."""
    folder = own_folder("certificates")
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


async def test_tls_is_checked(readable: Path) -> None:
    certificate(readable, "127.0.0.1")
    file = readable / "certificate.pem"
    port = free_port()
    options = ("--tls-port", str(port), "--tls-cert-file", str(file), "--tls-key-file", str(file))
    with closing(RedisServer(*options, "--tls-auth-clients", "no", "--tls-ca-cert-file", str(file))):
        async with linked(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={file}") as link:
            assert await link.run(COUNT, ("n",), ()) == [1]
        async with linked(f"rediss://127.0.0.1:{port}/0") as link:
            assert not link.is_up, "nobody vouches for the certificate"
