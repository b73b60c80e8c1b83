"""Broken streams: no text twice, no partial answer that looks complete, failover before the first text."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from groundwire.dialects.registry import dialect
from groundwire.errors import Overloaded
from groundwire.model import Answer, Source, assemble
from groundwire.model.value import replace
from groundwire.testing.answers import answer_events, error_body
from groundwire.testing.script import Script, ScriptedResponse, answer, json_response
from groundwire.testing.upstream import Upstream
from tests.contracts.checkers import check_stream
from tests.faces.gateway.kills import FIRST, KillResult, anywhere, every_index, fault_in, stream_of, survive
from tests.faces.gateway.raw import INBOUND, RawResponse, fetch, request_of
from tests.faces.gateway.sdk_readers import SdkClients
from tests.faces.gateway.serving import provider_at, run, serving

pytestmark = pytest.mark.server

SECOND = "Somebody else says all of this in other words."


def check(found: list[KillResult]) -> None:
    wrong = [problem for survived in found if (problem := fault_in(survived))]
    assert not wrong, "\n".join(wrong)
    broken = [survived for survived in found if survived.got.status == 200]
    assert broken, "no stream broke after its first words"


@pytest.mark.parametrize("provider", INBOUND)
async def test_the_same_dialect_cut_at_every_event_ends_in_one_error_frame(provider: str) -> None:
    found = await survive(every_index(provider, provider))
    check(found)
    longest = max((survived.answer.text for survived in found if survived.got.status == 200), key=len)
    assert longest == FIRST
    for survived in found:
        if survived.got.status == 200:
            passed = stream_of(provider)[: survived.kill.place]
            assert survived.got.body.startswith(passed), "the provider's own events were changed"


async def test_no_text_is_sent_twice_and_no_partial_answer_looks_complete() -> None:
    check(await survive(anywhere(200, 0)))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(40))
def test_ten_thousand_kills_leave_honest_beginnings(seed: int) -> None:
    check(run(survive(anywhere(250, 100 + seed)), seconds=300))


def read(inbound: str, got: RawResponse) -> Answer:
    decoder = dialect(inbound).decoder()
    return assemble([*decoder.feed(got.body), *decoder.close()])


def early(provider: str) -> dict[str, ScriptedResponse]:
    """What may go wrong before anything was shown."""
    whole = ScriptedResponse(stream=stream_of(provider))
    return {
        "overloaded": json_response(error_body(provider, Overloaded("later", status=503)).body, 503),
        "cut at once": replace(whole, cut_at=0),
        "cut in its first event": replace(whole, cut_at=20, cut="rst"),
        "a web page": ScriptedResponse(headers={"content-type": "text/html"}, body=b"<html>no</html>"),
        "not HTTP": ScriptedResponse(raw=b"SSH-2.0\r\n"),
    }


async def with_two(
    dialects: tuple[str, str], first: ScriptedResponse, stack: AsyncExitStack
) -> tuple[str, Upstream]:
    """A gateway before a provider in trouble and one that is well; its address, and the well one."""
    ill = await stack.enter_async_context(Upstream(Script((first,))))
    good = answer(dialects[1], answer_events(SECOND, Source("https://beta.example/"), query="nile"))
    well = await stack.enter_async_context(Upstream(good))
    providers = {"ill": provider_at(dialects[0], ill.url), "well": provider_at(dialects[1], well.url)}
    here = await stack.enter_async_context(serving(providers))
    return here.url, well


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("inbound", INBOUND)
async def test_before_the_first_text_another_provider_is_tried(inbound: str, stream: bool) -> None:
    other = INBOUND[(INBOUND.index(inbound) + 1) % len(INBOUND)]

    async def ask(dialects: tuple[str, str], trouble: str, first: ScriptedResponse) -> None:
        async with AsyncExitStack() as stack:
            url, well = await with_two(dialects, first, stack)
            got = await fetch(url, request_of(inbound, "auto", stream=stream))
            assert (got.status, got.complete) == (200, True), trouble
            assert got.headers["x-groundwire-provider"] == "well"
            assert "failed_over" in got.headers["x-groundwire-warnings"]
            assert SECOND.encode() in got.body or (stream and read(inbound, got).text == SECOND)
            assert b"first page" not in got.body
            assert len(well.requests) == 1
            if stream:
                check_stream(inbound, got.body)

    async with asyncio.TaskGroup() as group:
        for dialects in ((inbound, other), (other, inbound)):
            for trouble, first in early(dialects[0]).items():
                group.create_task(ask(dialects, trouble, first))


@pytest.mark.parametrize("inbound", INBOUND)
async def test_after_the_first_text_no_other_provider_is_tried(inbound: str) -> None:
    other = INBOUND[(INBOUND.index(inbound) + 1) % len(INBOUND)]

    for dialects in ((inbound, other), (other, inbound)):
        data = stream_of(dialects[0])
        words = data.index(b"\n\n", data.index(b"moon")) + 2
        async with AsyncExitStack() as stack:
            url, well = await with_two(dialects, ScriptedResponse(stream=data, cut_at=words), stack)
            header = b"x-groundwire-citations: live\r\ncontent-type"
            asked = request_of(inbound, "auto", stream=True).replace(b"content-type", header, 1)
            got = await fetch(url, asked)
            if got.status == 200 and not well.requests:
                check_stream(inbound, got.body, live=True)
                answered = read(inbound, got)
                assert answered.error is not None
                assert FIRST.startswith(answered.text)
                assert "moon" in answered.text
            else:
                assert len(data[:words].split(b"\n\n")) <= 2, "it had been shown before"


async def test_the_official_clients_do_not_notice_a_failover() -> None:
    async with AsyncExitStack() as stack:
        first = early("gemini")["cut at once"]
        url, _ = await with_two(("gemini", "anthropic_messages"), first, stack)
        clients = await stack.enter_async_context(SdkClients(url))
        for inbound in INBOUND:
            for stream in (True, False):
                told_there = await clients.ask(inbound, "auto", stream=stream)
                assert (told_there.text, told_there.error) == (SECOND, "")
