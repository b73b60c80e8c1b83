"""The least a gateway in Python can do: asyncio protocols on both sides, and only as much HTTP as they need.

`/VARIANT/...` is forwarded to the upstream unchanged, `/VARIANT/DIALECT/...` is translated from that dialect.
There are no checks, no limits, no timeouts and no backpressure: it is a lower bound, not an alternative. It
needs only the standard library: `python -m gateway.raw PORT UPSTREAM_PORT`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TypeAlias, cast

from gateway.translate import ROUTES, TranslationRoute, question

BACKLOG = 4096
HEAD_END = b"\r\n\r\n"
STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked" + HEAD_END
LAST_CHUNK = b"0\r\n\r\n"

Idle: TypeAlias = "list[Upstream]"


def body_length(head: bytes) -> int | None:
    """The value of Content-Length in a head; None without one."""
    value = head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]
    return int(value) if value else None


class Client(asyncio.Protocol):
    """A connection of a client, with one request at a time."""

    def __init__(self, port: int, idle: Idle) -> None:
        self._port = port
        self._idle = idle
        self._pending = b""
        self._upstream: Upstream | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.write = cast("asyncio.Transport", transport).write
        self.close = transport.close

    def connection_lost(self, _error: Exception | None) -> None:
        if self._upstream is not None:
            self._upstream.close()

    def data_received(self, data: bytes) -> None:
        if self._pending:
            data = self._pending + data
        head, found, body = data.partition(HEAD_END)
        if not found or len(body) < (body_length(head) or 0):
            self._pending = data
            return
        self._pending = b""
        path = head[: head.index(b"\r\n")].split(b" ", 2)[1].decode()
        variant, _, rest = path[1:].partition("/")
        route = ROUTES.get(rest)
        request = data if route is None else translated_request(variant, route, body)
        if self._idle:
            self._send(self._idle.pop(), request, route)
        else:
            self._connecting = asyncio.create_task(self._connect(request, route))

    async def _connect(self, request: bytes, route: TranslationRoute | None) -> None:
        loop = asyncio.get_running_loop()
        _, upstream = await loop.create_connection(lambda: Upstream(self._idle), "127.0.0.1", self._port)
        self._send(upstream, request, route)

    def _send(self, upstream: Upstream, request: bytes, route: TranslationRoute | None) -> None:
        self._upstream = upstream
        upstream.send(request, self, Translation(route) if route else None)

    def finish(self) -> None:
        self._upstream = None


class Upstream(asyncio.Protocol):
    """A connection to the upstream, which is kept for the next request after a whole response."""

    def __init__(self, idle: Idle) -> None:
        self._idle = idle
        self._client: Client | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = cast("asyncio.Transport", transport).write
        self.close = transport.close

    def connection_lost(self, _error: Exception | None) -> None:
        if self in self._idle:
            self._idle.remove(self)
        if self._client is not None:
            self._client.close()

    def send(self, request: bytes, client: Client, translation: Translation | None) -> None:
        self._client = client
        self._translation = translation
        self._left: int | None = None  # bytes of the body to come, if its length is known
        self._head = b""
        self._in_body = False
        self._write(request)

    def data_received(self, data: bytes) -> None:
        client = self._client
        if client is None:
            self.close()
            return
        body = data if self._in_body else self._read_head(data)
        if body is None:
            return
        if self._left is None:
            ended = data.endswith(LAST_CHUNK)
        else:
            self._left -= len(body)
            ended = self._left <= 0
        if self._translation is None:
            client.write(data if not self._head else self._head + data)
            self._head = b""
        elif output := self._translation.feed(body, ended=ended):
            client.write(output)
        if ended:
            self._client = None
            self._idle.append(self)
            client.finish()

    def _read_head(self, data: bytes) -> bytes | None:
        """Return what follows the head; None until the head is complete."""
        head, found, body = (self._head + data).partition(HEAD_END)
        if not found:
            self._head += data
            return None
        self._in_body = True
        self._left = body_length(head)
        return body


class Translation:
    """One translated response."""

    def __init__(self, route: TranslationRoute) -> None:
        self._pair = route.pair
        self._pending = b""  # of an incomplete chunk
        self._frame = b""  # of an incomplete frame
        self._begun = False
        self._body: list[bytes] = []

    def feed(self, data: bytes, *, ended: bool) -> bytes:
        """The bytes for the client, after these of the upstream's body."""
        if not self._begun and data[:1] == b"{":
            self._body.append(data)
            if not ended:
                return b""
            whole = self._pair.whole(b"".join(self._body))
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
            return head % len(whole) + whole
        if not data:
            return b""
        frames = self._pair.frames(self._frames(data))
        output = b""
        if not self._begun:
            self._begun = True
            output = STREAM_HEAD
            frames = self._pair.write.begin() + frames
        if frames:
            output += b"%x\r\n%s\r\n" % (len(frames), frames)
        return output + LAST_CHUNK if ended else output

    def _frames(self, data: bytes) -> list[bytes]:
        """Remove the chunk framing; return the complete SSE frames."""
        data = self._pending + data
        start, contents = 0, [self._frame]
        while (line := data.find(b"\r\n", start)) >= 0:
            end = line + 2 + int(data[start:line], 16)
            if len(data) < end + 2:
                break
            contents.append(data[line + 2 : end])
            start = end + 2
        self._pending = data[start:]
        *frames, self._frame = b"".join(contents).split(b"\n\n")
        return frames


def translated_request(variant: str, route: TranslationRoute, body: bytes) -> bytes:
    parsed = json.loads(body)
    stream = parsed.get("stream", False)
    path = f"/{variant}" + (route.stream_path if stream else route.path)
    sent = json.dumps({**route.request(question(parsed)), "stream": stream}).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: upstream\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(sent)}\r\n\r\n".encode() + sent


async def serve(port: int, upstream: int) -> None:
    idle: Idle = []
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Client(upstream, idle), "127.0.0.1", port, backlog=BACKLOG)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
