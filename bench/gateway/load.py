"""Load generator: many connections, each of which sends its next request after a complete response.

It runs in a separate process, reads a job per line of JSON and writes a result per line. It needs only the
standard library.
"""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import sys
from base64 import b64encode
from time import perf_counter, process_time
from typing import NamedTuple, TypedDict, cast

TIMEOUT = 90.0
TAIL = 600
RECEIVE_BUFFER = 4096


class Job(NamedTuple):
    """A request, how to send it, and how to recognise a complete response."""

    kind: str
    """`ask` repeats a request, `hold` keeps streams open until `release`, `ignore` never reads."""
    port: int = 0
    path: str = ""
    body: str = ""
    seconds: float = 0.0
    """How long new requests are started; at least one is sent on each connection."""
    concurrency: int = 1
    end: str = ""
    """Text near the end of a complete response."""
    least: int = 0
    """The minimum size of a complete response, in bytes."""
    key: str = "bench"
    """The client's API key."""
    first: str = ""
    """Text of the first token."""


class JobResult(TypedDict):
    """The result of a job."""

    requests: int
    seconds: float
    cpu: float
    first_token: list[float]
    """Seconds to the first token, one per request."""
    body: str
    """The last response body, in base64."""


class Incomplete(Exception):
    """A response is an error or incomplete."""


class LoadConnection(asyncio.Protocol):
    """A connection with one request at a time."""

    def __init__(self, job: Job) -> None:
        self._end = job.end.encode()
        self._first = job.first.encode()
        self._least = job.least
        self._request = (
            f"POST {job.path} HTTP/1.1\r\nhost: 127.0.0.1:{job.port}\r\ncontent-type: application/json\r\n"
            f"accept: */*\r\nauthorization: Bearer {job.key}\r\n"
            f"content-length: {len(job.body.encode())}\r\n\r\n{job.body}"
        ).encode()
        self.first_token: list[float] = []
        self.body = b""
        self.first_token_seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def send(self) -> asyncio.Future[None]:
        self._parts: list[bytes] = []
        self._size = 0
        self._length = -1  # of the whole response; 0 if it is chunked
        self._token_seen = False
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._started = perf_counter()
        self.transport.write(self._request)
        return self._done

    def data_received(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._length < 0 and not self._read_head():
            return
        if not self._token_seen and self._first in data:
            self._token_seen = True
            self.first_token.append(perf_counter() - self._started)
            if not self.first_token_seen.done():
                self.first_token_seen.set_result(None)
        if self._length:
            ended = self._size >= self._length
        else:
            ended = (data if len(data) > 5 else b"".join(self._parts[-6:])).endswith(b"0\r\n\r\n")
        if ended and not self._done.done():
            self._finish()

    def _read_head(self) -> bool:
        head, found, _ = b"".join(self._parts).partition(b"\r\n\r\n")
        if not found:
            return False
        lower = head.lower() + b"\r\n"
        if b" 200" not in lower[:13]:
            self._fail(b"".join(self._parts)[:TAIL].decode(errors="replace"))
            return False
        sized = lower.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]
        self._length = len(head) + 4 + int(sized) if sized else 0
        return True

    def _finish(self) -> None:
        response = b"".join(self._parts)
        if self._size < self._least or self._end not in response[-TAIL - len(self._end) :]:
            self._fail(f"incomplete: {self._size} bytes, {response[-TAIL:].decode(errors='replace')}")
            return
        self.body = response
        self._done.set_result(None)

    def connection_lost(self, _error: Exception | None) -> None:
        self._fail("the connection was closed")

    def _fail(self, reason: str) -> None:
        for future in (self.__dict__.get("_done"), self.first_token_seen):
            if future is not None and not future.done():
                future.set_exception(Incomplete(reason))
                future.exception()  # mark as retrieved, even if no task awaits it


def content(response: bytes) -> bytes:
    """The body of a response, whatever its framing."""
    head, _, rest = response.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return rest
    parts = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        parts.append(rest[:length])
        rest = rest[length + 2 :]
    return b"".join(parts)


async def connect(job: Job) -> LoadConnection:
    loop = asyncio.get_running_loop()
    if job.kind != "ignore":
        return (await loop.create_connection(lambda: LoadConnection(job), "127.0.0.1", job.port))[1]
    plain = socket.socket()
    plain.settimeout(0)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    await loop.sock_connect(plain, ("127.0.0.1", job.port))
    return (await loop.create_connection(lambda: LoadConnection(job), sock=plain))[1]


async def send_repeatedly(job: Job) -> JobResult:
    """Send requests on all connections until the time is over."""
    clients = [await connect(job) for _ in range(job.concurrency)]
    started, cpu = perf_counter(), process_time()
    deadline = started + job.seconds
    counts = await asyncio.gather(*(_repeat(client, deadline) for client in clients))
    result = JobResult(
        requests=sum(counts),
        seconds=perf_counter() - started,
        cpu=process_time() - cpu,
        first_token=[seconds for client in clients for seconds in client.first_token],
        body=b64encode(content(clients[0].body)).decode(),
    )
    for client in clients:
        client.transport.close()
    return result


async def _repeat(client: LoadConnection, deadline: float) -> int:
    count = 0
    while not count or perf_counter() < deadline:
        await client.send()
        count += 1
    return count


async def open_streams(job: Job) -> list[LoadConnection]:
    """Open streams; for `hold`, wait for their first tokens; for `ignore`, never read."""
    clients = []
    for _ in range(job.concurrency):
        client = await connect(job)
        client.send()
        if job.kind == "ignore":
            client.transport.pause_reading()
        clients.append(client)
    if job.kind == "hold":
        await asyncio.gather(*(client.first_token_seen for client in clients))
    return clients


async def run(job: Job, open_connections: list[LoadConnection]) -> JobResult:
    """Run one job; streams that stay open are added to `open_connections`."""
    if job.kind == "ask":
        return await send_repeatedly(job)
    if job.kind == "release":
        for client in open_connections:
            client.transport.abort()
        open_connections.clear()
    else:
        open_connections += await open_streams(job)
    return JobResult(requests=len(open_connections), seconds=0.0, cpu=0.0, first_token=[], body="")


async def serve() -> None:
    """Read jobs from standard input until it is closed."""
    open_connections: list[LoadConnection] = []
    while line := await asyncio.to_thread(sys.stdin.readline):
        try:
            async with asyncio.timeout(TIMEOUT):
                result: object = await run(Job(**json.loads(line)), open_connections)
        except (Incomplete, OSError, TimeoutError) as error:
            result = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(serve())
