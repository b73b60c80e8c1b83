"""A line: one connection, and the one answer that is read from it at a time.

Bytes are held until somebody reads them, and no more are taken when there are enough. What came before a
connection broke is read before that is told.
"""

from __future__ import annotations

import asyncio
import re
from typing import cast

from groundwire.transport.http1.parser import (
    MAX_HEAD,
    Body,
    ProtocolError,
    ResponseHead,
    body_after,
    decode_response,
    is_kept_alive,
)

AHEAD = 16 * 1024
"""Bytes that are read ahead, up to twice as many: what an answer nobody reads makes us hold is some multiple
of it."""

_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_MAGIC = b"HTTP/1."
_INTERIM = range(100, 200)
_INTERIMS = 100
"""How many may come at once before the answer itself."""
_SWITCHED = 101


class RemoteDisconnected(OSError):
    """The connection ended before an answer began."""


class IncompleteBody(OSError):
    """The connection ended before the body did."""


class Connection(asyncio.Protocol):
    """What a connection is used through."""

    __slots__ = (
        "_body",
        "_broken",
        "_head",
        "_held",
        "_loop",
        "_method",
        "_paused",
        "_pieces",
        "_received",
        "_transport",
        "_waiter",
        "is_over",
        "is_used",
    )

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._broken: Exception | None = None
        self._method = ""
        """Of the call that is answered; empty while there is none."""
        self._received = b""
        """Of a head that is not complete."""
        self._head: ResponseHead | None = None
        self._body: Body | None = None
        self._pieces: list[bytes] = []
        self._held = 0
        self._paused = False
        self.is_over = False
        """Has all of the answer come?"""
        self.is_used = False
        """Was there an answer before this one?"""

    def send(self, method: str, data: bytes) -> None:
        """Begin a call."""
        self._method = method
        cast("asyncio.Transport", self._transport).write(data)

    async def head(self) -> ResponseHead:
        """How the answer begins."""
        while self._head is None:
            if self._broken is not None:
                raise self._broken
            await self._arrival()
        return self._head

    async def read(self, most: int) -> bytes:
        """The next bytes of the body; empty at its end."""
        while not self._pieces:
            if self.is_over:
                return b""
            if self._broken is not None:
                raise self._broken
            await self._arrival()
        return self.read_now(most)

    def read_now(self, most: int) -> bytes:
        """What is there already of the body; empty if nothing is."""
        pieces = self._pieces
        if not pieces:
            return b""
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if len(data) > most:
            data, self._pieces = data[:most], [data[most:]]
        else:
            pieces.clear()
        self._held -= len(data)
        if self._paused and self._held <= AHEAD:
            self._paused = False
            cast("asyncio.Transport", self._transport).resume_reading()
        return data

    def give_up(self, error: Exception) -> None:
        """Whoever waits is told of an error."""
        self._broken = self._broken or error
        self._wake()

    def is_free(self) -> bool:
        """Is it alive, and does nobody use it?"""
        return not self._method and self._broken is None

    def finish(self) -> bool:
        """The answer was read, or is not wanted. Is the line free for another call? If not, it is closed."""
        head, body, transport = self._head, self._body, self._transport
        if (
            transport is None
            or self._broken is not None
            or not (self.is_over and head is not None and body is not None)
            or body.behind
            or not is_kept_alive(head)
            or transport.is_closing()
            or transport.get_write_buffer_size()
        ):
            self.abort()
            return False
        if self._paused:
            self._paused = False
            transport.resume_reading()
        self._method = ""
        self._head = self._body = None
        self._pieces.clear()
        self._held = 0
        self.is_over = False
        self.is_used = True
        return True

    def abort(self) -> None:
        """Close at once, whatever is under way."""
        if self._transport is not None:
            self._transport.abort()

    def bared(self) -> asyncio.Transport:
        """The connection without this line: what lies behind a proxy that has let us through."""
        if self._broken is not None:
            raise self._broken
        if self._body is not None and self._body.behind:
            raise ProtocolError("the proxy speaks before it is spoken to")
        return cast("asyncio.Transport", self._transport)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if not self._method or self.is_over:
            self.give_up(RemoteDisconnected())  # nobody asked for this, so nobody can say what it belongs to
            self.abort()
            return
        try:
            if self._body is None:
                data = self._begin(data)
            if self._body is not None:
                self._take(self._body, data)
        except ProtocolError as error:
            self.give_up(error)
            self.abort()
            return
        self._wake()

    def eof_received(self) -> None:
        if self._body is not None:
            self._body.end()
            self.is_over = self._body.is_over
        self._end(None)
        self.abort()  # there is nobody left to say goodbye to

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc)

    def _begin(self, data: bytes) -> bytes:
        """Read a head, and those that only announce it; what follows it."""
        data, seen = self._received + data, len(self._received) - 3
        for _ in range(_INTERIMS):
            data = data.lstrip(b"\r\n")
            if not data.startswith(_MAGIC[: len(data)]):
                raise ProtocolError("this is another protocol")
            end = _BLANK_LINE.search(data, max(seen, 0))
            if (end.start() if end else len(data)) > MAX_HEAD:
                raise ProtocolError("the head is too large")
            if end is None:
                self._received = data
                return b""
            head = decode_response(data[: end.start()])
            data, seen = data[end.end() :], 0
            if head.status not in _INTERIM:
                self._received = b""
                self._body = body_after(head, self._method)
                self._head = head
                return data
            if head.status == _SWITCHED:
                raise ProtocolError("nobody asked for another protocol")
        raise ProtocolError("the answer is announced and does not come")

    def _take(self, body: Body, data: bytes) -> None:
        piece = body.feed(data)
        self.is_over = body.is_over
        if piece:
            self._pieces.append(piece)
            self._held += len(piece)
        if body.fault is not None:
            raise body.fault
        if self._held > 2 * AHEAD and not self._paused and not self.is_over:
            self._paused = True
            cast("asyncio.Transport", self._transport).pause_reading()

    def _end(self, error: Exception | None) -> None:
        """There will be nothing more."""
        self._broken = (
            self._broken or error or (RemoteDisconnected() if self._head is None else IncompleteBody())
        )
        self._wake()

    def _arrival(self) -> asyncio.Future[None]:
        """Of something new: bytes, an end, an error."""
        self._waiter = self._loop.create_future()
        return self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
