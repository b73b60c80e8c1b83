"""Background responses, with the official client: create, poll, resume the stream, cancel, delete."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import openai
import pytest

from groundwire.errors import TurnedAway
from groundwire.model import Source
from groundwire.model.value import replace
from groundwire.server.response_spool import LOST_SECONDS, MAX_RUNNING_OF_OWNER, ResponseSpool
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


async def _all_events(client: openai.AsyncOpenAI, name: str) -> list[Any]:
    return [event async for event in await client.responses.retrieve(name, stream=True)]


def test_the_spool_is_bounded_and_knows_owners_and_lost_workers(tmp_path: Path) -> None:
    now = [1000.0]
    spool = ResponseSpool(tmp_path / "spool", clock=lambda: now[0])
    for number in range(MAX_RUNNING_OF_OWNER):
        spool.create(f"resp_{number}", "me", {"status": "in_progress"})
        os.utime(tmp_path / "spool" / f"resp_{number}.events", (1000.0, 1000.0))
    with pytest.raises(TurnedAway, match="too many"):
        spool.create("resp_more", "me", {"status": "queued"})
    spool.create("resp_other", "you", {"status": "queued"})
    os.utime(tmp_path / "spool" / "resp_other.events", (1000.0, 1000.0))
    assert spool.read("resp_other", "me") is None
    assert spool.read("../resp_other", "you") is None
    now[0] += LOST_SECONDS + 1
    lost = spool.read("resp_0", "me")
    assert lost is not None
    assert (lost.is_final, "restarted" in str(lost.body["error"])) == (True, True)
    spool.create("resp_more", "me", {"status": "queued"})
    assert spool.keep_alive("resp_more")
    spool.stop("resp_more")
    assert not spool.keep_alive("resp_more")
    spool.remove("resp_more")
    assert (spool.append("resp_more", b"x"), spool.events("resp_more", 0)) == (False, b"")
    now[0] += 2 * 24 * 3600
    spool.create("resp_last", "me", {"status": "queued"})
    assert sorted(path.name for path in (tmp_path / "spool").iterdir()) == [
        "resp_last.events",
        "resp_last.json",
    ]
