"""A gateway whose only provider is a search service with scripted results."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from groundwire.config.schema import ProviderSettings
from groundwire.model import Json, JsonObject
from groundwire.testing.script import ScriptedResponse, json_response
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.serving import RunningGateway, serving

NILE = "https://rivers.example/nile"
AMAZON = "https://rivers.example/amazon"
SNIPPET = "The Nile is 6650 km long."


def results(*more: JsonObject) -> JsonObject:
    """Two pages, as SearXNG returns them."""
    found: list[Json] = [
        {"url": NILE, "title": "Nile", "content": SNIPPET, "publishedDate": "2026-03-04T00:00:00"},
        {"url": AMAZON, "title": "Amazon", "content": "The Amazon is shorter."},
        *more,
    ]
    return {"results": found}


@asynccontextmanager
async def gateway_with_engine(
    response: ScriptedResponse | None = None,
) -> AsyncIterator[tuple[RunningGateway, Upstream]]:
    """A gateway, and the search service behind it."""
    async with Upstream(response or json_response(results())) as upstream:
        settings = {
            "searxng": ProviderSettings(base_url=upstream.url),
            "local": ProviderSettings(enabled=False),  # pages would be looked up in its index first
        }
        async with serving(settings) as gateway:
            yield gateway, upstream
