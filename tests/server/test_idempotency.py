"""`Idempotency-Key`: one upstream request for each key, however often it is repeated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from groundwire.model.value import replace
from groundwire.server import idempotency
from groundwire.server.keys import KeyFile
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, ScriptedResponse, answer
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.raw import INBOUND, RawResponse, disconnect, fetch, request_of, send
from tests.faces.gateway.serving import RunningGateway, provider_at, serving, wait_for_open_requests
from tests.figures import Figures

pytestmark = pytest.mark.server

ANSWER = answer("openai_chat", answer_events("The Nile is 6650 km long."))
STREAM = ANSWER.stream or b""
TEXT_ENDS = STREAM.index(b"\n\n", STREAM.index(b"6650")) + 2
SLOW = replace(ANSWER, delay=0.3)
BROKEN = ScriptedResponse(500, {}, b'{"error":{"message":"no"}}')


@asynccontextmanager
async def world(*script: ScriptedResponse) -> AsyncIterator[tuple[Upstream, RunningGateway]]:
    async with (
        Upstream(script) as upstream,
        serving({"mine": provider_at("openai_chat", upstream.url)}) as here,
    ):
        yield upstream, here


def keyed(
    dialect: str = "openai_chat",
    *,
    key: str = "once",
    stream: bool = False,
    question: str = "?",
    api_key: str = "",
) -> bytes:
    """A request with the header."""
    data = request_of(dialect, "mine/m", stream=stream, question=question)
    lines = f"\r\nidempotency-key: {key}\r\n" + (f"x-api-key: {api_key}\r\n" if api_key else "")
    return data.replace(b"\r\n", lines.encode(), 1)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("dialect", INBOUND)
async def test_concurrent_requests_with_one_key_cause_one_upstream_request(
    dialect: str, stream: bool
) -> None:
    async with world(SLOW) as (upstream, here):
        responses = await asyncio.gather(*(fetch(here.url, keyed(dialect, stream=stream)) for _ in range(20)))
        later = await fetch(here.url, keyed(dialect, stream=stream))
        assert {one.status for one in (*responses, later)} == {200}
        assert all(one.complete for one in (*responses, later))
        assert len({one.body for one in (*responses, later)}) == 1
        assert len(upstream.requests) == 1
        assert sum("idempotent-replayed" not in one.headers for one in responses) == 1
        assert later.headers["idempotent-replayed"] == "true"


async def test_another_body_or_path_with_the_same_key_is_refused() -> None:
    async with world(ANSWER) as (upstream, here):
        assert (await fetch(here.url, keyed())).status == 200
        for other in (keyed(question="another"), keyed("openai_responses")):
            response = await fetch(here.url, other)
            assert response.status == 422
            assert b"idempotency-key" in response.body
        assert (await fetch(here.url, keyed(key="two", question="another"))).status == 200
        assert (await fetch(here.url, keyed(key="x" * 256))).status == 400
        assert len(upstream.requests) == 2


async def test_keys_belong_to_their_caller() -> None:
    async with world(ANSWER) as (upstream, here):
        file = KeyFile(here.groundwire.config.data_dir)
        mine, theirs = (file.create(name, 0.0)[0] for name in ("mine", "theirs"))
        for api_key in (mine, theirs):
            response = await fetch(here.url, keyed(api_key=api_key))
            assert "idempotent-replayed" not in response.headers
        assert (await fetch(here.url, keyed(api_key="sk-gw-wrong"))).status == 401
        assert len(upstream.requests) == 2


@pytest.mark.parametrize(
    ("failing", "stream", "status"),
    [(BROKEN, False, 500), (replace(ANSWER, cut_at=TEXT_ENDS), True, 200)],
    ids=["an error", "a stream that breaks off"],
)
async def test_errors_are_not_kept(failing: ScriptedResponse, stream: bool, status: int) -> None:
    async with world(failing) as (upstream, here):
        first = await fetch(here.url, keyed(stream=stream))
        assert (first.status >= 500) == (status == 500)
        assert b"6650" in first.body or not stream
        upstream.script = Script((ANSWER,))
        before = len(upstream.requests)
        again = await fetch(here.url, keyed(stream=stream))
        assert (again.status, len(upstream.requests)) == (200, before + 1)
        assert "idempotent-replayed" not in again.headers
        assert again.body != first.body


async def test_the_upstream_request_is_cancelled_when_the_last_client_disconnects() -> None:
    never = replace(ANSWER, delay=float("inf"))

    async with world(never) as (upstream, here):
        _, first = await send(here.url, keyed())
        await upstream.received(1)
        _, second = await send(here.url, keyed())
        await wait_for_open_requests(here.gateway, 2)
        disconnect(first, "rst")
        await wait_for_open_requests(here.gateway, 1)
        assert upstream.requests[0].disconnected is None
        disconnect(second, "fin")
        await upstream.disconnected(1, timeout=5.0)
        await wait_for_open_requests(here.gateway, 0)
        assert len(here.gateway.idempotency) == 0


async def test_the_number_of_kept_responses_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MAX_RESPONSES", 5)

    async with world(ANSWER) as (upstream, here):
        responses: list[RawResponse] = [
            await fetch(here.url, keyed(key=f"k{number}")) for number in range(12)
        ]
        assert {one.status for one in responses} == {200}
        assert len(here.gateway.idempotency) <= 5
        monkeypatch.setattr(idempotency, "MAX_RESPONSE_BYTES", 10)
        large = await asyncio.gather(*(fetch(here.url, keyed(key="large")) for _ in range(3)))
        assert {(one.status, one.complete) for one in large} == {(200, True)}
        assert (await fetch(here.url, keyed(key="large"))).status == 200
        assert len(here.gateway.idempotency) <= 5
        assert len(upstream.requests) > 13


async def test_a_key_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(ANSWER) as (upstream, here):
        now = [0.0]
        monkeypatch.setattr(here.gateway.idempotency, "_clock", lambda: now[0])
        for time, calls in ((0.0, 1), (idempotency.KEEP_SECONDS - 1, 1), (idempotency.KEEP_SECONDS, 2)):
            now[0] = time
            assert (await fetch(here.url, keyed())).status == 200
            assert len(upstream.requests) == calls


@pytest.mark.thorough
async def test_fifty_keys_with_a_hundred_concurrent_requests_each_cause_fifty_upstream_requests(
    figures: Figures,
) -> None:
    async with world(SLOW) as (upstream, here):
        for number in range(50):
            data = keyed(INBOUND[number % 5], key=f"key-{number}")
            responses = await asyncio.gather(*(fetch(here.url, data) for _ in range(100)))
            assert {response.status for response in responses} == {200}
            assert len({response.body for response in responses}) == 1
        figures.add("R12", "upstream requests for 5,000 requests with 50 keys", len(upstream.requests))
        assert len(upstream.requests) == 50
