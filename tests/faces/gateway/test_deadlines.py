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

pytestmark = pytest.mark.server

AGREED = 2.0
SLACK = 1.0
PATIENCE = 15.0
"""Seconds beyond what was agreed: half of what is waited for one that never ends."""
FORMS = (True, False)
STEP = 37
"""Prime to the number of kinds, so that a few are of every sort."""


def slow(dialect: str) -> dict[str, Script]:
    """Everything that takes for ever, by name."""
    whole = answer(dialect, EVENTS)
    stream = whole.stream or b""
    words = stream.index(b"6650")
    whole = replace(whole, body=b" " * words + whole.body)  # blanks, so that it too is cut where words begin
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
    scripts = {name: Script((response,)) for name, response in responses.items()}
    return {**scripts, "deaf": Script(door="deaf")}


def _last_frame(data: bytes) -> bytes:
    *_, last = data.rstrip().rpartition(b"\n\n")
    return last + b"\n\n"


NAMES = tuple(slow("gemini"))


@dataclass
class Waited:
    """One request, how it ended, and when."""

    what: str
    inbound: str
    passed: bool
    """Does the provider speak the client's dialect?"""
    got: RawResponse | None
    seconds: float


class Clock:
    """Time as this process had it: when others had the processor, it stood still."""

    _TICK = 0.05

    def __init__(self) -> None:
        self._lost = 0.0
        self._looked, self._worked = monotonic(), process_time()

    def now(self) -> float:
        self._look()
        return monotonic() - self._lost

    def _look(self) -> None:
        """More than a tick without work is a wait for the processor."""
        now, worked = monotonic(), process_time()
        self._lost += max(now - self._looked - (worked - self._worked) - self._TICK, 0.0)
        self._looked, self._worked = now, worked

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._TICK / 2)
            self._look()


async def wait(count: int, at_once: int) -> list[Waited]:
    """So many requests of all kinds, many at once."""
    async with AsyncExitStack() as stack:
        providers = {}
        for name, dialect in product(NAMES, INBOUND):
            upstream = await stack.enter_async_context(Upstream(slow(dialect)[name]))
            key = f"{name.replace(' ', '_')}_{dialect}"
            providers[key] = provider_at(dialect, upstream.url, timeout=AGREED)
        here = await stack.enter_async_context(serving(providers))
        turns = asyncio.Semaphore(at_once)
        clock = Clock()
        ticking = asyncio.create_task(clock.run())

        async def ask(inbound: str, provider: str, stream: bool, name: str) -> Waited:
            key = f"{name.replace(' ', '_')}_{provider}"
            data = request_of(inbound, f"{key}/m", stream=stream)
            async with turns:
                began = clock.now()
                try:
                    got = await fetch(here.url, data, seconds=30)
                except TimeoutError:
                    got = None
                what = f"{name}, {inbound} from {provider}, {'stream' if stream else 'whole'}"
                return Waited(what, inbound, inbound == provider, got, clock.now() - began)

        kinds = islice(islice(cycle(product(INBOUND, INBOUND, FORMS, NAMES)), 0, None, STEP), count)
        found = await asyncio.gather(*(ask(*kind) for kind in kinds))
        ticking.cancel()
        await wait_for_open_requests(here.gateway, 0)
        return found


def fault_in(one: Waited) -> str:
    """What is wrong with how it ended; empty if nothing is."""
    if one.got is None or not one.got.complete:
        return "no end"
    try:
        if one.got.status == 200:
            (check_end if one.passed else check_stream)(one.inbound, one.got.body)
        else:
            check_error(one.inbound, one.got.status, one.got.body)
    except AssertionError as problem:
        return f"{problem}: {one.got.body[-200:]!r}"
    return ""


def check(found: list[Waited], slack: float) -> None:
    late = [f"{one.what}: {one.seconds:.1f} s" for one in found if one.seconds > AGREED + slack]
    assert not late, "\n".join([f"{len(late)} of {len(found)}", *late[:20]])
    wrong = [f"{one.what}: {problem}" for one in found if (problem := fault_in(one))]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(found)}", *wrong[:20]])
    assert {one.got.status for one in found if one.got} >= {200, 504}


async def test_no_client_waits_longer_than_the_deadline() -> None:
    check(await wait(90, 30), PATIENCE)


@pytest.mark.thorough
def test_none_of_five_thousand_clients_waits_longer_than_the_deadline() -> None:
    check(run(wait(5000, 40), seconds=600), SLACK)
