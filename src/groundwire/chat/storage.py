"""Store access: calls in a bounded number of threads, and the lease of a session while an answer is written.

A store that hangs must not pile up threads. Store errors are logged here, and shown to users without the
paths and hosts they name.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TypeVar
from uuid import uuid4

from groundwire.errors import ClientWireError, GroundwireError, RequestError, TurnedAway
from groundwire.store.base import Store
from groundwire.transport.threads import run_in_thread

T = TypeVar("T")

log = logging.getLogger("groundwire.chat")

MAX_THREADS = 16
"""More than the connections of a store: some calls wait for one."""
THREAD_TIMEOUT = 5.0
"""Longest time in seconds that a call waits for a thread."""


class StoreThreads:
    """The threads of one chat. A thread counts until its call ends, even if the caller was cancelled."""

    def __init__(self, most: int = MAX_THREADS, timeout: float = THREAD_TIMEOUT) -> None:
        self._free = asyncio.Semaphore(most)
        self._timeout = timeout

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call in a thread; raises `STORE_UNAVAILABLE` if no thread is free in time."""
        try:
            async with asyncio.timeout(self._timeout):
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
    """Replace store errors by generic ones that users may see; request errors pass unchanged."""
    try:
        yield
    except (RequestError, ClientWireError, TurnedAway, LeaseLost):
        raise
    except GroundwireError as error:
        log.error("the store failed: %s", error.message)  # noqa: TRY400  the traceback does not help
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


LEASE = 10.0
"""Seconds after which a session is free again whose answering process died."""
RENEWAL = 2.0
"""Seconds between two renewals: some may fail, or be late on a busy machine, before the lease is lost."""


class SessionLease:
    """One holder's lease of one session. Its methods block."""

    def __init__(self, store: Store, session: str) -> None:
        self._store = store
        self.session = session
        self._holder = uuid4().hex
        self._writing = Lock()
        self._has_ended = False

    @contextmanager
    def write(self, *, ends: bool) -> Iterator[bool]:
        """One write of the answer after the other; False for one that comes after the end of the answer.

        A thread goes on when its caller is cancelled, so the end may overtake an earlier state.
        """
        with self._writing:
            yield not self._has_ended
            self._has_ended |= ends

    def take(self) -> bool:
        """Take it, unless another holder has it."""
        return self._store.take_lease(self.session, self._holder, LEASE)

    def renew(self) -> bool:
        """Have it for longer; False if it expired and another holder took it, or the session was removed."""
        return self._store.renew_lease(self.session, self._holder, LEASE)

    def seize(self) -> None:
        """Take it away from whichever holder has it."""
        self._store.take_lease(self.session, self._holder, LEASE, seize=True)

    def release(self) -> None:
        """Release it."""
        self._store.release_lease(self.session, self._holder)


class LeaseLost(GroundwireError):
    """Another process took the lease: it stopped the answer, or took this process for dead."""

    code = "LEASE_LOST"

    def __init__(self) -> None:
        super().__init__("another process took over the session")


def busy() -> TurnedAway:
    """The error while another answer is being written in the session."""
    return TurnedAway(
        status=409,
        message="this session is being answered; wait for the answer, or stop it",
        code="SESSION_BUSY",
        retry_after=RENEWAL,
    )


async def renew(lease: SessionLease, threads: StoreThreads) -> None:
    """Renew the lease until it is lost."""
    while True:
        await asyncio.sleep(RENEWAL)
        try:
            if not await threads.run(lease.renew):
                return
        except GroundwireError as error:
            log.warning("the lease of session %s was not renewed: %s", lease.session, error.message)
