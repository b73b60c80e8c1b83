"""A future whose waiting task continues at once, inside the callback that completes it.

A task that waits for a future of asyncio continues in the next iteration of the event loop: one more poll of
the selector for each read. With `DirectFuture`, a task that waits for bytes handles them in the callback that
received them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any


class DirectFuture(asyncio.Future[None]):
    """A future that is completed by `wake`, and awaited by one task."""

    _waiting: Callable[[Any], object] | None = None
    _context: Context | None = None

    def add_done_callback(
        self, callback: Callable[[Any], object], /, *, context: Context | None = None
    ) -> None:
        """See `asyncio.Future`. The first callback, which is that of the waiting task, is called directly."""
        if self._waiting is not None or context is None or self.done():
            super().add_done_callback(callback, context=context)
        else:
            self._waiting, self._context = callback, context

    def remove_done_callback(self, callback: Callable[[Any], object], /) -> int:
        """See `asyncio.Future`."""
        if self._waiting is None or self._waiting != callback:
            return super().remove_done_callback(callback)
        self._waiting = self._context = None
        return 1

    def cancel(self, msg: object = None) -> bool:
        """See `asyncio.Future`: the task continues in the next iteration of the event loop."""
        if not super().cancel(msg):
            return False
        self._continue_soon()
        return True

    def wake(self) -> None:
        """Continue the task that waits, before this returns. Only callbacks of the event loop may call this:
        it must be the last thing that they do, because the task may do anything."""
        if self.done():
            return
        self.set_result(None)
        callback, context = self._taken()
        if callback is None or context is None:
            return
        try:
            context.run(callback, self)
        except RuntimeError:  # another task is being run: two cannot be at the same time
            self.get_loop().call_soon(callback, self, context=context)

    def wake_soon(self) -> None:
        """Continue the task that waits in the next iteration of the event loop."""
        if not self.done():
            self.set_result(None)
            self._continue_soon()

    def _continue_soon(self) -> None:
        callback, context = self._taken()
        if callback is not None:
            self.get_loop().call_soon(callback, self, context=context)

    def _taken(self) -> tuple[Callable[[Any], object] | None, Context | None]:
        """The callback, which is not kept: it refers to the task, and the future may outlive that."""
        taken = self._waiting, self._context
        self._waiting = self._context = None
        return taken
