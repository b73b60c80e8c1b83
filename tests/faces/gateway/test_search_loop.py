"""Models without search, in every dialect and with every official client: the tool loop looks native."""

from __future__ import annotations

import asyncio
import json
from itertools import product

import pytest

from tests.faces.gateway.sdk_readers import SdkAnswer, SdkClients
from tests.faces.gateway.tool_loop import (
    CLAIM,
    PAGE,
    QUERY,
    TEXT,
    OnePageEngine,
    search_then_answer,
    tool_loop_gateway,
)

pytestmark = pytest.mark.server

DIALECTS = ("openai_chat", "openai_responses", "anthropic_messages", "gemini", "gemini_interactions")
WITHOUT_QUERIES = frozenset({"openai_chat"})
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
