"""Mistral's client at the gateway: a key, errors as it raises them, and conversations that are not stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mistralai.client import Mistral, models
from mistralai.client.errors import SDKError

from groundwire.errors import RateLimited
from groundwire.model import Event, Failed, Source, Started, TextDelta
from groundwire.server.keys import KeyFile
from groundwire.testing.answers import answer_events
from groundwire.testing.script import answer
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.serving import provider_at, serving

pytestmark = pytest.mark.server

PAGE = Source("https://a.example/", "A page")
BROKEN: list[Event] = [Started("i", "m"), TextDelta(0, "Half"), Failed(RateLimited("slow down"))]


@asynccontextmanager
async def client(url: str, key: str) -> AsyncIterator[Mistral]:
    async with httpx2.AsyncClient() as http, Mistral(server_url=url, api_key=key, async_client=http) as made:
        yield made


async def test_a_key_of_the_gateway_opens_it_and_another_is_refused() -> None:
    async with (
        Upstream(answer("gemini", answer_events("Long.", PAGE))) as upstream,
        serving({"mine": provider_at("gemini", upstream.url)}) as here,
    ):
        key, _ = KeyFile(here.groundwire.config.data_dir).create("me", 0)
        async with client(here.url, key) as good, client(here.url, "wrong-key") as bad:
            found = await good.beta.conversations.start_async(
                model="mine/m", inputs="how long?", tools=[models.WebSearchTool()]
            )
            with pytest.raises(SDKError) as refused:
                await bad.beta.conversations.start_async(model="mine/m", inputs="how long?")
            with pytest.raises(SDKError) as unknown:
                await good.beta.conversations.start_async(model="no-such-model", inputs="how long?")
            with pytest.raises(SDKError) as continued:
                await good.beta.conversations.append_async(
                    conversation_id=found.conversation_id, inputs="and now?"
                )
    message = found.outputs[-1]
    assert isinstance(message, models.MessageOutputEntry)
    assert isinstance(message.content, list)
    text, reference = message.content
    assert isinstance(text, models.TextChunk)
    assert isinstance(reference, models.ToolReferenceChunk)
    assert (text.text, reference.url, reference.title) == ("Long.", "https://a.example/", "A page")
    assert [caught.value.status_code for caught in (refused, unknown, continued)] == [401, 404, 404]
    assert "no-such-model" in unknown.value.body
    assert "Conversations are not stored." in continued.value.body


async def test_an_earlier_answer_is_sent_back_to_another_vendor_with_its_sources() -> None:
    async with (
        Upstream(answer("openai_chat", answer_events("Long.", PAGE))) as upstream,
        serving({"mine": provider_at("openai_chat", upstream.url)}) as here,
        client(here.url, "any") as reader,
    ):
        conversations = reader.beta.conversations
        question = models.MessageInputEntry(role="user", content="how long?")
        entries: list[Any] = [question]
        first = await conversations.start_async(model="mine/m", inputs=entries)
        await conversations.start_async(model="mine/m", inputs=[*entries, *first.outputs, *entries])
        sent = upstream.requests[-1].body.decode()
    assert "Long." in sent
    assert "https://a.example/" in sent


async def test_an_error_inside_a_stream_follows_its_text() -> None:
    async with (
        Upstream(answer("anthropic_messages", BROKEN)) as upstream,
        serving({"mine": provider_at("anthropic_messages", upstream.url)}) as here,
        client(here.url, "any") as reader,
    ):
        text, error = "", ("", 0)
        stream = await reader.beta.conversations.start_stream_async(model="mine/m", inputs="how long?")
        async with stream as events:
            async for event in events:
                if isinstance(event.data, models.MessageOutputEvent):
                    assert isinstance(event.data.content, str)
                    text += event.data.content
                elif isinstance(event.data, models.ResponseErrorEvent):
                    error = (event.data.message, event.data.code)
    assert (text, error) == ("Half", ("slow down", 429))
