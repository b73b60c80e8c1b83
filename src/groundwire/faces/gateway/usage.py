"""What requests to the gateway cost, put into the store behind their backs.

A request leaves one row in memory. They are written every second and when the gateway ends; where the store
cannot keep up the oldest are dropped, and counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from time import time
from typing import TYPE_CHECKING

from groundwire.chat.turns import timestamp
from groundwire.errors import GroundwireError
from groundwire.store.base import Store, UsageRow

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Call

log = logging.getLogger("groundwire.gateway")

EVERY = 1.0
MOST = 10_000
"""Rows that wait."""


class Booking:
    """Rows on their way to the store of one process."""

    def __init__(
        self, store: Store, *, clock: Callable[[], float] = time, every: float = EVERY, most: int = MOST
    ) -> None:
        self._store = store
        self._clock = clock
        self._every = every
        self._rows: deque[UsageRow] = deque(maxlen=most)
        self._writing: asyncio.Task[None] | None = None
        self.dropped = 0
        """Rows that the store never saw."""

    def add(self, call: Call, seconds: float) -> None:
        """Note a request that is over, if it cost anything."""
        if call.usage is None:
            return
        self.dropped += len(self._rows) == self._rows.maxlen
        outcome = "" if call.outcome == "done" else call.outcome
        self._rows.append(
            UsageRow(
                call.request_id,
                timestamp(self._clock()),
                call.provider,
                call.model,
                call.usage,
                call.key,
                "gateway",
                outcome,
                seconds,
            )
        )
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def aclose(self) -> None:
        """Write what is left."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait([self._writing])
        try:
            await self._flush()
        except GroundwireError as error:
            self.dropped += len(self._rows)
            log.warning("%d rows of costs were not stored: %s", self.dropped, error.message)

    async def _write(self) -> None:
        troubled = False
        while self._rows:
            await asyncio.sleep(self._every)
            try:
                await self._flush()
                troubled = False
            except GroundwireError as error:  # they wait for the next time
                if not troubled:
                    log.warning("costs cannot be stored, %d rows wait: %s", len(self._rows), error.message)
                troubled = True

    async def _flush(self) -> None:
        """The same id again is passed over by the store, so that a failed attempt may be repeated."""
        rows = tuple(self._rows)
        if not rows:
            return
        await asyncio.to_thread(self._store.add_usage, rows)
        written = {row.id for row in rows}
        while self._rows and self._rows[0].id in written:
            self._rows.popleft()
