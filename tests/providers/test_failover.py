"""Providers that fail, over real connections: failover, and the number of requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic

import pytest

from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential
from groundwire.errors import GroundwireError, Overloaded
from groundwire.model import Failed, Source, assemble
from groundwire.model.value import replace
from groundwire.providers.http import HttpProvider
from groundwire.providers.spec import flatten
from groundwire.routing.failover import Router
from groundwire.routing.health import Health
from groundwire.routing.resolve import Plan, ResolvedTarget
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, ScriptedResponse, answer
from groundwire.testing.upstream import Upstream
from groundwire.transport.http import Deadlines, Http
from tests.providers.harness import case_named, credential, question

pytestmark = pytest.mark.server

FIRST = case_named("openai")
SECOND = case_named("anthropic")
EVENTS = answer_events("The Nile is 6650 km long.", Source("https://alpha.example/"), query="nile")
GOOD = answer(SECOND.dialect, EVENTS)
STREAM = answer(FIRST.dialect, EVENTS)
SILENCE = 0.3
PATIENCE = 600.0


@asynccontextmanager
async def routed(
    first: Script | ScriptedResponse,
    second: Script | ScriptedResponse,
    *,
    silence: float = PATIENCE,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[tuple[Router, Upstream, Upstream]]:
    async def key() -> Credential | None:
        return credential()

    def deadlines(silence: float) -> Deadlines:
        return Deadlines(connect=PATIENCE, first_byte=silence, idle=silence, total=PATIENCE)

    async with Upstream(first) as one, Upstream(second) as two, Http({}) as http:
        providers = {
            case.name: HttpProvider(case.row(upstream.url, deadlines(wait)), http, key, Redactor())
            for case, upstream, wait in ((FIRST, one, silence), (SECOND, two, PATIENCE))
        }
        router = Router(providers, health=Health(monotonic), sleep=sleep, random=lambda: 0.5)
        yield router, one, two


PLAN = Plan((ResolvedTarget(FIRST.name), ResolvedTarget(SECOND.name)))


@pytest.mark.parametrize(
    "first",
    [
        Script(port_state="closed"),
        ScriptedResponse(503),
        ScriptedResponse(529, {"retry-after": "20"}),
        ScriptedResponse(429, {"retry-after": "7"}),
        ScriptedResponse(401),
        ScriptedResponse(raw=b""),
        ScriptedResponse(raw=b"what?\r\n\r\n"),
        replace(STREAM, cut_at=40, cut="rst"),
        ScriptedResponse(delay=float("inf")),
        replace(STREAM, stall_at=0),
    ],
    ids=["refused", "503", "529", "429", "401", "hangs up", "no HTTP", "cut early", "silent", "semi-silent"],
)
async def test_the_second_provider_answers_without_a_pause_when_the_first_cannot(
    first: Script | ScriptedResponse,
) -> None:
    pauses: list[float] = []

    async def note(seconds: float) -> None:
        pauses.append(seconds)

    async with routed(first, GOOD, silence=SILENCE, sleep=note) as (router, one, two):
        events = [event async for event in flatten(router.batches(question(stream=True), PLAN))]
        assert assemble(events).text == "The Nile is 6650 km long."
        assert len(one.requests) <= 1
        assert len(two.requests) == 1
        assert pauses == []


async def test_after_the_first_text_there_is_no_failover() -> None:
    position = (STREAM.stream or b"").index(b"6650")
    whole = STREAM.stream or b""
    at = whole.index(b"\n\n", position) + 2

    async with routed(replace(STREAM, cut_at=at), GOOD) as (router, _, two):
        events = [event async for event in flatten(router.batches(question(stream=True), PLAN))]
        assert isinstance(events[-1], Failed)
        assert assemble(events).text == "The Nile is 6650 km long."
        assert two.connections == 0


async def test_a_dead_provider_gets_at_most_a_quarter_more_requests() -> None:
    requests = 1000

    async def key() -> Credential | None:
        return credential()

    async def at_once(_: float) -> None:
        await asyncio.sleep(0)

    async with Upstream(ScriptedResponse(503)) as upstream, Http({}) as http:
        provider = HttpProvider(FIRST.row(upstream.url), http, key, Redactor())
        router = Router({"openai": provider}, health=Health(monotonic), sleep=at_once, random=lambda: 0.5)
        for _ in range(requests):
            with pytest.raises(Overloaded):
                async for _event in flatten(router.batches(question(), Plan((ResolvedTarget("openai"),)))):
                    pass
        assert requests <= len(upstream.requests) <= requests * 1.25
        assert upstream.connections == 1


async def test_a_caller_that_disconnects_during_a_wait_leaves_no_task() -> None:
    async with routed(ScriptedResponse(delay=float("inf")), GOOD) as (router, one, two):
        events = flatten(router.batches(question(stream=True), PLAN))
        reading = asyncio.create_task(anext(events))
        await one.received()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await one.disconnected()
        assert two.connections == 0


async def test_when_both_fail_the_error_lists_every_failure() -> None:
    async with routed(ScriptedResponse(401), ScriptedResponse(404)) as (router, _, _two):
        with pytest.raises(GroundwireError) as caught:
            async for _event in flatten(router.batches(question(), PLAN)):
                pass
        assert "openai: HTTP status 401. The key comes from a test; anthropic: HTTP 404" in str(caught.value)
