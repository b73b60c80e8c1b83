"""How fast a host is asked: never faster than so many times a second, and slower where it wants that."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable


class Pace:
    """Waits between two requests to the same host."""

    def __init__(
        self,
        per_second: float = 4.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._interval = 1 / per_second
        self._clock = clock
        self._sleep = sleep
        self._delays: dict[str, float] = {}
        self._next: dict[str, float] = {}

    def slow_down(self, host: str, delay: float) -> None:
        """The host asked for so many seconds between requests."""
        self._delays[host] = delay

    async def turn(self, host: str) -> None:
        """Wait until the host may be asked."""
        now = self._clock()
        begins = max(now, self._next.get(host, now))
        self._next[host] = begins + max(self._interval, self._delays.get(host, 0.0))
        if begins > now:
            await self._sleep(begins - now)
