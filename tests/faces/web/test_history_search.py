"""History search shows and marks what it finds; exports and usage are downloaded."""

from __future__ import annotations

import json
from pathlib import Path

import aiohttp
import pytest

from groundwire.chat.questions import ChatQuestion
from groundwire.store.base import Agent
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.chat.scripted_chat import answered
from tests.faces.gateway.serving import provider_at
from tests.faces.web.serving import running_page

pytestmark = pytest.mark.server

TEXT = "Die Straße <b>führt</b> über Köln."


async def test_a_hit_is_highlighted_in_its_sentence_and_a_session_can_be_exported(tmp_path: Path) -> None:
    async with (
        Upstream(answer("openai_chat", answer_events(TEXT))) as upstream,
        running_page(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as here,
        aiohttp.ClientSession(here.url) as browser,
    ):
        await here.chat.save_agent(Agent("plain", {"en": "Plain"}), "")
        turns = [await answered(here.chat, ChatQuestion("Wohin?", "", agent="plain"))]
        name = turns[0].session.id
        turns += [await answered(here.chat, ChatQuestion("Und nun?", "", session=name)) for _ in range(15)]
        async with browser.get("/find", params={"q": '"strasse b" KOLN'}) as page:
            found = await page.text()
        assert found.count("<mark>Köln</mark>") == len(turns)
        assert "Die <mark>Straße</mark> &lt;<mark>b</mark>&gt;" in found
        async with browser.get("/find", params={"q": "nirgends"}) as page:
            assert "<mark>" not in await page.text()
        async with browser.get(f"/chat/{name}/export.json") as file:
            body = json.loads(await file.read())
        assert [turn["number"] for turn in body["messages"]] == list(range(1, 2 * len(turns) + 1))
        async with browser.get(f"/chat/{name}/export.md") as file:
            assert (await file.text()).count(TEXT) == len(turns)
        async with browser.get("/usage") as page:
            assert ">p<" in await page.text()
