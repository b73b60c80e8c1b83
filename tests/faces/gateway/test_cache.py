"""Response cache and coalescing, as clients and providers see them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from groundwire.config.schema import Config, GatewaySettings
from groundwire.model import Source
from groundwire.model.value import replace
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, ScriptedResponse, answer, json_response
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.raw import RawResponse, disconnect, fetch, request_of, send
from tests.faces.gateway.sdk_readers import SdkClients
from tests.faces.gateway.serving import RunningGateway, provider_at, serving, wait_for_open_requests

pytestmark = pytest.mark.server

EVENTS = answer_events(
    "The Nile ☃ is 6650 km long. It is longer than most.", Source("https://alpha.example/"), query="nile"
)
EQUAL_DIALECTS = ("openai_responses", "openai_chat", "gemini", "gemini_interactions")
"""Dialects whose requests are equal. Messages is not: it always limits the length of the answer."""
MODEL = "nile/m"


@asynccontextmanager
async def caching_gateway(
    *responses: ScriptedResponse, seconds: float = 60.0
) -> AsyncIterator[tuple[RunningGateway, Upstream]]:
    config = Config(gateway=GatewaySettings(cache_seconds=seconds))
    async with Upstream(Script(responses=responses)) as upstream:
        providers = {"nile": provider_at("anthropic_messages", upstream.url)}
        async with serving(providers, config=config) as here:
            yield here, upstream


def state(response: RawResponse) -> str:
    return response.headers.get("x-groundwire-cache", "")


async def test_a_hundred_concurrent_identical_requests_cost_one_upstream_request() -> None:
    late = replace(answer("anthropic_messages", EVENTS), delay=0.5)
    async with caching_gateway(late) as (here, upstream):
        requests = [
            request_of(EQUAL_DIALECTS[number % 4], MODEL, stream=number % 8 >= 4, question="how long?")
            for number in range(100)
        ]
        found = await asyncio.gather(*(fetch(here.url, data) for data in requests))
        assert len(upstream.requests) == 1
    assert all(
        response.status == 200 and response.complete and b"6650" in response.body for response in found
    )
    assert Counter(map(state, found)) == {"miss": 1, "shared": 99}


@pytest.mark.parametrize("first", EQUAL_DIALECTS)
async def test_every_client_gets_the_same_answer_from_the_cache(first: str) -> None:
    async with (
        caching_gateway(answer("anthropic_messages", EVENTS)) as (here, upstream),
        SdkClients(here.url) as clients,
    ):
        direct = await clients.ask(first, MODEL, stream=True)
        assert direct.spans
        assert not direct.error
        for name in EQUAL_DIALECTS:
            for stream in (True, False):
                read = await clients.ask(name, MODEL, stream=stream)
                assert (read.text, read.spans, read.tokens) == (direct.text, direct.spans, direct.tokens)
        assert len(upstream.requests) == 1


async def test_headers_show_the_cache_status_and_the_age() -> None:
    async with caching_gateway(answer("anthropic_messages", EVENTS)) as (here, _):
        data = request_of("openai_chat", MODEL, stream=False)
        first, again = await fetch(here.url, data), await fetch(here.url, data)
    assert (state(first), first.headers.get("age")) == ("miss", None)
    assert (state(again), again.headers["age"]) == ("hit", "0")
    assert again.headers["x-groundwire-provider"] == "nile"


async def test_by_default_nothing_is_cached() -> None:
    async with caching_gateway(answer("anthropic_messages", EVENTS), seconds=0.0) as (here, upstream):
        data = request_of("openai_chat", MODEL, stream=False)
        found = [await fetch(here.url, data) for _ in range(2)]
        assert len(upstream.requests) == 2
    assert [state(response) for response in found] == ["", ""]


async def test_an_error_reaches_all_waiting_clients_and_is_not_cached() -> None:
    refused = replace(json_response({"type": "error", "error": {"message": "no"}}, 400), delay=0.2)
    async with caching_gateway(refused, answer("anthropic_messages", EVENTS)) as (here, upstream):
        data = request_of("openai_chat", MODEL, stream=True)
        found = await asyncio.gather(*(fetch(here.url, data) for _ in range(5)))
        assert [response.status for response in found] == [400] * 5
        assert len(upstream.requests) == 1
        assert (await fetch(here.url, data)).status == 200


async def test_a_later_client_follows_live_and_the_last_disconnect_cancels_the_upstream_request() -> None:
    whole = answer("anthropic_messages", EVENTS)
    stream = whole.stream or b""
    offset = stream.index(b"\n\n", stream.rindex(b"content_block_stop")) + 2
    async with caching_gateway(replace(whole, stall_at=offset)) as (here, upstream):
        data = request_of("openai_chat", MODEL, stream=True)
        reader, first = await send(here.url, data)
        await reader.readuntil(b"6650")
        reader, second = await send(here.url, data)
        head = await reader.readuntil(b"6650")
        assert b"x-groundwire-cache: shared" in head
        disconnect(first, "rst")
        reader, third = await send(here.url, data)
        await reader.readuntil(b"6650")
        disconnect(second, "fin")
        await wait_for_open_requests(here.gateway, 1)
        assert upstream.open_connections == 1
        disconnect(third, "rst")
        await upstream.disconnected()
        assert len(upstream.requests) == 1


async def test_a_closing_gateway_ends_all_followers() -> None:
    silent = replace(answer("anthropic_messages", EVENTS), stall_at=0)
    async with caching_gateway(silent) as (here, upstream):
        data = request_of("openai_chat", MODEL, stream=True)
        waiting = [asyncio.create_task(fetch(here.url, data)) for _ in range(3)]
        await wait_for_open_requests(here.gateway, 3)
        await upstream.stalled(1)
        here.gateway.active_streams.close()
        assert [response.status for response in await asyncio.gather(*waiting)] == [503] * 3
        await upstream.disconnected()
