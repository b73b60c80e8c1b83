"""Graceful shutdown: answers in progress may finish until the deadline; then each ends with an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import cast

from groundwire.errors import TurnedAway
from groundwire.model import Event


def closing_error() -> TurnedAway:
    """The error of requests that arrive, or are still running, while the server shuts down."""
    return TurnedAway(status=503, message="the gateway is closing", code="CLOSING", retry_after=5)


class _ActiveStream:
    __slots__ = ("cancelled", "task", "waiting")

    def __init__(self, task: asyncio.Task[object]) -> None:
        self.task = task
        self.waiting = False
        """Waits for the provider and not for the client: only then may it be cancelled."""
        self.cancelled = False


class ActiveStreams:
    """The answers in progress."""

    def __init__(self) -> None:
        self.closed = False
        self._streams: set[_ActiveStream] = set()

    def close(self) -> None:
        """End every answer with `closing_error`."""
        self.closed = True
        for stream in self._streams:
            if stream.waiting:
                stream.cancelled = True
                stream.task.cancel()

    async def track(
        self, batches: AsyncGenerator[Sequence[Event], None]
    ) -> AsyncGenerator[Sequence[Event], None]:
        """The same events; raises `closing_error` after `close`."""
        stream = _ActiveStream(cast("asyncio.Task[object]", asyncio.current_task()))
        self._streams.add(stream)
        try:
            try:
                self._mark_waiting(stream)
                async for batch in batches:
                    stream.waiting = False
                    yield batch
                    self._mark_waiting(stream)
            finally:
                await batches.aclose()
        except asyncio.CancelledError:
            if not stream.cancelled or stream.task.uncancel():
                raise
            raise closing_error() from None
        finally:
            self._streams.discard(stream)

    def _mark_waiting(self, stream: _ActiveStream) -> None:
        if self.closed:
            raise closing_error()
        stream.waiting = True
