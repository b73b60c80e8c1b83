"""Providers that never finish: no request takes longer than its deadline."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import cycle, islice, product
from time import monotonic, process_time

import pytest

from groundwire.model.value import replace
from groundwire.testing.script import Dribble, Script, ScriptedResponse, answer
from groundwire.testing.upstream import Upstream
from tests.contracts.checkers import check_stream
from tests.faces.gateway.raw import INBOUND, RawResponse, check_error, fetch, request_of
from tests.faces.gateway.serving import provider_at, run, serving, wait_for_open_requests
from tests.faces.gateway.stream_ends import check_end
from tests.faces.gateway.test_faults import EVENTS, NEVER
from tests.figures import Figures

pytestmark = pytest.mark.server

DEADLINE = 2.0
SLACK = 1.0
PATIENCE = 15.0
"""Seconds beyond the deadline: half of the time that a test waits for a response that never ends."""
FORMS = (True, False)
STEP = 37
"""Coprime to the number of combinations, so that a few requests cover all sorts."""


def slow(dialect: str) -> dict[str, Script]:
    """Providers that never finish, by name."""
    whole = answer(dialect, EVENTS)
    stream = whole.stream or b""
    words = stream.index(b"6650")
    whole = replace(whole, body=b" " * words + whole.body)  # padding: cut where the text begins
    first = stream[: stream.index(b"\n\n", words) + 2]
    responses = {
        "silent": replace(whole, delay=NEVER),
        "silent after its head": replace(whole, stall_at=0),
        "silent midway": replace(whole, stall_at=words),
        "one byte now and then": replace(whole, dribble=Dribble(1, 0.4)),
        "comments without end": ScriptedResponse(repeat=b": still here\n\n", every=0.05),
        "comments without end after words": replace(
            whole, stream=first, repeat=b": still here\n\n", every=0.05
        ),
        "the same for ever": replace(whole, stream=first, repeat=_last_frame(first), every=0.02),
        "blanks for ever": ScriptedResponse(body=b" ", repeat=b" ", every=0.02),
    }
    scripts = {name: Script((scripted,)) for name, scripted in responses.items()}
    return {**scripts, "unresponsive": Script(port_state="unresponsive")}


def _last_frame(data: bytes) -> bytes:
    *_, last = data.rstrip().rpartition(b"\n\n")
    return last + b"\n\n"


NAMES = tuple(slow("gemini"))


@dataclass
class TimedRequest:
    """A request, its response, and its duration."""

    what: str
    inbound: str
    passed: bool
    """Whether the response is passed through: provider and client use the same dialect."""
    response: RawResponse | None
    seconds: float


class ProcessClock:
    """A clock that stops while other processes use the processor."""

    _TICK = 0.05

    def __init__(self) -> None:
        self._lost = 0.0
        self._looked, self._worked = monotonic(), process_time()

    def now(self) -> float:
        self._look()
        return monotonic() - self._lost

    def _look(self) -> None:
        """Count more than a tick without work as a wait for the processor."""
        now, worked = monotonic(), process_time()
        self._lost += max(now - self._looked - (worked - self._worked) - self._TICK, 0.0)
        self._looked, self._worked = now, worked

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._TICK / 2)
            self._look()


async def wait(count: int, concurrency: int) -> list[TimedRequest]:
    """Send requests of all combinations concurrently."""
    async with AsyncExitStack() as stack:
        providers = {}
        for name, dialect in product(NAMES, INBOUND):
            upstream = await stack.enter_async_context(Upstream(slow(dialect)[name]))
            key = f"{name.replace(' ', '_')}_{dialect}"
            providers[key] = provider_at(dialect, upstream.url, timeout=DEADLINE)
        here = await stack.enter_async_context(serving(providers))
        turns = asyncio.Semaphore(concurrency)
        clock = ProcessClock()
        ticking = asyncio.create_task(clock.run())

        async def ask(inbound: str, provider: str, stream: bool, name: str) -> TimedRequest:
            key = f"{name.replace(' ', '_')}_{provider}"
            data = request_of(inbound, f"{key}/m", stream=stream)
            async with turns:
                began = clock.now()
                try:
                    response = await fetch(here.url, data, seconds=30)
                except TimeoutError:
                    response = None
                what = f"{name}, {inbound} from {provider}, {'stream' if stream else 'whole'}"
                return TimedRequest(what, inbound, inbound == provider, response, clock.now() - began)

        kinds = islice(islice(cycle(product(INBOUND, INBOUND, FORMS, NAMES)), 0, None, STEP), count)
        found = await asyncio.gather(*(ask(*kind) for kind in kinds))
        ticking.cancel()
        await wait_for_open_requests(here.gateway, 0)
        return found


def fault_in(one: TimedRequest) -> str:
    """Why a response is wrong; empty if it is correct."""
    if one.response is None or not one.response.complete:
        return "no end"
    try:
        if one.response.status == 200:
            (check_end if one.passed else check_stream)(one.inbound, one.response.body)
        else:
            check_error(one.inbound, one.response.status, one.response.body)
    except AssertionError as problem:
        return f"{problem}: {one.response.body[-200:]!r}"
    return ""


def check(found: list[TimedRequest], slack: float) -> None:
    late = [f"{one.what}: {one.seconds:.1f} s" for one in found if one.seconds > DEADLINE + slack]
    assert not late, "\n".join([f"{len(late)} of {len(found)}", *late[:20]])
    wrong = [f"{one.what}: {problem}" for one in found if (problem := fault_in(one))]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(found)}", *wrong[:20]])
    assert {one.response.status for one in found if one.response} >= {200, 504}


async def test_no_client_waits_longer_than_the_deadline() -> None:
    check(await wait(90, 30), PATIENCE)


@pytest.mark.thorough
def test_none_of_five_thousand_clients_waits_longer_than_the_deadline(figures: Figures) -> None:
    found = run(wait(5000, 40), seconds=600)
    late = sum(one.seconds > DEADLINE + SLACK for one in found)
    figures.add("R5", "of 5,000 faulty answers, more than a second late", late)
    check(found, SLACK)
