"""Send an HTTP request and stream its response, with a time limit for each phase.

Imported with the first request: TLS takes long to import.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from functools import lru_cache

from groundwire.errors import GroundwireError, Interrupted, TimedOut, UpstreamWireError
from groundwire.transport.deadline import Deadline
from groundwire.transport.decoders import ENCODINGS, Decompressor
from groundwire.transport.errors import connection_error, describe_error
from groundwire.transport.http import Deadlines, HttpRequest
from groundwire.transport.http1.connect import Connector
from groundwire.transport.http1.connection import Connection, IncompleteBody
from groundwire.transport.http1.origin import Origin, RequestTarget, parse_proxy, parse_target
from groundwire.transport.http1.parser import ProtocolError, ResponseHead, encode_request
from groundwire.transport.http1.pool import ConnectTimeout, Pool
from groundwire.transport.proxies import host_of

_CHUNK = 32 * 1024
"""Bytes returned by one read: for a client that does not read, we buffer a small multiple of it."""
_DRAIN_SECONDS = 0.25
_ERROR_BODY_SIZE = 256 * 1024
_ERROR_BODY_SECONDS = 2.0
_BLANKS = b"\xef\xbb\xbf \t\r\n"
_TOO_LATE = "the answer took too long"

_KEEP_ALIVE = 30.0
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_RESERVED = frozenset({"connection", "content-length", "transfer-encoding", "upgrade"})
"""Headers that describe the connection or the length of the body: only this module may set them."""
_DEFAULT_HEADERS = (("user-agent", "groundwire"), ("accept", "*/*"), ("accept-encoding", ENCODINGS))


class Response:
    """A streaming response: status, headers (lower-case names), and the body as it arrives."""

    __slots__ = (
        "_connection",
        "_decompressor",
        "_ends",
        "_idle",
        "_largest",
        "_loop",
        "_origin",
        "_peeked",
        "_pool",
        "_receive",
        "_receive_error",
        "_remaining",
        "_timer",
        "_waiting_since",
        "headers",
        "status",
    )

    def __init__(
        self,
        pool: Pool,
        origin: Origin,
        connection: Connection,
        head: ResponseHead,
        deadlines: Deadlines,
        ends: float,
    ) -> None:
        self._pool = pool
        self._origin = origin
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._idle = deadlines.idle
        self._largest = self._remaining = deadlines.largest
        self._ends = ends
        self._waiting_since = 0.0
        """When the current wait for bytes began; zero while there is no reader, because that time does not
        count."""
        self._timer: asyncio.TimerHandle | None = None
        self._peeked = b""
        self._receive: Callable[[bytes], bool] | None = None
        self._receive_error: GroundwireError | None = None
        self.status = head.status
        self.headers = head.headers
        encoding = head.headers.get("content-encoding")
        self._decompressor = Decompressor(encoding) if encoding else None

    @property
    def has_arrived(self) -> bool:
        """Has the whole response arrived, even if it is not read yet?"""
        return self._connection.is_complete

    async def read(self) -> bytes:
        """The next bytes, empty at the end. Bytes from before a broken connection are returned before its
        error.

        Raises `UpstreamWireError` when the body is larger than allowed.
        """
        if self._peeked:
            peeked, self._peeked = self._peeked, b""
            return peeked
        data = await self._read()
        self._remaining -= len(data)
        if self._remaining < 0:
            raise self._too_large()
        return data

    def _too_large(self) -> UpstreamWireError:
        return UpstreamWireError(
            f"the answer is larger than {self._largest // 2**20} MB; raise max_answer_mb if it must be"
        )

    async def _read(self) -> bytes:
        if self._loop.time() >= self._ends:
            raise TimedOut(_TOO_LATE)  # also where bytes are always there and no wait could time out
        try:
            if self._decompressor is not None:
                return await self._decompressed(self._decompressor)
            return self._connection.read_now(_CHUNK) or await self._received()
        except TimeoutError:
            late = self._loop.time() >= self._ends
            raise TimedOut(_TOO_LATE if late else "the answer stopped coming") from None
        except (ProtocolError, OSError, UpstreamWireError) as error:
            raise Interrupted(f"the connection broke: {describe_error(error)}") from None

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it arrives."""
        while chunk := await self.read():
            yield chunk

    async def pump(self, receive: Callable[[bytes], bool]) -> bool:
        """Pass the body to `receive` as it arrives, until it returns True; False if the body ends before.

        Bytes are passed on by the callback that received them: the task sleeps until `receive` wants it. An
        error in `receive` is raised here.
        """
        while True:
            if self._connection.must_wait and self._decompressor is None and not self._peeked:
                if await self._stopped(receive):
                    return True
                continue  # the end of the body, or an error: reading tells which
            chunk = await self.read()
            if not chunk:
                return False
            if receive(chunk):
                return True

    async def _stopped(self, receive: Callable[[bytes], bool]) -> bool:
        """Receive until `receive` returns True; False if the connection has something else to report."""
        self._receive = receive
        self._waiting_since = self._loop.time()
        if self._timer is None:
            self._start_timer()
        try:
            await self._connection.receive(self._offer)
        finally:
            self._waiting_since = 0.0
            stopped, self._receive = self._receive is None, None
        if self._receive_error is not None:
            raise self._receive_error
        return stopped

    def _offer(self, chunk: bytes) -> bool:
        """Called by the connection for each chunk."""
        self._waiting_since = self._loop.time()
        self._remaining -= len(chunk)
        if self._remaining < 0:
            self._receive_error = self._too_large()
            self._receive = None
            return True
        try:
            if self._receive is None or not self._receive(chunk):
                return False
        except GroundwireError as error:  # raised in the task that receives
            self._receive_error = error
        self._receive = None
        return True

    async def peek(self) -> bytes:
        """The first bytes that are not blank, without consuming them; empty if there are none."""
        while chunk := await self.read():
            self._peeked = chunk.lstrip(_BLANKS)
            if self._peeked:
                break
        return self._peeked

    async def body(self, limit: int = 0) -> bytes:
        """The whole body, up to a limit if one is given."""
        chunks: list[bytes] = []
        size = 0
        while chunk := await self.read():
            chunks.append(chunk)
            size += len(chunk)
            if limit and size > limit:
                raise UpstreamWireError(f"the body is larger than {limit} bytes")
            if self._connection.is_read and self._decompressor is None:
                break
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def error_body(self) -> bytes:
        """The beginning of a body that only explains the status: what arrives within a short time."""
        data = bytearray()
        with suppress(TimeoutError, TimedOut, Interrupted, UpstreamWireError):
            async with asyncio.timeout(_ERROR_BODY_SECONDS):
                while chunk := await self.read():
                    data += chunk
                    if len(data) >= _ERROR_BODY_SIZE:
                        break
        return bytes(data[:_ERROR_BODY_SIZE])

    async def drain(self) -> bytes:
        """Read the rest of the body if its end arrives soon, so that the connection can be reused."""
        rest = bytearray()
        with suppress(TimeoutError, TimedOut, Interrupted, UpstreamWireError):
            while self._connection.is_complete and (chunk := await self.read()):
                rest += chunk
            if not self._connection.is_complete:
                async with asyncio.timeout(_DRAIN_SECONDS):
                    while chunk := await self.read():
                        rest += chunk
        return bytes(rest)

    def close(self) -> None:
        """Return the connection to the pool if the body is complete; otherwise close it."""
        if self._timer is not None:
            self._timer.cancel()
        self._pool.release(self._origin, self._connection)
        self._ends = 0.0  # a later read would get bytes of another response

    async def _received(self) -> bytes:
        if self._connection.is_complete:
            return b""
        self._waiting_since = self._loop.time()
        if self._timer is None:
            self._start_timer()
        try:
            return await self._connection.read(_CHUNK)
        finally:
            self._waiting_since = 0.0

    async def _decompressed(self, decompressor: Decompressor) -> bytes:
        data = decompressor.feed(b"", _CHUNK)
        while not data and (packed := self._connection.read_now(_CHUNK) or await self._received()):
            data = decompressor.feed(packed, _CHUNK)
        if not data and not decompressor.is_complete:
            raise IncompleteBody
        return data

    def _start_timer(self) -> None:
        """One timer for a whole response costs less than one for each read."""
        since = self._waiting_since or self._loop.time()
        self._timer = self._loop.call_at(min(since + self._idle, self._ends), self._on_timer)

    def _on_timer(self) -> None:
        if not self._waiting_since:
            self._timer = None  # the next wait starts it again
        elif self._loop.time() >= min(self._waiting_since + self._idle, self._ends):
            self._connection.fail(TimeoutError())
        else:
            self._start_timer()


def new_pool() -> Pool:
    """A connection pool for one event loop."""
    return Pool(Connector(), _KEEP_ALIVE)


class OpenRequest:
    """Context manager that sends a request. A class, because a generator for each request costs more."""

    __slots__ = ("_deadlines", "_pool", "_proxy", "_request", "_response")

    def __init__(self, pool: Pool, request: HttpRequest, deadlines: Deadlines, proxy: str) -> None:
        self._pool = pool
        self._request = request
        self._deadlines = deadlines
        self._proxy = proxy
        self._response: Response | None = None

    async def __aenter__(self) -> Response:
        request, deadlines = self._request, self._deadlines
        now = asyncio.get_running_loop().time()
        ends = now + deadlines.total
        first_byte = Deadline(now + min(deadlines.first_byte, deadlines.total))
        try:
            target = parse_target(request.url, self._proxy)
            data = encode_http_request(request, target)
            with first_byte:
                connection, head = await self._pool.send(
                    target.origin, request.method, data, deadlines.connect
                )
        except ConnectTimeout:
            raise TimedOut(f"no connection to {host_of(request.url)} in time") from None
        except TimeoutError:
            raise TimedOut(f"no answer from {host_of(request.url)} in time") from None
        except (OSError, ValueError) as error:
            raise connection_error(error, host_of(request.url)) from None
        finally:
            first_byte.close()
        self._response = Response(self._pool, target.origin, connection, head, deadlines, ends)
        return self._response

    async def __aexit__(self, *_: object) -> None:
        if self._response is not None:
            self._response.close()


def encode_http_request(request: HttpRequest, target: RequestTarget) -> bytes:
    """A request as bytes; raises `ValueError` if it cannot be written."""
    head = _encode_head(request.method, target, tuple(request.headers.items()))
    if not request.body and request.method not in _WITH_BODY:
        return head + b"\r\n"
    return b"%bcontent-length: %d\r\n\r\n%b" % (head, len(request.body), request.body)


@lru_cache(maxsize=64)
def _encode_head(method: str, target: RequestTarget, given_headers: tuple[tuple[str, str], ...]) -> bytes:
    """The lines of a head that do not depend on the body. Requests to a provider differ in little else."""
    given = {name.lower() for name, _ in given_headers}
    if not _RESERVED.isdisjoint(given):
        raise ValueError("a header is not the caller's to set")
    host = [] if "host" in given else [("host", target.host)]
    headers = [*host, *given_headers]
    headers += [(name, text) for name, text in _DEFAULT_HEADERS if name not in given]
    if target.authorization and "authorization" not in given:
        headers.append(("authorization", target.authorization))
    origin = target.origin
    if origin.proxy and not origin.tls_name and (authorization := parse_proxy(origin.proxy)[1]):
        headers.append(("proxy-authorization", authorization))
    return encode_request(method, target.path, headers).removesuffix(b"\r\n")
