"""Models without search, in every dialect and with every official client: the tool loop looks native."""

from __future__ import annotations

import asyncio
import json
from itertools import product

import pytest

from tests.faces.gateway.sdk_readers import SdkAnswer, SdkClients
from tests.faces.gateway.searching import CLAIM, PAGE, QUERY, TEXT, Engine, playing, searching

pytestmark = pytest.mark.server

DIALECTS = ("openai_chat", "openai_responses", "anthropic_messages", "gemini", "gemini_interactions")
UNTOLD_QUERIES = frozenset({"openai_chat"})
UNTOLD_COUNTS = frozenset({"gemini"})


async def asked_by_all(model: str) -> tuple[dict[tuple[str, bool], SdkAnswer], Engine, list[bytes]]:
    engine = Engine()
    cells = list(product(DIALECTS, (True, False)))
    async with (
        asyncio.timeout(60),
        searching(model, playing(model) * len(cells), engine) as (url, upstream),
        SdkClients(url) as clients,
    ):
        reads = {
            (inbound, stream): await clients.ask(inbound, "m/model-1", stream=stream)
            for inbound, stream in cells
        }
        return reads, engine, [item.body for item in upstream.requests]


@pytest.mark.parametrize("model", DIALECTS)
async def test_every_official_client_reads_a_native_search(model: str) -> None:
    reads, engine, bodies = await asked_by_all(model)
    for (inbound, _), read in reads.items():
        assert read.error == ""
        assert read.text == TEXT
        assert {(read.text[start:end], url) for start, end, url in read.spans} == {(CLAIM, PAGE.url)}
        assert read.tokens == (30, 6)
        if inbound not in UNTOLD_QUERIES:
            assert read.queries == [QUERY]
        if inbound not in UNTOLD_COUNTS:
            assert read.searches == 1
    assert [query for query, _ in engine.asked] == [QUERY] * len(reads)
    for body in bodies[1::2]:
        assert "Snow fell on 3 May 2031" in json.dumps(json.loads(body), ensure_ascii=False)
