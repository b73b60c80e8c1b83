"""Readiness of the store: does it answer now?"""

from __future__ import annotations

import asyncio
import logging

from groundwire.errors import GroundwireError
from groundwire.store.base import Store
from groundwire.transport.threads import run_in_thread

log = logging.getLogger("groundwire.store")

PATIENCE = 2.0
"""Seconds within which a store must answer to count as ready."""


class StoreProbe:
    """Asks the store for a sign of life. However often it is asked, one thread waits for the answer."""

    def __init__(self, store: Store, patience: float = PATIENCE) -> None:
        self._store = store
        self._patience = patience
        self._checking: asyncio.Task[str] | None = None

    async def problem(self) -> str:
        """Empty if the store answers in time, else a sentence. The details are in the log."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check())
        checking = self._checking
        await asyncio.wait([checking], timeout=self._patience)
        return checking.result() if checking.done() else "the store does not answer"

    async def _check(self) -> str:
        try:
            await run_in_thread(self._store.check, "groundwire-probe")
        except GroundwireError as error:
            log.warning("the store does not answer: %s", error.message)
            return "the store does not answer"
        return ""
