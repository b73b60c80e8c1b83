"""The client: so many connections at once, each asking again when its answer is complete.

A process of its own that reads one job in a line of JSON and answers with one. Needs the standard library
alone.
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

PATIENCE = 90.0
TAIL = 600
RECEIVE_BUFFER = 4096


class Job(NamedTuple):
    """What is to be asked, how, and how an answer is known to be complete."""

    kind: str
    """`ask` over and over; `hold` streams open until `release`; `ignore` what is sent."""
    port: int = 0
    path: str = ""
    body: str = ""
    seconds: float = 0.0
    """New requests are begun for so long, at least one on each connection."""
    concurrency: int = 1
    end: str = ""
    """What must stand in the last bytes."""
    least: int = 0
    """How many bytes a complete answer has at least."""
    key: str = "bench"
    """Of the client, as gateways ask for one."""
    first: str = ""
    """What shows that the first token is there."""


class Found(TypedDict):
    """What a job gave."""

    requests: int
    seconds: float
    cpu: float
    first_token: list[float]
    """Seconds, one for each request."""
    body: str
    """The last answer, in base64."""


class Incomplete(Exception):
    """An answer is not what it must be."""


class Asking(asyncio.Protocol):
    """One connection with one request at a time."""

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
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def ask(self) -> asyncio.Future[None]:
        self._parts: list[bytes] = []
        self._size = 0
        self._length = -1  # of the whole response; 0 if it comes in chunks
        self._seen = False
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._since = perf_counter()
        self.transport.write(self._request)
        return self._done

    def data_received(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._length < 0 and not self._read_head():
            return
        if not self._seen and self._first in data:
            self._seen = True
            self.first_token.append(perf_counter() - self._since)
            if not self.begun.done():
                self.begun.set_result(None)
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
        for waiting in (self.__dict__.get("_done"), self.begun):
            if waiting is not None and not waiting.done():
                waiting.set_exception(Incomplete(reason))
                waiting.exception()  # seen, whether or not anybody waits


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


async def connect(job: Job) -> Asking:
    loop = asyncio.get_running_loop()
    if job.kind != "ignore":
        return (await loop.create_connection(lambda: Asking(job), "127.0.0.1", job.port))[1]
    plain = socket.socket()
    plain.settimeout(0)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    await loop.sock_connect(plain, ("127.0.0.1", job.port))
    return (await loop.create_connection(lambda: Asking(job), sock=plain))[1]


async def ask(job: Job) -> Found:
    """Asks for a while on all connections at once."""
    clients = [await connect(job) for _ in range(job.concurrency)]
    since, cpu = perf_counter(), process_time()
    deadline = since + job.seconds
    counts = await asyncio.gather(*(_repeat(client, deadline) for client in clients))
    found = Found(
        requests=sum(counts),
        seconds=perf_counter() - since,
        cpu=process_time() - cpu,
        first_token=[seconds for client in clients for seconds in client.first_token],
        body=b64encode(content(clients[0].body)).decode(),
    )
    for client in clients:
        client.transport.close()
    return found


async def _repeat(client: Asking, deadline: float) -> int:
    count = 0
    while not count or perf_counter() < deadline:
        await client.ask()
        count += 1
    return count


async def begin(job: Job) -> list[Asking]:
    """Streams that have begun, or that nobody reads."""
    clients = []
    for _ in range(job.concurrency):
        client = await connect(job)
        client.ask()
        if job.kind == "ignore":
            client.transport.pause_reading()
        clients.append(client)
    if job.kind == "hold":
        await asyncio.gather(*(client.begun for client in clients))
    return clients


async def answer(job: Job, held: list[Asking]) -> Found:
    """Does one job; streams that stay open are added to `held`."""
    if job.kind == "ask":
        return await ask(job)
    if job.kind == "release":
        for client in held:
            client.transport.abort()
        held.clear()
    else:
        held += await begin(job)
    return Found(requests=len(held), seconds=0.0, cpu=0.0, first_token=[], body="")


async def serve() -> None:
    """Reads jobs until its input is closed."""
    held: list[Asking] = []
    while line := await asyncio.to_thread(sys.stdin.readline):
        try:
            async with asyncio.timeout(PATIENCE):
                found: object = await answer(Job(**json.loads(line)), held)
        except (Incomplete, OSError, TimeoutError) as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(serve())
