"""A crowd on loopback: an upstream that streams without end, and clients that read it or do not."""

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
    """The upstream's side of a stream: an event each `pause` seconds; as many as go, where that is zero."""

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
            # Not all at the same moment: the second event comes anywhere within the pause.
            self._due = asyncio.get_running_loop().time() + kind.begun * _GOLDEN % 1 * self.pause
            asyncio.get_running_loop().call_at(self._due, self._tell)

    def _tell(self) -> None:
        if self._transport.is_closing():
            return
        if not self._full:
            self._transport.write(_chunk(FIRST if self.pause else self.loud))
        # Who was late once is not late for ever: else all would come to tell at the same moment.
        self._due += self.pause or 0.002
        asyncio.get_running_loop().call_at(self._due, self._tell)

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
async def telling(pause: float) -> AsyncIterator[tuple[str, type[EndlessUpstream]]]:
    """An upstream, and what is known of it."""
    kind = type("Told", (EndlessUpstream,), {"open": 0, "begun": 0, "pause": pause})
    server = await asyncio.get_running_loop().create_server(kind, "127.0.0.1", 0, backlog=4096)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", kind
    finally:
        server.close()


class StreamReader(asyncio.Protocol):
    """A client's side of a stream."""

    def __init__(self) -> None:
        self.begun: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.first = b""
        self.last = 0.0
        self.gap = 0.0
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._asked = monotonic()
        self.transport.write(request_of("openai_chat", "mine/m", stream=True))

    def data_received(self, data: bytes) -> None:
        now = monotonic()
        if self.last:
            self.gap = max(self.gap, now - self.last)
        self.last = now
        if not self.begun.done():
            self.first = data
            self.begun.set_result(now - self._asked)

    def connection_lost(self, _: Exception | None) -> None:
        self.lost = True
        if not self.begun.done():
            self.begun.set_result(-1.0)


async def listen(url: str, *, deaf: bool = False) -> StreamReader:
    """Request a stream; a client with `deaf` never reads the response."""
    line = socket.socket()
    line.setblocking(False)
    if deaf:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER)
    host, _, port = url.removeprefix("http://").partition(":")
    loop = asyncio.get_running_loop()
    await loop.sock_connect(line, (host, int(port)))
    _, listener = await loop.create_connection(StreamReader, sock=line)
    if deaf:
        listener.transport.pause_reading()
    return listener


def memory_of(pid: int) -> int:
    """Resident bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * PAGE
