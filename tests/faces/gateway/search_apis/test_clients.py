"""The official clients of search services, with the gateway in place of the service."""

from __future__ import annotations

import asyncio
import socket
from importlib import import_module
from typing import Any

import pytest

from groundwire.commands.http_app import create_app
from groundwire.config.schema import ProviderSettings
from groundwire.engine.pages import Page
from groundwire.errors import GroundwireError
from groundwire.server.http_server import HttpServer
from groundwire.server.keys import KeyFile
from groundwire.testing.script import json_response
from tests.faces.gateway.search_apis.engine import AMAZON, NILE, SNIPPET, gateway_with_engine
from tests.faces.gateway.serving import RunningGateway, running_server, serving

pytestmark = pytest.mark.server


def with_pages(gateway: RunningGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the client one page that can be read; all others go through the SSRF guard."""
    original = gateway.groundwire.page

    async def page(url: str, *, live: bool = True) -> Page:
        return Page(url, "Nile", "All about the Nile.") if url == NILE else await original(url, live=live)

    monkeypatch.setattr(gateway.groundwire, "page", page)


async def test_tavily_searches_and_extracts(monkeypatch: pytest.MonkeyPatch) -> None:
    tavily = import_module("tavily")
    async with gateway_with_engine() as (gateway, upstream):
        with_pages(gateway, monkeypatch)
        client = tavily.TavilyClient("any", api_base_url=gateway.url)
        found = await asyncio.to_thread(
            client.search, "how long is the nile", max_results=1, include_domains=["https://rivers.example"]
        )
        assert found["query"] == "how long is the nile"
        assert found["answer"] is None
        (result,) = found["results"]
        assert (result["url"], result["title"], result["content"]) == (NILE, "Nile", SNIPPET)
        assert (result["score"], result["published_date"]) == (1.0, "2026-03-04")
        assert "site%3Arivers.example" in upstream.requests[0].target

        raw = await asyncio.to_thread(client.search, "nile", include_raw_content=True)
        assert [item["raw_content"] for item in raw["results"]] == ["All about the Nile.", None]

        refused = ["http://127.0.0.1/secret", "file:///etc/passwd"]
        pages = await asyncio.to_thread(client.extract, [NILE, *refused])
        (page,) = pages["results"]
        assert (page["url"], page["raw_content"]) == (NILE, "All about the Nile.")
        assert [item["url"] for item in pages["failed_results"]] == refused


async def test_tavily_gets_a_composed_answer_if_it_asks_for_one() -> None:
    tavily = import_module("tavily")
    async with gateway_with_engine() as (gateway, _):
        client = tavily.TavilyClient("any", api_base_url=gateway.url)
        found = await asyncio.to_thread(client.search, "how long is the Nile?", include_answer=True)
    assert "6650 km" in found["answer"]
    assert found["results"][0]["url"] == NILE


async def test_errors_become_the_exceptions_of_tavily() -> None:
    tavily = import_module("tavily")
    async with gateway_with_engine(json_response({}, 429)) as (gateway, _):
        client = tavily.TavilyClient("any", api_base_url=gateway.url)
        with pytest.raises(tavily.UsageLimitExceededError):
            await asyncio.to_thread(client.search, "nile")
        with pytest.raises(tavily.BadRequestError, match="query"):
            await asyncio.to_thread(client.search, " ")


async def test_a_wrong_key_is_the_error_of_each_client() -> None:
    tavily = import_module("tavily")
    perplexity = import_module("perplexity")
    async with gateway_with_engine() as (gateway, upstream):
        KeyFile(gateway.groundwire.config.data_dir).create("laptop", 0.0)
        app = create_app(gateway.groundwire, {})
        app.on_close.clear()
        async with running_server(app) as (url, _):
            with pytest.raises(tavily.InvalidAPIKeyError, match="groundwire keys create"):
                await asyncio.to_thread(tavily.TavilyClient("wrong", api_base_url=url).search, "nile")
            client = perplexity.Perplexity(api_key="wrong", base_url=url, max_retries=0)
            with pytest.raises(perplexity.AuthenticationError, match="groundwire keys create"):
                await asyncio.to_thread(client.search.create, query="nile")
        assert upstream.requests == []


async def test_perplexity_searches() -> None:
    perplexity = import_module("perplexity")
    async with gateway_with_engine() as (gateway, upstream):
        client = perplexity.AsyncPerplexity(api_key="any", base_url=gateway.url)
        found = await client.search.create(
            query=["nile"],
            max_results=2,
            search_domain_filter=["-spam.example"],
            search_recency_filter="year",
        )
        assert [(item.url, item.title, item.snippet, item.date) for item in found.results] == [
            (NILE, "Nile", SNIPPET, "2026-03-04"),
            (AMAZON, "Amazon", "The Amazon is shorter.", None),
        ]
        assert found.id
        assert "time_range=year" in upstream.requests[0].target
        assert "-site%3Aspam.example" in upstream.requests[0].target
        with pytest.raises(perplexity.BadRequestError, match="one query"):
            await client.search.create(query=["nile", "amazon"])
        await client.close()


async def test_ollama_searches_and_fetches(monkeypatch: pytest.MonkeyPatch) -> None:
    ollama: Any = import_module("ollama")
    httpx: Any = import_module("httpx")

    async with gateway_with_engine() as (gateway, _):
        with_pages(gateway, monkeypatch)
        port = int(gateway.url.rpartition(":")[2])

        async def to_gateway(request: Any) -> None:
            """Its client knows only the address of the hosted service."""
            assert request.url.host == "ollama.com"
            request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=port)
            request.headers["host"] = f"127.0.0.1:{port}"

        client = ollama.AsyncClient(
            headers={"authorization": "Bearer any"}, event_hooks={"request": [to_gateway]}
        )
        found = await client.web_search("nile", max_results=1)
        assert [(item.title, item.url, item.content) for item in found.results] == [("Nile", NILE, SNIPPET)]
        page = await client.web_fetch(NILE)
        assert (page.title, page.content, page.links) == ("Nile", "All about the Nile.", [])
        with pytest.raises(ollama.ResponseError, match="public web page"):
            await client.web_fetch("file:///etc/passwd")
        await client.close()
        assert httpx.__version__


async def test_a_gateway_that_is_its_own_search_service_says_so() -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    listener.close()
    own = f"http://127.0.0.1:{port}"
    async with serving({"searxng": ProviderSettings(base_url=own)}) as gateway:
        bound = socket.create_server(("127.0.0.1", port))
        server = HttpServer(gateway.gateway, drain=1)
        running = asyncio.create_task(server.serve(sockets=[bound]))
        try:
            with pytest.raises(GroundwireError, match="HTTP 508"):
                await gateway.groundwire.asearch("nile", provider="searxng")
        finally:
            server.should_exit = True
            await running
