"""Two gateways are one service: chats, keys, limits, budgets and requests in progress are those of both."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from time import monotonic
from typing import Any

import aiohttp
import openai
import pytest
from anyio.from_thread import start_blocking_portal

from groundwire.model.access import KeyLimits
from groundwire.model.value import replace
from groundwire.testing.upstream import Upstream
from tests.cluster.cluster import (
    ANSWER,
    COST,
    QUESTION,
    SEARCH,
    Browser,
    Cluster,
    GatewayPlace,
    at_once,
    budget_of,
    check_limit,
    post,
    running_cluster,
    until_spent,
    until_status,
)
from tests.figures import Figures
from tests.server.processes import start_serve
from tests.servers.fixtures import postgres_server, redis_server
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

__all__ = ["postgres_server", "redis_server"]
pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, redis_server: RedisServer
) -> Iterator[Cluster]:
    """One cluster for all tests of the module; it runs in an event loop of its own."""
    redis_server.command("FLUSHALL")
    place = GatewayPlace(postgres_server.database(), redis_server.url)

    async def upstream() -> Upstream:
        return Upstream(replace(ANSWER, delay=0.2))

    with start_blocking_portal() as portal:
        running = running_cluster(tmp_path_factory.mktemp("cluster"), [place, place], portal.call(upstream))
        with portal.wrap_async_context_manager(running) as started:
            yield started


async def test_a_gateway_needs_a_key_from_its_first_response_on(cluster: Cluster) -> None:
    for gateway in cluster.gateways:
        assert set(gateway.before_ready) == {401}


async def test_a_gateway_does_not_start_while_postgresql_is_down(cluster: Cluster) -> None:
    folder = cluster.folder / "without-store"
    folder.mkdir()
    config = cluster.gateways[0].config.replace(
        cluster.gateways[0].place.store, f"postgresql://tests@/tests?host={folder}"
    )
    async with start_serve(folder, ["--port", "0"], config=config) as gateway:
        assert await gateway.ended() != 0
        assert not [line for line in gateway.lines if "serving at" in line]
        assert [line for line in gateway.lines if "PostgreSQL" in line]


async def test_a_chat_continues_on_another_gateway(cluster: Cluster) -> None:
    one, other = cluster.urls
    browser = Browser()
    await browser.login(one, await cluster.new_key("reader"))
    first = dict(await browser.ask(one, "Which river?"))
    session = str(first["turn"]["session"])
    assert "Yes." in str(first["done"]["html"])
    assert "Which river?" in await browser.read(other, session)
    before = len(cluster.upstream.requests)
    second = dict(await browser.ask(other, "And its source?", session))
    assert second["turn"]["session"] == session
    assert "Yes." in str(second["done"]["html"])
    sent = json.dumps(cluster.upstream.requests[before].json)
    assert [text in sent for text in ("Which river?", "Yes.", "And its source?")] == [True] * 3
    page = await browser.read(one, session)
    assert page.index("Which river?") < page.index("And its source?")


async def test_a_login_that_ends_on_one_gateway_has_ended_on_the_other(cluster: Cluster) -> None:
    one, other = cluster.urls
    browser = Browser()
    await browser.login(one, await cluster.new_key("leaving"))
    async with browser.at(other) as page:
        kept = {cookie.key: cookie.value for cookie in page.cookie_jar}
        async with page.get("/") as response:
            token = re.search(r'data-token="(\w+)"', await response.text())
        assert token
        async with page.post("/logout", data={"token": token[1]}):
            pass
    # The cookie itself is still good; somebody may have copied it.
    async with aiohttp.ClientSession(one, cookies=kept) as thief, asyncio.timeout(20):
        while True:
            async with thief.get("/", allow_redirects=False) as response:
                if response.status != 200:
                    break
            await asyncio.sleep(0.02)
    assert response.status in (302, 303)


async def test_the_command_line_changes_keys_on_both_gateways(cluster: Cluster, figures: Figures) -> None:
    printed = await cluster.command("keys", "create", "--name", "cli")
    found = re.search(r"sk-gw-\S+", printed)
    assert found
    key = found[0]
    delays = [await until_status(url, key, 200) for url in cluster.urls]
    await cluster.command("keys", "change", "cli", "--route", "chat")
    delays += [await until_status(url, key, 403) for url in cluster.urls]
    await cluster.command("keys", "revoke", "cli")
    delays += [await until_status(url, key, 401) for url in cluster.urls]
    figures.add("S15", "until both gateways know a changed or revoked key, at most", max(delays), "s")


async def test_both_gateways_enforce_one_rate_limit(cluster: Cluster) -> None:
    key = await cluster.new_key("limited", KeyLimits(requests_per_minute=20))
    check_limit(cluster, await at_once(cluster, key, 20), 20)


async def test_a_hundred_equal_requests_over_both_gateways_are_one_upstream_request(
    cluster: Cluster,
) -> None:
    key = await cluster.new_key("many")
    before = len(cluster.upstream.requests)
    question = {**SEARCH, "messages": [{"role": "user", "content": f"equal at {monotonic()}?"}]}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        replies = await asyncio.gather(
            *(post(client, url, key, question) for url in cluster.urls for _ in range(50))
        )
    assert Counter(status for status, _ in replies) == {200: 100}
    assert all(b"Yes." in body for _, body in replies)
    assert len(cluster.upstream.requests) - before == 1


async def test_a_background_response_of_one_gateway_is_polled_followed_and_stopped_on_the_other(
    cluster: Cluster,
) -> None:
    key = await cluster.new_key("writer")
    one, other = (
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) for url in cluster.urls
    )
    question: dict[str, Any] = {"model": QUESTION["model"], "input": "In the background?", "background": True}
    async with one, other, asyncio.timeout(60):
        created = await one.responses.create(**question)
        events = [event async for event in await other.responses.retrieve(created.id, stream=True)]
        assert events[-1].type == "response.completed"
        assert [event.sequence_number for event in events] == list(range(len(events)))
        polled = await other.responses.retrieve(created.id)
        assert (polled.status, polled.output_text) == ("completed", "Yes.")
        stranger = openai.AsyncOpenAI(base_url=other.base_url, api_key=await cluster.new_key("stranger"))
        async with stranger:
            with pytest.raises(openai.NotFoundError):
                await stranger.responses.retrieve(created.id)
        assert (await one.responses.cancel(created.id)).status == "completed"
        await other.responses.delete(created.id)
        with pytest.raises(openai.NotFoundError):
            await one.responses.retrieve(created.id)


async def test_the_budget_of_a_key_is_exact_over_both_gateways(cluster: Cluster) -> None:
    """Ten clients repeat their requests until the budget is spent."""
    key = await cluster.new_key("buyer", budget_of(6))
    before = cluster.billing.nano_usd
    async with aiohttp.ClientSession() as client:
        statuses = await until_spent(client, cluster.urls, key)
    assert set(statuses) <= {200, 402, 429}
    assert statuses[200] == 6
    assert (await cluster.settled(key)).day.spent == cluster.billing.nano_usd - before == 6 * COST


async def test_the_admin_page_of_one_gateway_shows_the_requests_of_the_other(cluster: Cluster) -> None:
    one, other = cluster.urls
    admin = await cluster.new_key("admin", role="admin")
    browser = Browser()
    await browser.login(one, admin)
    key = await cluster.new_key("busy")
    async with aiohttp.ClientSession() as client, asyncio.timeout(60):
        asking = True

        async def ask() -> None:
            while asking:
                await post(client, other, key, {**QUESTION, "model": "mine/seen-elsewhere"})

        busy = [asyncio.create_task(ask()) for _ in range(4)]
        try:
            async with browser.at(one) as page:
                while True:
                    async with page.get("/admin") as response:
                        assert response.status == 200
                        if "mine/seen-elsewhere" in await response.text():
                            break
                    await asyncio.sleep(0.1)
        finally:
            asking = False
            await asyncio.wait(busy)


async def test_nginx_uses_both_gateways(cluster: Cluster) -> None:
    key = await cluster.new_key("proxied")
    connector = aiohttp.TCPConnector(ssl=cluster.trust or True)
    async with aiohttp.ClientSession(connector=connector) as client:
        replies = await asyncio.gather(
            *(post(client, cluster.secure_proxy, key, {**QUESTION, "user": str(n)}) for n in range(10))
        )
    assert {status for status, _ in replies} == {200}
    used = set(re.findall(r'"upstream":"([^"]+)"', (cluster.folder / "access.log").read_text()))
    assert {url.removeprefix("http://") for url in cluster.urls} <= used
