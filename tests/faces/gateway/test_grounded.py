"""An answer without sources says so to every client, if the web was to be searched."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from groundwire.model import Source
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.asgi_client import SMALLEST_REQUESTS
from tests.faces.gateway.serving import RunningGateway, provider_at, serving
from tests.faces.gateway.test_without_model import SEARCH

pytestmark = pytest.mark.server

DIALECTS = ["anthropic_messages", "openai_responses", "openai_chat", "gemini", "gemini_interactions"]
PAGE = Source("https://a.example/", "A")


async def extension(
    here: RunningGateway, dialect: str, *, searches: bool, render: str = ""
) -> dict[str, Any]:
    path, body = SMALLEST_REQUESTS[dialect]
    named = {"model": "scripted/model-1"} if "model" in body else {}
    path = path.replace("auto", "scripted%2Fmodel-1")
    tools = SEARCH[dialect] if searches else {}
    headers = {"x-groundwire-render": render} if render else {}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{here.url}{path}", json={**body, **named, **tools}, headers=headers) as reply,
    ):
        assert reply.status == 200
        found: dict[str, Any] = (await reply.json()).get("groundwire", {})
        return found


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_answer_without_sources_is_not_grounded(dialect: str) -> None:
    provider = "openai_chat" if dialect != "openai_chat" else "gemini"
    async with (
        Upstream(answer(provider, answer_events("It is so."))) as upstream,
        serving({"scripted": provider_at(provider, upstream.url)}) as here,
    ):
        assert (await extension(here, dialect, searches=True))["grounded"] is False
        assert "grounded" not in await extension(here, dialect, searches=False)


@pytest.mark.parametrize("render", ["", "markers", "both"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_cited_answer_is_grounded_however_it_is_rendered(dialect: str, render: str) -> None:
    provider = "openai_responses" if dialect != "openai_responses" else "gemini"
    async with (
        Upstream(answer(provider, answer_events("It is so.", PAGE, query="so?"))) as upstream,
        serving({"scripted": provider_at(provider, upstream.url)}) as here,
    ):
        assert "grounded" not in await extension(here, dialect, searches=True, render=render)


async def test_the_search_route_and_its_tools_say_so() -> None:
    async with (
        Upstream(answer("openai_chat", answer_events("It is so."))) as upstream,
        serving({"scripted": provider_at("openai_chat", upstream.url)}) as here,
        aiohttp.ClientSession() as session,
        session.post(f"{here.url}/v1/search", json={"query": "is it so?"}) as reply,
    ):
        assert (await reply.json())["groundwire"]["grounded"] is False
