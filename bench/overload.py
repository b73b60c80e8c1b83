"""Three times too much: what the gateway still does when more is asked of it than it can.

    PYTHONPATH=bench python bench/overload.py [--seconds 10] [--times 3]

First so many connections ask one request after the other, which gives the peak. Then requests are sent by the
clock at a multiple of that rate, whether or not they are answered (an open loop), over connections that are
kept. Goodput is compared in requests a second, and in requests for each second of the gateway's CPU time,
which other processes on the machine do not change.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple, cast

from gateway.contenders import CONTENDERS
from gateway.load import Job
from gateway.processes import Running, Talking
from gateway.works import WORKS

BUSY = 64
MOST_CONNECTIONS = 3000
PATIENCE = 30.0
PROBE_EVERY = 0.1


class Answer(NamedTuple):
    """One response."""

    status: int
    seconds: float
    retry_after: bool


class Asking(asyncio.Protocol):
    """A connection with one request at a time."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._answered: asyncio.Future[Answer] | None = None

    def ask(self, request: bytes) -> asyncio.Future[Answer]:
        self._data = b""
        self._since = perf_counter()
        self._answered = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._answered

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, found, body = self._data.partition(b"\r\n\r\n")
        if not found or self._answered is None or self._answered.done():
            return
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) >= length:
            status = int(head[9:12])
            self._answered.set_result(
                Answer(status, perf_counter() - self._since, b"\r\nretry-after: " in head)
            )

    def connection_lost(self, _: Exception | None) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(Answer(0, perf_counter() - self._since, retry_after=False))


class Clients:
    """Connections that are used again."""

    def __init__(self, port: int, request: bytes) -> None:
        self._port = port
        self._request = request
        self._free: list[Asking] = []
        self._open = 0

    async def ask(self) -> Answer:
        client = self._free.pop() if self._free else await self._connect()
        if client is None:
            return Answer(-1, 0.0, retry_after=False)
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await client.ask(self._request)
        except TimeoutError:
            answer = Answer(0, PATIENCE, retry_after=False)
        except asyncio.CancelledError:
            client.transport.abort()
            self._open -= 1
            raise
        if answer.status and not client.transport.is_closing():
            self._free.append(client)
        else:
            self._open -= 1
            client.transport.abort()
        return answer

    async def _connect(self) -> Asking | None:
        if self._open >= MOST_CONNECTIONS:
            return None
        self._open += 1
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(Asking, "127.0.0.1", self._port))[1]

    def close(self) -> None:
        for client in self._free:
            client.transport.abort()


class Phase(NamedTuple):
    """What was seen in a while."""

    answers: list[Answer]
    seconds: float
    cpu: float

    @property
    def good(self) -> list[float]:
        return [one.seconds for one in self.answers if one.status == 200]


async def closed_loop(clients: Clients, server: Running, seconds: float) -> Phase:
    """As many as there are connections, one after the other on each."""
    answers: list[Answer] = []
    began, cpu = perf_counter(), server.cpu()

    async def repeat() -> None:
        while perf_counter() < began + seconds:
            answers.append(await clients.ask())

    await asyncio.gather(*(repeat() for _ in range(BUSY)))
    return Phase(answers, perf_counter() - began, server.cpu() - cpu)


async def open_loop(clients: Clients, server: Running, rate: float, seconds: float) -> Phase:
    """So many in a second, by the clock."""
    began, cpu = perf_counter(), server.cpu()
    asking: list[asyncio.Task[Answer]] = []
    while (now := perf_counter() - began) < seconds:
        while len(asking) < rate * now:
            asking.append(asyncio.create_task(clients.ask()))
        await asyncio.sleep(0.002)
    spent = server.cpu() - cpu
    took = perf_counter() - began
    in_time = [task.result() for task in asking if task.done()]
    for task in asking:
        task.cancel()
    await asyncio.wait(asking)
    return Phase(in_time, took, spent)


async def probing(port: int, seen: list[float]) -> None:
    """How long /healthz takes meanwhile."""
    clients = Clients(port, b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
    with suppress(asyncio.CancelledError):
        while True:
            seen.append((await clients.ask()).seconds)
            await asyncio.sleep(PROBE_EVERY)
    clients.close()


def request_of(job: Job) -> bytes:
    body = job.body.encode()
    head = (
        f"POST {job.path} HTTP/1.1\r\nhost: 127.0.0.1:{job.port}\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {job.key}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def show(name: str, phase: Phase, probes: list[float]) -> None:
    """One line for a phase."""
    counts = Counter(one.status for one in phase.answers)
    good, shed = phase.good, [one.seconds for one in phase.answers if one.status == 503]
    answered, served = len(phase.answers) / phase.seconds, len(good) / phase.seconds
    by_cpu = len(good) / max(phase.cpu, 1e-9)
    print(
        f"{name:10} answered {answered:7.0f}/s  served {served:6.0f}/s  for a CPU second {by_cpu:6.0f}"
        f"  p50/p99 served {_both(good)}  refused {_both(shed)}  healthz {_both(probes)}  {dict(counts)}"
    )


def _both(seconds: list[float]) -> str:
    if len(seconds) < 2:
        return "-"
    parts = quantiles(seconds, n=100)
    return f"{parts[49] * 1000:.0f}/{parts[98] * 1000:.0f} ms"


async def measure(job: Job, server: Running, seconds: float, times: float) -> None:
    clients = Clients(server.port, request_of(job))
    await closed_loop(clients, server, 2.0)
    probes: list[list[float]] = [[], [], []]
    phases: list[Phase] = []
    for number in range(3):
        probe = asyncio.create_task(probing(server.port, probes[number]))
        if number == 1:
            rate = times * len(phases[0].good) / phases[0].seconds
            phases.append(await open_loop(clients, server, rate, seconds))
            await asyncio.sleep(1)
        else:
            phases.append(await closed_loop(clients, server, seconds / 2))
        probe.cancel()
        await probe
    clients.close()
    for name, phase, seen in zip(("peak", f"{times:g} times", "after"), phases, probes, strict=True):
        show(name, phase, seen)
    peak, overload, _ = phases
    wall = (len(overload.good) / overload.seconds) / (len(peak.good) / peak.seconds)
    cpu = (len(overload.good) / overload.cpu) / (len(peak.good) / peak.cpu)
    refused = [one for one in overload.answers if one.status == 503]
    with_retry_after = sum(one.retry_after for one in refused)
    print(f"goodput {wall:.0%} of the peak by the clock, {cpu:.0%} for the same CPU time")
    print(f"{with_retry_after} of {len(refused)} refusals say when to try again")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--times", type=float, default=3.0)
    parser.add_argument("--work", default="unary Messages <- Gemini", choices=[one.title for one in WORKS])
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    work = next(one for one in WORKS if one.title == options.work)
    contender = CONTENDERS["groundwire"]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        upstream = int(stack.enter_context(Talking("stub")).line())
        server = stack.enter_context(contender.running(folder / "groundwire", upstream))
        job = contender.job(work, server.port, 1, 0.0)
        asyncio.run(measure(job, server, options.seconds, options.times))


if __name__ == "__main__":
    main()
