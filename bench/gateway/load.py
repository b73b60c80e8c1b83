"""Load generator: many connections, each of which sends its next request after a complete response.

Paced streams are read without asyncio, with one `recv` per event: at 500 streams, 25,000 times a second.

It runs in a separate process, reads a job per line of JSON and writes a result per line. It needs only the
standard library.
"""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import sys
from array import array
from base64 import b64encode
from contextlib import ExitStack
from select import EPOLLIN, epoll
from time import perf_counter, process_time
from typing import NamedTuple, TypedDict, cast

TIMEOUT = 90.0
PACED_TIMEOUT = 15.0
TAIL = 600
RECEIVE_BUFFER = 4096
RECEIVE_SIZE = 65536
LAST_CHUNK = b"0\r\n\r\n"
GOLDEN = 0.6180339887
"""Multiples of it, modulo 1, are spread evenly."""


class Job(NamedTuple):
    """A request, how to send it, and how to recognise a complete response."""

    kind: str
    """`ask` repeats a request, `pace` reads a paced stream on each connection, `hold` keeps streams open
    until `release`, `ignore` never reads."""
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
    headers: str = ""
    """More header lines."""
    spread: float = 0.0
    """Seconds over which paced streams are started, so that their events do not coincide."""


class JobResult(TypedDict):
    """The result of a job."""

    requests: int
    seconds: float
    cpu: float
    first_token: list[float]
    """Seconds to the first token, one per request."""
    head: str
    """The head of the last response."""
    body: str
    """Its body, in base64."""
    late: float
    """Seconds between two reads of a paced stream, 99th percentile."""


class Incomplete(Exception):
    """A response is an error or incomplete."""


def request(job: Job) -> bytes:
    return (
        f"POST {job.path} HTTP/1.1\r\nhost: 127.0.0.1:{job.port}\r\ncontent-type: application/json\r\n"
        f"accept: */*\r\nauthorization: Bearer {job.key}\r\n{job.headers}"
        f"content-length: {len(job.body.encode())}\r\n\r\n{job.body}"
    ).encode()


class LoadConnection(asyncio.Protocol):
    """A connection with one request at a time."""

    def __init__(self, job: Job) -> None:
        self._end = job.end.encode()
        self._first = job.first.encode()
        self._least = job.least
        self._request = request(job)
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
            ended = (data if len(data) > 5 else b"".join(self._parts[-6:])).endswith(LAST_CHUNK)
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


def head(response: bytes) -> str:
    return response.partition(b"\r\n\r\n")[0].decode("latin-1").lower()


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
        head=head(clients[0].body),
        body=b64encode(content(clients[0].body)).decode(),
        late=0.0,
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


class PacedStream:
    """A connection that reads one stream."""

    __slots__ = ("last", "parts", "recv", "socket", "started")

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.recv = self.socket.recv
        self.parts: list[bytes] = []
        self.started = self.last = 0.0

    def __enter__(self) -> PacedStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def read(self, now: float) -> float | None:
        """Read what arrived; return the seconds since the last read, or None at the end of the response."""
        data = self.recv(RECEIVE_SIZE)
        if not data:
            raise Incomplete("the connection was closed")
        parts = self.parts
        if not parts and not data.startswith(b"HTTP/1.1 200"):
            raise Incomplete(data[:TAIL].decode(errors="replace"))
        parts.append(data)
        gap, self.last = now - self.last, now
        if data.endswith(LAST_CHUNK) or (len(data) < 5 and b"".join(parts[-6:]).endswith(LAST_CHUNK)):
            return None
        return gap if len(parts) > 1 else 0.0

    def response(self, job: Job) -> bytes:
        whole = b"".join(self.parts)
        if len(whole) < job.least or job.end.encode() not in whole:
            raise Incomplete(f"{len(whole)} bytes, {whole[-TAIL:].decode(errors='replace')}")
        return whole


def read_paced(job: Job) -> JobResult:
    """Read one stream on each connection."""
    with ExitStack() as stack:
        streams = [stack.enter_context(PacedStream(job.port)) for _ in range(job.concurrency)]
        return _read_streams(streams, job)


def _read_streams(streams: list[PacedStream], job: Job) -> JobResult:
    by_number = {stream.socket.fileno(): stream for stream in streams}
    started, cpu = perf_counter(), process_time()
    starts = [(started + job.spread * (index * GOLDEN % 1), index) for index in range(job.concurrency)]
    starts.sort(reverse=True)
    deadline, left, gaps, sent = started + PACED_TIMEOUT, len(streams), array("d"), request(job)
    with epoll() as poll:
        for number in by_number:
            poll.register(number, EPOLLIN)
        while left:
            now = perf_counter()
            while starts and starts[-1][0] <= now:
                stream = streams[starts.pop()[1]]
                stream.started = stream.last = now
                stream.socket.send(sent)
            ready = poll.poll(min(deadline, starts[-1][0] if starts else deadline) - now, job.concurrency)
            now = perf_counter()
            if now > deadline:
                raise TimeoutError
            for number, _ in ready:
                gap = by_number[number].read(now)
                if gap is None:
                    left -= 1
                else:
                    gaps.append(gap)
    seconds, cpu = perf_counter() - started, process_time() - cpu
    responses = [stream.response(job) for stream in streams]
    ordered = sorted(gaps)
    return JobResult(
        requests=len(streams),
        seconds=seconds,
        cpu=cpu,
        first_token=[],
        head=head(responses[0]),
        body=b64encode(content(responses[0])).decode(),
        late=ordered[int(len(ordered) * 0.99)],
    )


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
    if job.kind == "pace":
        return read_paced(job)
    if job.kind == "release":
        for client in open_connections:
            client.transport.abort()
        open_connections.clear()
    else:
        open_connections += await open_streams(job)
    return JobResult(
        requests=len(open_connections), seconds=0.0, cpu=0.0, first_token=[], head="", body="", late=0.0
    )


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
