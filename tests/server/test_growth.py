"""Memory and file descriptors of a gateway do not grow with the number of requests, nor as time passes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from groundwire.errors import GroundwireError, Overloaded, RequestError
from groundwire.testing.answers import answer_events, error_body
from groundwire.testing.script import Script, ScriptedResponse, answer, json_response
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.raw import INBOUND, disconnect, fetch, request_of, send
from tests.faces.gateway.serving import run
from tests.figures import Figures
from tests.server.fast_clock import RATE
from tests.server.processes import ServeProcess, running_serve
from tests.server.stream_load import memory_of

pytestmark = pytest.mark.server

CONCURRENT = 12
MEGABYTE = 2**20
MEMORY = 10 * MEGABYTE
FAST_CLOCK = (str(Path(__file__).with_name("fast_clock.py")),)
CONFIG = """
[gateway]
cache_seconds = 300
[providers.mine]
dialect = "openai_chat"
base_url = "{url}/v1"
model = "m"
[providers.broken]
dialect = "openai_chat"
base_url = "{url}/broken"
model = "m"
"""


@asynccontextmanager
async def gateway_process(
    folder: Path, failure: ScriptedResponse, *program: str
) -> AsyncIterator[ServeProcess]:
    """A gateway with one provider that answers and one that fails."""
    paths = {"/broken/chat/completions": (failure,)}
    async with Upstream(Script((answer("openai_chat", answer_events("Yes.")),), paths)) as upstream:
        config = CONFIG.format(url=upstream.url)
        async with running_serve(folder, config=config, program=program or ("-m", "groundwire")) as gateway:
            yield gateway
        upstream.requests.clear()


def failure(error: GroundwireError) -> ScriptedResponse:
    form = error_body("openai_chat", error)
    return json_response(form.body, form.status)


async def one_request(url: str, number: int) -> None:
    """A stream, a whole answer, an error, or a client that disconnects, in one of five dialects."""
    dialect = INBOUND[number % 5]
    kind = number // 5 % 4
    model = "broken/m" if kind == 2 else "mine/m"
    data = request_of(dialect, model, stream=number % 2 == 0, question=f"Question {number}?")
    if kind == 3:
        _, writer = await send(url, data)
        disconnect(writer, "rst" if number % 2 else "fin")
        return
    response = await fetch(url, data)
    assert (response.status == 200) == (kind != 2), (number, response.status, response.body[:200])
    assert response.complete


async def many_requests(url: str, numbers: range) -> None:
    """Send requests, some at a time."""
    left = iter(numbers)

    async def work() -> None:
        for number in left:
            await one_request(url, number)

    async with asyncio.TaskGroup() as group:
        for _ in range(CONCURRENT):
            group.create_task(work())


def descriptors_of(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


async def grow(folder: Path, warm: int, total: int) -> dict[str, float]:
    """Memory and descriptors after the first requests, and what was added by the rest."""
    async with gateway_process(folder, failure(RequestError("no"))) as gateway:
        pid = gateway.process.pid
        await many_requests(gateway.url, range(warm))
        before, files = memory_of(pid), descriptors_of(pid)
        await many_requests(gateway.url, range(warm, total))
        return {"bytes": memory_of(pid) - before, "files": descriptors_of(pid) - files}


async def test_hundreds_of_requests_leave_no_memory_and_no_descriptor_behind(tmp_path: Path) -> None:
    added = await grow(tmp_path, 150, 500)
    assert added["bytes"] <= MEMORY, added
    assert added["files"] <= CONCURRENT, added  # connections that are kept for the next request


@pytest.mark.thorough
def test_a_hundred_thousand_requests_leave_no_memory_and_no_descriptor_behind(
    tmp_path: Path, figures: Figures
) -> None:
    added = run(grow(tmp_path, 5000, 100_000), seconds=3600)
    figures.add("R17", "memory added from 5,000 to 100,000 requests", added["bytes"] / MEGABYTE, "MB")
    figures.add("R17", "file descriptors added", added["files"])
    assert added["bytes"] <= MEMORY, added
    assert added["files"] <= CONCURRENT, added


async def soak(folder: Path, minutes: int) -> dict[str, float]:
    """Requests for minutes of the gateway's clock; the other provider fails all the time.

    Half of the questions are repeated, and cached for five minutes. In every tenth minute nothing is sent,
    so that idle connections end.
    """
    async with gateway_process(folder, failure(Overloaded("busy")), *FAST_CLOCK) as gateway:
        pid, loop = gateway.process.pid, asyncio.get_running_loop()
        began, sent, failed = loop.time(), 0, 0
        settled = memory_of(pid)
        for number in count():
            minute = int((loop.time() - began) * RATE / 60)
            if minute >= minutes:
                break
            if minute % 10 == 9:
                await asyncio.sleep(60 / RATE)
                continue
            data = request_of(
                INBOUND[number % 5], "mine/m", stream=number % 3 == 0, question=f"{number % 7}?"
            )
            response = await fetch(gateway.url, data)
            sent, failed = sent + 1, failed + (response.status != 200 or not response.complete)
            if number % 20 == 0:
                injected = await fetch(gateway.url, request_of("openai_chat", "broken/m", stream=False))
                assert injected.status >= 500, injected
            if minute < minutes / 5:
                settled = memory_of(pid)
        grown = memory_of(pid) - settled
        return {"sent": sent, "failed": failed, "bytes": grown, "hours": minutes / 60}


@pytest.mark.thorough
def test_nothing_fails_or_grows_while_every_timeout_and_expiry_passes_many_times(
    tmp_path: Path, figures: Figures
) -> None:
    """Two hours of the gateway's clock: breaker, name cache, idle connections, response cache, keep-alive."""
    found = run(soak(tmp_path, 120), seconds=400)
    figures.add("R18", "hours of the gateway's clock", found["hours"])
    figures.add("R18", "requests", found["sent"])
    figures.add("R18", "failures outside the injected ones", found["failed"])
    figures.add("R18", "memory added after the first fifth", found["bytes"] / MEGABYTE, "MB")
    assert found["sent"] > 200, found
    assert found["failed"] == 0, found
    assert found["bytes"] <= MEMORY, found
