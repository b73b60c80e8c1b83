"""Load shedding: when it begins and ends, what it refuses, and the effect of large documents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import monotonic, process_time, thread_time

import pytest

from groundwire.faces.gateway.handler import LARGE_BODY
from groundwire.model import Source
from groundwire.model.value import replace
from groundwire.server import connection
from groundwire.server.overload import FEW_REQUESTS, TARGET, LoadShedder
from groundwire.testing.answers import answer_events
from groundwire.testing.script import answer
from groundwire.testing.upstream import Upstream
from tests.faces.gateway.asgi_client import SMALLEST_REQUESTS
from tests.faces.gateway.raw import RawResponse, check_error, fetch, parsed, request_of
from tests.faces.gateway.serving import RunningGateway, provider_at, run, serving
from tests.figures import Figures
from tests.server.processes import running_serve
from tests.server.stream_load import memory_of

pytestmark = pytest.mark.server

HEALTH = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
BOUND = 50.0


def _while_serving(work: Callable[[RunningGateway], Awaitable[None]]) -> None:
    async def main() -> None:
        async with (
            Upstream(answer("openai_chat", answer_events("Yes."))) as upstream,
            serving({"mine": provider_at("openai_chat", upstream.url)}) as here,
        ):
            await work(here)

    run(main())


def _refusing(here: RunningGateway) -> None:
    """Make the gateway shed every request that it may shed."""
    here.gateway.load_shedder.admitted = 1e-9


def test_a_single_slow_step_is_not_an_overload_and_a_lasting_delay_is() -> None:
    overload = LoadShedder()
    for delay in (0.0, 5 * TARGET, 5 * TARGET, 0.0, 5 * TARGET, 0.0):
        overload.observe(delay)
        assert not any(overload.sheds(b"/v1/messages") for _ in range(10))
    parts = []
    for _ in range(20):
        overload.observe(3 * TARGET)
        parts.append(overload.admitted)
    assert all(later <= earlier for earlier, later in pairwise(parts))
    assert 0 < parts[-1] < 0.1
    for _ in range(100):
        overload.observe(0.0)
    assert overload.admitted == 1


def test_a_few_requests_are_never_an_overload_however_late_they_make_the_loop() -> None:
    overload = LoadShedder()
    for _ in range(20):
        overload.observe(5 * TARGET, FEW_REQUESTS)
    assert not any(overload.sheds(b"/v1/messages") for _ in range(10))
    for _ in range(3):
        overload.observe(5 * TARGET, FEW_REQUESTS + 1)
    assert any(overload.sheds(b"/v1/messages") for _ in range(10))


def test_while_the_loop_is_late_again_every_request_is_shed() -> None:
    overload = LoadShedder()
    now = [0.0]
    overload.current_delay = lambda: now[0]
    for _ in range(3):
        overload.observe(TARGET)
    assert not overload.sheds(b"/v1/messages")
    now[0] = 2 * TARGET
    assert overload.sheds(b"/v1/messages")
    assert not overload.sheds(b"/healthz")
    overload.observe(0.0)
    assert not overload.sheds(b"/v1/messages")


def test_the_admitted_fraction_of_requests_is_served() -> None:
    overload = LoadShedder()
    overload.admitted = 0.25
    assert sum(overload.sheds(b"/v1/messages") for _ in range(1000)) == pytest.approx(750, abs=1)
    assert not any(overload.sheds(b"/healthz") for _ in range(100))


def test_refusals_have_the_shape_of_the_dialect_and_keep_the_connection() -> None:
    async def work(here: RunningGateway) -> None:
        _refusing(here)
        for dialect, (path, body) in SMALLEST_REQUESTS.items():
            data = json.dumps(body).encode()
            head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(data)}\r\n\r\n".encode()
            host, port = here.url.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            for _ in range(3):  # on one connection
                writer.write(head + data)
                async with asyncio.timeout(BOUND):
                    reply_head = await reader.readuntil(b"\r\n\r\n")
                    length = int(reply_head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
                    response = parsed(reply_head + await reader.readexactly(length))
                assert (response.status, response.headers["retry-after"], response.complete) == (
                    503,
                    "1",
                    True,
                )
                check_error(dialect, response.status, response.body)
            writer.write(HEALTH)
            async with asyncio.timeout(BOUND):
                assert (await reader.read()).startswith(b"HTTP/1.1 200")
            writer.close()
        assert here.gateway.open_requests == 0
        assert "groundwire_refused_requests_total 15.0" in here.gateway.metrics.text(0)

    _while_serving(work)


def test_pages_are_refused_too_and_health_never() -> None:
    async def work(here: RunningGateway) -> None:
        _refusing(here)
        for path in ("/", "/docs", "/v1/models", "/nowhere"):
            response = await fetch(
                here.url, f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode()
            )
            assert response.status == 503, path
        for path in ("/healthz", "/readyz", "/metrics"):
            response = await fetch(
                here.url, f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode()
            )
            assert response.status == 200, path

    _while_serving(work)


def test_a_request_is_refused_before_its_body_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LINGER_SECONDS", 0.2)

    async def work(here: RunningGateway) -> None:
        _refusing(here)
        head = b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n"
        response = await fetch(here.url, head + b"{")
        assert (response.status, response.headers["connection"]) == (503, "close")

    _while_serving(work)


def test_a_loop_that_is_blocked_again_and_again_sheds_and_recovers() -> None:
    async def work(here: RunningGateway) -> None:
        question = request_of("openai_chat", "mine/m", stream=False)
        assert (await fetch(here.url, question)).status == 200
        here.server.loop_delay.start()
        here.gateway.open_requests += FEW_REQUESTS + 1
        async with asyncio.timeout(BOUND):
            while here.gateway.load_shedder.admitted == 1:
                _spin(1.5 * TARGET)
                await asyncio.sleep(0)
        here.gateway.open_requests -= FEW_REQUESTS + 1
        here.server.loop_delay.stop()
        statuses = {(await fetch(here.url, question)).status for _ in range(10)}
        assert 503 in statuses
        here.server.loop_delay.start()
        async with asyncio.timeout(BOUND):
            while here.gateway.load_shedder.admitted < 1:
                await asyncio.sleep(0.05)
        assert (await fetch(here.url, question)).status == 200

    _while_serving(work)


def _spin(seconds: float) -> None:
    """Use CPU time."""
    until = process_time() + seconds
    while process_time() < until:
        pass


def _posted(path: str, data: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(data)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + data


USER = {"role": "user", "content": "?"}
LARGE_DOCUMENTS: dict[str, tuple[Callable[[], object], int]] = {
    "240,000 keys": (
        lambda: {"model": "mine/m", "messages": [USER], **{f"k{n}": 1 for n in range(240_000)}},
        413,
    ),
    "40,000 tools": (
        lambda: {
            "model": "mine/m",
            "messages": [USER],
            "tools": [{"type": "function", "function": {"name": f"t{n}"}} for n in range(40_000)],
        },
        413,
    ),
    "10,000 tools": (
        lambda: {
            "model": "mine/m",
            "messages": [USER],
            "tools": [{"type": "function", "function": {"name": f"t{n}"}} for n in range(10_000)],
        },
        400,
    ),
    "30,000 messages": (lambda: {"model": "mine/m", "messages": [USER] * 30_000}, 400),
    "5,000 messages": (lambda: {"model": "mine/m", "messages": [USER] * 5_000}, 200),
}


@pytest.mark.parametrize("what", LARGE_DOCUMENTS)
def test_large_documents_do_not_block_the_loop(what: str) -> None:
    document, status = LARGE_DOCUMENTS[what]
    data = json.dumps(document()).encode()
    assert len(data) > LARGE_BODY

    async def work(here: RunningGateway) -> None:
        beats: list[float] = []

        async def beat() -> None:
            while True:
                beats.append(thread_time())
                await asyncio.sleep(0.005)

        began = process_time()
        beating = asyncio.create_task(beat())
        responses: list[RawResponse] = await asyncio.gather(
            *(fetch(here.url, _posted("/v1/chat/completions", data)) for _ in range(4))
        )
        took = process_time() - began
        beating.cancel()
        assert [one.status for one in responses] == [status] * 4
        # CPU time, because the loop of a busy machine also waits for other programs. No step may be most of
        # the whole.
        longest = max(later - earlier for earlier, later in pairwise(beats))
        assert longest < max(0.25, took / 2), (longest, took)

    _while_serving(work)


ROOM = 12
TAKES = 0.5
"""Seconds that the provider needs; so this many are possible in a second."""
CAPACITY = ROOM / TAKES
TOO_MUCH = 3


@dataclass
class TimedResponse:
    """A response, and how long it took."""

    response: RawResponse
    seconds: float


async def _timed_request(url: str) -> TimedResponse:
    began = monotonic()
    response = await fetch(url, request_of("openai_chat", "mine/m", stream=False), seconds=60)
    return TimedResponse(response, monotonic() - began)


async def _requests_at_rate(url: str, rate: float, seconds: float) -> list[TimedResponse]:
    """Send requests at a fixed rate, whether or not they are answered."""
    began = monotonic()
    requests: list[asyncio.Task[TimedResponse]] = []
    async with asyncio.TaskGroup() as group:
        while len(requests) < rate * seconds:
            await asyncio.sleep(max(began + len(requests) / rate - monotonic(), 0))
            requests.append(group.create_task(_timed_request(url)))
    return [task.result() for task in requests]


def _config(url: str) -> str:
    provider = f'[providers.mine]\ndialect = "openai_chat"\nbase_url = "{url}/v1"\nmodel = "m"\n'
    return f"[gateway]\nmax_requests = {ROOM}\n{provider}"


@dataclass
class Load:
    """Responses before, during and after an overload."""

    before: list[TimedResponse]
    during: list[TimedResponse]
    after: list[TimedResponse]
    bytes: int
    """Growth of the gateway's memory during the overload."""

    @property
    def admitted(self) -> list[TimedResponse]:
        return [one for one in self.during if one.response.status == 200]

    @property
    def refused(self) -> list[TimedResponse]:
        return [one for one in self.during if one.response.status != 200]


async def _overload(folder: Path, seconds: float, around: float) -> Load:
    """Overload the gateway for some seconds, with an ordinary load before and after."""
    slow = replace(answer("openai_chat", answer_events("Yes.", Source("https://a.example/"))), delay=TAKES)
    async with Upstream(slow) as upstream, running_serve(folder, config=_config(upstream.url)) as gateway:
        for _ in range(3):
            await _timed_request(gateway.url)  # the first ones wait for imports
        before = await _requests_at_rate(gateway.url, CAPACITY / 3, around)
        weight = memory_of(gateway.process.pid)
        during = await _requests_at_rate(gateway.url, TOO_MUCH * CAPACITY, seconds)
        grown = memory_of(gateway.process.pid) - weight
        after = await _requests_at_rate(gateway.url, CAPACITY / 3, around)
        return Load(before, during, after, grown)


def check_answers(load: Load) -> None:
    """Admitted requests are answered, others get Retry-After, and afterwards all are answered again."""
    assert {one.response.status for one in (*load.before, *load.after)} == {200}
    assert {one.response.status for one in load.during} == {200, 503}
    assert all(int(one.response.headers["retry-after"]) >= 1 for one in load.refused)
    assert all(one.response.complete for one in load.during)
    assert len(load.admitted) >= ROOM
    assert load.bytes <= 20 * 2**20


def check_times(load: Load, seconds: float) -> None:
    """Admitted requests are as fast as without load, and refused ones do not wait."""
    usual = median(one.seconds for one in load.before)
    refused = median(one.seconds for one in load.refused)
    admitted = median(one.seconds for one in load.admitted)
    back = median(one.seconds for one in load.after)
    figures = f"{usual=:.3f} {admitted=:.3f} {refused=:.3f} {back=:.3f} {len(load.admitted)=} {load.bytes=}"
    # What is possible depends on how long an answer takes on this machine, now.
    possible = seconds * ROOM / max(usual, admitted)
    assert len(load.admitted) >= 0.9 * possible, figures
    assert admitted <= 1.5 * usual, figures
    assert refused <= 0.2 * usual, figures
    assert back <= 1.5 * usual, figures


async def test_three_times_too_much_is_shed_and_the_rest_is_answered(tmp_path: Path) -> None:
    check_answers(await _overload(tmp_path, 2.0, 1.0))


@pytest.mark.thorough
def test_a_minute_of_three_times_too_much_leaves_no_trace(tmp_path: Path, figures: Figures) -> None:
    load = run(_overload(tmp_path, 60.0, 3.0), seconds=180)
    refused = median(one.seconds for one in load.refused) * 1000
    share = 100 * len(load.admitted) / (60.0 * CAPACITY)
    figures.add("R16", "answered in a minute of three times too much, of what is possible", share, "%")
    figures.add("R16", "until a request is refused, median", refused, "ms")
    usual, back = (median(one.seconds for one in part) for part in (load.before, load.after))
    figures.add("R16", "an answer after the overload, as a multiple of before", back / usual)
    check_answers(load)
    check_times(load, 60.0)
