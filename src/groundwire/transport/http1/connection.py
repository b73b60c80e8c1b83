"""Client connection: one HTTP/1.1 connection, and the response that is read from it.

Received bytes are buffered until they are read, and reading from the socket pauses when enough are buffered.
Bytes that arrived before a connection broke are returned before the error is raised.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from groundwire.transport.http1.parser import (
    MAX_HEAD,
    BodyParser,
    ProtocolError,
    ResponseHead,
    body_parser,
    decode_response,
    is_kept_alive,
)

READ_AHEAD = 16 * 1024
"""Bytes buffered before reading pauses, up to twice as many: an unread response costs a small multiple of
it."""

_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_MAGIC = b"HTTP/1."
_INTERIM = range(100, 200)
_MAX_INTERIM = 100
"""How many interim responses (1xx) may precede a response."""
_SWITCHING_PROTOCOLS = 101


class RemoteDisconnected(OSError):
    """The server closed the connection before a response began."""


class IncompleteBody(OSError):
    """The server closed the connection before the body was complete."""


class Connection(asyncio.Protocol):
    """One connection to an origin; it carries one request at a time."""

    __slots__ = (
        "_body",
        "_buffered",
        "_chunks",
        "_error",
        "_head",
        "_loop",
        "_method",
        "_paused",
        "_received",
        "_receiver",
        "_transport",
        "_waiter",
        "is_complete",
        "is_reused",
    )

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._method = ""
        """Of the request in flight; empty while there is none."""
        self._received = b""
        """Bytes of an incomplete head."""
        self._head: ResponseHead | None = None
        self._body: BodyParser | None = None
        self._chunks: list[bytes] = []
        self._buffered = 0
        self._paused = False
        self._receiver: Callable[[bytes], bool] | None = None
        self.is_complete = False
        """Has the whole response arrived?"""
        self.is_reused = False
        """Was there a response before this one?"""

    def send(self, method: str, data: bytes) -> None:
        """Send a request."""
        self._method = method
        cast("asyncio.Transport", self._transport).write(data)

    async def read_head(self) -> ResponseHead:
        """The head of the response."""
        while self._head is None:
            if self._error is not None:
                raise self._error
            await self._change()
        return self._head

    async def read(self, limit: int) -> bytes:
        """The next bytes of the body; empty at its end."""
        while not self._chunks:
            if self.is_complete:
                return b""
            if self._error is not None:
                raise self._error
            await self._change()
        return self.read_now(limit)

    def read_now(self, limit: int) -> bytes:
        """The buffered bytes of the body; empty if there are none."""
        chunks = self._chunks
        if not chunks:
            return b""
        data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        if len(data) > limit:
            data, self._chunks = data[:limit], [data[limit:]]
        else:
            chunks.clear()
        self._buffered -= len(data)
        if self._paused and self._buffered <= READ_AHEAD:
            self._paused = False
            cast("asyncio.Transport", self._transport).resume_reading()
        return data

    @property
    def is_read(self) -> bool:
        """Has the whole body been read?"""
        return self.is_complete and not self._chunks

    @property
    def must_wait(self) -> bool:
        """Is there nothing to read now: neither bytes nor the end of the body?"""
        return not (self._chunks or self.is_complete or self._error)

    async def receive(self, receiver: Callable[[bytes], bool]) -> None:
        """Pass bytes to `receiver` as they arrive, until it returns True or nothing more can arrive.

        Only if `must_wait`: what is buffered comes first.
        """
        self._receiver = receiver
        try:
            await self._change()
        finally:
            self._receiver = None

    def fail(self, error: Exception) -> None:
        """Raise an error in the pending read, and in all later ones."""
        self._error = self._error or error
        self._wake()

    def is_idle(self) -> bool:
        """Is it open and without a request in flight?"""
        return not self._method and self._error is None

    def finish(self) -> bool:
        """End the current response. True if the connection can be reused; otherwise it is closed."""
        head, body, transport = self._head, self._body, self._transport
        if (
            transport is None
            or self._error is not None
            or not (self.is_complete and head is not None and body is not None)
            or body.surplus
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
        self._chunks.clear()
        self._buffered = 0
        self.is_complete = False
        self.is_reused = True
        return True

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def detach(self) -> asyncio.Transport:
        """The transport of a tunnel, after a proxy has accepted CONNECT."""
        if self._error is not None:
            raise self._error
        if self._body is not None and self._body.surplus:
            raise ProtocolError("the proxy sent data before the TLS handshake")
        return cast("asyncio.Transport", self._transport)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if not self._method or self.is_complete:
            self.fail(RemoteDisconnected())  # bytes without a request: they belong to no response
            self.abort()
            return
        try:
            if self._body is None:
                data = self._parse_head(data)
            if self._body is not None:
                self._receive_body(self._body, data)
        except ProtocolError as error:
            self.fail(error)
            self.abort()

    def eof_received(self) -> None:
        if self._body is not None:
            self._body.end()
            self.is_complete = self._body.is_complete
        self._end(None)
        self.abort()  # the server is gone: there is no point in a graceful close

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc)

    def _parse_head(self, data: bytes) -> bytes:
        """Parse the response head, and interim ones before it; returns the bytes after it."""
        data, searched = self._received + data, len(self._received) - 3
        for _ in range(_MAX_INTERIM):
            data = data.lstrip(b"\r\n")
            if not data.startswith(_MAGIC[: len(data)]):
                raise ProtocolError("the response is not HTTP/1")
            end = _BLANK_LINE.search(data, max(searched, 0))
            if (end.start() if end else len(data)) > MAX_HEAD:
                raise ProtocolError("the response head is too large")
            if end is None:
                self._received = data
                return b""
            head = decode_response(data[: end.start()])
            data, searched = data[end.end() :], 0
            if head.status not in _INTERIM:
                self._received = b""
                self._body = body_parser(head, self._method)
                self._head = head
                return data
            if head.status == _SWITCHING_PROTOCOLS:
                raise ProtocolError("the server switches to a protocol that was not requested")
        raise ProtocolError("too many interim responses")

    def _receive_body(self, body: BodyParser, data: bytes) -> None:
        chunk = body.feed(data)
        self.is_complete = body.is_complete
        receiver = self._receiver
        if receiver is not None and len(chunk) <= 2 * READ_AHEAD:
            if chunk and receiver(chunk):
                self._receiver = None  # what follows is buffered until the next read
                self._wake()
            elif self.is_complete:
                self._wake()
        else:
            self._receiver = None  # a large chunk is read in parts
            self._buffer(chunk)
        if body.error is not None:
            raise body.error

    def _buffer(self, chunk: bytes) -> None:
        if chunk:
            self._chunks.append(chunk)
            self._buffered += len(chunk)
        if self._buffered > 2 * READ_AHEAD and not self._paused and not self.is_complete:
            self._paused = True
            cast("asyncio.Transport", self._transport).pause_reading()
        self._wake()

    def _end(self, error: Exception | None) -> None:
        """No more bytes will arrive."""
        self._error = (
            self._error or error or (RemoteDisconnected() if self._head is None else IncompleteBody())
        )
        self._wake()

    def _change(self) -> asyncio.Future[None]:
        """Resolves when bytes, the end of the stream or an error arrive."""
        self._waiter = self._loop.create_future()
        return self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            # asyncio.run cancels its task in the handler of SIGINT, which may run after the check above.
            with suppress(asyncio.InvalidStateError):
                self._waiter.set_result(None)
