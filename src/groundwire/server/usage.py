"""Usage recorder: writes the usage of completed requests to the store, in the background.

A request adds one row to a queue in memory. The queue is written every second and at shutdown; if the store
cannot keep up, the oldest rows are dropped and counted.
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
from groundwire.model import Usage
from groundwire.store.base import Store, UsageRow

if TYPE_CHECKING:
    from groundwire.server.app import RequestContext

log = logging.getLogger("groundwire.gateway")

WRITE_INTERVAL = 1.0
MAX_QUEUED_ROWS = 10_000


class UsageRecorder:
    """Queue of usage rows of one process."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float] = time,
        interval: float = WRITE_INTERVAL,
        max_rows: int = MAX_QUEUED_ROWS,
    ) -> None:
        self._store = store
        self._clock = clock
        self._interval = interval
        self._rows: deque[UsageRow] = deque(maxlen=max_rows)
        self._writer: asyncio.Task[None] | None = None
        self.dropped = 0
        """Rows that were never stored."""

    def add(self, context: RequestContext, seconds: float) -> None:
        """Queue the usage of a completed request, if a provider was called or the cache answered."""
        if context.usage is None and not context.cache_hit:
            return
        self.dropped += len(self._rows) == self._rows.maxlen
        outcome = "" if context.outcome == "done" else context.outcome
        self._rows.append(
            UsageRow(
                context.request_id,
                timestamp(self._clock()),
                context.provider,
                context.model,
                context.usage or Usage(),
                context.owner,
                "gateway",
                outcome,
                seconds,
                context.key,
                context.cache_hit,
            )
        )
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write_periodically())

    async def aclose(self) -> None:
        """Write the rows that are still queued."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.wait([self._writer])
        try:
            await self._flush()
        except GroundwireError as error:
            self.dropped += len(self._rows)
            log.warning("%d usage rows were not stored: %s", self.dropped, error.message)

    async def _write_periodically(self) -> None:
        failing = False
        while self._rows:
            await asyncio.sleep(self._interval)
            try:
                await self._flush()
                failing = False
            except GroundwireError as error:  # the rows stay queued
                if not failing:
                    log.warning("cannot store usage, %d rows are queued: %s", len(self._rows), error.message)
                failing = True

    async def _flush(self) -> None:
        """Store all rows. The store skips ids that it has, so a failed write may be repeated."""
        rows = tuple(self._rows)
        if not rows:
            return
        await asyncio.to_thread(self._store.add_usage, rows)
        written = {row.id for row in rows}
        while self._rows and self._rows[0].id in written:
            self._rows.popleft()
