"""The way an answer goes out: when its head is sent, what keeps it alive, and how it ends.

A response is held back until its first visible event, so that an error is still an HTTP status. If that
takes long, the head goes out anyway, and signs of life follow wherever the dialect's clients bear them. A
client that does not read what it asked for is cut off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from groundwire.errors import GroundwireError
from groundwire.faces.gateway.asgi import Headers, Inbound
from groundwire.model.value import replace, value


@value
class Patience:
    """Seconds, each of them configurable by whoever builds the gateway."""

    head: float = 10.0
    """Until the head goes out though nothing is known yet."""
    quiet: float = 10.0
    """Between signs of life."""
    stall: float = 30.0
    """Until a client that does not read is cut off."""


def unhurried(patience: Patience) -> Patience:
    """For a whole answer: its status is worth a longer wait, and then life is shown every second."""
    return replace(patience, head=2 * patience.head, quiet=min(patience.quiet, 1.0))


_LONGEST_WAIT = 24 * 3600


def retry_after(error: GroundwireError) -> Headers:
    """The header for an error that says when to try again: between a second and a day."""
    wait = getattr(error, "retry_after", None)
    if not isinstance(wait, int | float) or wait != wait:  # noqa: PLR0124  NaN
        return ()
    return (("retry-after", str(round(min(max(1, wait), _LONGEST_WAIT)))),)


class Outgoing:
    """A response under way. Leaving its block stops the clock."""

    def __init__(
        self, inbound: Inbound, head: Callable[[], Headers], ping: Callable[[], bytes], patience: Patience
    ) -> None:
        self._inbound = inbound
        self._head = head
        self._ping = ping
        self._patience = patience
        self._last = monotonic()
        self._writing = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._pinging: asyncio.Task[None] | None = None
        self._task = asyncio.current_task()
        self.stalled = False
        """Was the client cut off because it did not read?"""

    def __enter__(self) -> Outgoing:
        self._wait(min(self._patience.head, self._patience.quiet))
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._pinging is not None:
            self._pinging.cancel()

    @property
    def begun(self) -> bool:
        """Is the head out?"""
        return self._inbound.begun

    async def write(self, data: bytes, *, more: bool = True) -> None:
        """Send bytes, after the head if it is not out."""
        if not self._inbound.begun:
            await self._inbound.begin(200, self._head(), alone=False)
        self._last = self._writing = monotonic()
        await self._inbound.write(data, more=more)
        self._writing = 0.0

    def _wait(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        """Something must happen now and then, whatever the provider does."""
        now = monotonic()
        if self._writing:
            if now - self._writing >= self._patience.stall and self._task is not None:
                self.stalled = True
                self._inbound.abort()
                self._task.cancel()
                return
            self._wait(self._patience.stall - (now - self._writing) + 0.1)
            return
        pause = self._patience.quiet if self.begun else self._patience.head
        if now - self._last >= pause - 0.01:
            self._last = now
            self._pinging = asyncio.create_task(self._live())
        self._wait(max(pause - (now - self._last), 0.05))

    async def _live(self) -> None:
        if not self._inbound.begun:
            await self._inbound.begin(200, self._head())
        if ping := self._ping():
            await self._inbound.write(ping)
