"""The lease of a session, held while one answer is written: a second question is refused meanwhile."""

from __future__ import annotations

import asyncio
import logging
from uuid import uuid4

from groundwire.chat.blocking import StoreThreads
from groundwire.errors import GroundwireError, TurnedAway
from groundwire.store.base import Store

log = logging.getLogger("groundwire.chat")

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

    def take(self) -> bool:
        """Take it, unless another holder has it."""
        return self._store.take_lease(self.session, self._holder, LEASE)

    def renew(self) -> bool:
        """Have it for longer; False if it expired and another holder took it, or the session was removed."""
        return self._store.renew_lease(self.session, self._holder, LEASE)

    def release(self) -> None:
        """Let others have it."""
        self._store.release_lease(self.session, self._holder)


def busy() -> TurnedAway:
    """Another answer is being written in this session."""
    return TurnedAway(
        status=409,
        message="this session is being answered; wait for the answer, or stop it",
        code="SESSION_BUSY",
        retry_after=RENEWAL,
    )


async def renew(lease: SessionLease, threads: StoreThreads) -> None:
    """Renew the lease again and again, however slowly the answer is read, until it is lost."""
    while True:
        await asyncio.sleep(RENEWAL)
        try:
            if not await threads.run(lease.renew):
                return
        except GroundwireError as error:
            log.warning("the lease of session %s was not renewed: %s", lease.session, error.message)
