"""Calls of the store in threads, a bounded number of them: a store that hangs must not collect threads.

What goes wrong in the store is logged here, and told to users without the path or the host it names.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from groundwire.errors import ClientWireError, GroundwireError, RequestError, TurnedAway
from groundwire.transport.threads import run_in_thread

T = TypeVar("T")

log = logging.getLogger("groundwire.chat")

AT_ONCE = 16
"""More than the connections of a store: some of the calls wait for one."""
PATIENCE = 5.0
"""Seconds that a call waits for a thread."""


class StoreThreads:
    """The threads of one chat. A thread counts until its call ends, even if nobody waits for it."""

    def __init__(self, most: int = AT_ONCE, patience: float = PATIENCE) -> None:
        self._free = asyncio.Semaphore(most)
        self._patience = patience

    async def run(self, call: Callable[[], T]) -> T:
        """What the call returns, or what it raises; `STORE_UNAVAILABLE` where no thread is free in time."""
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError:
            raise _generic(503) from None
        loop = asyncio.get_running_loop()

        def counted() -> T:
            try:
                with generic_errors():
                    return call()
            finally:
                with suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(self._free.release)

        return await run_in_thread(counted, "groundwire-store")


@contextmanager
def generic_errors() -> Iterator[None]:
    """Errors of the store in a form that may be shown to anybody; those of a request pass as they are."""
    try:
        yield
    except (RequestError, ClientWireError, TurnedAway):
        raise
    except GroundwireError as error:
        log.error("the store failed: %s", error.message)  # noqa: TRY400  its place in our code says nothing
        raise _generic(error.status_hint) from error


_GENERIC = {
    503: ("STORE_UNAVAILABLE", "the store does not answer"),
    507: ("STORE_FULL", "the disk of the store is full"),
}
_FAILED = ("STORE_FAILED", "the store cannot be used")
STORE_CODES = {_FAILED[0], *(code for code, _ in _GENERIC.values())}


def _generic(status: int) -> GroundwireError:
    code, message = _GENERIC.get(status, _FAILED)
    error = GroundwireError(message)
    error.code, error.status_hint, error.retryable = code, status, status in _GENERIC
    return error
