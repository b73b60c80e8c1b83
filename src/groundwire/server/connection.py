"""Server side of one HTTP/1.1 connection: uvicorn's httptools protocol, with limits and deadlines.

Bytes outside the body are counted. Incomplete requests and responses that are not read have a deadline.
Reading never pauses while a response is being sent, because a connection that is not read does not show that
the client has disconnected.

This is the only module that uses private members of uvicorn: `PRIVATE_UVICORN` names them, a test checks that
they exist, and the minor version of uvicorn is pinned.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, cast

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from groundwire.server.asgi import CONNECTION_KEY
from groundwire.server.limits import BODY_RATE, BODY_SECONDS, HEAD_BYTES, HEAD_SECONDS

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

    from groundwire.server.app import HttpApp


PRIVATE_UVICORN: Mapping[type, tuple[str, ...]] = {
    HttpToolsProtocol: (
        *("_start_asgi_task", "_unset_keepalive_if_required", "_unsupported_upgrade_warning"),
        *("cycle", "expect_100_continue", "flow", "headers", "loop", "parser", "pipeline", "scope"),
        *("timeout_keep_alive", "timeout_keep_alive_handler", "timeout_keep_alive_task", "transport", "url"),
        *("on_body", "on_header", "on_headers_complete", "on_message_begin", "on_message_complete"),
        *("on_response_complete", "on_url"),
    ),
    RequestResponseCycle: (
        *("body", "disconnected", "keep_alive", "message_event", "response_complete", "response_started"),
        "transport",
    ),
    FlowControl: ("read_paused", "resume_reading", "write_paused"),
}
"""Members of uvicorn that are used here and are not part of its documented interface."""


class DisconnectWatch:
    """Callback for the disconnection of the client of one connection."""

    __slots__ = ("callback", "lost")

    def __init__(self) -> None:
        self.callback: Callable[[], object] | None = None
        self.lost = False


class ResponseTransport:
    """The transport that uvicorn writes a response to. A head that is held is sent with the bytes after
    it."""

    __slots__ = (
        "_held",
        "_holds",
        "_protocol",
        "_transport",
        "_watch",
        "abort",
        "cycle",
        "request_complete",
        "stalled",
    )

    def __init__(self, protocol: HttpProtocol, watch: DisconnectWatch) -> None:
        self._protocol = protocol
        self._transport = protocol.transport
        self._watch = watch
        self.abort = protocol.transport.abort
        self.cycle = protocol.cycle
        self.request_complete = False
        self.stalled = False
        self._holds = False
        self._held = b""

    @property
    def disconnected(self) -> bool:
        """Was the connection lost before the response was complete?"""
        return self.cycle.disconnected

    def on_disconnect(self, callback: Callable[[], object] | None) -> None:
        """Set the function that is called when the client disconnects; None removes it."""
        self._watch.callback = callback
        if callback is None:
            return
        self._protocol.flow.resume_reading()
        if self._watch.lost:
            asyncio.get_running_loop().call_soon(callback)

    def hold(self) -> None:
        """Keep the next write in memory until the one after it."""
        self._holds = True

    def write(self, data: bytes) -> None:
        """See `asyncio.Transport`."""
        if self._holds:
            self._holds, self._held = False, data
            return
        if self._held:
            data, self._held = self._held + data, b""
        self._transport.write(data)

    @property
    def can_write_now(self) -> bool:
        """Would `write_chunk` succeed?"""
        return not (self._protocol.flow.write_paused or self._watch.lost)

    def write_chunk(self, data: bytes) -> bool:
        """Write a chunk as uvicorn would; False if the write would have to wait for the client."""
        if self._protocol.flow.write_paused or self._watch.lost:
            return False
        self.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    def close(self) -> None:
        """See `asyncio.Transport`; an incomplete request is read and discarded for a while."""
        if self._held:
            self.write(b"")
        if self.request_complete and not self._protocol.is_discarding:
            self._transport.close()
        else:
            self._protocol.linger()

    def is_closing(self) -> bool:
        """See `asyncio.Transport`."""
        return self._transport.is_closing()


_SEND_BUFFER = 64 * 1024
_WRITE_LIMIT = 32 * 1024
_PIPELINE_BYTES = 64 * 1024
"""Buffered from requests that arrive before the response to an earlier one is complete."""
_PIPELINE_REQUESTS = 16
_CHUNK_FRAMING = 12
"""Framing bytes of each chunk that are not counted: two line ends and up to eight digits."""
_BODY_GRACE = 2.0
"""Seconds beyond the deadline of the application, so that it can answer 408 before the connection is
closed."""
LINGER_SECONDS = 10.0
LINGER_BYTES = 64 * 2**20
"""Read and discarded after a response that left part of the request unread: a client that sends its whole
request first would otherwise get a reset instead of the response."""
_FRAMING = (b"content-length", b"transfer-encoding")
_HEAD_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)
_BAD_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 30\r\n"
    b"connection: close\r\n\r\nInvalid HTTP request received."
)


class HttpProtocol(HttpToolsProtocol):
    """One connection: parses requests, starts the application, enforces limits."""

    cycle: RequestResponseCycle
    flow: FlowControl
    _active: RequestResponseCycle | None = None
    """The request that is being answered; `cycle` is the one that was parsed last."""
    _response: ResponseTransport | None = None
    """The response transport of the request that was parsed last."""
    _pipelined = b""
    """Bytes that arrived while a response was being sent, not parsed yet."""
    _in_head = False
    _in_body = False
    _upgrade = False
    """Does the body of a request with an `Upgrade` header still follow?"""
    _resuming = False
    """Is a request head being parsed for the second time?"""
    _shedding = False
    """Is the request being read refused by load shedding?"""
    is_discarding = False
    """Are received bytes discarded without being parsed?"""
    _lingering = False
    _discarded = 0
    _non_body_bytes = 0
    """Bytes of the request outside its body, from earlier reads."""
    _body_bytes = 0
    _body_started = 0.0
    _read_body_bytes = 0
    _read_several = False
    """Did this read contain the end of an earlier request?"""
    _timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _unwritten_since: float | None = None

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Limit the buffers of the connection and start the deadline of the first request head."""
        super().connection_made(transport)
        self._watch = DisconnectWatch()
        self._app = cast("HttpApp", self.config.app)
        transport.set_write_buffer_limits(high=_WRITE_LIMIT)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
            # A socket that was bound elsewhere may still use Nagle's algorithm.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._timer = self.loop.call_later(HEAD_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Parse the bytes, unless a response is being sent: later requests wait until it is complete."""
        if self.is_discarding:
            self._discard(len(data))
        elif (
            self._response is not None
            and self._response.request_complete
            and not self.cycle.response_complete
        ):
            self._pipelined += data
            if len(self._pipelined) > _PIPELINE_BYTES:
                self._drop_pipeline()
        else:
            self._parse(data)

    def pause_writing(self) -> None:
        """The client reads slower than we write: start its deadline."""
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self._unwritten_since = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers and cancel the request that is being answered."""
        self._stop_timer()
        if self._write_timer is not None:
            self._write_timer.cancel()
        super().connection_lost(exc)
        self._cancel_request()

    # Callbacks of the httptools parser

    def on_message_begin(self) -> None:
        """A request head begins."""
        if self._resuming:
            return
        super().on_message_begin()
        self._in_head = True
        self._non_body_bytes = self._body_bytes = self._read_body_bytes = 0
        self._upgrade = self._shedding = False

    def on_url(self, url: bytes) -> None:
        """A part of the request target."""
        if not self._resuming:
            self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header. After the body it is a trailer, which is counted and ignored."""
        if self._in_head:
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True
            self.headers.append((name, value))
        elif not self._resuming:
            self._non_body_bytes += len(name) + len(value)
            self._read_body_bytes += len(name) + len(value)  # counted here, not with the rest of this read
            if self._non_body_bytes > HEAD_BYTES:
                self._refuse_head()

    def on_headers_complete(self) -> None:
        """The request head is complete: start the application, or refuse the request."""
        if self._resuming:
            self._resuming = False
            return
        self._stop_timer()
        self._in_head, self._in_body = False, True
        if self.is_discarding:
            return
        if len(self.url) + sum(len(name) + len(text) + 4 for name, text in self.headers) > HEAD_BYTES:
            self._refuse_head()
            return
        if len(self.pipeline) >= _PIPELINE_REQUESTS:
            self._drop_pipeline()
            return
        self._upgrade = self.parser.should_upgrade() and any(name in _FRAMING for name, _ in self.headers)
        if self._is_idle() and self._app.load_shedder.sheds(self.url):
            self._shedding = True
            return
        super().on_headers_complete()
        self.flow.resume_reading()  # uvicorn pauses it for a pipelined request
        self._response = ResponseTransport(self, self._watch)
        self.cycle.transport = cast("asyncio.Transport", self._response)
        cast("MutableMapping[str, object]", self.scope)[CONNECTION_KEY] = self._response

    def on_chunk_header(self) -> None:
        """The framing of chunks does not count as bytes outside the body."""
        self._non_body_bytes -= _CHUNK_FRAMING

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._read_body_bytes += len(body)
        self._body_bytes += len(body)
        if self.is_discarding or self._shedding:
            return
        super().on_body(body)
        if self.flow.read_paused and self.pipeline:
            self.flow.resume_reading()
            if len(self.cycle.body) > HIGH_WATER_LIMIT:
                self._drop_pipeline()

    def on_message_complete(self) -> None:
        """The request is complete."""
        if self._upgrade:
            return  # only the head: the body is parsed again, without the upgrade
        self._stop_timer()
        self._in_body = False
        self._read_several = True
        if self.is_discarding:
            return
        if self._shedding:
            self._shed()
            return
        if self._response is not None:
            self._response.request_complete = True
        super().on_message_complete()

    def _parse(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self._read_body_bytes = 0
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
        """Continue with HTTP/1.1, as RFC 9110 7.8 allows. The parser treats all that follows as the other
        protocol, so a new one is given the framing of this request, and then the rest."""
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        if self._upgrade:
            self._upgrade, self._resuming = False, True
            framing = [(name, text) for name, text in self.headers if name in _FRAMING]
            head = b"".join(b"%b: %b\r\n" % header for header in framing)
            rest = b"POST / HTTP/1.1\r\n%b\r\n%b" % (head, rest)
        if rest:
            self._parse(rest)

    # Limits and deadlines

    def _expect_more(self, size: int) -> None:
        """A request is incomplete: count its bytes outside the body, and keep its deadline running."""
        if not self._read_several:
            self._non_body_bytes += size - self._read_body_bytes
        if self._non_body_bytes > HEAD_BYTES:
            self._refuse_head()
        elif self._timer is not None:
            return
        elif self._in_head:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)
        elif self._shedding:
            self._shed()
        else:
            self._body_started = self.loop.time()
            self._timer = self.loop.call_later(BODY_SECONDS + _BODY_GRACE, self._check_body)

    def _check_body(self) -> None:
        self._timer = None
        due = self._body_started + BODY_SECONDS + _BODY_GRACE + self._body_bytes / BODY_RATE
        if self._is_idle() or self._active is self.cycle:
            if due <= self.loop.time():
                self.transport.abort()
                return
        else:
            due = self.loop.time() + BODY_SECONDS  # the request waits for the response to an earlier one
        self._timer = self.loop.call_at(due, self._check_body)

    def _is_idle(self) -> bool:
        """Is no response being sent?"""
        return self._active is None or self.cycle.response_complete

    def _expect_reading(self) -> None:
        """Start the deadline of a client that has not read what was written."""
        if self._unwritten_since is None:
            self._unwritten_since = self.loop.time()
        if self._write_timer is None:
            stall = self._app.timeouts.stall
            self._write_timer = self.loop.call_at(self._unwritten_since + stall, self._check_writing)

    def _check_writing(self) -> None:
        self._write_timer = None
        if self._unwritten_since is None or not self.transport.get_write_buffer_size():
            self._unwritten_since = None
        elif self.loop.time() < self._unwritten_since + self._app.timeouts.stall:
            self._expect_reading()
        else:
            if self._response is not None:
                self._response.stalled = True
            self.transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Ends of responses and of the connection

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._active = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Continue with the next request, which may have arrived already."""
        if self.transport.get_write_buffer_size():
            self._expect_reading()
        super().on_response_complete()
        if self._in_body and self._active is self.cycle:
            self.linger()
        elif self._pipelined and self._is_idle() and not self.transport.is_closing():
            data, self._pipelined = self._pipelined, b""
            self._parse(data)

    def linger(self) -> None:
        """Close the sending side, then discard what the client sends until it has read the response."""
        if self._lingering or self.transport.is_closing():
            return
        self.is_discarding = self._lingering = True
        self._stop_timer()
        self.flow.resume_reading()
        self.transport.write_eof()
        self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > LINGER_BYTES:
            self.transport.abort()

    def _drop_pipeline(self) -> None:
        """Too many pipelined requests: finish the current response, then close (RFC 9112 9.3.2)."""
        self.is_discarding = True
        self._pipelined = b""
        self.pipeline.clear()
        if self._active is not None:
            self._active.keep_alive = False

    def _shed(self) -> None:
        """Send the 503 response of load shedding, without the application."""
        keep = not self._in_body and self.parser.should_keep_alive()
        keep = keep and self.parser.get_http_version() != "1.0"
        reply = self._app.load_shedder.refusal(self.url, keep=keep)
        self._shedding = False
        self._app.metrics.count_refused()
        if not keep:
            self._refuse(reply)
            return
        self.transport.write(reply)
        if self.transport.get_write_buffer_size():
            self._expect_reading()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _cancel_request(self) -> None:
        """Tell the application that the client has disconnected."""
        if self._active is not None and not self._active.response_complete:
            self._active.disconnected = True
            self._active.message_event.set()
        self._watch.lost = True
        if self._watch.callback is not None:
            self._watch.callback()

    def _refuse_head(self) -> None:
        self._refuse(_HEAD_TOO_LARGE)

    def _refuse(self, response: bytes) -> None:
        """Send a response without the application, and close."""
        if self.is_discarding or self.transport.is_closing():
            return
        if self._active is not None and self._active.response_started and not self._is_idle():
            self.transport.abort()
            return
        self.pipeline.clear()
        self._cancel_request()
        self.transport.write(response)
        self.linger()

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: the upgrade is ignored."""
