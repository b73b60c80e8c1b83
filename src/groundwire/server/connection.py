"""Server side of one HTTP/1.1 connection, on the parser of httptools, with limits and deadlines.

`HttpProtocol` parses requests and starts the application for one after the other. `HttpCycle` is one request
with its response: it has the `receive` and `send` of ASGI, and the direct calls that our own application uses
instead (`ConnectionHandle`).

Bytes outside the body are counted. Incomplete requests and responses that are not read have a deadline.
Reading never pauses while a response is being sent, because a connection that is not read does not show that
the client has disconnected.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import unquote

import httptools

from groundwire.server.asgi import CONNECTION_KEY, AsgiMessage, Scope
from groundwire.server.limits import BODY_RATE, BODY_SECONDS, HEAD_BYTES, HEAD_SECONDS

if TYPE_CHECKING:
    from groundwire.server.app import HttpApp

log = logging.getLogger("groundwire.gateway")

KEEP_ALIVE_SECONDS = 75.0
_BODY_BUFFER = 64 * 1024
"""Bytes of a request body that are buffered before reading pauses."""
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
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_ASGI = {"version": "3.0", "spec_version": "2.3"}
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
_LINE_BREAK = re.compile(r"[\x00\r\n]")
_NO_BODY = frozenset({204, 304})
_FAILED_HEADERS = (
    ("content-type", "text/plain; charset=utf-8"),
    ("content-length", "21"),
    ("connection", "close"),
)


class ConnectionServer(Protocol):
    """What a connection needs of its server."""

    app: HttpApp
    connections: set[HttpProtocol]
    tasks: set[asyncio.Task[None]]


class HttpCycle:
    """One request and its response."""

    __slots__ = (
        *("_body", "_buffered", "_callback", "_chunked", "_expects_continue", "_head", "_left", "_news"),
        *("_protocol", "_transport", "_waiter", "abort", "disconnected", "keep_alive", "request_complete"),
        *("response_complete", "response_started", "scope", "stalled"),
    )

    def __init__(
        self, protocol: HttpProtocol, scope: Scope, *, keep_alive: bool, expects_continue: bool
    ) -> None:
        self._protocol = protocol
        self._transport = protocol.transport
        self.abort = protocol.transport.abort
        self.scope = scope
        scope[CONNECTION_KEY] = self
        self.keep_alive = keep_alive
        self._expects_continue = expects_continue
        self._body: list[bytes] = []
        self._buffered = 0
        self.request_complete = False
        self.disconnected = False
        """Was the connection lost before the response was complete?"""
        self.stalled = False
        self.response_started = False
        self.response_complete = False
        self._head = b""
        """A response head that is sent with the first bytes of the body."""
        self._chunked = False
        self._left = 0
        """Bytes of the body that are still to be sent, if it has a content length."""
        self._news = False
        """Is there something that `receive` has not reported?"""
        self._waiter: asyncio.Future[None] | None = None
        self._callback: Callable[[], object] | None = None

    # The request

    def add_body(self, data: bytes) -> int:
        """Queue a part of the body; returns how many bytes are queued."""
        self._body.append(data)
        self._buffered += len(data)
        self.notify()
        return self._buffered

    def complete_request(self) -> None:
        """The whole request has arrived."""
        self.request_complete = True
        self.notify()

    def notify(self) -> None:
        """Wake `receive`."""
        self._news = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def disconnect(self) -> None:
        """The client has disconnected."""
        if not self.response_complete:
            self.disconnected = True
            self.notify()
        if self._callback is not None:
            self._callback()

    def on_disconnect(self, callback: Callable[[], object] | None) -> None:
        """Set the function that is called when the client disconnects; None removes it."""
        self._callback = callback
        if callback is None:
            return
        self._protocol.resume_reading()
        if self._protocol.lost:
            asyncio.get_running_loop().call_soon(callback)

    def take_body(self) -> bytes:
        """The whole body, if `request_complete` and nothing has been read yet."""
        self._news = False
        body, self._body, self._buffered = self._body, [], 0
        return body[0] if len(body) == 1 else b"".join(body)

    async def receive(self) -> AsgiMessage:
        """See ASGI."""
        if self._expects_continue and not self._transport.is_closing():
            self._expects_continue = False
            self._transport.write(_CONTINUE)
        if not (self.disconnected or self.response_complete):
            self._protocol.resume_reading()
            while not self._news:
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
            self._news = False
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": self.take_body(), "more_body": not self.request_complete}

    # The response

    async def send(self, message: AsgiMessage) -> None:
        """See ASGI."""
        if message["type"] == "http.response.start":
            headers = cast("Iterable[tuple[bytes, bytes]]", message.get("headers", ()))
            await self.drain()
            fields = [(name.decode("latin-1").lower(), text.decode("latin-1")) for name, text in headers]
            self.start(cast("int", message["status"]), fields)
            self.flush()
        else:
            body = cast("bytes", message.get("body", b""))
            await self.write(body, more=bool(message.get("more_body", False)))

    def start(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Write the response head, which is sent by `flush` or with the body. Names are in lower case."""
        if self.response_started:
            raise RuntimeError("the response has started already")
        self.response_started = True
        self._expects_continue = False
        known = dict(headers)
        # The framing is ours.
        lines = [f"{name}: {text}\r\n" for name, text in headers if name != "transfer-encoding"]
        length = known.get("content-length")
        if "connection" in known and "close" in known["connection"].lower():
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append("connection: close\r\n")
        if self.scope["method"] == "HEAD" or status in _NO_BODY:
            self._left = 0
        elif length is None:
            self._chunked = True
            lines.append("transfer-encoding: chunked\r\n")
        else:
            self._left = int(length)
        head = "".join(lines)
        if len(_LINE_BREAK.findall(head)) != 2 * len(lines):
            raise RuntimeError("a response header has a line break")
        status_line = _STATUS_LINES.get(status) or f"HTTP/1.1 {status} \r\n"
        self._head = f"{status_line}{head}\r\n".encode("latin-1")

    def flush(self) -> None:
        """Send the response head."""
        head, self._head = self._head, b""
        if head and not self.disconnected:
            self._transport.write(head)

    @property
    def can_write_now(self) -> bool:
        """Would `write_now` succeed?"""
        protocol = self._protocol
        return self._chunked and not (protocol.write_paused or protocol.lost or self.response_complete)

    def write_now(self, data: bytes) -> bool:
        """Send one chunk of a chunked body without waiting; False if that is not possible."""
        protocol = self._protocol
        if protocol.write_paused or protocol.lost or not self._chunked or self.response_complete:
            return False
        if self._head:
            self.flush_with(b"%x\r\n%b\r\n" % (len(data), data))
        else:
            self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    def flush_with(self, data: bytes) -> None:
        """Send bytes, after the head if it has not been sent."""
        head, self._head = self._head, b""
        self._transport.write(head + data)

    async def write(self, data: bytes, *, more: bool) -> None:
        """Send a part of the body, the last one without `more`; waits while the client does not read."""
        if self._protocol.write_paused:
            await self.drain()
        if self.disconnected:
            return
        if not self.response_started or self.response_complete:
            raise RuntimeError("the response has not started, or is complete")
        if self._chunked:
            framed = b"%x\r\n%b\r\n" % (len(data), data) if data else b""
            self.flush_with(framed if more else framed + b"0\r\n\r\n")
        else:
            if self.scope["method"] == "HEAD":
                data = b""
            self._left -= len(data)
            if self._left < 0 or (self._left and not more):
                raise RuntimeError("the response does not have the length that its head says")
            self.flush_with(data)
        if not more:
            self._complete()

    async def drain(self) -> None:
        """Wait while the client reads slower than we write."""
        while self._protocol.write_paused and not self.disconnected:
            await self._protocol.written()

    def _complete(self) -> None:
        self.response_complete = True
        self.notify()
        if not self.keep_alive:
            self._close()
        self._protocol.response_completed()

    def _close(self) -> None:
        """Close the connection; an incomplete request is read and discarded for a while."""
        if self.request_complete and not self._protocol.is_discarding:
            self._transport.close()
        else:
            self._protocol.linger()

    async def run(self, app: HttpApp) -> None:
        """Run the application. Its errors are its own affair; a response that it leaves incomplete is ended
        here."""
        try:
            await app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:  # the server closes
            await self._end()
            raise
        except Exception:
            log.exception("the application failed")
            await self._end()
        else:
            if not self.response_complete and not self.disconnected:
                log.error("the application returned before the response was complete")
                await self._end()
        finally:
            self.scope.pop(CONNECTION_KEY, None)  # a reference cycle

    async def _end(self) -> None:
        if self.response_started:
            self._transport.close()
        elif not self.disconnected:
            self.start(500, _FAILED_HEADERS)
            await self.write(b"Internal Server Error", more=False)


class HttpProtocol(asyncio.Protocol):
    """One connection: parses requests, starts the application, enforces limits."""

    transport: asyncio.Transport
    _cycle: HttpCycle | None = None
    """The request that was parsed last."""
    _active: HttpCycle | None = None
    """The request that is being answered."""
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
    lost = False
    """Has the client disconnected?"""
    write_paused = False
    """Does the client read slower than we write?"""
    _read_paused = False
    _expects_continue = False
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
    _idle_since: float | None = None
    """When the last response was complete; None while there is a request."""
    _idle_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _unwritten_since: float | None = None
    _writable: asyncio.Event | None = None

    def __init__(self, server: ConnectionServer) -> None:
        self._server = server
        self._app = server.app
        self._loop = asyncio.get_running_loop()
        self._parser = _new_parser(self)
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._pipeline: deque[HttpCycle] = deque()
        self._client: tuple[str, int] | None = None
        self._address: tuple[str, int | None] | None = None

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Limit the buffers of the connection and start the deadline of the first request head."""
        self.transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)
        self._client = _address(transport.get_extra_info("peername"))
        self._address = _address(transport.get_extra_info("sockname"))
        self.transport.set_write_buffer_limits(high=_WRITE_LIMIT)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
            # A socket that was bound elsewhere may still use Nagle's algorithm.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._timer = self._loop.call_later(HEAD_SECONDS, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        """Parse the bytes, unless a response is being sent: later requests wait until it is complete."""
        if self.is_discarding:
            self._discard(len(data))
        elif self._cycle is not None and self._cycle.request_complete and not self._cycle.response_complete:
            self._pipelined += data
            if len(self._pipelined) > _PIPELINE_BYTES:
                self._drop_pipeline()
        else:
            self._parse(data)

    def eof_received(self) -> None:
        """The client has closed its side: the connection is lost."""

    def pause_writing(self) -> None:
        """The client reads slower than we write: start its deadline."""
        self.write_paused = True
        self._expect_reading()

    def resume_writing(self) -> None:
        """The client has read."""
        self.write_paused = False
        self._unwritten_since = None
        if self._writable is not None:
            self._writable.set()
            self._writable = None

    async def written(self) -> None:
        """Wait until the client has read."""
        if self._writable is None:
            self._writable = asyncio.Event()
        await self._writable.wait()

    def resume_reading(self) -> None:
        """Continue to read from the client."""
        if self._read_paused:
            self._read_paused = False
            self.transport.resume_reading()

    def connection_lost(self, _: Exception | None) -> None:
        """Stop the timers and cancel the request that is being answered."""
        self._server.connections.discard(self)
        self._stop_timer()
        for timer in (self._write_timer, self._idle_timer):
            if timer is not None:
                timer.cancel()
        self.resume_writing()
        self._cancel_request()
        # Reference cycles: the parser has the methods of this object, and a cycle has the connection.
        del self._parser
        if self._is_idle():
            self._cycle = self._active = None

    def shutdown(self) -> None:
        """Close the connection when it has no request, or after the response."""
        if self._cycle is None or self._cycle.response_complete:
            self.transport.close()
        else:
            self._cycle.keep_alive = False

    # Callbacks of the httptools parser

    def on_message_begin(self) -> None:
        """A request head begins."""
        if self._resuming:
            return
        self._url = b""
        self._headers = []
        self._expects_continue = False
        self._in_head = True
        self._non_body_bytes = self._body_bytes = self._read_body_bytes = 0
        self._upgrade = self._shedding = False

    def on_url(self, url: bytes) -> None:
        """A part of the request target."""
        if not self._resuming:
            self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header. After the body it is a trailer, which is counted and ignored."""
        if self._in_head:
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self._expects_continue = True
            self._headers.append((name, value))
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
        if len(self._url) + sum([len(name) + len(text) + 4 for name, text in self._headers]) > HEAD_BYTES:
            self._refuse_head()
            return
        if len(self._pipeline) >= _PIPELINE_REQUESTS:
            self._drop_pipeline()
            return
        parser = self._parser
        self._upgrade = parser.should_upgrade() and any(name in _FRAMING for name, _ in self._headers)
        idle = self._is_idle()
        if idle and self._app.load_shedder.sheds(self._url):
            self._shedding = True
            return
        version = parser.get_http_version()
        self._cycle = HttpCycle(
            self,
            self._scope(parser.get_method().decode("ascii"), version),
            keep_alive=version != "1.0" and parser.should_keep_alive() and not self._app.leaving,
            expects_continue=self._expects_continue,
        )
        if idle:
            self._start(self._cycle)
        else:
            self._pipeline.append(self._cycle)

    def on_chunk_header(self) -> None:
        """The framing of chunks does not count as bytes outside the body."""
        self._non_body_bytes -= _CHUNK_FRAMING

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._read_body_bytes += len(body)
        self._body_bytes += len(body)
        cycle = self._cycle
        if self.is_discarding or self._shedding or cycle is None or cycle.response_complete:
            return
        if cycle.add_body(body) <= _BODY_BUFFER:
            return
        if self._pipeline:
            self._drop_pipeline()
        elif not self._read_paused:
            self._read_paused = True
            self.transport.pause_reading()

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
        elif self._cycle is not None:
            self._cycle.complete_request()

    def _scope(self, method: str, version: str) -> Scope:
        url = self._url
        if url[:1] != b"/":  # an absolute URL, or `*`
            parsed = httptools.parse_url(url)
            raw_path, query = parsed.path or b"", parsed.query or b""
        else:
            raw_path, _, query = url.partition(b"#")[0].partition(b"?")
        path = raw_path.decode("ascii")
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "server": self._address,
            "client": self._client,
            "scheme": "http",
            "root_path": "",
            "headers": self._headers,
            "state": {},
            "method": method,
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
        }

    def _parse(self, data: bytes) -> None:
        self._idle_since = None
        self._read_body_bytes = 0
        self._read_several = False
        try:
            self._parser.feed_data(data)
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
        self._parser = _new_parser(self)
        if self._upgrade:
            self._upgrade, self._resuming = False, True
            framing = [(name, text) for name, text in self._headers if name in _FRAMING]
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
            self._timer = self._loop.call_later(HEAD_SECONDS, self.transport.abort)
        elif self._shedding:
            self._shed()
        else:
            self._body_started = self._loop.time()
            self._timer = self._loop.call_later(BODY_SECONDS + _BODY_GRACE, self._check_body)

    def _check_body(self) -> None:
        self._timer = None
        due = self._body_started + BODY_SECONDS + _BODY_GRACE + self._body_bytes / BODY_RATE
        if self._is_idle() or self._active is self._cycle:
            if due <= self._loop.time():
                self.transport.abort()
                return
        else:
            due = self._loop.time() + BODY_SECONDS  # the request waits for the response to an earlier one
        self._timer = self._loop.call_at(due, self._check_body)

    def _is_idle(self) -> bool:
        """Is no response being sent?"""
        return self._active is None or self._cycle is None or self._cycle.response_complete

    def _expect_reading(self) -> None:
        """Start the deadline of a client that has not read what was written."""
        if self._unwritten_since is None:
            self._unwritten_since = self._loop.time()
        if self._write_timer is None:
            stall = self._app.timeouts.stall
            self._write_timer = self._loop.call_at(self._unwritten_since + stall, self._check_writing)

    def _check_writing(self) -> None:
        self._write_timer = None
        if self._unwritten_since is None or not self.transport.get_write_buffer_size():
            self._unwritten_since = None
        elif self._loop.time() < self._unwritten_since + self._app.timeouts.stall:
            self._expect_reading()
        else:
            if self._cycle is not None:
                self._cycle.stalled = True
            self.transport.abort()

    def _expect_request(self) -> None:
        """Start the deadline of an idle connection. One timer serves many requests: it is set again when it
        fires."""
        self._idle_since = self._loop.time()
        if self._idle_timer is None:
            self._idle_timer = self._loop.call_at(self._idle_since + KEEP_ALIVE_SECONDS, self._check_idle)

    def _check_idle(self) -> None:
        self._idle_timer = None
        if self._idle_since is None or self.transport.is_closing():
            return
        if self._loop.time() >= self._idle_since + KEEP_ALIVE_SECONDS:
            self.transport.close()
        else:
            self._idle_timer = self._loop.call_at(self._idle_since + KEEP_ALIVE_SECONDS, self._check_idle)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Ends of responses and of the connection

    def _start(self, cycle: HttpCycle) -> None:
        self._active = cycle
        task = self._loop.create_task(cycle.run(self._app))
        self._server.tasks.add(task)
        task.add_done_callback(self._server.tasks.discard)

    def response_completed(self) -> None:
        """Continue with the next request, which may have arrived already."""
        if self.transport.get_write_buffer_size():
            self._expect_reading()
        if self.transport.is_closing():
            return
        self.resume_reading()
        if self._pipeline:
            self._start(self._pipeline.popleft())
        else:
            self._expect_request()
        if self._in_body and self._active is self._cycle:
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
        self.resume_reading()
        self.transport.write_eof()
        self._timer = self._loop.call_later(LINGER_SECONDS, self.transport.abort)

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > LINGER_BYTES:
            self.transport.abort()

    def _drop_pipeline(self) -> None:
        """Too many pipelined requests: finish the current response, then close (RFC 9112 9.3.2)."""
        self.is_discarding = True
        self._pipelined = b""
        self._pipeline.clear()
        if self._active is not None:
            self._active.keep_alive = False

    def _shed(self) -> None:
        """Send the 503 response of load shedding, without the application."""
        keep = not self._in_body and self._parser.should_keep_alive()
        keep = keep and self._parser.get_http_version() != "1.0"
        reply = self._app.load_shedder.refusal(self._url, keep=keep)
        self._shedding = False
        self._app.metrics.count_refused()
        if not keep:
            self._refuse(reply)
            return
        self.transport.write(reply)
        if self.transport.get_write_buffer_size():
            self._expect_reading()
        self._expect_request()

    def _cancel_request(self) -> None:
        """Tell the application that the client has disconnected."""
        self.lost = True
        if self._active is not None:
            self._active.disconnect()

    def _refuse_head(self) -> None:
        self._refuse(_HEAD_TOO_LARGE)

    def _refuse(self, response: bytes) -> None:
        """Send a response without the application, and close."""
        if self.is_discarding or self.transport.is_closing():
            return
        if self._active is not None and self._active.response_started and not self._is_idle():
            self.transport.abort()
            return
        self._pipeline.clear()
        self._cancel_request()
        self.transport.write(response)
        self.linger()


def _new_parser(protocol: HttpProtocol) -> httptools.HttpRequestParser:
    parser = httptools.HttpRequestParser(protocol)
    # A client may send its next request although it has asked us to close after this one.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


def _address(name: object) -> tuple[str, int] | None:
    """Host and port of a socket; None for a Unix socket."""
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) else None
