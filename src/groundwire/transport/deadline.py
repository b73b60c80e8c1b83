"""Deadlines of many requests, with one timer for each event loop.

Nearly all deadlines are removed long before they are due. A timer of its own for each would cost more than
most of what a request does; a set costs next to nothing. The timer is set for the earliest deadline, and set
again when it fires.
"""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType

_FIRST_LOOK = 5.0
"""Seconds after which the timer fires at the latest when it is set for the first of several deadlines: those
that follow are often due earlier, and it need not be set again for them."""


class DeadlineTimer:
    """The deadlines of one event loop."""

    __slots__ = ("_deadlines", "_handle", "_when", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._deadlines: set[Deadline] = set()
        self._handle: asyncio.TimerHandle | None = None
        self._when = 0.0

    def add(self, deadline: Deadline) -> None:
        """Expire a deadline when it is due. One that was moved to an earlier time is added again."""
        self._deadlines.add(deadline)
        if self._handle is None:
            self._set(min(deadline.ends, self.loop.time() + _FIRST_LOOK))
        elif deadline.ends < self._when:
            self._set(deadline.ends)

    def remove(self, deadline: Deadline) -> None:
        """Forget a deadline; without any, no timer is left."""
        self._deadlines.discard(deadline)
        if not self._deadlines and self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _set(self, when: float) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._when = when
        self._handle = self.loop.call_at(when, self._fire)

    def _fire(self) -> None:
        self._handle = None
        now = self.loop.time()
        due = [deadline for deadline in self._deadlines if deadline.ends <= now]
        self._deadlines.difference_update(due)
        for deadline in due:
            deadline.expire()
        if self._deadlines:
            self._set(min(deadline.ends for deadline in self._deadlines))


class _CurrentTimer(threading.local):
    """The timer of the event loop that runs in a thread."""

    timer: DeadlineTimer | None = None


_current = _CurrentTimer()


def _timer_of(loop: asyncio.AbstractEventLoop) -> DeadlineTimer:
    timer = _current.timer
    if timer is None or timer.loop is not loop:
        timer = _current.timer = DeadlineTimer(loop)
    return timer


class Deadline:
    """Cancels the task inside its block when the time is up; the block then raises `TimeoutError`.

    Like `asyncio.timeout`, but the block can be entered once for every batch of a stream, by different tasks,
    and the limit can be moved in between.
    """

    __slots__ = ("_cancelling", "_expired", "_loop", "_task", "_timer", "ends")

    def __init__(self, ends: float) -> None:
        self.ends = ends
        """In the time of the event loop's clock."""
        self._loop = asyncio.get_running_loop()
        self._timer = _timer_of(self._loop)
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._expired = False

    @property
    def is_over(self) -> bool:
        """Is the time up?"""
        return self._loop.time() >= self.ends

    def close(self) -> None:
        """Forget the deadline."""
        self._timer.remove(self)

    def expire(self) -> None:
        """The time is up: cancel the task inside the block."""
        if self._task is not None:
            self._expired = True
            self._task.cancel()

    def __enter__(self) -> None:
        if self._loop.time() >= self.ends:
            raise TimeoutError
        task = self._task = asyncio.current_task(self._loop)
        self._cancelling = task.cancelling() if task is not None else 0
        self._timer.add(self)

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
