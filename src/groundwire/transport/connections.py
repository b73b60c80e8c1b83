"""The connections behind `Http`: the only module of transport that knows the client library.

Imported with the first call, because the library takes longer to import than all the rest together.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from groundwire.errors import (
    ConfigError,
    GroundwireError,
    Interrupted,
    TimedOut,
    Unreachable,
    UpstreamWireError,
)
from groundwire.transport.deadlines import Deadlines
from groundwire.transport.http import Call
from groundwire.transport.proxies import host_of

MAX_BODY = 64 * 1024 * 1024
_CONNECTIONS_PER_HOST = 0  # no limit here: limits are policy, and belong to routing
_KEEP_ALIVE = 30.0
_HEADER_SIZE = 64 * 1024
_PIECE = 32 * 1024
_AHEAD = 16 * 1024
"""Bytes that are given on at once, and that are read ahead (about twice as many): all that a client who does
not read makes us hold is some multiple of these."""
_GRACE = 0.25
_LOOK = 1.0
_EXCERPT = 256 * 1024
_SOON = 2.0
_BLANKS = b"\xef\xbb\xbf \t\r\n"
_LATE = "the answer took too long"
_BROKEN = (aiohttp.ClientError, HttpProcessingError, OSError)


class Exchange:
    """An answer that has begun: its status, its headers (lower-case names), its bytes."""

    def __init__(self, response: aiohttp.ClientResponse, idle: float, ends: float) -> None:
        self._response = response
        self._watch = _Watch(response, idle, ends)
        self._ends = ends
        self._kept = b""
        self._broken: Interrupted | None = None
        self.status = response.status
        self.headers: Mapping[str, str] = {name.lower(): text for name, text in response.headers.items()}

    async def next(self) -> bytes:
        """The next bytes, empty at the end. What came before the connection broke is told before that is."""
        if self._kept:
            kept, self._kept = self._kept, b""
            return kept
        if self._broken is not None:
            raise self._broken
        clock = asyncio.get_running_loop()
        if clock.time() >= self._ends:
            raise TimedOut(_LATE)  # also where bytes are always there and no wait could run out
        try:
            return await self._watch.read()
        except TimeoutError:
            late = clock.time() >= self._ends
            raise TimedOut(_LATE if late else "the answer stopped coming") from None
        except _BROKEN as error:
            self._broken = Interrupted(f"the connection broke: {_reason(error)}")
            if left := _left_in(self._response.content):
                return left
            raise self._broken from None

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it arrives."""
        while chunk := await self.next():
            yield chunk

    async def head(self) -> bytes:
        """The first bytes that are no blanks, which stay to be read; empty if there are none."""
        while chunk := await self.next():
            self._kept = chunk.lstrip(_BLANKS)
            if self._kept:
                break
        return self._kept

    async def body(self, limit: int = MAX_BODY) -> bytes:
        """The whole body, up to a limit."""
        pieces = bytearray()
        while chunk := await self.next():
            pieces += chunk
            if len(pieces) > limit:
                raise UpstreamWireError(f"the body is larger than {limit} bytes")
        return bytes(pieces)

    async def excerpt(self) -> bytes:
        """The beginning of a body that only explains a status: as much of it as comes soon."""
        pieces = bytearray()
        with suppress(TimeoutError, TimedOut, Interrupted):
            async with asyncio.timeout(_SOON):
                while chunk := await self.next():
                    pieces += chunk
                    if len(pieces) >= _EXCERPT:
                        break
        return bytes(pieces[:_EXCERPT])

    async def settle(self) -> bytes:
        """What follows the last word, if its end comes soon: then the connection can serve another call."""
        content = self._response.content
        if content.at_eof():
            return b""
        rest = bytearray()
        with suppress(TimeoutError, *_BROKEN):
            async with asyncio.timeout(_GRACE):
                while not content.at_eof():
                    rest += await content.readany()
        return bytes(rest)

    def close(self) -> None:
        """A body read to its end leaves the connection for the next call; any other is closed."""
        self._watch.close()
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


class _Watch:
    """Reads, and looks up now and then: is it late, and is there still a connection? Nobody tells of one
    given up over a bad chunk. One timer for a whole answer costs less than one for each read."""

    __slots__ = ("_clock", "_content", "_ends", "_idle", "_response", "_since", "_timer")

    def __init__(self, response: aiohttp.ClientResponse, idle: float, ends: float) -> None:
        self._response = response
        self._content = response.content
        self._idle = idle
        self._ends = ends
        self._clock = asyncio.get_running_loop()
        self._since = 0.0
        """When the wait began; nobody waits at zero. Time in which nobody reads does not count."""
        self._timer: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Forget the clock."""
        if self._timer is not None:
            self._timer.cancel()

    async def read(self) -> bytes:
        """The next bytes."""
        content = self._content
        if (ready := content.read_nowait(_PIECE)) or content.at_eof():
            return ready
        self._since = self._clock.time()
        if self._timer is None:
            self._wait()
        try:
            return await content.read(_PIECE)
        finally:
            self._since = 0.0

    def _wait(self) -> None:
        begun = self._since or self._clock.time()
        until = min(begun + self._idle, self._ends, self._clock.time() + _LOOK)
        self._timer = self._clock.call_at(until, self._look)

    def _look(self) -> None:
        if not self._since:
            self._timer = None  # the next wait sets it again
            return
        connection = self._response.connection
        if connection is not None and connection.closed:
            self._content.set_exception(aiohttp.ClientPayloadError())
        elif self._clock.time() >= min(self._since + self._idle, self._ends):
            self._content.set_exception(TimeoutError())
        else:
            self._wait()


class Connections:
    """The pools of one event loop."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def open(self, call: Call, deadlines: Deadlines, proxy: str | None) -> _Opening:
        """Send a call; inside the block its answer can be read."""
        return _Opening(self, call, deadlines, proxy)

    async def send(self, call: Call, deadlines: Deadlines, proxy: str | None) -> aiohttp.ClientResponse:
        """Send a call, and wait for the head of its answer."""
        try:
            async with asyncio.timeout(min(deadlines.first_byte, deadlines.total)):
                return await self._client().request(
                    call.method,
                    _exact(call.url),
                    headers=call.headers,
                    data=call.body or None,
                    proxy=proxy,
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(total=None, connect=deadlines.connect),
                )
        except (TimeoutError, aiohttp.ServerTimeoutError) as error:
            phase = "connection to" if isinstance(error, aiohttp.ConnectionTimeoutError) else "answer from"
            raise TimedOut(f"no {phase} {host_of(call.url)} in time") from None
        except (*_BROKEN, ValueError) as error:
            raise _trouble(error, host_of(call.url)) from None

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0, limit_per_host=_CONNECTIONS_PER_HOST, keepalive_timeout=_KEEP_ALIVE
                ),
                headers={"user-agent": "groundwire"},
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=True,
                trust_env=False,
                read_bufsize=_AHEAD,
                max_line_size=_HEADER_SIZE,
                max_field_size=_HEADER_SIZE,
            )
        return self._session


class _Opening:
    """A call that is made with a block: written out, because a generator for each costs more."""

    __slots__ = ("_call", "_connections", "_deadlines", "_exchange", "_proxy")

    def __init__(self, connections: Connections, call: Call, deadlines: Deadlines, proxy: str | None) -> None:
        self._connections = connections
        self._call = call
        self._deadlines = deadlines
        self._proxy = proxy
        self._exchange: Exchange | None = None

    async def __aenter__(self) -> Exchange:
        ends = asyncio.get_running_loop().time() + self._deadlines.total
        response = await self._connections.send(self._call, self._deadlines, self._proxy)
        self._exchange = Exchange(response, self._deadlines.idle, ends)
        return self._exchange

    async def __aexit__(self, *_: object) -> None:
        if self._exchange is not None:
            self._exchange.close()


def _exact(url: str) -> URL:
    """The address as it is escaped; left to itself, the library would undo some of that."""
    return URL(url, encoded=url.isascii() and url.isprintable() and " " not in url)


def _left_in(content: aiohttp.StreamReader) -> bytes:
    """What was received and not read: the library itself forgets it when the connection breaks."""
    left = b"".join(content._buffer)[content._buffer_offset :]
    content._buffer.clear()
    content._buffer_offset = 0
    return left


def _trouble(error: Exception, host: str) -> GroundwireError:
    """What an error before the answer means. It never repeats addresses, in which credentials may stand."""
    match error:
        case aiohttp.NonHttpUrlClientError() | aiohttp.InvalidURL():
            return ConfigError(f"{host!r} is no web address; check the base_url")
        case aiohttp.ClientHttpProxyError():
            return Unreachable(f"the proxy does not lead to {host}: HTTP {error.status}")
        case aiohttp.ClientProxyConnectionError():
            return Unreachable(f"cannot reach the proxy for {host}: {_reason(error)}")
        case aiohttp.ClientResponseError() | HttpProcessingError():
            return UpstreamWireError(f"what {host} answers is not HTTP")
        case aiohttp.ClientError() | OSError():
            return Unreachable(f"cannot reach {host}: {_reason(error)}")
    return ConfigError(f"a request to {host} cannot be written; check its base_url and its key")


_REASONS: Mapping[type[Exception], str] = {
    aiohttp.ServerDisconnectedError: "it hung up",
    aiohttp.ClientConnectorCertificateError: "its certificate cannot be trusted",
    aiohttp.ClientConnectorSSLError: "no secure connection is possible",
    aiohttp.ClientPayloadError: "the body is incomplete",
    HttpProcessingError: "the body is malformed",
}


def _reason(error: BaseException) -> str:
    """What a network error says, without the address that credentials might stand in."""
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return reason
    cause = getattr(error, "os_error", None) or error
    return getattr(cause, "strerror", None) or type(error).__name__
