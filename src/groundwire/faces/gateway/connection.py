"""Server side of one HTTP/1.1 connection: what a client may send, how long it may take, how it is closed.

uvicorn's protocol on httptools, with bounds: bytes that are not body are counted, incomplete requests and
responses that are not read have a deadline, and reading never pauses while a response is on its way, because
a connection that is not read does not show that the client has disconnected.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, cast

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from groundwire.faces.gateway.asgi import LINE
from groundwire.faces.gateway.limits import BODY_RATE, BODY_SECONDS, HEAD_BYTES, HEAD_SECONDS
from groundwire.faces.gateway.response_line import Client, ResponseLine

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

    from groundwire.faces.gateway.app import Gateway

_SEND_BUFFER = 64 * 1024
_WRITE_LIMIT = 32 * 1024
_AHEAD_BYTES = 64 * 1024
"""Kept of requests that are sent before the response to an earlier one is complete."""
_AHEAD_REQUESTS = 16
_CHUNK_FRAMING = 12
"""Bytes around each chunk that are not counted: two line ends, and the size in up to eight digits."""
_BODY_GRACE = 2.0
"""Seconds more than the application allows, so that it can answer 408 before the connection is cut."""
LINGER_SECONDS = 10.0
LINGER_BYTES = 64 * 2**20
"""Read and discarded after a response that left part of the request unread: a client that writes all of its
request first would otherwise get a reset instead of the response."""
_FRAMING = (b"content-length", b"transfer-encoding")
_HEAD_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)
_BAD_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 30\r\n"
    b"connection: close\r\n\r\nInvalid HTTP request received."
)


class Protocol(HttpToolsProtocol):
    """One connection: parses requests, starts the application, keeps the bounds."""

    cycle: RequestResponseCycle
    flow: FlowControl
    _active: RequestResponseCycle | None = None
    """The exchange that is being answered; `cycle` is the one that was parsed last."""
    _line: ResponseLine | None = None
    """Of the request that was parsed last."""
    _ahead = b""
    """Bytes that came while a response was on its way, not parsed yet."""
    _in_head = False
    _in_body = False
    _upgrade = False
    """Is the body yet to come of a request that asked for another protocol?"""
    _resuming = False
    """Is a head being parsed for the second time?"""
    _shedding = False
    """Is the request being read that is refused without being handed to the application?"""
    is_discarding = False
    """Is nothing parsed any more?"""
    _lingering = False
    _discarded = 0
    _extra = 0
    """Bytes of the request that are not body, from reads before this one."""
    _body = 0
    _body_began = 0.0
    _read_body = 0
    _read_several = False
    """Did this read hold the end of an earlier request?"""
    _clock: asyncio.TimerHandle | None = None
    _write_clock: asyncio.TimerHandle | None = None
    _unwritten_since: float | None = None

    # The transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Bound what one client can make us hold."""
        super().connection_made(transport)
        self._client = Client()
        self._gateway = cast("Gateway", self.config.app)
        transport.set_write_buffer_limits(high=_WRITE_LIMIT)
        line = transport.get_extra_info("socket")
        if line is not None and line.family != socket.AF_UNIX:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
            # A socket that was bound for us may still wait for full packets.
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._clock = self.loop.call_later(HEAD_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless a response is on its way: later requests wait for its end."""
        if self.is_discarding:
            self._discard(len(data))
        elif self._line is not None and self._line.is_read and not self.cycle.response_complete:
            self._ahead += data
            if len(self._ahead) > _AHEAD_BYTES:
                self._drop_ahead()
        else:
            self._parse(data)

    def pause_writing(self) -> None:
        """The client reads slower than we write: it has a deadline."""
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self._unwritten_since = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks, and tell the exchange that is being answered."""
        self._stop_clock()
        if self._write_clock is not None:
            self._write_clock.cancel()
        super().connection_lost(exc)
        self._end_exchange()

    # The parser

    def on_message_begin(self) -> None:
        """A head begins: if it is not complete with what came now, it must be so in time."""
        if self._resuming:
            return
        super().on_message_begin()
        self._in_head = True
        self._extra = self._body = self._read_body = 0
        self._upgrade = self._shedding = False

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""
        if not self._resuming:
            self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; what comes behind the body is a trailer, which nothing here needs."""
        if self._in_head:
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True
            self.headers.append((name, value))
        elif not self._resuming:
            self._extra += len(name) + len(value)
            self._read_body += len(name) + len(value)  # counted here, not with the rest of this read
            if self._extra > HEAD_BYTES:
                self._refuse_head()

    def on_headers_complete(self) -> None:
        """The head is there: hand the request to the application, or refuse it."""
        if self._resuming:
            self._resuming = False
            return
        self._stop_clock()
        self._in_head, self._in_body = False, True
        if self.is_discarding:
            return
        if len(self.url) + sum(len(name) + len(text) + 4 for name, text in self.headers) > HEAD_BYTES:
            self._refuse_head()
            return
        if len(self.pipeline) >= _AHEAD_REQUESTS:
            self._drop_ahead()
            return
        self._upgrade = self.parser.should_upgrade() and any(name in _FRAMING for name, _ in self.headers)
        if self._is_free() and self._gateway.overload.sheds(self.url):
            self._shedding = True
            return
        super().on_headers_complete()
        self.flow.resume_reading()  # paused for a request that was parsed ahead
        self._line = ResponseLine(self, self._client)
        self.cycle.transport = cast("asyncio.Transport", self._line)
        cast("MutableMapping[str, object]", self.scope)[LINE] = self._line

    def on_chunk_header(self) -> None:
        """The framing of chunks is not held against the client."""
        self._extra -= _CHUNK_FRAMING

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._read_body += len(body)
        self._body += len(body)
        if self.is_discarding or self._shedding:
            return
        super().on_body(body)
        if self.flow.read_paused and self.pipeline:
            self.flow.resume_reading()
            if len(self.cycle.body) > HIGH_WATER_LIMIT:
                self._drop_ahead()

    def on_message_complete(self) -> None:
        """The whole request is there."""
        if self._upgrade:
            return  # of the head alone: the body is parsed again, without the upgrade
        self._stop_clock()
        self._in_body = False
        self._read_several = True
        if self.is_discarding:
            return
        if self._shedding:
            self._shed()
            return
        if self._line is not None:
            self._line.is_read = True
        super().on_message_complete()

    def _parse(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self._read_body = 0
        self._read_several = False
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
            return
        except httptools.HttpParserError:
            self._refuse(_BAD_REQUEST)
        if (self._in_head or self._in_body) and not self.is_discarding:
            self._expect_more(len(data))

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Go on with HTTP/1.1, as RFC 9110 7.8 allows: the parser takes all that follows for the other
        protocol, so another one is given the framing of this request, and then the rest."""
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        if self._upgrade:
            self._upgrade, self._resuming = False, True
            framing = [(name, text) for name, text in self.headers if name in _FRAMING]
            head = b"".join(b"%b: %b\r\n" % header for header in framing)
            rest = b"POST / HTTP/1.1\r\n%b\r\n%b" % (head, rest)
        if rest:
            self._parse(rest)

    # Bounds

    def _expect_more(self, size: int) -> None:
        """A request is incomplete: count what it has used so far, and keep its clock running."""
        if not self._read_several:
            self._extra += size - self._read_body
        if self._extra > HEAD_BYTES:
            self._refuse_head()
        elif self._clock is not None:
            return
        elif self._in_head:
            self._clock = self.loop.call_later(HEAD_SECONDS, self.transport.abort)
        elif self._shedding:
            self._shed()
        else:
            self._body_began = self.loop.time()
            self._clock = self.loop.call_later(BODY_SECONDS + _BODY_GRACE, self._check_body)

    def _check_body(self) -> None:
        self._clock = None
        due = self._body_began + BODY_SECONDS + _BODY_GRACE + self._body / BODY_RATE
        if self._is_free() or self._active is self.cycle:
            if due <= self.loop.time():
                self.transport.abort()
                return
        else:
            due = self.loop.time() + BODY_SECONDS  # it waits for the response to an earlier request
        self._clock = self.loop.call_at(due, self._check_body)

    def _is_free(self) -> bool:
        """Is no response on its way?"""
        return self._active is None or self.cycle.response_complete

    def _expect_reading(self) -> None:
        """Start the deadline of a client that has not read what was written."""
        if self._unwritten_since is None:
            self._unwritten_since = self.loop.time()
        if self._write_clock is None:
            stall = self._gateway.patience.stall
            self._write_clock = self.loop.call_at(self._unwritten_since + stall, self._check_writing)

    def _check_writing(self) -> None:
        self._write_clock = None
        if self._unwritten_since is None or not self.transport.get_write_buffer_size():
            self._unwritten_since = None
        elif self.loop.time() < self._unwritten_since + self._gateway.patience.stall:
            self._expect_reading()
        else:
            if self._line is not None:
                self._line.stalled = True
            self.transport.abort()

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    # The end of exchanges and of the connection

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._active = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Go on with the next request, which may have come already."""
        if self.transport.get_write_buffer_size():
            self._expect_reading()
        super().on_response_complete()
        if self._in_body and self._active is self.cycle:
            self.linger()
        elif self._ahead and self._is_free() and not self.transport.is_closing():
            data, self._ahead = self._ahead, b""
            self._parse(data)

    def linger(self) -> None:
        """Close in both directions, one after the other: the client reads the response first."""
        if self._lingering or self.transport.is_closing():
            return
        self.is_discarding = self._lingering = True
        self._stop_clock()
        self.flow.resume_reading()
        self.transport.write_eof()
        self._clock = self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > LINGER_BYTES:
            self.transport.abort()

    def _drop_ahead(self) -> None:
        """Too much was sent ahead: answer what is being answered, and close (RFC 9112 9.3.2)."""
        self.is_discarding = True
        self._ahead = b""
        self.pipeline.clear()
        if self._active is not None:
            self._active.keep_alive = False

    def _shed(self) -> None:
        """Refuse a request at the least cost."""
        keep = not self._in_body and self.parser.should_keep_alive()
        keep = keep and self.parser.get_http_version() != "1.0"
        reply = self._gateway.overload.refusal(self.url, keep=keep)
        self._shedding = False
        self._gateway.metrics.refuse()
        if not keep:
            self._refuse(reply)
            return
        self.transport.write(reply)
        if self.transport.get_write_buffer_size():
            self._expect_reading()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _end_exchange(self) -> None:
        """Tell the application that nothing more can be sent to the client."""
        if self._active is not None and not self._active.response_complete:
            self._active.disconnected = True
            self._active.message_event.set()
        self._client.lost = True
        if self._client.leave is not None:
            self._client.leave()

    def _refuse_head(self) -> None:
        self._refuse(_HEAD_TOO_LARGE)

    def _refuse(self, reply: bytes) -> None:
        """Answer without the application, and close."""
        if self.is_discarding or self.transport.is_closing():
            return
        if self._active is not None and self._active.response_started and not self._is_free():
            self.transport.abort()
            return
        self.pipeline.clear()
        self._end_exchange()
        self.transport.write(reply)
        self.linger()

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing to say: the upgrade is ignored."""
