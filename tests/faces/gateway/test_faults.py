"""Upstream faults: the client gets one end, an error status or an error in its stream.

Every fault of the scripted upstream is combined with every dialect, streamed or not, from a provider of the
same dialect (passed through) and of another. Strict checkers read the bytes, and the official clients raise
their own errors.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import product

import pytest

from groundwire.errors import AuthRejected, GroundwireError, NotFound, Overloaded, RateLimited, Refused
from groundwire.model import Source
from groundwire.model.value import replace
from groundwire.testing.answers import answer_events, error_body
from groundwire.testing.script import Dribble, Script, ScriptedResponse, answer, json_response
from groundwire.testing.upstream import Upstream
from tests.contracts.checkers import check_stream
from tests.contracts.strict_parser import events
from tests.faces.gateway.raw import INBOUND, RawResponse, check_error, fetch, request_of
from tests.faces.gateway.sdk_readers import SdkClients
from tests.faces.gateway.serving import provider_at, run, serving, wait_for_open_requests
from tests.figures import Figures

pytestmark = pytest.mark.server

EVENTS = answer_events(
    "The Nile is 6650 km long. It is longer than most.", Source("https://alpha.example/"), query="nile"
)
NEVER = float("inf")
SLOW = ("silent", "stalled at once", "stalled midway", "endless comments", "unresponsive")
SHORT, LONG = 1.5, 30.0
"""Timeouts in seconds: of a provider that never finishes, and of any other."""
CONCURRENCY = 16

REFUSALS: dict[str, GroundwireError] = {
    "bad key": AuthRejected("bad key", status=401),
    "no such model": NotFound("no such model", status=404),
    "refused": Refused("no", status=400),
    "too many requests": RateLimited("slow down", status=429, retry_after=77.0),
    "overloaded": Overloaded("try later", status=503, retry_after=77.0),
}
STATUSES = {
    "bad key": (401,),
    "no such model": (404,),
    "refused": (400,),
    "too many requests": (429,),
    "overloaded": (503, 529),  # Anthropic has a status of its own
}


def faults(dialect: str) -> dict[str, Script]:
    """Upstream faults by name."""
    whole = answer(dialect, EVENTS)
    stream = whole.stream or b""
    words = stream.index(b"6650")
    body = b" " * (words - 99) + whole.body  # padding, so that the body is cut where the stream is
    whole = replace(whole, body=body)
    first = stream.index(b"\n\n") + 2
    broken: dict[str, ScriptedResponse] = {
        "silent": replace(whole, delay=NEVER),
        "stalled at once": replace(whole, stall_at=0),
        "stalled midway": replace(whole, stall_at=words),
        "cut at once": replace(whole, cut_at=0),
        "cut in the first event": replace(whole, cut_at=9),
        "cut midway": replace(whole, cut_at=words),
        "reset midway": replace(whole, cut_at=words, cut="rst"),
        "cut near the end": replace(whole, cut_at=min(len(stream), len(body)) - 9),
        "empty": replace(whole, stream=b"", body=b""),
        "a web page": ScriptedResponse(
            headers={"content-type": "text/html"}, body=b"<html>Gateway time-out</html>"
        ),
        "an empty object": json_response({}),
        "half an object": ScriptedResponse(body=body[: len(body) // 2], stream=b'data: {"a', framing="close"),
        "garbage": ScriptedResponse(
            body=bytes(range(256)) * 9, stream=b"data: " + bytes(range(128, 256)) + b"\n\n"
        ),
        "garbage midway": replace(
            whole, stream=stream[:first] + b'data: {"x": NaN\n\n', body=body[:-9] + b"\xff\xfe}"
        ),
        "endless comments": ScriptedResponse(repeat=b": still here\n\n", every=0.05),
        "an error with status 200": json_response(dict(error_body(dialect, Overloaded("later")).body)),
        "a naked 500": ScriptedResponse(500, body=b"upstream connect error"),
        "not HTTP": ScriptedResponse(raw=b"SSH-2.0-OpenSSH_9.2\r\n"),
    }
    for name, error in REFUSALS.items():
        wait = getattr(error, "retry_after", None)
        status, error_json = error_body(dialect, error)
        broken[name] = json_response(error_json, status, {"retry-after": str(int(wait))} if wait else None)
    scripts = {name: Script((scripted,)) for name, scripted in broken.items()}
    return {
        **scripts,
        "closed": Script(port_state="closed"),
        "unresponsive": Script(port_state="unresponsive"),
    }


NAMES = tuple(faults("gemini"))


@dataclass
class FaultCase:
    """One fault for one client."""

    fault: str
    inbound: str
    provider: str
    stream: bool
    response: RawResponse

    def __str__(self) -> str:
        form = "stream" if self.stream else "whole"
        return f"{self.fault}: {self.inbound} from {self.provider}, {form}: {self.response.status}"


def pairs() -> list[tuple[str, str]]:
    """Each dialect with a provider of the same dialect, and with one of another."""
    return [
        (inbound, provider)
        for number, inbound in enumerate(INBOUND)
        for provider in (inbound, INBOUND[(number + 2) % len(INBOUND)])
    ]


async def everything(names: tuple[str, ...], among: list[tuple[str, str]] | None = None) -> list[FaultCase]:
    """Send all requests concurrently."""
    async with AsyncExitStack() as stack:
        providers = {}
        for name, dialect in product(names, INBOUND):
            upstream = await stack.enter_async_context(Upstream(faults(dialect)[name]))
            providers[f"{name.replace(' ', '_')}_{dialect}"] = provider_at(
                dialect, upstream.url, timeout=SHORT if name in SLOW else LONG
            )
        here = await stack.enter_async_context(serving(providers))

        turns = asyncio.Semaphore(CONCURRENCY)

        async def ask(name: str, inbound: str, provider: str, stream: bool) -> FaultCase:
            model = f"{name.replace(' ', '_')}_{provider}/m"
            data = request_of(inbound, model, stream=stream)
            async with turns:
                return FaultCase(name, inbound, provider, stream, await fetch(here.url, data))

        requests = [
            ask(name, *pair, stream) for name, pair, stream in product(names, among or pairs(), (True, False))
        ]
        found = await asyncio.gather(*requests)
        await wait_for_open_requests(here.gateway, 0)
        return found


def fault_in(case: FaultCase) -> str:
    """Why a response is wrong; empty if it is correct."""
    response = case.response
    try:
        assert response.complete, "the response does not end"
        assert response.headers["content-type"].startswith(("application/json", "text/event-stream"))
        if response.status != 200:
            check_error(case.inbound, response.status, response.body)
            assert response.status in STATUSES.get(case.fault, (response.status,)), "another status"
        else:
            assert case.stream, "an answer without text from the provider"
            check_stream(case.inbound, response.body)
            # If only the final event of a stream is missing, the answer is complete.
            assert "error" in response.body.decode() or case.fault == "cut near the end", "no error reported"
    except AssertionError as problem:
        return f"{case}: {problem}: {response.body[-200:]!r}"
    return ""


@pytest.mark.parametrize("half", [0, 1])
async def test_every_fault_ends_in_exactly_one_error_of_the_clients_dialect(half: int) -> None:
    found = await everything(NAMES[half::2])
    wrong = [problem for case in found if (problem := fault_in(case))]
    assert not wrong, "\n".join(wrong)
    failed_midway = {case.fault for case in found if case.response.status == 200}
    assert failed_midway <= {
        "stalled midway",
        "cut midway",
        "reset midway",
        "cut near the end",
        "garbage midway",
    }
    assert failed_midway, "no fault occurred after the first text"


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(5))
def test_every_fault_of_every_provider_ends_once_for_every_client(part: int, figures: Figures) -> None:
    among = list(product(INBOUND, INBOUND))
    found = run(everything(NAMES[part::5], among), seconds=300)
    assert len(found) == len(NAMES[part::5]) * len(INBOUND) ** 2 * 2
    wrong = [problem for case in found if (problem := fault_in(case))]
    figures.add("R2", "responses to faulty answers", len(found), part=str(part))
    figures.add("R2", "of them without exactly one end", len(wrong), part=str(part))
    assert not wrong, "\n".join(wrong)


async def test_retry_after_of_the_provider_reaches_the_client() -> None:
    found = await everything(("too many requests",))
    assert {case.response.headers.get("retry-after") for case in found} == {"77"}


async def test_an_answer_in_tiny_slow_chunks_is_complete() -> None:
    async with AsyncExitStack() as stack:
        providers = {}
        for dialect in INBOUND:
            scripted = replace(answer(dialect, EVENTS), dribble=Dribble(40, 0.01))
            upstream = await stack.enter_async_context(Upstream(scripted))
            providers[f"my_{dialect}"] = provider_at(dialect, upstream.url)
        here = await stack.enter_async_context(serving(providers))

        async def ask(inbound: str, provider: str) -> None:
            response = await fetch(here.url, request_of(inbound, f"my_{provider}/m", stream=True))
            check_stream(inbound, response.body)
            assert (response.status, response.complete) == (200, True)
            assert b"6650 km" in response.body

        await asyncio.gather(*(ask(*pair) for pair in pairs()))


SHOWN_TO_CLIENTS = ("overloaded", "bad key", "closed", "stalled midway", "cut midway", "a web page", "empty")


@pytest.mark.parametrize("fault", SHOWN_TO_CLIENTS)
async def test_the_official_clients_raise_their_own_errors(fault: str) -> None:
    async with AsyncExitStack() as stack:
        providers = {}
        for dialect in INBOUND:
            upstream = await stack.enter_async_context(Upstream(faults(dialect)[fault]))
            providers[f"my_{dialect}"] = provider_at(
                dialect, upstream.url, timeout=SHORT if fault in SLOW else LONG
            )
        here = await stack.enter_async_context(serving(providers))
        clients = await stack.enter_async_context(SdkClients(here.url))

        async def ask(inbound: str, provider: str, stream: bool) -> None:
            read = await clients.ask(inbound, f"my_{provider}/m", stream=stream)
            assert read.error, f"{inbound} from {provider}: nothing was raised"
            assert not read.broken, f"{inbound} from {provider}: {read.error}"
            assert read.status in (0, *STATUSES.get(fault, (read.status,)))

        await asyncio.gather(*(ask(*pair, stream) for pair, stream in product(pairs(), (True, False))))


def test_the_checkers_reject_streams_with_two_ends_or_none() -> None:
    stream = answer("openai_chat", EVENTS).stream or b""
    check_stream("openai_chat", stream)
    for bad in (stream + stream, stream[: stream.rindex(b"data: [DONE]")]):
        with pytest.raises(AssertionError):
            check_stream("openai_chat", bad)
    assert len(events(stream, comments=True)) > 3
