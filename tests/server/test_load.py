"""Load: many open streams, clients that never read, more requests than the limit."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest

from groundwire.config.schema import Config, GatewaySettings
from groundwire.server.response_writer import ResponseTimeouts
from tests.faces.gateway.raw import fetch, request_of
from tests.faces.gateway.serving import provider_at, run, serving
from tests.figures import Figures
from tests.server.processes import running_serve
from tests.server.stream_load import StreamReader, endless_upstream, listen, memory_of
from tests.server.stream_load_process import stream_load

pytestmark = pytest.mark.server

HELD_BYTES = 60 * 1024
DEAF_BYTES = 512 * 1024
STALL = 30.0


def _config(url: str, most: int) -> str:
    # The limit for a whole request is ten minutes by default, and some of these streams last longer.
    return (
        f"timeout = 3600\n[gateway]\nmax_requests = {most}\n"
        f'[providers.mine]\ndialect = "openai_chat"\nbase_url = "{url}/v1"\nmodel = "m"\n'
    )


def _allow_many_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < 10_000:
        pytest.fail("this system does not allow so many files: raise its limit (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _until(done: Callable[[], bool], seconds: float) -> float:
    """Wait for a condition; returns the seconds it took."""
    began = monotonic()
    async with asyncio.timeout(seconds):
        while not done():
            await asyncio.sleep(0.05)
    return monotonic() - began


def _leave(listeners: list[StreamReader]) -> None:
    for listener in listeners:
        listener.transport.abort()


def _late(listeners: list[StreamReader], part: float) -> float:
    """This quantile of the waits for the first event."""
    waits = sorted(listener.begun.result() for listener in listeners)
    assert waits[0] >= 0, "a stream was refused"
    return waits[min(int(len(waits) * part), len(waits) - 1)]


async def _first_events(url: str, count: int) -> list[StreamReader]:
    """Open streams one after the other, each after the first event of the last."""
    found = []
    for _ in range(count):
        found.append(await listen(url))
        await found[-1].begun
    return found


async def _hold(folder: Path, streams: int, seconds: float) -> dict[str, float]:
    """Hold open streams and measure new ones. Load, gateway and probe are three processes.

    The same probe without the gateway gives the delay of the machine itself.
    """
    async with (
        stream_load() as others,
        running_serve(folder, config=_config(others.url, streams + 200)) as gateway,
    ):
        pid = gateway.process.pid
        _leave(await _first_events(gateway.url, 20))
        before = memory_of(pid)
        await others.do("hold", gateway.url, streams)
        await asyncio.sleep(seconds)
        new = await _first_events(gateway.url, 100)
        direct = await _first_events(others.url, 100)
        found = {
            "bytes": (memory_of(pid) - before) / (streams + len(new)),
            "median": _late(new, 0.5),
            "late": _late(new, 0.99),
            "added": _late(new, 0.99) - _late(direct, 0.99),
            **await others.do("report"),
        }
        _leave([*new, *direct])
        await others.do("leave")
        return found


async def test_held_streams_are_cheap_and_do_not_block_other_requests(tmp_path: Path) -> None:
    found = await _hold(tmp_path, 200, 2.0)
    assert not found["dropped"], found
    assert found["bytes"] <= HELD_BYTES, found


@pytest.mark.thorough
@pytest.mark.parametrize("minutes", [2, 10])
def test_two_thousand_held_streams_are_cheap_and_do_not_block_other_requests(
    tmp_path: Path, figures: Figures, minutes: int
) -> None:
    _allow_many_files()
    found = run(_hold(tmp_path, 2000, minutes * 60.0), seconds=minutes * 60 + 270)
    figures.add("R13", f"of 2,000 streams, dropped in {minutes} minutes", found["dropped"])
    figures.add("R13", "memory of a stream", found["bytes"] / 1024, "KB")
    figures.add("R13", "first event of a new request, median", found["median"] * 1000, "ms")
    figures.add("R13", "longest pause between two events that are due every second", found["gap"], "s")
    assert not found["dropped"], found
    assert found["bytes"] <= HELD_BYTES, found
    assert found["median"] <= 0.25, found
    assert found["gap"] <= 2, found


async def test_a_client_that_never_reads_is_disconnected_and_its_upstream_request_cancelled() -> None:
    timeouts = ResponseTimeouts(head=1.0, ping=1.0, stall=1.0)
    async with (
        endless_upstream(0) as (url, upstream),
        serving({"mine": provider_at("openai_chat", url)}, timeouts=timeouts) as here,
    ):
        deaf = [await listen(here.url, deaf=True) for _ in range(10)]
        await _until(lambda: upstream.open == len(deaf), 20)
        assert await _until(lambda: upstream.open == 0, 15) >= 0.5
        await _until(lambda: here.gateway.open_requests == 0, 20)
        _leave(deaf)


async def _ignore(folder: Path, clients: int) -> dict[str, float]:
    async with (
        endless_upstream(0) as (url, upstream),
        running_serve(folder, config=_config(url, clients + 100)) as gateway,
    ):
        pid = gateway.process.pid
        warm = [await listen(gateway.url) for _ in range(20)]
        await asyncio.gather(*(one.begun for one in warm))
        _leave(warm)
        await _until(lambda: upstream.open == 0, 20)
        before = memory_of(pid)
        deaf = [await listen(gateway.url, deaf=True) for _ in range(clients)]
        began = monotonic()
        most = 0

        def over() -> bool:
            nonlocal most
            most = max(most, memory_of(pid) - before)
            return monotonic() - began > 5 and upstream.open == 0

        concurrent = await _first_events(gateway.url, 20)
        _leave(concurrent)
        await _until(over, 2 * STALL + 60)
        found = {"evicted": monotonic() - began, "bytes": most / clients, "median": _late(concurrent, 0.5)}
        _leave(deaf)
        return found


@pytest.mark.thorough
def test_five_hundred_clients_that_never_read_cost_little_and_are_disconnected(
    tmp_path: Path, figures: Figures
) -> None:
    _allow_many_files()
    found = run(_ignore(tmp_path, 500), seconds=200)
    figures.add("R14", "memory of a client that never reads", found["bytes"] / 1024, "KB")
    figures.add("R14", "until all 500 are disconnected", found["evicted"], "s")
    figures.add("R14", "first event of other clients, median", found["median"] * 1000, "ms")
    assert found["bytes"] <= DEAF_BYTES, found
    assert found["evicted"] <= STALL + 15, found
    assert found["median"] <= 0.25, found


async def test_requests_beyond_the_limit_are_refused() -> None:
    room = Config(gateway=GatewaySettings(max_requests=8))
    async with (
        endless_upstream(0.2) as (url, upstream),
        serving({"mine": provider_at("openai_chat", url)}, config=room) as here,
    ):
        held = [await listen(here.url) for _ in range(8)]
        await asyncio.gather(*(one.begun for one in held))
        question = request_of("openai_chat", "mine/m", stream=True)
        refused = await asyncio.gather(*(fetch(here.url, question) for _ in range(50)))
        assert {response.status for response in refused} == {503}
        assert all(int(response.headers["retry-after"]) >= 1 for response in refused)
        assert upstream.open == 8
        assert not any(one.lost for one in held)
        _leave(held)
        await _until(lambda: here.gateway.open_requests == 0, 20)
        again = await listen(here.url)
        assert await again.begun >= 0
        assert again.first.startswith(b"HTTP/1.1 200")
        _leave([again])
        await _until(lambda: here.gateway.open_requests == 0, 20)
