"""The gateway under overload: goodput at a multiple of its peak request rate.

    PYTHONPATH=bench python bench/overload.py [--seconds 10] [--times 3]

First, a closed loop measures the peak: each of many connections sends its next request after the response.
Then an open loop sends requests at a multiple of that rate, whether or not the earlier ones are answered,
over keep-alive connections. Goodput is compared in requests per second, and in requests per second of the
gateway's CPU time, which other processes on the machine do not affect.
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
from gateway.processes import Running, WorkerProcess
from gateway.workloads import WORKLOADS

CONNECTIONS = 64
MAX_CONNECTIONS = 3000
TIMEOUT = 30.0
PROBE_EVERY = 0.1


class TimedResponse(NamedTuple):
    """The outcome of one request; status 0 is a lost connection or a timeout, -1 no free connection."""

    status: int
    seconds: float
    retry_after: bool


class ClientConnection(asyncio.Protocol):
    """A keep-alive connection with one request at a time."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._response: asyncio.Future[TimedResponse] | None = None

    def send(self, request: bytes) -> asyncio.Future[TimedResponse]:
        self._data = b""
        self._started = perf_counter()
        self._response = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._response

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, found, body = self._data.partition(b"\r\n\r\n")
        if not found or self._response is None or self._response.done():
            return
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) >= length:
            status = int(head[9:12])
            self._response.set_result(
                TimedResponse(status, perf_counter() - self._started, b"\r\nretry-after: " in head)
            )

    def connection_lost(self, _: Exception | None) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_result(TimedResponse(0, perf_counter() - self._started, retry_after=False))


class ConnectionPool:
    """Keep-alive connections that all send the same request."""

    def __init__(self, port: int, request: bytes) -> None:
        self._port = port
        self._request = request
        self._free: list[ClientConnection] = []
        self._open = 0

    async def send(self) -> TimedResponse:
        connection = self._free.pop() if self._free else await self._connect()
        if connection is None:
            return TimedResponse(-1, 0.0, retry_after=False)
        try:
            async with asyncio.timeout(TIMEOUT):
                response = await connection.send(self._request)
        except TimeoutError:
            response = TimedResponse(0, TIMEOUT, retry_after=False)
        except asyncio.CancelledError:
            connection.transport.abort()
            self._open -= 1
            raise
        if response.status and not connection.transport.is_closing():
            self._free.append(connection)
        else:
            self._open -= 1
            connection.transport.abort()
        return response

    async def _connect(self) -> ClientConnection | None:
        if self._open >= MAX_CONNECTIONS:
            return None
        self._open += 1
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(ClientConnection, "127.0.0.1", self._port))[1]

    def close(self) -> None:
        for connection in self._free:
            connection.transport.abort()


class Phase(NamedTuple):
    """The measurements of one part of the benchmark."""

    responses: list[TimedResponse]
    seconds: float
    cpu: float

    @property
    def good(self) -> list[float]:
        return [item.seconds for item in self.responses if item.status == 200]


async def closed_loop(pool: ConnectionPool, server: Running, seconds: float) -> Phase:
    """Send requests one after the other on each connection."""
    responses: list[TimedResponse] = []
    began, cpu = perf_counter(), server.cpu()

    async def repeat() -> None:
        while perf_counter() < began + seconds:
            responses.append(await pool.send())

    await asyncio.gather(*(repeat() for _ in range(CONNECTIONS)))
    return Phase(responses, perf_counter() - began, server.cpu() - cpu)


async def open_loop(pool: ConnectionPool, server: Running, rate: float, seconds: float) -> Phase:
    """Send requests at a fixed rate, whether or not the earlier ones are answered."""
    began, cpu = perf_counter(), server.cpu()
    tasks: list[asyncio.Task[TimedResponse]] = []
    while (now := perf_counter() - began) < seconds:
        while len(tasks) < rate * now:
            tasks.append(asyncio.create_task(pool.send()))
        await asyncio.sleep(0.002)
    spent = server.cpu() - cpu
    took = perf_counter() - began
    in_time = [task.result() for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    return Phase(in_time, took, spent)


async def probe_health(port: int, latencies: list[float]) -> None:
    """Append the latency of /healthz to a list until cancelled."""
    pool = ConnectionPool(port, b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
    with suppress(asyncio.CancelledError):
        while True:
            latencies.append((await pool.send()).seconds)
            await asyncio.sleep(PROBE_EVERY)
    pool.close()


def request_of(job: Job) -> bytes:
    body = job.body.encode()
    head = (
        f"POST {job.path} HTTP/1.1\r\nhost: 127.0.0.1:{job.port}\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {job.key}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def show(name: str, phase: Phase, probes: list[float]) -> None:
    """Print one line about a phase."""
    counts = Counter(item.status for item in phase.responses)
    good, shed = phase.good, [item.seconds for item in phase.responses if item.status == 503]
    answered, served = len(phase.responses) / phase.seconds, len(good) / phase.seconds
    by_cpu = len(good) / max(phase.cpu, 1e-9)
    print(
        f"{name:10} answered {answered:7.0f}/s  served {served:6.0f}/s  per CPU second {by_cpu:6.0f}"
        f"  p50/p99 served {_p50_p99(good)}  refused {_p50_p99(shed)}"
        f"  healthz {_p50_p99(probes)}  {dict(counts)}"
    )


def _p50_p99(seconds: list[float]) -> str:
    if len(seconds) < 2:
        return "-"
    parts = quantiles(seconds, n=100)
    return f"{parts[49] * 1000:.0f}/{parts[98] * 1000:.0f} ms"


async def measure(job: Job, server: Running, seconds: float, factor: float) -> None:
    pool = ConnectionPool(server.port, request_of(job))
    await closed_loop(pool, server, 2.0)
    probes: list[list[float]] = [[], [], []]
    phases: list[Phase] = []
    for number in range(3):
        probe = asyncio.create_task(probe_health(server.port, probes[number]))
        if number == 1:
            rate = factor * len(phases[0].good) / phases[0].seconds
            phases.append(await open_loop(pool, server, rate, seconds))
            await asyncio.sleep(1)
        else:
            phases.append(await closed_loop(pool, server, seconds / 2))
        probe.cancel()
        await probe
    pool.close()
    for name, phase, latencies in zip(("peak", f"{factor:g} times", "after"), phases, probes, strict=True):
        show(name, phase, latencies)
    peak, overload, _ = phases
    wall = (len(overload.good) / overload.seconds) / (len(peak.good) / peak.seconds)
    cpu = (len(overload.good) / overload.cpu) / (len(peak.good) / peak.cpu)
    refused = [item for item in overload.responses if item.status == 503]
    with_retry_after = sum(item.retry_after for item in refused)
    print(f"goodput {wall:.0%} of the peak by wall time, {cpu:.0%} by CPU time")
    print(f"{with_retry_after} of {len(refused)} refusals have a retry-after header")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--times", type=float, default=3.0)
    parser.add_argument(
        "--work", default="unary Messages <- Gemini", choices=[item.title for item in WORKLOADS]
    )
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    workload = next(item for item in WORKLOADS if item.title == options.work)
    contender = CONTENDERS["groundwire"]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        upstream = int(stack.enter_context(WorkerProcess("stub")).read_line())
        server = stack.enter_context(contender.running(folder / "groundwire", upstream))
        job = contender.job(workload, server.port, 1, 0.0)
        asyncio.run(measure(job, server, options.seconds, options.times))


if __name__ == "__main__":
    main()
