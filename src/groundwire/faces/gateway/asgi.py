"""What comes in and how it is answered: the few words of ASGI that we speak.

`Inbound` reads a request within limits and writes one response. `cancel_on_disconnect` runs a coroutine and
cancels it, and with it the upstream request, when the client disconnects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Protocol, TypeAlias, cast
from urllib.parse import parse_qsl, unquote

from groundwire.errors import TurnedAway
from groundwire.faces.gateway.limits import BODY_RATE, BODY_SECONDS, DocumentLimits

Scope: TypeAlias = MutableMapping[str, object]
Message: TypeAlias = MutableMapping[str, object]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Headers: TypeAlias = tuple[tuple[str, str], ...]

JSON = "application/json"
_CLOSE = (b"connection", b"close")
_PIECE = 256 * 1024


LINE = "groundwire.line"
"""Where in a scope our own server leaves the connection; others leave none."""


class Line(Protocol):
    """The connection of a request, where the server lets us at it."""

    is_read: bool
    """Is all of the request there?"""
    stalled: bool
    """Was it cut because the client did not read?"""

    @property
    def cut(self) -> bool:
        """Was the connection lost before the response was complete?"""
        ...

    def hold(self) -> None:
        """Keep what is written next until there is more."""
        ...

    def chunk(self, data: bytes) -> bool:
        """Write a piece of a body without a length, if that can be done at once."""
        ...

    def abort(self) -> None:
        """Cut it without waiting for a client that does not read."""
        ...

    def watch(self, leave: Callable[[], object] | None) -> None:
        """Say when the client hangs up; nobody, to be told no more."""
        ...


class Left(Exception):
    """The client hung up before its request was there."""


class Inbound:
    """One HTTP request, and its one response."""

    __slots__ = (
        *("_chunk_out", "_receive", "_send", "begun", "headers", "method", "path", "query"),
        *("line", "scope", "shared", "status"),
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.line = cast("Line | None", scope.get(LINE))
        self.method = cast("str", scope["method"])
        raw = cast("bytes | None", scope.get("raw_path"))
        # Routes are found by the path as it was sent: an escaped slash belongs to a name.
        self.path = raw.partition(b"?")[0].decode("latin-1") if raw else cast("str", scope["path"])
        self.query = cast("bytes", scope.get("query_string", b"")).decode("latin-1")
        self.headers: Mapping[str, str] = {
            name.decode("latin-1"): text.decode("latin-1")
            for name, text in cast("list[tuple[bytes, bytes]]", scope["headers"])
        }
        self.begun = False
        self.shared: Headers = ()
        """What goes with every answer, so that a page of another origin may read it."""
        self.status = 0
        self._receive = receive
        self._send = send
        self._chunk_out: Callable[[bytes], bool] | None = None
        """Writes a piece of the body past the server, where it is told in chunks."""

    def parameter(self, name: str) -> str:
        """A parameter of the query string, empty if it is not there."""
        return dict(parse_qsl(self.query, keep_blank_values=True)).get(name, "")

    async def body(self, limit: int) -> bytes:
        """The whole body, a JSON text within the limits; others are refused before they are read."""
        return await self.form(limit, DocumentLimits().feed)

    async def form(self, limit: int, look: Callable[[bytes], None] = lambda _: None) -> bytes:
        """The whole body, whatever it is; a larger one is refused before it is read. `look` sees each piece
        as it comes, and may raise."""
        told = self.headers.get("content-length", "")
        if told.isascii() and told.isdigit() and int(told[:20]) > limit:
            raise _too_large(limit)
        try:
            return await self._whole(limit, look)
        except TimeoutError:
            raise TurnedAway(status=408, message="the body did not come in time", code="TOO_SLOW") from None

    def again(self, data: bytes) -> Receive:
        """For an application that reads for itself: the body that was read already, then what follows."""
        rest: list[Message] = [{"type": "http.request", "body": data, "more_body": False}]

        async def receive() -> Message:
            return rest.pop() if rest else await self._receive()

        return receive

    async def _whole(self, limit: int, look: Callable[[bytes], None]) -> bytes:
        if self.line is not None and self.line.is_read:
            chunk, _ = await self._chunk()
            if len(chunk) > limit:
                raise _too_large(limit)
            look(chunk)
            return chunk
        chunks: list[bytes] = []
        size = 0
        async with asyncio.timeout(BODY_SECONDS) as clock:
            ends = clock.when() or 0.0
            while True:
                chunk, more = await self._chunk()
                size += len(chunk)
                if size > limit:
                    raise _too_large(limit)
                look(chunk)
                chunks.append(chunk)
                if not more:
                    return b"".join(chunks)
                clock.reschedule(ends + size / BODY_RATE)

    async def _chunk(self) -> tuple[bytes, bool]:
        """The next piece of the body, and whether there are more."""
        message = await self._receive()
        if message["type"] != "http.request":
            raise Left
        return cast("bytes", message.get("body", b"")), bool(message.get("more_body"))

    async def begin(self, status: int, headers: Headers, *, alone: bool = True) -> None:
        """Send the head of the response; if not `alone`, together with what is written next."""
        self.begun = True
        self.status = status
        told = [(name.encode("latin-1"), text.encode("latin-1")) for name, text in (*headers, *self.shared)]
        if self.line is not None:
            if not self.line.is_read:
                told.append(_CLOSE)  # the rest of the body must not be taken for a request
            if not alone:
                self.line.hold()
            if self.method == "POST" and status == 200 and all(name != b"content-length" for name, _ in told):
                self._chunk_out = self.line.chunk
        await self._send({"type": "http.response.start", "status": status, "headers": told})

    async def write(self, data: bytes, *, more: bool = True) -> None:
        """Send a piece of the body; waits while the client reads slower than we write."""
        if more and data and self._chunk_out is not None and self._chunk_out(data):
            return
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    async def respond(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole response."""
        await self.begin(status, (*headers, ("content-length", str(len(body)))), alone=False)
        if len(body) > _PIECE:  # each piece waits for the client: one that does not read is noticed
            last = len(body) - _PIECE
            for start in range(0, last, _PIECE):
                await self.write(body[start : start + _PIECE])
            body = body[-(-last // _PIECE) * _PIECE :]
        await self.write(body, more=False)

    async def gone(self) -> None:
        """Return when the client has hung up."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def abort(self) -> None:
        """Cut the connection without waiting for a client that does not read."""
        if self.line is not None:
            self.line.abort()


def _too_large(limit: int) -> TurnedAway:
    return TurnedAway(
        status=413,
        message=f"the body is larger than {limit / 2**20:g} MB; raise gateway.max_body_mb if it must be",
    )


def unescaped(part: str) -> str:
    """A part of a path as it was meant."""
    return unquote(part)


async def cancel_on_disconnect(inbound: Inbound, work: Coroutine[object, object, None]) -> bool:
    """Do the work while the client is there; says whether it stayed to the end."""
    doing = cast("asyncio.Task[None]", asyncio.current_task())
    left = False

    def leave(*_: object) -> None:
        nonlocal left
        left = True
        doing.cancel()

    with _Watched(inbound.line, leave) if inbound.line else _waited_for(inbound, leave):
        try:
            await work
        except asyncio.CancelledError:
            if not left or doing.uncancel():
                raise
            return False
    return True


class _Watched:
    """The client on a line that says when it hangs up."""

    __slots__ = ("_leave", "_line")

    def __init__(self, line: Line, leave: Callable[[], object]) -> None:
        self._line = line
        self._leave = leave

    def __enter__(self) -> None:
        self._line.watch(self._leave)

    def __exit__(self, *_: object) -> None:
        self._line.watch(None)


@contextmanager
def _waited_for(inbound: Inbound, leave: Callable[..., None]) -> Iterator[None]:
    """Call `leave` if the client hangs up, of a server that does not say so: it is waited for in a task."""
    waiting = asyncio.create_task(inbound.gone())
    waiting.add_done_callback(leave)
    try:
        yield
    finally:
        waiting.remove_done_callback(leave)
        waiting.cancel()
