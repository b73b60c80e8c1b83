"""Without web search, text reaches a Messages client while the provider is still writing."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from groundwire.model import Event, Finished, Started, TextDelta, Usage, UsageSeen
from groundwire.model.value import replace
from groundwire.server.response_writer import ResponseTimeouts
from groundwire.testing.upstream import ScriptedResponse, Upstream, answer
from tests.faces.gateway.serving import provider_at, serving

pytestmark = pytest.mark.server

EVENTS: list[Event] = [
    Started("1", "model-1"),
    TextDelta(0, "First words. "),
    TextDelta(0, "Last words."),
    UsageSeen(Usage(input_tokens=1, output_tokens=2)),
    Finished(),
]
BODY = {
    "model": "scripted/model-1",
    "max_tokens": 100,
    "stream": True,
    "messages": [{"role": "user", "content": "q?"}],
}
SEARCH = {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}
OTHERS = ("openai_responses", "openai_chat", "gemini", "gemini_interactions")


def unfinished(dialect: str) -> ScriptedResponse:
    """A stream that stalls after its first words."""
    whole = answer(dialect, EVENTS)
    assert whole.stream is not None
    return replace(whole, stall_at=whole.stream.index(b"Last words."))


async def read_until(dialect: str, marker: bytes, *, seconds: float, **more: Any) -> bytes:
    """Read the response until the marker appears."""
    read = b""
    async with (
        Upstream(unfinished(dialect)) as upstream,
        serving(
            {"scripted": provider_at(dialect, upstream.url)}, timeouts=ResponseTimeouts(0.2, 0.2)
        ) as here,
        aiohttp.ClientSession() as session,
        session.post(f"{here.url}/v1/messages", json={**BODY, **more}) as reply,
    ):
        assert reply.status == 200
        async with asyncio.timeout(seconds):
            while marker not in read and (chunk := await reply.content.readany()):
                read += chunk
    return read


@pytest.mark.parametrize("dialect", OTHERS)
async def test_text_is_streamed_immediately_without_search(dialect: str) -> None:
    read = await read_until(dialect, b"First words.", seconds=30)
    assert b'"text_delta"' in read
    assert b"First words." in read


async def test_text_is_buffered_for_its_citations_with_search() -> None:
    read = await read_until("gemini", b": keep-alive\n\n: keep-alive\n\n", seconds=30, **SEARCH)
    assert b": keep-alive" in read
    assert b"First words." not in read
