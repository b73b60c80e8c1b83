"""One answer under way, read by several askers.

The provider is asked once, by a task of its own, and what it says is recorded; everybody reads from the
record at their own pace. The provider is read as fast as the fastest of them. An answer that outgrows the
limit takes no more readers, forgets what all have read, and is read as fast as the slowest: so the limit
holds. When the last reader leaves, the provider's request ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TypeAlias

from groundwire.model import Event, Failed, Finished

Batches: TypeAlias = AsyncGenerator[Sequence[Event], None]

_OVERHEAD = 100
"""About what an event weighs beside its words, in bytes."""


class _ReadPosition:
    """How far somebody is."""

    __slots__ = ("place",)

    def __init__(self) -> None:
        self.place = 0


class SharedStream:
    """An answer while it comes. Who makes one must follow it before anything else happens."""

    def __init__(self, source: Batches, limit: int, closed: Callable[[SharedStream], None]) -> None:
        self._source = source
        self._limit = limit
        self._closed: Callable[[SharedStream], None] | None = closed
        self._recorded: list[tuple[Event, ...]] = []
        self._forgotten = 0
        self._readers: set[_ReadPosition] = set()
        self._wanted = asyncio.Event()
        self._changed = asyncio.Event()
        self.size = 0
        """In bytes, by estimate."""
        self._asking = asyncio.create_task(self._ask())
        self._asking.add_done_callback(self._asked)

    def __len__(self) -> int:
        """How many batches are in memory."""
        return len(self._recorded)

    @property
    def whole(self) -> tuple[tuple[Event, ...], ...]:
        """The record of an answer that ended by itself; empty of any other: what was cut short or filtered
        may be better the next time."""
        last = self._recorded[-1] if self._recorded else ()
        stopped = any(isinstance(event, Finished) and event.reason == "stop" for event in last)
        return tuple(self._recorded) if stopped and not self._overweight else ()

    async def follow(self) -> Batches:
        """The answer from its first event on, as far as it is known at once, then as it comes."""
        reader = _ReadPosition()
        self._readers.add(reader)
        try:
            while await self._reach(reader.place):
                yield self._recorded[reader.place - self._forgotten]
                reader.place += 1
                self._forget()
        finally:
            self._readers.discard(reader)
            await self._leave()

    @property
    def _overweight(self) -> bool:
        return self.size > self._limit

    @property
    def _end(self) -> int:
        return self._forgotten + len(self._recorded)

    async def _reach(self, place: int) -> bool:
        """Wait until there is a batch at a place; there is none behind the last."""
        while place >= self._end:
            if self._asking.done():
                self._asking.result()  # an error is everybody's
                return False
            changed = self._changed
            self._wanted.set()
            await changed.wait()
        return True

    async def _ask(self) -> None:
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
        """Does a reader wait for more? Behind the end of an answer there is nothing to wait for."""
        if self._recorded and _ends(self._recorded[-1]):
            return True
        places = [reader.place for reader in self._readers]
        return bool(places) and (min(places) if self._overweight else max(places)) >= self._end

    def _record(self, batch: tuple[Event, ...]) -> None:
        self._recorded.append(batch)
        self.size += sum(len(ascii(event)) + _OVERHEAD for event in batch)
        if self._overweight or _ends(batch):
            self._close()
        self._wake()

    def _forget(self) -> None:
        """What everybody has read is needed no more if nobody can come."""
        if self._overweight:
            read = min(reader.place for reader in self._readers) - self._forgotten
            del self._recorded[:read]
            self._forgotten += read

    def _close(self) -> None:
        """From now on nobody can join; told once."""
        closed, self._closed = self._closed, None
        if closed is not None:
            closed(self)

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _asked(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()  # seen, even if nobody is there to be told
        self._wake()

    async def _leave(self) -> None:
        if self._readers:
            self._wanted.set()  # the slowest may have been the one who left
        elif not self._asking.done():
            self._close()
            self._asking.cancel()
            await asyncio.wait((self._asking,))


def _ends(batch: Sequence[Event]) -> bool:
    return any(isinstance(event, Finished | Failed) for event in batch)
