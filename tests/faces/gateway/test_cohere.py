"""Cohere's client at the gateway: a key, errors as it raises them, and an error inside a stream."""

from __future__ import annotations

from typing import Any

import cohere
import httpx
import pytest
from cohere.errors import NotFoundError, UnauthorizedError

from groundwire.errors import RateLimited
from groundwire.model import Event, Failed, Source, Started, TextDelta
from groundwire.server.keys import KeyFile
from groundwire.testing.answers import answer_events
from groundwire.testing.script import answer
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.serving import provider_at, serving

pytestmark = pytest.mark.server

PAGE = Source("https://a.example/", "A page")
QUESTION = [cohere.UserChatMessageV2(content="how long?")]
BROKEN: list[Event] = [Started("i", "m"), TextDelta(0, "Half"), Failed(RateLimited("slow down"))]


def client(url: str, key: str) -> cohere.AsyncClientV2:
    return cohere.AsyncClientV2(base_url=url, api_key=key, httpx_client=httpx.AsyncClient())


async def test_a_key_of_the_gateway_opens_it_and_another_is_refused() -> None:
    async with (
        Upstream(answer("gemini", answer_events("Long.", PAGE))) as upstream,
        serving({"mine": provider_at("gemini", upstream.url)}) as here,
    ):
        key, _ = KeyFile(here.groundwire.config.data_dir).create("me", 0)
        async with client(here.url, key) as good, client(here.url, "wrong-key") as bad:
            found = await good.chat(model="mine/m", messages=QUESTION)
            with pytest.raises(UnauthorizedError) as refused:
                await bad.chat(model="mine/m", messages=QUESTION)
            with pytest.raises(NotFoundError) as unknown:
                await good.chat(model="no-such-model", messages=QUESTION)
    (citation,) = found.message.citations or []
    (source,) = citation.sources or []
    assert isinstance(source, cohere.DocumentSource)
    assert (citation.start, citation.end, citation.text) == (0, 5, "Long.")
    assert source.document == {"id": "gw_0", "title": "A page", "url": "https://a.example/"}
    assert "key" in refused.value.body["message"]
    assert "no-such-model" in unknown.value.body["message"]


async def test_documents_of_the_request_reach_a_model_of_another_vendor() -> None:
    async with (
        Upstream(answer("openai_chat", answer_events("Long."))) as upstream,
        serving({"mine": provider_at("openai_chat", upstream.url)}) as here,
        client(here.url, "any") as reader,
    ):
        await reader.chat(
            model="mine/m",
            messages=QUESTION,
            documents=[cohere.Document(data={"title": "Rivers", "text": "6650 km"}), "It flows north."],
        )
        sent = upstream.requests[-1].body.decode()
    assert all(words in sent for words in ("Rivers", "6650 km", "It flows north."))


async def test_a_tool_of_the_client_can_declare_the_search() -> None:
    async with (
        Upstream(answer("gemini", answer_events("Long.", PAGE))) as upstream,
        serving({"mine": provider_at("gemini", upstream.url)}) as here,
        client(here.url, "any") as reader,
    ):
        search: Any = {"type": "web_search"}
        await reader.chat(model="mine/m", messages=QUESTION, tools=[search])
        sent = upstream.requests[-1].json
    assert isinstance(sent, dict)
    assert sent["tools"] == [{"googleSearch": {}}]


async def test_an_error_inside_a_stream_follows_its_text() -> None:
    async with (
        Upstream(answer("anthropic_messages", BROKEN)) as upstream,
        serving({"mine": provider_at("anthropic_messages", upstream.url)}) as here,
        client(here.url, "any") as reader,
    ):
        text, error = "", None
        async for event in reader.chat_stream(model="mine/m", messages=QUESTION):
            if isinstance(event, cohere.ContentDeltaV2ChatStreamResponse):
                delta: Any = event.delta
                text += delta.message.content.text
            elif isinstance(event, cohere.MessageEndV2ChatStreamResponse):
                error = event.delta and event.delta.error
    assert (text, error) == ("Half", "slow down")
