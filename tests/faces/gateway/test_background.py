"""Background responses, with the official client: create, poll, resume the stream, cancel, delete."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest

from groundwire.model import Source
from groundwire.model.value import replace
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.serving import provider_at, serving

pytestmark = pytest.mark.server

TEXT = "The Nile is 6650 km long."
PAGE = Source("https://alpha.example/nile", "Nile")
ANSWER = answer("anthropic_messages", answer_events(TEXT, PAGE, query="nile length"))
QUESTION: dict[str, Any] = {
    "model": "auto",
    "input": "How long is the Nile?",
    "tools": [{"type": "web_search"}],
    "background": True,
}


async def until(client: openai.AsyncOpenAI, name: str, *states: str) -> Any:
    async with asyncio.timeout(20):
        while (response := await client.responses.retrieve(name)).status not in states:
            await asyncio.sleep(0.02)
    return response


async def test_a_response_is_polled_until_it_is_complete_and_deleted() -> None:
    async with (
        Upstream(ANSWER) as upstream,
        serving({"up": provider_at("anthropic_messages", upstream.url)}) as running,
        openai.AsyncOpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0) as client,
    ):
        created = await client.responses.create(**QUESTION)
        assert created.status in ("queued", "in_progress")
        assert created.background is True
        done = await until(client, created.id, "completed", "failed")
        assert (done.id, done.status, done.output_text) == (created.id, "completed", TEXT)
        assert done.output[-1].content[0].annotations[0].url == PAGE.url
        assert b"background" not in upstream.requests[0].body
        assert await client.responses.cancel(created.id) == done  # nothing is left to cancel
        await client.responses.delete(created.id)
        with pytest.raises(openai.NotFoundError, match="only background responses are kept"):
            await client.responses.retrieve(created.id)
        with pytest.raises(openai.BadRequestError, match="store"):
            await client.responses.create(**QUESTION, store=False)
        with pytest.raises(openai.NotFoundError):
            await client.responses.create(**{**QUESTION, "model": "nowhere/nothing"})


async def test_a_stream_is_resumed_where_the_client_left_it() -> None:
    async with (
        Upstream(ANSWER) as upstream,
        serving({"up": provider_at("anthropic_messages", upstream.url)}) as running,
        openai.AsyncOpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0) as client,
    ):
        events: list[Any] = []
        async with await client.responses.create(**QUESTION, stream=True) as stream:
            async for event in stream:
                events.append(event)
                if len(events) == 3:
                    break
        name = events[0].response.id
        last = events[-1].sequence_number
        rest = [
            event async for event in await client.responses.retrieve(name, stream=True, starting_after=last)
        ]
        numbers = [event.sequence_number for event in (*events, *rest)]
        assert numbers == list(range(len(numbers)))
        assert rest[-1].type == "response.completed"
        assert rest[-1].response.output_text == TEXT
        whole = [event async for event in await client.responses.retrieve(name, stream=True)]
        assert [event.sequence_number for event in whole] == numbers


async def test_cancelling_a_response_cancels_the_upstream_request() -> None:
    async with (
        Upstream(replace(ANSWER, stall_at=400)) as upstream,
        serving({"up": provider_at("anthropic_messages", upstream.url)}) as running,
        openai.AsyncOpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0) as client,
    ):
        created = await client.responses.create(**QUESTION)
        await upstream.stalled(1)
        follower = asyncio.create_task(_all_events(client, created.id))
        cancelled = await client.responses.cancel(created.id)
        assert cancelled.status == "cancelled"
        await upstream.disconnected(1)
        async with asyncio.timeout(20):
            assert "response.completed" not in [event.type for event in await follower]
        assert (await client.responses.retrieve(created.id)).status == "cancelled"

        unfinished = await client.responses.create(**QUESTION)
        await upstream.stalled(2)
        await running.gateway.background.aclose()
        closed = await client.responses.retrieve(unfinished.id)
        assert closed.status == "failed"
        assert closed.error is not None
        assert "closing" in closed.error.message


async def test_a_stream_without_events_yet_has_a_response_head_at_once() -> None:
    async with (
        Upstream(replace(ANSWER, stall_at=400)) as upstream,
        serving({"up": provider_at("anthropic_messages", upstream.url)}) as running,
        openai.AsyncOpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0) as client,
    ):
        running.gateway.timeouts = replace(running.gateway.timeouts, head=300.0, ping=300.0)
        created = await client.responses.create(**QUESTION)
        async with asyncio.timeout(20):
            stream = await client.responses.retrieve(created.id, stream=True, starting_after=10_000)
        assert (await client.responses.cancel(created.id)).status == "cancelled"
        assert [event async for event in stream] == []


async def test_an_owner_follows_a_limited_number_of_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.faces.gateway.background.endpoints.MAX_FOLLOWERS_OF_OWNER", 2)
    async with (
        Upstream(replace(ANSWER, stall_at=900)) as upstream,
        serving({"up": provider_at("anthropic_messages", upstream.url)}) as running,
        openai.AsyncOpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0) as client,
    ):
        created = await client.responses.create(**QUESTION)
        first = await client.responses.retrieve(created.id, stream=True)
        second = await client.responses.retrieve(created.id, stream=True)
        with pytest.raises(openai.RateLimitError, match="poll"):
            await client.responses.retrieve(created.id, stream=True)
        await first.close()
        async with asyncio.timeout(20):
            while running.gateway.followers.total() > 1:
                await asyncio.sleep(0.02)
        third = await client.responses.retrieve(created.id, stream=True)
        assert (await client.responses.cancel(created.id)).status == "cancelled"
        for stream in (second, third):
            assert "response.completed" not in [event.type async for event in stream]
    assert not +running.gateway.followers


async def _all_events(client: openai.AsyncOpenAI, name: str) -> list[Any]:
    return [event async for event in await client.responses.retrieve(name, stream=True)]
