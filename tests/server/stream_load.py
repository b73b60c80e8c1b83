"""Many streams on loopback: an upstream that never ends its streams, and clients that read them or do not."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import cast

from tests.faces.gateway.raw import request_of

PAGE = 4096
_EVENT = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[%s]}\n\n'
FIRST = _EVENT % b'{"index":0,"delta":{"role":"assistant","content":"word "}}'
_SMALL_BUFFER = 4096
_GOLDEN = 0.618034


class EndlessUpstream(asyncio.Protocol):
    """Upstream side of a stream: an event every `pause` seconds, or as many as possible if that is zero."""

    open = 0
    begun = 0
    pause = 1.0
    loud = FIRST * 20

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._full = False

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"POST"):
            kind = type(self)
            kind.open += 1
            kind.begun += 1
            self._counted = True
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            self._transport.write(head + _chunk(FIRST))
            # Spread the streams: the second event is due anywhere within the pause.
            self._due = asyncio.get_running_loop().time() + kind.begun * _GOLDEN % 1 * self.pause
            asyncio.get_running_loop().call_at(self._due, self._send_event)

    def _send_event(self) -> None:
        if self._transport.is_closing():
            return
        if not self._full:
            self._transport.write(_chunk(FIRST if self.pause else self.loud))
        # A late event does not delay the next ones, or all streams would end up in step.
        self._due += self.pause or 0.002
        asyncio.get_running_loop().call_at(self._due, self._send_event)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False

    def connection_lost(self, _: Exception | None) -> None:
        if getattr(self, "_counted", False):
            type(self).open -= 1


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@asynccontextmanager
async def endless_upstream(pause: float) -> AsyncIterator[tuple[str, type[EndlessUpstream]]]:
    """Serve an upstream; yields its URL and its counters."""
    kind = type("CountedUpstream", (EndlessUpstream,), {"open": 0, "begun": 0, "pause": pause})
    server = await asyncio.get_running_loop().create_server(kind, "127.0.0.1", 0, backlog=4096)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", kind
    finally:
        server.close()


class StreamReader(asyncio.Protocol):
    """Client side of a stream."""

    def __init__(self) -> None:
        self.begun: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.first = b""
        self.last = 0.0
        self.gap = 0.0
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._sent = monotonic()
        self.transport.write(request_of("openai_chat", "mine/m", stream=True))

    def data_received(self, data: bytes) -> None:
        now = monotonic()
        if self.last:
            self.gap = max(self.gap, now - self.last)
        self.last = now
        if not self.begun.done():
            self.first = data
            self.begun.set_result(now - self._sent)

    def connection_lost(self, _: Exception | None) -> None:
        self.lost = True
        if not self.begun.done():
            self.begun.set_result(-1.0)


async def listen(url: str, *, deaf: bool = False) -> StreamReader:
    """Request a stream; a client with `deaf` never reads the response."""
    connection = socket.socket()
    connection.setblocking(False)
    if deaf:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER)
    host, _, port = url.removeprefix("http://").partition(":")
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, (host, int(port)))
    _, listener = await loop.create_connection(StreamReader, sock=connection)
    if deaf:
        listener.transport.pause_reading()
    return listener


def memory_of(pid: int) -> int:
    """Resident memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * PAGE
