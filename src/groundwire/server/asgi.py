"""ASGI request and response: `HttpExchange`, and `cancel_on_disconnect`.

`HttpExchange` reads a request within limits and writes its response. `cancel_on_disconnect` runs a coroutine
and cancels it, and with it the upstream request, when the client disconnects.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias, cast
from urllib.parse import parse_qsl

from groundwire.errors import TurnedAway
from groundwire.server.limits import BODY_RATE, BODY_SECONDS, DocumentLimits
from groundwire.transport.http import LOOP_HEADER

Scope: TypeAlias = MutableMapping[str, Any]
AsgiMessage: TypeAlias = MutableMapping[str, object]
Receive: TypeAlias = Callable[[], Awaitable[AsgiMessage]]
Send: TypeAlias = Callable[[AsgiMessage], Awaitable[None]]
Headers: TypeAlias = tuple[tuple[str, str], ...]

JSON = "application/json"
CONNECTION_KEY = "groundwire.connection"
"""Key of the scope under which our own server passes the connection; other ASGI servers do not set it."""
_CONNECTION_CLOSE = ("connection", "close")
_WRITE_BYTES = 256 * 1024


class ConnectionHandle(Protocol):
    """The connection of a request, as our own server exposes it."""

    request_complete: bool
    """Has the whole request been received?"""
    stalled: bool
    """Was the connection closed because the client did not read?"""

    @property
    def disconnected(self) -> bool:
        """Was the connection lost before the response was complete?"""
        ...

    def take_body(self) -> bytes:
        """The whole body, if `request_complete` and nothing has been read yet."""
        ...

    def start(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Write the response head, which is sent by `flush` or with the body. Names are in lower case."""
        ...

    def flush(self) -> None:
        """Send the response head."""
        ...

    async def write(self, data: bytes, *, more: bool) -> None:
        """Send a part of the body, the last one without `more`; waits while the client does not read."""
        ...

    def write_now(self, data: bytes) -> bool:
        """Send one chunk of a chunked body without waiting; False if that is not possible."""
        ...

    @property
    def can_write_now(self) -> bool:
        """Would `write_now` succeed?"""
        ...

    def abort(self) -> None:
        """Close without waiting for the client to read."""
        ...

    def on_disconnect(self, callback: Callable[[], object] | None) -> None:
        """Set the function that is called when the client disconnects; None removes it."""
        ...


class ClientDisconnected(Exception):
    """The client disconnected before its request was complete."""


class HttpExchange:
    """One HTTP request and its response."""

    __slots__ = (
        *("_peeked", "_receive", "_send", "connection", "extra_headers", "headers", "method", "path"),
        *("query", "response_started", "scope", "status"),
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.connection: ConnectionHandle | None = scope.get(CONNECTION_KEY)
        self.method: str = scope["method"]
        raw: bytes | None = scope.get("raw_path")
        # Routes match the path as it was sent: an escaped slash is part of a name.
        self.path: str = raw.partition(b"?")[0].decode("latin-1") if raw else scope["path"]
        self.query: str = scope.get("query_string", b"").decode("latin-1")
        self.headers: Mapping[str, str] = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        self.response_started = False
        self.extra_headers: Headers = ()
        """Added to every response: CORS headers, `Allow`."""
        self.status = 0
        self._peeked: bytes | None = None
        self._receive = receive
        self._send = send

    def query_param(self, name: str) -> str:
        """A parameter of the query string; empty if it is missing."""
        return dict(parse_qsl(self.query, keep_blank_values=True)).get(name, "")

    def check_json_headers(self) -> None:
        """Refuse a request whose body cannot be a JSON text for us, before the body is read."""
        kind = self.headers.get("content-type", JSON)
        if kind != JSON:
            kind = kind.partition(";")[0].strip().lower()
        if kind != JSON and not kind.endswith("+json"):
            raise TurnedAway(status=415, message=f"the content type is {kind[:60]!r}; send {JSON}")
        if self.headers.get("content-encoding", "identity") != "identity":
            raise TurnedAway(
                status=415, message="compressed request bodies are not supported; send it uncompressed"
            )
        self.check_loop()

    def check_loop(self) -> None:
        """Refuse a request that a gateway of ours sent."""
        if LOOP_HEADER in self.headers:
            raise TurnedAway(
                status=508,
                message="the request was sent by a groundwire gateway: a base_url points back to it",
            )

    async def read_json(self, limit: int) -> bytes:
        """The whole body, a JSON text within the limits of size, depth and members; not parsed."""
        if self._peeked is not None:
            return self._peeked
        return await self.read_body(limit, DocumentLimits().feed)

    async def peek_json(self, limit: int) -> bytes:
        """The whole body, which `read_json` will return again."""
        self._peeked = await self.read_json(limit)
        return self._peeked

    async def read_body(self, limit: int, check: Callable[[bytes], None] = lambda _: None) -> bytes:
        """The whole body; a larger one is refused before it is read. `check` gets each chunk, and may
        raise."""
        length = self.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and int(length[:20]) > limit:
            raise _too_large(limit)
        try:
            return await self._read_chunks(limit, check)
        except TimeoutError:
            raise TurnedAway(
                status=408, message="the request body did not arrive in time", code="TOO_SLOW"
            ) from None

    def replay_body(self, data: bytes) -> Receive:
        """A `receive` for a mounted ASGI application: the body that was read already, then what follows."""
        pending: list[AsgiMessage] = [{"type": "http.request", "body": data, "more_body": False}]

        async def receive() -> AsgiMessage:
            return pending.pop() if pending else await self._receive()

        return receive

    async def _read_chunks(self, limit: int, check: Callable[[bytes], None]) -> bytes:
        if self.connection is not None and self.connection.request_complete:
            if self.connection.disconnected:
                raise ClientDisconnected
            chunk = self.connection.take_body()
            if len(chunk) > limit:
                raise _too_large(limit)
            check(chunk)
            return chunk
        chunks: list[bytes] = []
        size = 0
        async with asyncio.timeout(BODY_SECONDS) as timeout:
            deadline = timeout.when() or 0.0
            while True:
                chunk, more = await self._next_chunk()
                size += len(chunk)
                if size > limit:
                    raise _too_large(limit)
                check(chunk)
                chunks.append(chunk)
                if not more:
                    return b"".join(chunks)
                timeout.reschedule(deadline + size / BODY_RATE)

    async def _next_chunk(self) -> tuple[bytes, bool]:
        """The next chunk of the body, and whether more follow."""
        message = await self._receive()
        if message["type"] != "http.request":
            raise ClientDisconnected
        return cast("bytes", message.get("body", b"")), bool(message.get("more_body"))

    async def start_response(self, status: int, headers: Headers, *, flush: bool = True) -> None:
        """Send the response head; without `flush`, in one packet with the first bytes of the body."""
        self.response_started = True
        self.status = status
        if self.extra_headers:
            headers = (*headers, *self.extra_headers)
        connection = self.connection
        if connection is None:
            encoded = [(name.encode("latin-1"), text.encode("latin-1")) for name, text in headers]
            await self._send({"type": "http.response.start", "status": status, "headers": encoded})
            return
        if not connection.request_complete:
            headers = (*headers, _CONNECTION_CLOSE)  # the rest of the body must not be parsed as a request
        connection.start(status, headers)
        if flush:
            connection.flush()

    async def write(self, data: bytes, *, more: bool = True) -> None:
        """Send a chunk of the body; waits while the client reads slower than we write."""
        if self.connection is None:
            await self._send({"type": "http.response.body", "body": data, "more_body": more})
        else:
            await self.connection.write(data, more=more)

    async def respond(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole response."""
        await self.start_response(status, (*headers, ("content-length", str(len(body)))), flush=False)
        if (
            len(body) > _WRITE_BYTES
        ):  # each write waits for the client, so a client that does not read is noticed
            last = len(body) - _WRITE_BYTES
            for start in range(0, last, _WRITE_BYTES):
                await self.write(body[start : start + _WRITE_BYTES])
            body = body[-(-last // _WRITE_BYTES) * _WRITE_BYTES :]
        await self.write(body, more=False)

    async def wait_disconnected(self) -> None:
        """Return when the client has disconnected."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def abort(self) -> None:
        """Close the connection without waiting for the client to read."""
        if self.connection is not None:
            self.connection.abort()


def _too_large(limit: int) -> TurnedAway:
    return TurnedAway(
        status=413,
        message=f"the request body is larger than {limit / 2**20:g} MB; raise gateway.max_body_mb",
    )


async def cancel_on_disconnect(exchange: HttpExchange, work: Coroutine[object, object, None]) -> bool:
    """Await `work`, and cancel it if the client disconnects. False if it was cancelled."""
    task = cast("asyncio.Task[None]", asyncio.current_task())
    disconnected = False

    def cancel(*_: object) -> None:
        nonlocal disconnected
        disconnected = True
        task.cancel()

    connection = exchange.connection
    with _DisconnectCallback(connection, cancel) if connection else _waiting_task(exchange, cancel):
        try:
            await work
        except asyncio.CancelledError:
            if not disconnected or task.uncancel():
                raise
            return False
    return True


class _DisconnectCallback:
    """Calls `cancel` when the connection reports that the client disconnected."""

    __slots__ = ("_cancel", "_connection")

    def __init__(self, connection: ConnectionHandle, cancel: Callable[[], object]) -> None:
        self._connection = connection
        self._cancel = cancel

    def __enter__(self) -> None:
        self._connection.on_disconnect(self._cancel)

    def __exit__(self, *_: object) -> None:
        self._connection.on_disconnect(None)


@contextmanager
def _waiting_task(exchange: HttpExchange, cancel: Callable[..., None]) -> Iterator[None]:
    """Calls `cancel` when the client disconnects, with an ASGI server that only reports it to `receive`."""
    waiting = asyncio.create_task(exchange.wait_disconnected())
    waiting.add_done_callback(cancel)
    try:
        yield
    finally:
        waiting.remove_done_callback(cancel)
        waiting.cancel()
