"""An event loop whose clock jumps over every wait, for tests of deadlines that would otherwise sleep."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Waits by moving the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(0)
        if not found:
            assert timeout is not None, "every task waits for ever"
            self.now += timeout
        return found


class FakeClockLoop(asyncio.SelectorEventLoop):
    """Time passes only while everything waits, and then at once."""

    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run_skipping_waits(main: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """The result of a coroutine, and how many seconds it would have taken."""
    loop = FakeClockLoop()
    try:
        began = loop.time()
        return loop.run_until_complete(main), loop.time() - began
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
