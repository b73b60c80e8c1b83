"""Request coalescing: one upstream request, several readers.

A task reads the upstream stream once and records its batches; every reader iterates over the record at its
own speed. Upstream is read as fast as the fastest reader, and does not wait for readers while other gateways
wait for the answer (`is_awaited`). A response that exceeds the size limit accepts no
more readers, drops what all have read, and is read as fast as the slowest reader, so memory stays bounded.
A reader that stops does not affect the others. The upstream request is cancelled when the last one stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TypeAlias

from groundwire.model import Event, Failed, Finished

Batches: TypeAlias = AsyncGenerator[Sequence[Event], None]

_OVERHEAD = 100
"""Estimated bytes of an event besides its text."""


class _ReadPosition:
    """The position of one reader."""

    __slots__ = ("index",)

    def __init__(self) -> None:
        self.index = 0


class SharedStream:
    """A response in flight. The creator must call `follow` before it yields to the event loop."""

    def __init__(self, source: Batches, limit: int, closed: Callable[[SharedStream], None]) -> None:
        self._source = source
        self._limit = limit
        self._closed: Callable[[SharedStream], None] | None = closed
        self._recorded: list[tuple[Event, ...]] = []
        self._dropped = 0
        self._readers: set[_ReadPosition] = set()
        self._wanted = asyncio.Event()
        self._changed = asyncio.Event()
        self.size = 0
        """Estimated bytes."""
        self.is_awaited: Callable[[], bool] = lambda: False
        """Do others than the readers wait for the whole response?"""
        self.is_abandoned = False
        """Did the last reader stop before the end?"""
        self._task = asyncio.create_task(self._read())
        self._task.add_done_callback(self._task_done)

    def __len__(self) -> int:
        """The number of batches in memory."""
        return len(self._recorded)

    @property
    def complete(self) -> tuple[tuple[Event, ...], ...]:
        """The batches of a response that ended normally; empty for one that was cut short or filtered, which
        may succeed the next time."""
        last = self._recorded[-1] if self._recorded else ()
        stopped = any(isinstance(event, Finished) and event.reason == "stop" for event in last)
        return tuple(self._recorded) if stopped and not self._is_oversized else ()

    async def follow(self) -> Batches:
        """The response from its first event: what is recorded at once, then as it arrives."""
        reader = _ReadPosition()
        self._readers.add(reader)
        try:
            while await self._wait_for(reader.index):
                yield self._recorded[reader.index - self._dropped]
                reader.index += 1
                self._drop_read()
        finally:
            self._readers.discard(reader)
            await self._leave()

    @property
    def _is_oversized(self) -> bool:
        return self.size > self._limit

    @property
    def _end(self) -> int:
        return self._dropped + len(self._recorded)

    async def _wait_for(self, index: int) -> bool:
        """Wait until the batch at an index is recorded; False if the response ends before it."""
        while index >= self._end:
            if self._task.done():
                self._task.result()  # an error reaches every reader
                return False
            changed = self._changed
            self._wanted.set()
            await changed.wait()
        return True

    async def _read(self) -> None:
        try:
            async with aclosing(self._source) as batches:
                async for batch in batches:
                    self._record(tuple(batch))
                    while not self._is_wanted():
                        self._wanted.clear()
                        await self._wanted.wait()
        finally:
            self._close()

    def _is_wanted(self) -> bool:
        """Does a reader wait for more? After the end of the response the generator is only finished."""
        if self._recorded and _ends(self._recorded[-1]):
            return True
        if self.is_awaited() and not self._is_oversized:
            return True
        positions = [reader.index for reader in self._readers]
        return bool(positions) and (min(positions) if self._is_oversized else max(positions)) >= self._end

    def _record(self, batch: tuple[Event, ...]) -> None:
        self._recorded.append(batch)
        self.size += sum(len(ascii(event)) + _OVERHEAD for event in batch)
        if self._is_oversized or _ends(batch):
            self._close()
        self._wake()

    def _drop_read(self) -> None:
        """Drop the batches that all readers have read, if no reader can join."""
        if self._is_oversized:
            read = min(reader.index for reader in self._readers) - self._dropped
            del self._recorded[:read]
            self._dropped += read

    def _close(self) -> None:
        """Accept no more readers; calls `closed` once."""
        closed, self._closed = self._closed, None
        if closed is not None:
            closed(self)

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _task_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()  # retrieved, even if no reader is left
        self._wake()

    async def _leave(self) -> None:
        if self._readers:
            self._wanted.set()  # the slowest reader may have stopped
        elif not self._task.done():
            self.is_abandoned = True
            self._close()
            self._task.cancel()
            await asyncio.wait((self._task,))


def _ends(batch: Sequence[Event]) -> bool:
    return any(isinstance(event, Finished | Failed) for event in batch)
