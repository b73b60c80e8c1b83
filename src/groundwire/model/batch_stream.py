"""Streams of batches that are objects: cheaper to begin and to end than an async generator."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from groundwire.model.events import Event


class BatchStream(AsyncGenerator[Sequence[Event], None]):
    """Base class. A subclass implements `__anext__`, and `aclose` if it has something to close."""

    __slots__ = ()

    async def asend(self, _: None, /) -> Sequence[Event]:
        """The next batch."""
        return await self.__anext__()

    async def athrow(self, *error: Any) -> Sequence[Event]:
        """Close the stream and raise the exception."""
        await self.aclose()
        raise error[1] if len(error) > 1 and error[1] is not None else error[0]

    async def aclose(self) -> None:
        """Close the stream."""


class OneBatch(BatchStream):
    """A stream of a single batch that is known already."""

    __slots__ = ("_batch",)

    def __init__(self, batch: Sequence[Event]) -> None:
        self._batch: Sequence[Event] | None = batch

    async def __anext__(self) -> Sequence[Event]:
        """The batch, once."""
        batch, self._batch = self._batch, None
        if batch is None:
            raise StopAsyncIteration
        return batch
