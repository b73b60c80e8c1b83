"""Models without search, in every dialect and with every official client: the tool loop looks native."""

from __future__ import annotations

import asyncio
import json
from itertools import product

import anthropic
import pytest

from groundwire.model import Event, Finished, Started, ToolCallDelta
from groundwire.testing.upstream import answer
from tests.faces.gateway.sdk_readers import SdkAnswer, SdkClients
from tests.faces.gateway.tool_loop import (
    ANSWERS,
    CLAIM,
    PAGE,
    QUERY,
    TEXT,
    OnePageEngine,
    search_then_answer,
    tool_loop_gateway,
)

pytestmark = pytest.mark.server

DIALECTS = (
    *("openai_chat", "openai_responses", "anthropic_messages", "gemini", "gemini_interactions"),
    *("cohere_chat", "mistral_conversations"),
)
WITHOUT_QUERIES = frozenset({"openai_chat", "cohere_chat"})
WITHOUT_SEARCH_COUNTS = frozenset({"gemini"})


async def ask_with_every_client(
    model: str,
) -> tuple[dict[tuple[str, bool], SdkAnswer], OnePageEngine, list[bytes]]:
    engine = OnePageEngine()
    cells = list(product(DIALECTS, (True, False)))
    async with (
        asyncio.timeout(60),
        tool_loop_gateway(model, search_then_answer(model) * len(cells), engine) as (url, upstream),
        SdkClients(url) as clients,
    ):
        reads = {
            (inbound, stream): await clients.ask(inbound, "m/model-1", stream=stream)
            for inbound, stream in cells
        }
        return reads, engine, [item.body for item in upstream.requests]


@pytest.mark.parametrize("model", DIALECTS)
async def test_every_official_client_reads_a_native_search(model: str) -> None:
    reads, engine, bodies = await ask_with_every_client(model)
    for (inbound, _), read in reads.items():
        assert read.error == ""
        assert read.text == TEXT
        assert {(read.text[start:end], url) for start, end, url in read.spans} == {(CLAIM, PAGE.url)}
        assert read.tokens == (30, 6)
        if inbound not in WITHOUT_QUERIES:
            assert read.queries == [QUERY]
        if inbound not in WITHOUT_SEARCH_COUNTS:
            assert read.searches == 1
    assert [query for query, _ in engine.calls] == [QUERY] * len(reads)
    for body in bodies[1::2]:
        assert "Snow fell on 3 May 2031" in json.dumps(json.loads(body), ensure_ascii=False)


async def test_the_official_client_reads_a_page_that_the_gateway_opened() -> None:
    """The client declares `web_fetch`; the model speaks another dialect and has no such tool."""
    arguments = json.dumps({"url": PAGE.url})
    opens: list[Event] = [
        Started("1", "model-1"),
        ToolCallDelta(0, "call_1", "web_fetch", arguments),
        Finished("tool_calls"),
    ]
    script = [answer("openai_chat", opens), answer("openai_chat", ANSWERS)]
    async with (
        asyncio.timeout(60),
        tool_loop_gateway("openai_chat", script, OnePageEngine()) as (url, upstream),
        anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as client,
    ):
        message = await client.messages.create(
            model="m/model-1",
            max_tokens=100,
            messages=[{"role": "user", "content": f"When did it snow? See {PAGE.url}"}],
            tools=[{"type": "web_fetch_20250910", "name": "web_fetch", "max_uses": 1}],
        )
    use, result, *texts = message.content
    assert isinstance(use, anthropic.types.ServerToolUseBlock)
    assert (use.name, use.input) == ("web_fetch", {"url": PAGE.url})
    assert isinstance(result, anthropic.types.WebFetchToolResultBlock)
    assert isinstance(result.content, anthropic.types.WebFetchBlock)
    assert (result.content.url, result.content.content.title) == (PAGE.url, PAGE.title)
    blocks = [block for block in texts if isinstance(block, anthropic.types.TextBlock)]
    assert "".join(block.text for block in blocks) == TEXT
    assert [block.text for block in blocks if block.citations] == [CLAIM]
    assert message.usage.server_tool_use is not None
    assert message.usage.server_tool_use.web_fetch_requests == 1
    offered = json.loads(upstream.requests[0].body)["tools"]
    assert [tool["function"]["name"] for tool in offered] == ["web_fetch"]
