"""A line without a network: what is told to it byte by byte, and what another parser makes of the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

import httptools

from groundwire.transport.http1.connection import Connection
from groundwire.transport.http1.parser import ProtocolError


class Wire(asyncio.Transport):
    """Remembers what is done to it."""

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


class Heard(NamedTuple):
    """An answer, and what became of it: `kept` and `closed` speak of a connection whose answer is whole."""

    status: int
    headers: dict[str, str]
    body: bytes
    end: str


def connected(method: str = "GET") -> tuple[Connection, Wire]:
    """A line that waits for an answer."""
    line, wire = Connection(), Wire()
    line.connection_made(wire)
    if method:
        line.send(method, b"")
    return line, wire


def heard(pieces: Iterable[bytes], method: str = "GET") -> Heard:
    """What a line makes of the bytes of a connection that then ends."""
    return _in_loop(lambda: _heard(pieces, method))


def _heard(pieces: Iterable[bytes], method: str) -> Heard:
    line, wire = connected(method)
    for piece in pieces:
        if not wire.is_cut:
            line.data_received(piece)
    body = b""
    while piece := line.read_now(1000):
        body += piece
    if line._head is None:
        line.eof_received()
        return Heard(0, {}, body, type(line._broken).__name__)
    return Heard(line._head.status, dict(line._head.headers), body, _end(line))


def _end(line: Connection) -> str:
    if line.is_over:
        return "kept" if line.finish() else "closed"
    line.eof_received()
    return "closed" if bool(line.is_over) else type(line._broken).__name__


def _in_loop(call: Callable[[], Heard]) -> Heard:
    async def main() -> Heard:
        return call()

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(main())
    finally:
        loop.close()


class _Told:
    """The first answer that is not only announced."""

    def __init__(self) -> None:
        self.parser: httptools.HttpResponseParser
        self.headers: dict[str, str] = {}
        self.body = b""
        self.status = 0
        self.is_over = False

    def on_header(self, name: bytes, text: bytes) -> None:
        if not self.status:
            key, told = name.decode().lower(), text.strip(b" \t").decode("latin-1")
            self.headers[key] = f"{self.headers[key]}, {told}" if key in self.headers else told

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


def oracle(data: bytes, *, lenient: bool = False) -> Heard | None:
    """What llhttp makes of the same bytes: nothing if it refuses them before the answer is over."""
    told = _Told()
    told.parser = httptools.HttpResponseParser(told)
    if lenient:
        told.parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
    try:
        told.parser.feed_data(data)
    except httptools.HttpParserError:
        if not told.is_over:
            return None
    if not told.is_over:
        return None
    return Heard(told.status, told.headers, told.body, "")


def is_refused(pieces: Iterable[bytes], method: str = "GET") -> bool:
    """Is it no HTTP?"""
    return heard(pieces, method).end == ProtocolError.__name__
