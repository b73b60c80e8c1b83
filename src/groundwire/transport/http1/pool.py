"""Connection pool: idle connections of one event loop, keyed by origin.

Idle connections are bounded in time and in number; connections in use are bounded by the callers.
"""

from __future__ import annotations

import asyncio

from groundwire.transport.http1.connect import Connector
from groundwire.transport.http1.connection import Connection
from groundwire.transport.http1.origin import Origin
from groundwire.transport.http1.parser import ResponseHead

MAX_IDLE = 200
"""Idle connections of all origins together; beyond it the oldest is closed."""

_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS"})


class ConnectTimeout(TimeoutError):
    """No connection was made in time."""


class Pool:
    """Opens connections, reuses them, and closes those that were idle for `keep_alive` seconds."""

    def __init__(self, connector: Connector, keep_alive: float, max_idle: int = MAX_IDLE) -> None:
        self._connector = connector
        self._keep_alive = keep_alive
        self._max_idle = max_idle
        self._idle: dict[Origin, list[tuple[float, Connection]]] = {}
        """With the time since when; the last one returned is reused first."""
        self._in_use: set[Connection] = set()
        self._sweep_timer: asyncio.TimerHandle | None = None

    async def send(
        self, origin: Origin, method: str, data: bytes, connect_timeout: float
    ) -> tuple[Connection, ResponseHead]:
        """Send a request and wait for the response head; raises `OSError` and `ProtocolError`."""
        connection = self._reuse(origin) or await self._connect(origin, connect_timeout)
        try:
            return connection, await self._exchange(connection, method, data)
        except OSError:
            # The server may close an idle connection just when it is reused.
            if not connection.is_reused or method not in _IDEMPOTENT:
                raise
        connection = await self._connect(origin, connect_timeout)
        return connection, await self._exchange(connection, method, data)

    def release(self, origin: Origin, connection: Connection) -> None:
        """Keep a connection for reuse if its response is complete; otherwise close it."""
        self._in_use.discard(connection)
        if not connection.finish():
            return
        loop = asyncio.get_running_loop()
        if sum(map(len, self._idle.values())) >= self._max_idle:
            self._close_oldest()
        self._idle.setdefault(origin, []).append((loop.time(), connection))
        if self._sweep_timer is None:
            self._sweep_timer = loop.call_later(self._keep_alive, self._sweep)

    def close(self) -> None:
        """Close all connections, also those in use."""
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
            self._sweep_timer = None
        for connections in self._idle.values():
            for _, connection in connections:
                connection.abort()
        self._idle.clear()
        for connection in self._in_use:
            connection.abort()
        self._in_use.clear()

    def _reuse(self, origin: Origin) -> Connection | None:
        connections = self._idle.get(origin)
        while connections:
            _, connection = connections.pop()
            if connection.is_idle():
                return connection
        return None

    async def _connect(self, origin: Origin, timeout: float) -> Connection:
        try:
            async with asyncio.timeout(timeout):
                return await self._connector.connect(origin)
        except TimeoutError:
            raise ConnectTimeout from None

    async def _exchange(self, connection: Connection, method: str, data: bytes) -> ResponseHead:
        head: ResponseHead | None = None
        self._in_use.add(connection)
        try:
            connection.send(method, data)
            head = await connection.read_head()
        finally:
            if head is None:
                self._in_use.discard(connection)
                connection.abort()
        return head

    def _close_oldest(self) -> None:
        origin = min(
            (origin for origin, kept in self._idle.items() if kept), key=lambda one: self._idle[one][0][0]
        )
        _, connection = self._idle[origin].pop(0)
        connection.abort()

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        oldest = loop.time() - self._keep_alive
        kept: dict[Origin, list[tuple[float, Connection]]] = {}
        for origin, connections in self._idle.items():
            for since, connection in connections:
                if since > oldest and connection.is_idle():
                    kept.setdefault(origin, []).append((since, connection))
                else:
                    connection.abort()
        self._idle = kept
        self._sweep_timer = loop.call_later(self._keep_alive / 2, self._sweep) if kept else None
