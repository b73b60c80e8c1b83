"""Several gateways on one Redis, as clients see them: limits, one upstream request, a Redis that fails."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType

import aiohttp
import pytest

from groundwire.client import Groundwire
from groundwire.commands import http_app
from groundwire.commands.http_app import create_service
from groundwire.commands.keys import announcer
from groundwire.config.schema import Config, GatewaySettings
from groundwire.model import Source
from groundwire.model.access import KeyLimits, KeyScope
from groundwire.model.value import replace
from groundwire.server.app import HttpApp
from groundwire.server.auth import MAX_WRONG_KEYS, AccessControl, AccessKeys, fingerprint
from groundwire.server.keys import SECRET_VARIABLE
from groundwire.server.shared_access import SharedAccess, StoredKeys
from groundwire.server.token_estimate import OUTPUT_TOKENS
from groundwire.store.open import open_store
from groundwire.testing.answers import answer_events
from groundwire.testing.load import LoadPlan, send_load
from groundwire.testing.script import json_response
from groundwire.testing.upstream import Upstream, answer
from groundwire.transport import redis as transport_redis
from groundwire.transport.redis import RedisLink
from tests.faces.gateway.raw import INBOUND, check_error
from tests.faces.gateway.serving import provider_at, running_server
from tests.figures import Figures
from tests.server.processes import ServeProcess, running_serve
from tests.servers.fixtures import postgres, postgres_server, redis, redis_server
from tests.servers.redis import RedisServer

__all__ = ["postgres", "postgres_server", "redis", "redis_server"]
pytestmark = pytest.mark.server

KEY = "sk-gw-test"
SECONDS = 20.0
ANSWER = answer("openai_chat", answer_events("Yes.", Source("https://a.example/x", "A"), query="q"))
QUESTION = {"model": "mine/m", "messages": [{"role": "user", "content": "q?"}], "max_tokens": 100}
SEARCH = {**QUESTION, "web_search_options": {}}


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several gateways and their clients share one event loop here, which is late at times."""
    slow = partial(RedisLink, call_seconds=2.0, beat_seconds=0.05)
    monkeypatch.setattr(transport_redis, "RedisLink", slow)


def limited(app: HttpApp, limits: KeyLimits) -> None:
    """Accept one key, with these limits."""
    shown = fingerprint(KEY)
    keys = AccessKeys(frozenset({shown}), scopes=MappingProxyType({shown: KeyScope(limits=limits)}))
    throttle = app.access.throttle
    app.access = AccessControl("127.0.0.1", lambda: keys)
    app.access.throttle = throttle


@asynccontextmanager
async def gateways(
    folder: Path, upstream: str, count: int = 2, limits: KeyLimits | None = None, **settings: object
) -> AsyncIterator[list[str]]:
    """The URLs of gateways in this process, each with a data directory and connections of its own."""
    async with AsyncExitStack() as stack:
        urls = []
        for number in range(count):
            own = folder / str(number)
            own.mkdir()
            env = {"HOME": str(own), "GROUNDWIRE_DATA_DIR": str(own), SECRET_VARIABLE: "common"}
            config = replace(
                Config(providers={"mine": provider_at("openai_chat", upstream)}, order=("mine",)),
                data_dir=str(own),
                **settings,
            )
            app = await asyncio.to_thread(create_service, Groundwire(config, env=env), env)
            if limits is not None:
                limited(app, limits)
            url, _ = await stack.enter_async_context(running_server(app))
            urls.append(url)
        yield urls


class Client:
    """Sends requests with the key."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def post(
        self, url: str, body: object, path: str = "/v1/chat/completions", once: str = ""
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"authorization": f"Bearer {KEY}"}
        if once:
            headers["idempotency-key"] = once
        async with self._session.post(url + path, json=body, headers=headers) as response:
            return response.status, response.headers, await response.read()


@asynccontextmanager
async def client() -> AsyncIterator[Client]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        yield Client(session)


async def test_two_gateways_enforce_one_limit(tmp_path: Path, redis: str) -> None:
    limits = KeyLimits(requests_per_minute=10)
    async with (
        Upstream(ANSWER) as upstream,
        gateways(tmp_path, upstream.url, limits=limits, redis=redis) as urls,
        client() as ask,
    ):
        replies = await asyncio.gather(*(ask.post(urls[n % 2], QUESTION) for n in range(30)))
        assert Counter(status for status, _, _ in replies) == {200: 10, 429: 20}
        assert len(upstream.requests) == 10
        remaining = [
            int(head["x-ratelimit-remaining-requests"]) for status, head, _ in replies if status == 200
        ]
        assert sorted(remaining) == list(range(10))
        for status, head, body in replies:
            if status == 429:
                assert 1 <= int(head["retry-after"]) <= 61
                assert head["x-ratelimit-limit-requests"] == "10"
                assert json.loads(body)["error"]["type"] == "rate_limit_error"


async def test_tokens_are_reserved_and_settled(tmp_path: Path, redis: str) -> None:
    limits = KeyLimits(tokens_per_minute=250)
    async with (
        Upstream(ANSWER) as upstream,
        gateways(tmp_path, upstream.url, 1, limits=limits, redis=redis) as (url,),
        client() as ask,
    ):
        # Each reserves about 103 tokens and uses 46: without settling, the third would wait for a minute.
        for _ in range(4):
            async with asyncio.timeout(SECONDS):
                while (await ask.post(url, QUESTION))[0] != 200:
                    await asyncio.sleep(0.02)
        status, head, body = await ask.post(url, {**QUESTION, "max_tokens": 4000})
        assert (status, head["x-ratelimit-limit-tokens"]) == (429, "250")
        check_error("openai_chat", status, body)


async def test_a_repeated_request_with_an_idempotency_key_uses_no_tokens(tmp_path: Path, redis: str) -> None:
    limits = KeyLimits(tokens_per_minute=10_000)
    async with (
        Upstream(ANSWER) as upstream,
        gateways(tmp_path, upstream.url, 1, limits=limits, redis=redis) as (url,),
        client() as ask,
    ):
        for _ in range(3):
            assert (await ask.post(url, QUESTION, once="same"))[0] == 200
        assert len(upstream.requests) == 1
        async with asyncio.timeout(SECONDS):
            used = 0
            while used != 46 + OUTPUT_TOKENS:  # the usage is settled in the background
                _, head, _ = await ask.post(url, {}, "/v1/messages")
                used = 10_000 - int(head["x-ratelimit-remaining-tokens"])


async def test_a_refused_request_has_the_form_of_its_dialect(tmp_path: Path) -> None:
    limits = KeyLimits(requests_per_minute=0)
    paths = {
        "anthropic_messages": "/v1/messages",
        "openai_responses": "/v1/responses",
        "openai_chat": "/v1/chat/completions",
        "gemini": "/v1beta/models/m:generateContent",
        "gemini_interactions": "/v1beta/interactions",
    }
    async with gateways(tmp_path, "http://127.0.0.1:1", 1, limits=limits) as (url,), client() as ask:
        for name in INBOUND:
            status, head, body = await ask.post(url, {}, paths[name])
            assert (status, head["retry-after"]) == (429, "60")
            check_error(name, status, body)
        status, _, _ = await ask.post(url, {"messages": []}, "/v1/messages/count_tokens")
        assert status == 200, "counting tokens costs nothing"


async def test_a_hundred_equal_requests_over_two_gateways_are_one_upstream_request(
    tmp_path: Path, redis: str
) -> None:
    slow = replace(ANSWER, delay=0.3)
    async with (
        Upstream(slow) as upstream,
        gateways(tmp_path, upstream.url, redis=redis, gateway=GatewaySettings(cache_seconds=60)) as urls,
        client() as ask,
    ):
        replies = await asyncio.gather(
            *(ask.post(urls[n % 2], {**SEARCH, "stream": n % 3 == 0}) for n in range(100))
        )
        assert {status for status, _, _ in replies} == {200}
        assert all(b"Yes." in body for _, _, body in replies)
        assert len(upstream.requests) == 1
        states = Counter(head["x-groundwire-cache"] for _, head, _ in replies)
        assert states == {"miss": 1, "shared": 99}


async def test_a_provider_that_fails_on_one_gateway_is_skipped_by_the_other(
    tmp_path: Path, redis: str
) -> None:
    async with Upstream(json_response({"error": "broken"}, 500)) as broken, Upstream(ANSWER) as good:
        providers = {
            "mine": provider_at("openai_chat", broken.url),
            "other": provider_at("openai_chat", good.url),
        }
        async with (
            gateways(tmp_path, "", redis=redis, providers=providers, order=("mine", "other")) as urls,
            client() as ask,
        ):
            question = {**SEARCH, "model": "auto"}
            for _ in range(5):
                assert (await ask.post(urls[0], question))[0] == 200
            async with asyncio.timeout(SECONDS):
                while True:  # until the other gateway knows it
                    before = len(broken.requests)
                    status, head, _ = await ask.post(urls[1], question)
                    assert (status, head["x-groundwire-provider"]) == (200, "other")
                    if len(broken.requests) == before:
                        break
            assert b"left alone for a moment" in head["x-groundwire-warnings"].encode()


async def test_a_revoked_key_is_refused_at_once(
    tmp_path: Path, redis: str, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_app, "SharedAccess", partial(SharedAccess, interval=1000.0))
    with open_store(postgres) as store:
        keys = StoredKeys(store, announcer(redis))
        key, _ = await asyncio.to_thread(keys.create, "team", 0)

        async def becomes(url: str, wanted: int) -> None:
            async with asyncio.timeout(SECONDS), aiohttp.ClientSession() as session:
                while True:
                    async with session.get(f"{url}/v1/models", headers={"x-api-key": key}) as response:
                        if response.status == wanted:
                            return
                    await asyncio.sleep(0.02)

        async with gateways(tmp_path, "http://127.0.0.1:1", redis=redis, store=postgres) as urls:
            for url in urls:
                await becomes(url, 200)
            await asyncio.to_thread(keys.revoke, "team", 1)
            for url in urls:
                await becomes(url, 401)


async def test_readiness_tells_about_a_lost_redis(
    tmp_path: Path, redis: str, redis_server: RedisServer
) -> None:
    async with (
        gateways(tmp_path, "http://127.0.0.1:1", 1, redis=redis) as (url,),
        aiohttp.ClientSession() as session,
    ):

        async def readiness() -> tuple[int, str]:
            async with session.get(f"{url}/readyz") as response:
                return response.status, (await response.json()).get("degraded", "")

        assert await readiness() == (200, "")
        async with asyncio.timeout(SECONDS):
            with redis_server.away():
                while (await readiness())[1] != "Redis: no connection":
                    await asyncio.sleep(0.02)
            while (await readiness())[1]:
                await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    "load", [(0.6, 20.0), pytest.param((20.0, 20.0), marks=pytest.mark.thorough)], ids=["short", "long"]
)
@pytest.mark.parametrize("fault", ["hanging", "away"])
async def test_clients_do_not_notice_a_redis_that_fails_under_load(
    tmp_path: Path,
    redis: str,
    redis_server: RedisServer,
    fault: str,
    load: tuple[float, float],
    figures: Figures,
) -> None:
    seconds, rate = load
    limits = KeyLimits(requests_per_minute=100_000, tokens_per_minute=100_000_000)
    async with (
        Upstream(ANSWER) as upstream,
        gateways(tmp_path, upstream.url, limits=limits, redis=redis) as urls,
    ):
        headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
        body = json.dumps(SEARCH).encode()
        plans = [
            LoadPlan(f"{url}/v1/chat/completions", body, headers, rate=rate, seconds=seconds) for url in urls
        ]
        loads = [asyncio.create_task(send_load(plan)) for plan in plans]
        for _ in range(2):
            await asyncio.sleep(seconds / 5)
            with getattr(redis_server, fault)():
                await asyncio.sleep(seconds / 5)
        reports = await asyncio.gather(*loads)
        for report in reports:
            assert report.skipped == 0
            assert report.outcomes == {"200": len(report.samples)}
        if seconds > 1:
            sent = sum(len(report.samples) for report in reports)
            figures.add("R24", "requests while Redis failed, all answered", sent, part=fault)


@asynccontextmanager
async def processes(
    folder: Path, redis: str, upstream: str, **workers: str
) -> AsyncIterator[list[ServeProcess]]:
    """`groundwire serve` with a cache, so many times and with so many workers."""
    config = (
        f'order = ["mine"]\nredis = "{redis}"\n[gateway]\ncache_seconds = 60\n[providers.mine]\n'
        f'dialect = "openai_chat"\nbase_url = "{upstream}/v1"\nmodel = "m"\n'
    )
    async with AsyncExitStack() as stack:
        started = []
        for name, count in workers.items():
            own = folder / name
            own.mkdir()
            running = running_serve(own, "--workers", count, config=config)
            started.append(await stack.enter_async_context(running))
        yield started


@pytest.mark.thorough
async def test_gateways_that_are_processes_share_one_answer(tmp_path: Path, redis: str) -> None:
    async with (
        Upstream(replace(ANSWER, delay=1.0)) as upstream,
        processes(tmp_path, redis, upstream.url, one="1", two="2") as gateways,
        client() as ask,
    ):
        replies = await asyncio.gather(*(ask.post(gateways[n % 2].url, SEARCH) for n in range(100)))
        assert {status for status, _, _ in replies} == {200}
        assert len(upstream.requests) == 1


@pytest.mark.thorough
async def test_another_process_takes_over_from_one_that_was_killed(tmp_path: Path, redis: str) -> None:
    async with (
        Upstream(replace(ANSWER, delay=2.0)) as upstream,
        processes(tmp_path, redis, upstream.url, one="1", two="1", three="1") as (leader, *others),
        client() as ask,
    ):
        leading = asyncio.create_task(ask.post(leader.url, SEARCH))
        await upstream.received()
        following = [asyncio.create_task(ask.post(one.url, SEARCH)) for one in others for _ in range(20)]
        await asyncio.sleep(0.5)
        leader.process.kill()
        with pytest.raises(aiohttp.ClientError):
            await leading
        replies = await asyncio.gather(*following)
        assert {status for status, _, _ in replies} == {200}
        assert len(upstream.requests) == 2


@pytest.mark.parametrize("stream", [True, False])
async def test_requests_with_one_idempotency_key_on_two_gateways_are_one_upstream_request(
    tmp_path: Path, redis: str, stream: bool
) -> None:
    body = {**QUESTION, "stream": stream}
    slow = replace(ANSWER, delay=0.3)
    async with Upstream(slow) as upstream, client() as ask:
        async with gateways(tmp_path, upstream.url, redis=redis) as urls:
            replies = await asyncio.gather(*(ask.post(urls[n % 2], body, once="same") for n in range(20)))
            assert {status for status, _, _ in replies} == {200}
            assert len({text for _, _, text in replies}) == 1
            assert sum("idempotent-replayed" not in head for _, head, _ in replies) == 1
            assert len(upstream.requests) == 1
        restarted = tmp_path / "restarted"
        restarted.mkdir()
        async with gateways(restarted, upstream.url, 1, redis=redis) as (url,):
            status, head, text = await ask.post(url, body, once="same")
            assert (status, head["idempotent-replayed"], text) == (200, "true", replies[0][2])
            other, _, refusal = await ask.post(url, {**body, "max_tokens": 7}, once="same")
            assert other == 422
            assert b"idempotency-key" in refusal
            assert len(upstream.requests) == 1


async def test_another_gateway_takes_over_a_request_whose_client_disconnects(
    tmp_path: Path, redis: str
) -> None:
    async with (
        Upstream((replace(ANSWER, delay=float("inf")), ANSWER)) as upstream,
        gateways(tmp_path, upstream.url, redis=redis) as urls,
        client() as ask,
    ):
        first = asyncio.create_task(ask.post(urls[0], QUESTION, once="same"))
        await upstream.received(1)
        second = asyncio.create_task(ask.post(urls[1], QUESTION, once="same"))
        await asyncio.sleep(0.1)
        assert len(upstream.requests) == 1
        first.cancel()
        async with asyncio.timeout(SECONDS):
            status, _, body = await second
        assert (status, b"Yes." in body, len(upstream.requests)) == (200, True, 2)


async def test_wrong_keys_are_counted_over_all_gateways(tmp_path: Path, redis: str) -> None:
    async with (
        gateways(tmp_path, "http://127.0.0.1:1", limits=KeyLimits(), redis=redis) as (one, two),
        aiohttp.ClientSession() as session,
    ):

        async def attempt(url: str, key: str) -> int:
            async with session.get(f"{url}/v1/models", headers={"x-api-key": key}) as response:
                return response.status

        assert [await attempt(one, f"wrong-{n}") for n in range(MAX_WRONG_KEYS)] == [401] * MAX_WRONG_KEYS
        async with asyncio.timeout(SECONDS):
            tried = 1
            while await attempt(two, f"other-{tried}") != 429:
                tried += 1
                await asyncio.sleep(0.05)  # what the other gateway has counted arrives in the background
        assert tried < MAX_WRONG_KEYS
        assert await attempt(two, KEY) == 200
