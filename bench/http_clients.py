"""HTTP clients compared: the cost of a request, of a stream, and of many open streams.

`transport` is groundwire's own client. Each client runs in a separate process and takes turns with the
others; a small server runs in another process. The figure is the CPU time of the client's process, because
other load on the machine affects it least. The benchmark prints the medians of the rounds, and their ratios
to the cheapest.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine
from statistics import median
from time import process_time
from typing import TextIO, cast

ROUNDS = 3
POSTS = 300
STREAMS = 40
OPEN = 2000
NEW = 100
TIMEOUT = 120.0

BODY = json.dumps({"text": "ein Wort – αβγ, 東京! " * 150}).encode()
EVENT = (
    b"event: delta\ndata: " + json.dumps({"type": "delta", "text": "ein Wort – αβγ! " * 8}).encode() + b"\n\n"
)
EVENTS = 150


def chunked(chunks: list[bytes]) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)


JSON_RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
    len(BODY),
    BODY,
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
STREAM = HEAD + chunked([EVENT] * EVENTS) + b"0\r\n\r\n"
OPEN_STREAM = HEAD + chunked([EVENT])
RESPONSES = {b"/json": JSON_RESPONSE, b"/sse": STREAM, b"/open": OPEN_STREAM}


class StubConnection(asyncio.Protocol):
    """Server connection that sends a fixed response per path; the stream at `/open` never ends."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.pending = b""

    def data_received(self, data: bytes) -> None:
        self.pending += data
        while b"\r\n\r\n" in self.pending:
            head, _, rest = self.pending.partition(b"\r\n\r\n")
            sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            size = int(sizes[0].split(b":")[1]) if sizes else 0
            if len(rest) < size:
                return
            self.pending = rest[size:]
            self.transport.write(RESPONSES[head.split(b" ")[1]])


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(StubConnection, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # until the parent process exits
    server.close()


def expect(size: int, expected: int) -> None:
    if size != expected:
        raise ValueError(f"{size} bytes received instead of {expected}")


async def with_transport(base: str) -> dict[str, float]:
    from groundwire.transport.http import (  # noqa: PLC0415
        Deadlines,
        Http,
        HttpRequest,
    )

    deadlines = Deadlines()
    async with Http({}) as http:

        async def post() -> None:
            async with http.open(HttpRequest("POST", f"{base}/json", {}, BODY), deadlines) as response:
                expect(len(await response.body()), len(BODY))

        async def stream() -> None:
            size = 0
            async with http.open(HttpRequest("POST", f"{base}/sse", {}, BODY), deadlines) as response:
                async for chunk in response.chunks():
                    size += len(chunk)
            expect(size, len(EVENT) * EVENTS)

        async def hold(release: asyncio.Event, opened: Callable[[], None]) -> None:
            async with http.open(HttpRequest("POST", f"{base}/open", {}, BODY), deadlines) as response:
                await response.peek()
                opened()
                await release.wait()

        return await measure(post, stream, hold)


async def with_aiohttp(base: str) -> dict[str, float]:
    import aiohttp  # noqa: PLC0415  imported only in the process that measures it

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:

        async def post() -> None:
            async with session.post(f"{base}/json", data=BODY) as response:
                expect(len(await response.read()), len(BODY))

        async def stream() -> None:
            async with session.post(f"{base}/sse", data=BODY) as response:
                size = 0
                while chunk := await response.content.readany():
                    size += len(chunk)
                expect(size, len(EVENT) * EVENTS)

        async def hold(release: asyncio.Event, opened: Callable[[], None]) -> None:
            async with session.post(f"{base}/open", data=BODY) as response:
                await response.content.readany()
                opened()
                await release.wait()

        return await measure(post, stream, hold)


async def with_httpx2(base: str) -> dict[str, float]:
    import httpx2  # noqa: PLC0415

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(limits=limits, timeout=None, trust_env=False) as client:

        async def post() -> None:
            response = await client.post(f"{base}/json", content=BODY)
            expect(len(response.content), len(BODY))

        async def stream() -> None:
            size = 0
            async with client.stream("POST", f"{base}/sse", content=BODY) as response:
                async for chunk in response.aiter_raw():
                    size += len(chunk)
            expect(size, len(EVENT) * EVENTS)

        async def hold(release: asyncio.Event, opened: Callable[[], None]) -> None:
            async with client.stream("POST", f"{base}/open", content=BODY) as response:
                await anext(response.aiter_raw())
                opened()
                await release.wait()

        return await measure(post, stream, hold)


async def measure(
    post: Callable[[], Awaitable[None]],
    stream: Callable[[], Awaitable[None]],
    hold: Callable[[asyncio.Event, Callable[[], None]], Awaitable[None]],
) -> dict[str, float]:
    """CPU microseconds for each workload, and kilobytes per open stream."""
    found: dict[str, float] = {}
    for name, work, times in (("JSON POST", post, POSTS), ("SSE of 150 events", stream, STREAMS)):
        await work()
        begun = process_time()
        for _ in range(times):
            await work()
        found[f"{name}, one at a time"] = (process_time() - begun) / times * 1e6
    begun = process_time()
    await asyncio.gather(*(post() for _ in range(32)))
    found["JSON POST, 32 concurrent"] = (process_time() - begun) / 32 * 1e6
    release, all_open = asyncio.Event(), asyncio.Event()
    count = 0

    def opened() -> None:
        nonlocal count
        count += 1
        if count == OPEN:
            all_open.set()

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = process_time()
    async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as group:
        for _ in range(OPEN):
            group.create_task(_run(hold(release, opened)))
        await all_open.wait()
        found[f"opening one of {OPEN} streams"] = (process_time() - begun) / OPEN * 1e6
        found["kB of memory per open stream"] = (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        ) / OPEN
        begun = process_time()
        for _ in range(NEW):
            await post()
        found[f"JSON POST with {OPEN} open streams"] = (process_time() - begun) / NEW * 1e6
        release.set()
    return found


async def _run(work: Awaitable[None]) -> None:
    await work


CLIENTS: dict[str, Callable[[str], Coroutine[None, None, dict[str, float]]]] = {
    "transport": with_transport,
    "aiohttp": with_aiohttp,
    "httpx2": with_httpx2,
}


def child(*arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, __file__, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=2 * TIMEOUT,
    )
    return result.stdout


def main() -> None:
    allow_many_files()
    found: dict[str, list[dict[str, float]]] = {name: [] for name in CLIENTS}
    with subprocess.Popen(
        [sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        port = cast("TextIO", server.stdout).readline().strip()
        try:
            for _ in range(ROUNDS):
                for name, results in found.items():
                    results.append(json.loads(child(name, port)))
        finally:
            server.terminate()
    show(found)


def show(found: dict[str, list[dict[str, float]]]) -> None:
    names = list(found)
    print("CPU microseconds of the client, medians of", ROUNDS, "rounds\n")
    print(f"| workload | {' | '.join(names)} | ratios |\n|---|{'--:|' * (len(names) + 1)}")
    for work in found[names[0]][0]:
        medians = [median(result[work] for result in found[name]) for name in names]
        ratios = " : ".join(f"{value / max(min(medians), 1e-9):.1f}" for value in medians)
        print(f"| {work} | {' | '.join(f'{value:.0f}' for value in medians)} | {ratios} |")


def allow_many_files() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve"]:
            asyncio.run(serve())
        case [client, port]:
            print(json.dumps(asyncio.run(CLIENTS[client](f"http://127.0.0.1:{port}"))))
        case _:
            main()
