"""An answer under way: its events are folded as they come, and whoever reads it may be slower."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias

from groundwire.errors import GroundwireError
from groundwire.model import (
    Answer,
    Assembler,
    Event,
    Failed,
    Finished,
    SearchCalled,
    SearchReturned,
    SearchStarted,
    Started,
    TextDelta,
    Warned,
)

Batches: TypeAlias = AsyncGenerator[Sequence[Event], None]
Ask: TypeAlias = Callable[..., Batches]
"""Called with a request, `provider=` and `model=`."""

_SEARCHING = (SearchStarted, SearchCalled)
_GOING_ON = (SearchReturned, TextDelta)


async def warned(batches: Batches, warning: Warned) -> Batches:
    """The same events, with a warning that was known before them."""
    async with aclosing(batches) as rest:
        async for batch in rest:
            yield (*batch, warning) if warning not in batch else batch
            break
        async for batch in rest:
            yield batch


class Telling:
    """The answer so far."""

    def __init__(self) -> None:
        self.provider = ""
        self.over = False
        self.searching = False
        self._assembler = Assembler()
        self._changed = asyncio.Event()

    def answer(self) -> Answer:
        """What has been told until now."""
        return self._assembler.answer()

    async def change(self, within: float) -> bool:
        """Wait for something new; says whether there is."""
        try:
            async with asyncio.timeout(within):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        return True

    async def follow(self, ask: Callable[[], Batches]) -> None:
        """Take in everything; what goes wrong is the end of the answer."""
        try:
            async with aclosing(ask()) as batches:
                async for batch in batches:
                    for event in batch:
                        self._take(event)
                    self._changed.set()
        except GroundwireError as error:
            self._take(Failed(error))
        finally:
            self.over = True
            self._changed.set()

    def _take(self, event: Event) -> None:
        if isinstance(event, Started):
            self.provider = event.provider or self.provider
        elif isinstance(event, Finished | Failed):
            self.over = True
        elif isinstance(event, _SEARCHING):
            self.searching = True
        elif isinstance(event, _GOING_ON):
            self.searching = False
        self._assembler.feed(event)


@asynccontextmanager
async def telling(ask: Callable[[], Batches]) -> AsyncGenerator[Telling, None]:
    """An answer that is asked for as long as the block lasts; leaving it stops the provider."""
    told = Telling()
    following = asyncio.create_task(told.follow(ask))
    try:
        yield told
        await following
    finally:
        following.cancel()
        await asyncio.wait([following])
