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
from tests.faces.gateway.broken_streams import (
    FIRST,
    BrokenResult,
    breaks_at_every_event,
    fault_in,
    fetch_broken,
    random_breaks,
    stream_of,
)
from tests.faces.gateway.raw import INBOUND, RawResponse, fetch, request_of
from tests.faces.gateway.sdk_readers import SdkClients
from tests.faces.gateway.serving import provider_at, run, serving
from tests.figures import Figures

pytestmark = pytest.mark.server

SECOND = "Another provider gives the answer in other words."


def check(found: list[BrokenResult]) -> None:
    wrong = [problem for result in found if (problem := fault_in(result))]
    assert not wrong, "\n".join(wrong)
    broken = [result for result in found if result.response.status == 200]
    assert broken, "no stream broke after the first text"


@pytest.mark.parametrize("provider", INBOUND)
async def test_a_passthrough_stream_cut_at_any_event_ends_in_one_error_frame(provider: str) -> None:
    found = await fetch_broken(breaks_at_every_event(provider, provider))
    check(found)
    longest = max((result.answer.text for result in found if result.response.status == 200), key=len)
    assert longest == FIRST
    for result in found:
        if result.response.status == 200:
            passed = stream_of(provider)[: result.stream_break.offset]
            assert result.response.body.startswith(passed), "the provider's own events were changed"


async def test_no_text_is_sent_twice_and_no_partial_answer_looks_complete() -> None:
    check(await fetch_broken(random_breaks(100, 0)))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(40))
def test_ten_thousand_broken_streams_are_truthful_prefixes(seed: int, figures: Figures) -> None:
    check(run(fetch_broken(random_breaks(250, 100 + seed)), seconds=300))
    figures.add("R6", "streams cut at random, none repeated or complete", 250, part=str(seed))


def read(inbound: str, response: RawResponse) -> Answer:
    decoder = dialect(inbound).decoder()
    return assemble([*decoder.feed(response.body), *decoder.close()])


def early(provider: str) -> dict[str, ScriptedResponse]:
    """Faults before the first text."""
    whole = ScriptedResponse(stream=stream_of(provider))
    return {
        "overloaded": json_response(error_body(provider, Overloaded("later", status=503)).body, 503),
        "cut at once": replace(whole, cut_at=0),
        "cut in its first event": replace(whole, cut_at=20, cut="rst"),
        "a web page": ScriptedResponse(headers={"content-type": "text/html"}, body=b"<html>no</html>"),
        "not HTTP": ScriptedResponse(raw=b"SSH-2.0\r\n"),
    }


async def gateway_with_two(
    dialects: tuple[str, str], first: ScriptedResponse, stack: AsyncExitStack
) -> tuple[str, Upstream]:
    """A gateway with a failing and a working provider; its URL, and the working upstream."""
    failing = await stack.enter_async_context(Upstream(Script((first,))))
    good = answer(dialects[1], answer_events(SECOND, Source("https://beta.example/"), query="nile"))
    working = await stack.enter_async_context(Upstream(good))
    providers = {
        "failing": provider_at(dialects[0], failing.url),
        "working": provider_at(dialects[1], working.url),
    }
    here = await stack.enter_async_context(serving(providers))
    return here.url, working


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("inbound", INBOUND)
async def test_before_the_first_text_another_provider_is_tried(inbound: str, stream: bool) -> None:
    other = INBOUND[(INBOUND.index(inbound) + 1) % len(INBOUND)]

    async def ask(dialects: tuple[str, str], fault: str, first: ScriptedResponse) -> None:
        async with AsyncExitStack() as stack:
            url, working = await gateway_with_two(dialects, first, stack)
            response = await fetch(url, request_of(inbound, "auto", stream=stream))
            assert (response.status, response.complete) == (200, True), fault
            assert response.headers["x-groundwire-provider"] == "working"
            assert "failed_over" in response.headers["x-groundwire-warnings"]
            assert SECOND.encode() in response.body or (stream and read(inbound, response).text == SECOND)
            assert b"first page" not in response.body
            assert len(working.requests) == 1
            if stream:
                check_stream(inbound, response.body)

    async with asyncio.TaskGroup() as group:
        for dialects in ((inbound, other), (other, inbound)):
            for fault, first in early(dialects[0]).items():
                group.create_task(ask(dialects, fault, first))


@pytest.mark.parametrize("inbound", INBOUND)
async def test_after_the_first_text_no_other_provider_is_tried(inbound: str) -> None:
    other = INBOUND[(INBOUND.index(inbound) + 1) % len(INBOUND)]

    for dialects in ((inbound, other), (other, inbound)):
        data = stream_of(dialects[0])
        words = data.index(b"\n\n", data.index(b"moon")) + 2
        async with AsyncExitStack() as stack:
            url, working = await gateway_with_two(
                dialects, ScriptedResponse(stream=data, cut_at=words), stack
            )
            header = b"x-groundwire-citations: live\r\ncontent-type"
            request = request_of(inbound, "auto", stream=True).replace(b"content-type", header, 1)
            response = await fetch(url, request)
            if response.status == 200 and not working.requests:
                check_stream(inbound, response.body, live=True)
                answered = read(inbound, response)
                assert answered.error is not None
                assert FIRST.startswith(answered.text)
                assert "moon" in answered.text
            else:
                assert len(data[:words].split(b"\n\n")) <= 2, "text had been sent before"


async def test_the_official_clients_do_not_notice_a_failover() -> None:
    async with AsyncExitStack() as stack:
        first = early("gemini")["cut at once"]
        url, _ = await gateway_with_two(("gemini", "anthropic_messages"), first, stack)
        clients = await stack.enter_async_context(SdkClients(url))
        for inbound in INBOUND:
            for stream in (True, False):
                read_answer = await clients.ask(inbound, "auto", stream=stream)
                assert (read_answer.text, read_answer.error) == (SECOND, "")
