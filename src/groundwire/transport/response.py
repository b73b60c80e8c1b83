"""An answer that is being read: bytes as they arrive, with a clock beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from groundwire.errors import Interrupted, TimedOut, UpstreamWireError
from groundwire.transport.deadlines import Deadlines
from groundwire.transport.decoders import Inflater
from groundwire.transport.errors import reason_of
from groundwire.transport.http1.connection import Connection, IncompleteBody
from groundwire.transport.http1.origin import Origin
from groundwire.transport.http1.parser import ProtocolError, ResponseHead
from groundwire.transport.http1.pool import Pool

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
        self._inflater = Inflater(encoding) if encoding else None

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

    async def _unpacked(self, inflater: Inflater) -> bytes:
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
