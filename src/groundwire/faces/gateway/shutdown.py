"""How a gateway ends: what runs may finish, and what is still running then is told so in its own words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import cast

from groundwire.errors import TurnedAway
from groundwire.model import Event


def closing() -> TurnedAway:
    """What is said to whoever comes, or still waits, while the gateway ends."""
    return TurnedAway(status=503, message="the gateway is closing", code="CLOSING", retry_after=5)


class _Watch:
    """One answer under way."""

    __slots__ = ("cut", "task", "waiting")

    def __init__(self, task: asyncio.Task[object]) -> None:
        self.task = task
        self.waiting = False
        """For the provider, not for the client: only then may it be interrupted."""
        self.cut = False


class Running:
    """The answers under way, and the moment when they must end."""

    def __init__(self) -> None:
        self.over = False
        self._watches: set[_Watch] = set()

    def end(self) -> None:
        """End every answer: each is told as failed by whoever tells it."""
        self.over = True
        for watch in self._watches:
            if watch.waiting:
                watch.cut = True
                watch.task.cancel()

    async def follow(
        self, batches: AsyncGenerator[Sequence[Event], None]
    ) -> AsyncGenerator[Sequence[Event], None]:
        """The same events, until the end is called."""
        watch = _Watch(cast("asyncio.Task[object]", asyncio.current_task()))
        self._watches.add(watch)
        try:
            async with aclosing(batches):
                self._go_on(watch)
                async for batch in batches:
                    watch.waiting = False
                    yield batch
                    self._go_on(watch)
        except asyncio.CancelledError:
            if not watch.cut or watch.task.uncancel():
                raise
            raise closing() from None
        finally:
            self._watches.discard(watch)

    def _go_on(self, watch: _Watch) -> None:
        if self.over:
            raise closing()
        watch.waiting = True
