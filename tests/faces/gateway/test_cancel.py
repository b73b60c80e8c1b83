"""A disconnect cancels the upstream request: in every phase and dialect, streamed or not, by FIN or RST."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import cycle, islice, product
from time import monotonic
from typing import NamedTuple

import pytest

from groundwire.model import Source
from groundwire.model.value import replace
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, ScriptedResponse, answer
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.raw import INBOUND, Disconnect, disconnect, request_of, send
from tests.faces.gateway.serving import RunningGateway, provider_at, run, serving
from tests.figures import Figures

pytestmark = pytest.mark.server

EVENTS = answer_events(
    "The Nile is 6650 km long. It is longer than most.", Source("https://alpha.example/"), query="nile"
)
NEVER = float("inf")
P99_LIMIT, MAX_LIMIT = 0.25, 1.0
"""Seconds until the upstream request is cancelled on an idle machine: 99th percentile, and maximum."""
PATIENCE = 10.0
"""Seconds until a cancellation counts as missed; a pause that is not cancelled takes twice as long."""

PHASES = ("sending", "connecting", "headers", "first event", "flowing", "quiet", "pausing")


class CancelCase(NamedTuple):
    """A client that disconnects in a phase of a request."""

    phase: str
    inbound: str
    provider: str
    stream: bool
    how: Disconnect


def cases(count: int) -> Iterator[CancelCase]:
    """This many cases, spread evenly over all combinations."""
    kinds: tuple[Disconnect, ...] = ("rst", "fin")
    everything = [
        CancelCase(phase, inbound, provider, stream, how)
        for (number, inbound), phase, stream, how in product(enumerate(INBOUND), PHASES, (True, False), kinds)
        for provider in (inbound, INBOUND[(number + 1) % len(INBOUND)])
    ]
    step = 37  # coprime to their number, so that few cases cover all sorts
    assert len(everything) % step
    return islice(
        (everything[index * step % len(everything)] for index in cycle(range(len(everything)))), count
    )


def response_for(case: CancelCase) -> ScriptedResponse:
    """The response of the provider while the client disconnects."""
    whole = answer(case.provider, EVENTS)
    stream, body = whole.stream or b"", whole.body
    ahead = (
        stream[: stream.index(b"\n\n", stream.index(b"6650")) + 2] if case.stream else body[: len(body) // 2]
    )
    match case.phase:
        case "headers":
            return replace(whole, delay=NEVER)
        case "first event":
            return replace(whole, stall_at=0)
        case "flowing":
            return replace(
                whole, stream=ahead, body=ahead, repeat=b": x\n\n" if case.stream else b" ", every=0.02
            )
        case "quiet":
            return replace(whole, stall_at=len(ahead))
        case "pausing":
            return ScriptedResponse(
                503, {"retry-after": "20"}, b"{}", framing="close"
            )  # the connection is not reused
    return whole


@dataclass
class CancelHarness:
    """A gateway, its providers, and the delays until upstream requests were cancelled."""

    here: RunningGateway
    upstream: Upstream
    deaf: Upstream
    waits: list[float] = field(default_factory=list)

    async def abort(self, case: CancelCase) -> None:
        """Send a request, disconnect in the phase, and wait until gateway and upstream have noticed."""
        deaf = case.phase == "connecting"
        before = len(self.upstream.requests)
        self.upstream.script = Script(paths={"*" * (1 + before): (response_for(case),)})
        model = f"{'deaf' if deaf else 'open'}_{case.provider}/m"
        data = request_of(case.inbound, model, stream=case.stream)
        _, writer = await send(self.here.url, data[:-9] if case.phase == "sending" else data)
        await self._arrive(case, before + 1)
        disconnected = monotonic()
        disconnect(writer, case.how)
        if case.phase in ("sending", "connecting", "pausing"):
            await self._idle()
            self.waits.append(monotonic() - disconnected)
            assert len(self.upstream.requests) == before + (case.phase == "pausing"), (
                "a request was sent upstream"
            )
        else:
            self.waits.append(await self.upstream.disconnected(before + 1, timeout=PATIENCE) - disconnected)
            await self._idle()

    async def _arrive(self, case: CancelCase, nth: int) -> None:
        if case.phase in ("sending", "connecting"):
            await self.until(lambda: self.here.gateway.open_requests == 1)
            await asyncio.sleep(0.02)  # let pending work start
            return
        received = await self.upstream.received(nth)
        if case.phase in ("first event", "quiet"):
            await self.upstream.stalled(nth)
        elif case.phase == "flowing":
            await self.upstream.sent(1 + len(response_for(case).body), nth)
        elif case.phase == "pausing":
            await self.until(lambda: received.finished)
            await asyncio.sleep(0.02)

    async def _idle(self) -> None:
        await self.until(lambda: not self.here.gateway.open_requests)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await asyncio.sleep(0.001)


async def aborts(count: int) -> list[float]:
    """Disconnect this many times; returns the sorted delays. Fails if connections or tasks remain."""
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(Upstream(Script()))
        deaf = await stack.enter_async_context(Upstream(Script(port_state="unresponsive")))
        providers = {f"open_{name}": provider_at(name, upstream.url) for name in INBOUND}
        providers |= {f"deaf_{name}": provider_at(name, deaf.url) for name in INBOUND}
        here = await stack.enter_async_context(serving(providers))
        harness = CancelHarness(here, upstream, deaf)
        idle = len(asyncio.all_tasks())
        for case in cases(count):
            try:
                await harness.abort(case)
            except (TimeoutError, AssertionError) as error:
                raise AssertionError(f"{case}: {error}") from error
        await upstream.closed(timeout=PATIENCE)
        await harness.until(lambda: here.gateway.open_requests == 0)
        await harness.until(lambda: len(asyncio.all_tasks()) <= idle)
    return sorted(harness.waits)


def check(waits: list[float]) -> None:
    p50, p99 = waits[len(waits) // 2], waits[len(waits) * 99 // 100]
    figures = f"p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms, max {waits[-1] * 1000:.1f} ms"
    assert p99 <= P99_LIMIT, figures
    assert waits[-1] <= MAX_LIMIT, figures
    logging.getLogger(__name__).info(figures)


async def test_the_upstream_request_is_cancelled_when_the_client_disconnects() -> None:
    assert len(await aborts(60)) == 60


@pytest.mark.thorough
def test_a_thousand_disconnecting_clients_leak_no_connections_or_tasks(figures: Figures) -> None:
    waits = run(aborts(1000), seconds=500)
    assert len(waits) == 1000
    figures.add("R4", "until the upstream request ends, 99 % of 1,000", waits[990] * 1000, "ms")
    figures.add("R4", "the longest of 1,000", waits[-1] * 1000, "ms")
    check(waits)
