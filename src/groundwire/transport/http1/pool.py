"""The lines of one event loop: those that wait for a call, by their doors."""

from __future__ import annotations

import asyncio

from groundwire.transport.http1.connect import Connector
from groundwire.transport.http1.connection import Connection
from groundwire.transport.http1.origin import Origin
from groundwire.transport.http1.parser import ResponseHead

_REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS"})


class ConnectTimeout(TimeoutError):
    """There is no connection in time."""


class Pool:
    """Lines that are opened, used, left to others, and closed when nobody wants them for a while."""

    def __init__(self, dialler: Connector, keep: float) -> None:
        self._dialler = dialler
        self._keep = keep
        self._free: dict[Origin, list[tuple[float, Connection]]] = {}
        """With the moment since when; the one that was left last is taken first."""
        self._used: set[Connection] = set()
        self._sweeping: asyncio.TimerHandle | None = None

    async def begin(
        self, door: Origin, method: str, data: bytes, connect: float
    ) -> tuple[Connection, ResponseHead]:
        """Send a call, and wait for the head of its answer; raises `OSError`, and `ProtocolError`. Connecting
        may take so many seconds."""
        line = self._taken(door) or await self._dialled(door, connect)
        try:
            return line, await self._answered(line, method, data)
        except OSError:
            # A line may be closed from the other side just when it is taken.
            if not line.is_used or method not in _REPEATABLE:
                raise
        line = await self._dialled(door, connect)
        return line, await self._answered(line, method, data)

    def leave(self, door: Origin, line: Connection) -> None:
        """An answer was read, or is not wanted."""
        self._used.discard(line)
        if not line.finish():
            return
        clock = asyncio.get_running_loop()
        self._free.setdefault(door, []).append((clock.time(), line))
        if self._sweeping is None:
            self._sweeping = clock.call_later(self._keep, self._sweep)

    def close(self) -> None:
        """Close them all, whoever reads from them."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        for lines in self._free.values():
            for _, line in lines:
                line.abort()
        self._free.clear()
        for line in self._used:
            line.abort()
        self._used.clear()

    def _taken(self, door: Origin) -> Connection | None:
        lines = self._free.get(door)
        while lines:
            _, line = lines.pop()
            if line.is_free():
                return line
        return None

    async def _dialled(self, door: Origin, connect: float) -> Connection:
        try:
            async with asyncio.timeout(connect):
                return await self._dialler.line(door)
        except TimeoutError:
            raise ConnectTimeout from None

    async def _answered(self, line: Connection, method: str, data: bytes) -> ResponseHead:
        head: ResponseHead | None = None
        self._used.add(line)
        try:
            line.send(method, data)
            head = await line.head()
        finally:
            if head is None:
                self._used.discard(line)
                line.abort()
        return head

    def _sweep(self) -> None:
        clock = asyncio.get_running_loop()
        oldest = clock.time() - self._keep
        kept: dict[Origin, list[tuple[float, Connection]]] = {}
        for door, lines in self._free.items():
            for since, line in lines:
                if since > oldest and line.is_free():
                    kept.setdefault(door, []).append((since, line))
                else:
                    line.abort()
        self._free = kept
        self._sweeping = clock.call_later(self._keep / 2, self._sweep) if kept else None
