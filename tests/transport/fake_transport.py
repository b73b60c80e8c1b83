"""A connection on a fake transport, and the reference parser llhttp for the same bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

import httptools

from groundwire.transport.http1.connection import Connection
from groundwire.transport.http1.parser import ProtocolError


class FakeTransport(asyncio.Transport):
    """Records the calls made to it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.is_cut = False
        self._is_paused = False

    def write(self, data: object) -> None:
        self.sent += bytes(data)  # type: ignore[call-overload]  # only bytes are written

    def abort(self) -> None:
        self.is_cut = True

    def is_closing(self) -> bool:
        return self.is_cut

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False

    def is_reading(self) -> bool:
        return not self._is_paused


class ParsedResponse(NamedTuple):
    """A response and how it ended: `kept` or `closed` for the connection of a complete one, else an error."""

    status: int
    headers: dict[str, str]
    body: bytes
    end: str


def connected(method: str = "GET") -> tuple[Connection, FakeTransport]:
    """A connection that waits for a response."""
    connection, wire = Connection(), FakeTransport()
    connection.connection_made(wire)
    if method:
        connection.send(method, b"")
    return connection, wire


def parse_response(pieces: Iterable[bytes], method: str = "GET") -> ParsedResponse:
    """Parse bytes after which the connection ends."""
    return _in_loop(lambda: _parse_response(pieces, method))


def _parse_response(pieces: Iterable[bytes], method: str) -> ParsedResponse:
    connection, wire = connected(method)
    for piece in pieces:
        if not wire.is_cut:
            connection.data_received(piece)
    body = b""
    while piece := connection.read_now(1000):
        body += piece
    if connection._head is None:
        connection.eof_received()
        return ParsedResponse(0, {}, body, type(connection._error).__name__)
    return ParsedResponse(connection._head.status, dict(connection._head.headers), body, _end(connection))


def _end(connection: Connection) -> str:
    if connection.is_complete:
        return "kept" if connection.finish() else "closed"
    connection.eof_received()
    return "closed" if bool(connection.is_complete) else type(connection._error).__name__


def _in_loop(call: Callable[[], ParsedResponse]) -> ParsedResponse:
    async def main() -> ParsedResponse:
        return call()

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(main())
    finally:
        loop.close()


class _LlhttpResponse:
    """The first response that is not interim, as llhttp parses it."""

    def __init__(self) -> None:
        self.parser: httptools.HttpResponseParser
        self.headers: dict[str, str] = {}
        self.body = b""
        self.status = 0
        self.is_over = False

    def on_header(self, name: bytes, text: bytes) -> None:
        if not self.status:
            key, parsed = name.decode().lower(), text.strip(b" \t").decode("latin-1")
            self.headers[key] = f"{self.headers[key]}, {parsed}" if key in self.headers else parsed

    def on_headers_complete(self) -> None:
        if not self.is_over and self.parser.get_status_code() // 100 == 1:
            self.headers = {}
        elif not self.status:
            self.status = self.parser.get_status_code()

    def on_body(self, data: bytes) -> None:
        if not self.is_over:
            self.body += data

    def on_message_complete(self) -> None:
        self.is_over = self.status != 0


def oracle(data: bytes, *, lenient: bool = False) -> ParsedResponse | None:
    """The response as llhttp parses it; None if it refuses the bytes before the end."""
    parsed = _LlhttpResponse()
    parsed.parser = httptools.HttpResponseParser(parsed)
    if lenient:
        parsed.parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
    try:
        parsed.parser.feed_data(data)
    except httptools.HttpParserError:
        if not parsed.is_over:
            return None
    if not parsed.is_over:
        return None
    return ParsedResponse(parsed.status, parsed.headers, parsed.body, "")


def is_refused(pieces: Iterable[bytes], method: str = "GET") -> bool:
    """Are the bytes refused as not HTTP?"""
    return parse_response(pieces, method).end == ProtocolError.__name__
