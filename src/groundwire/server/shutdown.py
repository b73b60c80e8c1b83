"""Graceful shutdown: answers in progress may finish until the deadline; then each ends with an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from groundwire.errors import TurnedAway
from groundwire.model import Event
from groundwire.model.batch_stream import BatchStream


def closing_error() -> TurnedAway:
    """The error of requests that arrive, or are still running, while the server shuts down."""
    return TurnedAway(status=503, message="the gateway is closing", code="CLOSING", retry_after=5)


class ActiveStreams:
    """The answers in progress."""

    def __init__(self) -> None:
        self.closed = False
        self.streams: set[TrackedStream] = set()

    def close(self) -> None:
        """End every answer with `closing_error`."""
        self.closed = True
        for stream in self.streams:
            stream.cancel()

    def track(self, batches: AsyncGenerator[Sequence[Event], None]) -> TrackedStream:
        """The same events; raises `closing_error` after `close`."""
        return TrackedStream(self, batches)


class TrackedStream(BatchStream):
    """An answer in progress."""

    __slots__ = ("_active", "_batches", "_cancelled", "_is_waiting", "_next", "_task")

    def __init__(self, active: ActiveStreams, batches: AsyncGenerator[Sequence[Event], None]) -> None:
        self._active = active
        self._batches = batches
        self._next = batches.__aiter__().__anext__
        self._task: asyncio.Task[object] | None = None
        self._is_waiting = False
        """Waits for the provider and not for the client: only then may it be cancelled."""
        self._cancelled = False

    def cancel(self) -> None:
        """End the answer, if it waits for the provider; otherwise it ends with its next batch."""
        if self._is_waiting and self._task is not None:
            self._cancelled = True
            self._task.cancel()

    async def __anext__(self) -> Sequence[Event]:
        """The next batch."""
        if self._active.closed:
            raise closing_error()
        task = self._task
        if task is None:
            task = self._task = asyncio.current_task()
            self._active.streams.add(self)
        self._is_waiting = True
        try:
            return await self._next()
        except asyncio.CancelledError:
            if not self._cancelled or task is None or task.uncancel():
                raise
            raise closing_error() from None
        finally:
            self._is_waiting = False

    async def aclose(self) -> None:
        """Cancel the request upstream."""
        self._active.streams.discard(self)
        await self._batches.aclose()
