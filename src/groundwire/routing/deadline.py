"""Deadline: the time limit of one request, over all attempts, retries, failover and search rounds."""

from __future__ import annotations

import asyncio
from types import TracebackType


class Deadline:
    """Interrupts the task inside its block when the time is up; the block then raises `TimeoutError`.

    As `asyncio.timeout`, but the block can be entered once for every batch of a stream, by different tasks,
    and the limit can be moved meanwhile: one timer serves the whole stream, set again only when it fires.
    """

    __slots__ = ("_cancelling", "_expired", "_loop", "_task", "_timer", "ends")

    def __init__(self, ends: float) -> None:
        self.ends = ends
        """By the clock of the event loop."""
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._expired = False

    @property
    def is_over(self) -> bool:
        return self._loop.time() >= self.ends

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __enter__(self) -> None:
        if self.is_over:
            raise TimeoutError
        task = self._task = asyncio.current_task()
        self._cancelling = task.cancelling() if task is not None else 0
        if self._timer is None or self._timer.when() > self.ends:
            self._set()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        if not self._expired or task is None:
            return
        self._expired = False
        # A task that was also cancelled from outside stays cancelled.
        if task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _set(self) -> None:
        self.close()
        self._timer = self._loop.call_at(self.ends, self._fire)

    def _fire(self) -> None:
        self._timer = None
        if not self.is_over:
            self._set()
        elif self._task is not None:
            self._expired = True
            self._task.cancel()
