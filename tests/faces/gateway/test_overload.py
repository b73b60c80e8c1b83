"""More than there is room for: what is let in is as quick as ever, the rest is told to come again.

Who asks does not wait for answers (an open loop), so that nothing slows down the asking but the clock.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic

import pytest

from groundwire.model import Source
from groundwire.model.value import replace
from groundwire.testing.answers import told
from groundwire.testing.script import answer
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.crowd import memory_of
from tests.faces.gateway.processes import served
from tests.faces.gateway.raw import Got, fetch, request_of
from tests.faces.gateway.serving import run

ROOM = 12
TAKES = 0.5
"""Seconds that the provider needs; so this many are possible in a second."""
CAPACITY = ROOM / TAKES
TOO_MUCH = 3


@dataclass
class Asked:
    """One request: what came, and how long it took."""

    got: Got
    seconds: float


async def _ask(url: str) -> Asked:
    began = monotonic()
    got = await fetch(url, request_of("openai_chat", "mine/m", stream=False), seconds=60)
    return Asked(got, monotonic() - began)


async def _by_the_clock(url: str, rate: float, seconds: float) -> list[Asked]:
    """So many in a second, whether or not they are answered."""
    began = monotonic()
    asking: list[asyncio.Task[Asked]] = []
    async with asyncio.TaskGroup() as group:
        while len(asking) < rate * seconds:
            await asyncio.sleep(max(began + len(asking) / rate - monotonic(), 0))
            asking.append(group.create_task(_ask(url)))
    return [task.result() for task in asking]


def _config(url: str) -> str:
    provider = f'[providers.mine]\ndialect = "openai_chat"\nbase_url = "{url}/v1"\nmodel = "m"\n'
    return f"[gateway]\nmax_requests = {ROOM}\n{provider}"


@dataclass
class Load:
    """What was seen before, during and after."""

    before: list[Asked]
    during: list[Asked]
    after: list[Asked]
    bytes: int
    """By how much the gateway grew during it."""

    @property
    def admitted(self) -> list[Asked]:
        return [one for one in self.during if one.got.status == 200]

    @property
    def refused(self) -> list[Asked]:
        return [one for one in self.during if one.got.status != 200]


async def _overload(folder: Path, seconds: float, around: float) -> Load:
    """Much too much for so many seconds, and less than is possible for some before and after."""
    slow = replace(answer("openai_chat", told("Yes.", Source("https://a.example/"))), delay=TAKES)
    async with Upstream(slow) as upstream, served(folder, config=_config(upstream.url)) as gateway:
        for _ in range(3):
            await _ask(gateway.url)  # the first ones wait for imports
        before = await _by_the_clock(gateway.url, CAPACITY / 3, around)
        weight = memory_of(gateway.process.pid)
        during = await _by_the_clock(gateway.url, TOO_MUCH * CAPACITY, seconds)
        grown = memory_of(gateway.process.pid) - weight
        after = await _by_the_clock(gateway.url, CAPACITY / 3, around)
        return Load(before, during, after, grown)


def check_answers(load: Load) -> None:
    """Who is let in is answered, who is not is told when to come again; and then it is over."""
    assert {one.got.status for one in (*load.before, *load.after)} == {200}
    assert {one.got.status for one in load.during} == {200, 503}
    assert all(int(one.got.headers["retry-after"]) >= 1 for one in load.refused)
    assert all(one.got.complete for one in load.during)
    assert len(load.admitted) >= ROOM
    assert load.bytes <= 20 * 2**20


def check_times(load: Load, seconds: float) -> None:
    """Nobody who is let in feels the others, nobody who is not waits to hear it."""
    usual = median(one.seconds for one in load.before)
    told_off = median(one.seconds for one in load.refused)
    let_in = median(one.seconds for one in load.admitted)
    back = median(one.seconds for one in load.after)
    figures = f"{usual=:.3f} {let_in=:.3f} {told_off=:.3f} {back=:.3f} {len(load.admitted)=} {load.bytes=}"
    # What is possible depends on how long an answer takes on this machine, now.
    possible = seconds * ROOM / max(usual, let_in)
    assert len(load.admitted) >= 0.9 * possible, figures
    assert let_in <= 1.5 * usual, figures
    assert told_off <= 0.2 * usual, figures
    assert back <= 1.5 * usual, figures


def test_three_times_too_much_is_shed_and_the_rest_is_answered(tmp_path: Path) -> None:
    check_answers(run(_overload(tmp_path, 2.0, 1.0)))


@pytest.mark.thorough
def test_a_minute_of_three_times_too_much_leaves_no_trace(tmp_path: Path) -> None:
    load = run(_overload(tmp_path, 60.0, 3.0), seconds=180)
    check_answers(load)
    check_times(load, 60.0)
