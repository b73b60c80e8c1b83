"""An answer that is being read: bytes as they arrive, with a clock beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from groundwire.errors import Interrupted, TimedOut, UpstreamWireError
from groundwire.transport.decoders import ENCODINGS, Decompressor
from groundwire.transport.errors import connection_error
from groundwire.transport.http import Deadlines, HttpRequest
from groundwire.transport.http1.connect import Connector
from groundwire.transport.http1.connection import Connection, IncompleteBody
from groundwire.transport.http1.origin import Origin, Target, parse_proxy, parse_target
from groundwire.transport.http1.parser import ProtocolError, ResponseHead, encode_request
from groundwire.transport.http1.pool import ConnectTimeout, Pool
from groundwire.transport.proxies import host_of

_PIECE = 32 * 1024
"""Bytes that are given on at once: a client who does not read makes us hold some multiple of it."""
_GRACE = 0.25
_EXCERPT = 256 * 1024
_SOON = 2.0
_BLANKS = b"\xef\xbb\xbf \t\r\n"
_LATE = "the answer took too long"


class Response:
    """An answer that has begun: its status, its headers (lower-case names), its bytes."""

    __slots__ = (
        "_clock",
        "_door",
        "_ends",
        "_idle",
        "_inflater",
        "_kept",
        "_largest",
        "_line",
        "_pool",
        "_room",
        "_since",
        "_timer",
        "headers",
        "status",
    )

    def __init__(
        self,
        pool: Pool,
        door: Origin,
        line: Connection,
        head: ResponseHead,
        deadlines: Deadlines,
        ends: float,
    ) -> None:
        self._pool = pool
        self._door = door
        self._line = line
        self._clock = asyncio.get_running_loop()
        self._idle = deadlines.idle
        self._largest = self._room = deadlines.largest
        self._ends = ends
        self._since = 0.0
        """When the wait began; nobody waits at zero. Time in which nobody reads does not count."""
        self._timer: asyncio.TimerHandle | None = None
        self._kept = b""
        self.status = head.status
        self.headers = head.headers
        encoding = head.headers.get("content-encoding")
        self._inflater = Decompressor(encoding) if encoding else None

    async def next(self) -> bytes:
        """The next bytes, empty at the end. What came before the connection broke is told before that is.

        Raises `UpstreamWireError` when there are more than an answer may have.
        """
        if self._kept:
            kept, self._kept = self._kept, b""
            return kept
        data = await self._next()
        self._room -= len(data)
        if self._room < 0:
            raise UpstreamWireError(
                f"the answer is larger than {self._largest // 2**20} MB; raise max_answer_mb if it must be"
            )
        return data

    async def _next(self) -> bytes:
        if self._clock.time() >= self._ends:
            raise TimedOut(_LATE)  # also where bytes are always there and no wait could run out
        try:
            if self._inflater is not None:
                return await self._unpacked(self._inflater)
            return self._line.read_now(_PIECE) or await self._received()
        except TimeoutError:
            late = self._clock.time() >= self._ends
            raise TimedOut(_LATE if late else "the answer stopped coming") from None
        except (ProtocolError, OSError, UpstreamWireError) as error:
            raise Interrupted(f"the connection broke: {reason_of(error)}") from None

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

    async def body(self, limit: int = 0) -> bytes:
        """The whole body, up to a limit of its own if there is one."""
        pieces = bytearray()
        while chunk := await self.next():
            pieces += chunk
            if limit and len(pieces) > limit:
                raise UpstreamWireError(f"the body is larger than {limit} bytes")
        return bytes(pieces)

    async def excerpt(self) -> bytes:
        """The beginning of a body that only explains a status: as much of it as comes soon."""
        pieces = bytearray()
        with suppress(TimeoutError, TimedOut, Interrupted, UpstreamWireError):
            async with asyncio.timeout(_SOON):
                while chunk := await self.next():
                    pieces += chunk
                    if len(pieces) >= _EXCERPT:
                        break
        return bytes(pieces[:_EXCERPT])

    async def settle(self) -> bytes:
        """What follows the last word, if its end comes soon: then the connection can serve another call."""
        rest = bytearray()
        with suppress(TimeoutError, TimedOut, Interrupted, UpstreamWireError):
            while self._line.is_over and (chunk := await self.next()):
                rest += chunk
            if not self._line.is_over:
                async with asyncio.timeout(_GRACE):
                    while chunk := await self.next():
                        rest += chunk
        return bytes(rest)

    def close(self) -> None:
        """A body that has come to its end leaves the connection for the next call; any other is closed."""
        if self._timer is not None:
            self._timer.cancel()
        self._pool.leave(self._door, self._line)
        self._ends = 0.0  # whoever still reads would read another's answer

    async def _received(self) -> bytes:
        if self._line.is_over:
            return b""
        self._since = self._clock.time()
        if self._timer is None:
            self._wait()
        try:
            return await self._line.read(_PIECE)
        finally:
            self._since = 0.0

    async def _unpacked(self, inflater: Decompressor) -> bytes:
        data = inflater.feed(b"", _PIECE)
        while not data and (packed := self._line.read_now(_PIECE) or await self._received()):
            data = inflater.feed(packed, _PIECE)
        if not data and not inflater.is_whole:
            raise IncompleteBody
        return data

    def _wait(self) -> None:
        """One timer for a whole answer costs less than one for each read."""
        begun = self._since or self._clock.time()
        self._timer = self._clock.call_at(min(begun + self._idle, self._ends), self._look)

    def _look(self) -> None:
        if not self._since:
            self._timer = None  # the next wait sets it again
        elif self._clock.time() >= min(self._since + self._idle, self._ends):
            self._line.give_up(TimeoutError())
        else:
            self._wait()


_KEEP_ALIVE = 30.0
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_OURS = frozenset({"connection", "content-length", "transfer-encoding", "upgrade"})
"""Where a body ends is said once, and by who sends it."""
_USUAL = (("user-agent", "groundwire"), ("accept", "*/*"), ("accept-encoding", ENCODINGS))


class HttpConnections:
    """The pools of one event loop."""

    def __init__(self) -> None:
        self._pool = Pool(Connector(), _KEEP_ALIVE)

    async def aclose(self) -> None:
        """Close all connections."""
        self._pool.close()
        await asyncio.sleep(0)  # what was cut is closed when the loop comes to it

    def open(self, call: HttpRequest, deadlines: Deadlines, proxy: str | None) -> _Opening:
        """Send a call; inside the block its answer can be read."""
        return _Opening(self._pool, call, deadlines, proxy or "")


class _Opening:
    """A call that is made with a block: written out, because a generator for each costs more."""

    __slots__ = ("_call", "_deadlines", "_exchange", "_pool", "_proxy")

    def __init__(self, pool: Pool, call: HttpRequest, deadlines: Deadlines, proxy: str) -> None:
        self._pool = pool
        self._call = call
        self._deadlines = deadlines
        self._proxy = proxy
        self._exchange: Response | None = None

    async def __aenter__(self) -> Response:
        call, deadlines = self._call, self._deadlines
        ends = asyncio.get_running_loop().time() + deadlines.total
        try:
            place = parse_target(call.url, self._proxy)
            data = encode_call(call, place)
            async with asyncio.timeout(min(deadlines.first_byte, deadlines.total)):
                line, head = await self._pool.begin(place.door, call.method, data, deadlines.connect)
        except ConnectTimeout:
            raise TimedOut(f"no connection to {host_of(call.url)} in time") from None
        except TimeoutError:
            raise TimedOut(f"no answer from {host_of(call.url)} in time") from None
        except (OSError, ValueError) as error:
            raise connection_error(error, host_of(call.url)) from None
        self._exchange = Response(self._pool, place.door, line, head, deadlines, ends)
        return self._exchange

    async def __aexit__(self, *_: object) -> None:
        if self._exchange is not None:
            self._exchange.close()


def encode_call(call: HttpRequest, place: Target) -> bytes:
    """A call as it goes over the wire; raises `ValueError` if it cannot be written."""
    given = {name.lower() for name in call.headers}
    if not _OURS.isdisjoint(given):
        raise ValueError("a header is not the caller's to set")
    headers = (
        [("host", place.host), *call.headers.items()] if "host" not in given else [*call.headers.items()]
    )
    headers += [(name, text) for name, text in _USUAL if name not in given]
    if place.authorization and "authorization" not in given:
        headers.append(("authorization", place.authorization))
    if place.door.proxy and not place.door.name and (who := parse_proxy(place.door.proxy)[1]):
        headers.append(("proxy-authorization", who))
    if call.body or call.method in _WITH_BODY:
        headers.append(("content-length", str(len(call.body))))
    return encode_request(call.method, place.target, headers) + call.body
