"""Searches are counted in responses and in usage, also where the provider does not count."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    Usage,
    UsageSeen,
)
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.asgi_client import SMALLEST_REQUESTS
from tests.faces.gateway.serving import RunningGateway, provider_at, serving
from tests.faces.gateway.test_without_model import SEARCH

pytestmark = pytest.mark.server

PAGE = Source("https://a.example/", "A")


def answer_of_model(model: str) -> list[Event]:
    """One search with two queries, by a provider that reports tokens but no search count."""
    return [
        Started("1", model),
        SearchCalled(0, SearchCall("s", ("one", "two"))),
        SearchReturned(1, SearchResult("s", (PAGE,))),
        TextDelta(2, "It is so."),
        Cited(Citation(Span(0, 9), (Evidence(PAGE),))),
        UsageSeen(Usage(input_tokens=5, output_tokens=2)),
        Finished(),
    ]


async def counted(here: RunningGateway, dialect: str, *, stream: bool) -> tuple[dict[str, Any], int | None]:
    """The body that a client reads, if not streamed, and the search count in the usage record."""
    seen: list[int | None] = []
    recorder = here.gateway.usage_recorder
    assert recorder is None

    class Recorder:
        def add(self, call: Any, _: float) -> None:
            seen.append(call.usage.searches if call.usage else None)

    here.gateway.usage_recorder = Recorder()  # type: ignore[assignment]
    path, body = SMALLEST_REQUESTS[dialect]
    named = {"model": "scripted/model-1"} if "model" in body else {}
    path = path.replace("auto", "scripted%2Fmodel-1")
    if stream:
        path = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
    more = {"stream": True} if stream and dialect != "gemini" else {}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{here.url}{path}", json={**body, **named, **more, **SEARCH[dialect]}) as reply,
    ):
        assert reply.status == 200
        read = {} if stream else await reply.json()
        await reply.read()
    (count,) = seen
    here.gateway.usage_recorder = None
    return read, count


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("provider", "model", "count"),
    [
        ("gemini", "gemini-2.5-flash", 1),
        ("gemini", "gemini-3-flash-preview", 2),
        ("openai_responses", "gpt-5.5", 1),
    ],
)
@pytest.mark.parametrize("client", ["anthropic_messages", "openai_responses", "openai_chat", "gemini"])
async def test_the_search_count_is_the_same_for_every_dialect(
    client: str, provider: str, model: str, count: int, stream: bool
) -> None:
    async with (
        Upstream(answer(provider, answer_of_model(model))) as upstream,
        serving({"scripted": provider_at(provider, upstream.url)}) as here,
    ):
        read, recorded = await counted(here, client, stream=stream)
    assert recorded == count
    if client == "anthropic_messages" and not stream:
        # Claude Code counts pairs of blocks, and there is one for each query.
        assert read["usage"]["server_tool_use"]["web_search_requests"] == 2
