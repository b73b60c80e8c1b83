"""From outcomes to the index: pages are put in batches, and what happened is counted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable

from groundwire.engine.crawl.outcomes import Gathered, Outcome, Skipped
from groundwire.engine.index.base import Index, Stored
from groundwire.engine.pages import Page
from groundwire.model.value import value

BATCH = 200
SECONDS = 2.0
_BATCH_CHARACTERS = 20_000_000
_EXAMPLES = 3


@value
class SkippedFor:
    """How many were skipped for one reason, and some of them."""

    why: str
    count: int
    examples: tuple[str, ...]


@value
class Tally:
    """What happened so far."""

    stored: Stored = Stored()
    waiting: int = 0
    """Pages that were read and not yet put."""
    skipped: tuple[SkippedFor, ...] = ()
    network: int = 0
    """How many were skipped because of the network."""

    @property
    def pages(self) -> int:
        """How many pages there were, new or not."""
        stored = self.stored
        return stored.added + stored.updated + stored.unchanged + stored.duplicates + self.waiting


class Storing:
    """Puts pages together: a batch is as many as fit into two seconds, at most 200."""

    def __init__(
        self,
        index: Index,
        checkpoint: Callable[[], None],
        report: Callable[[Tally, Outcome | None], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._index = index
        self._checkpoint = checkpoint
        self._report = report
        self._clock = clock
        self._batch: list[Page] = []
        self._characters = 0
        self._since = clock()
        self._stored = Stored()
        self._skipped: dict[str, tuple[int, list[str]]] = {}
        self._network = 0

    async def store(self, outcomes: AsyncGenerator[Outcome, None]) -> Tally:
        """Put all pages. When this is cancelled, what was read is put before it ends."""
        try:
            async for outcome in outcomes:
                self._count(outcome)
                if self._is_full():
                    await self._flush()
                self._report(self.tally(), outcome)
        except asyncio.CancelledError:
            self._put()
            raise
        finally:
            await outcomes.aclose()
        await self._flush()
        return self.tally()

    def tally(self) -> Tally:
        """What happened so far."""
        skipped = tuple(
            SkippedFor(why, count, tuple(examples))
            for why, (count, examples) in sorted(self._skipped.items(), key=lambda item: -item[1][0])
        )
        return Tally(self._stored, len(self._batch), skipped, self._network)

    def _count(self, outcome: Outcome) -> None:
        if isinstance(outcome, Gathered):
            self._batch.append(outcome.page)
            self._characters += len(outcome.page.text)
        else:
            self._skip(outcome)

    def _skip(self, skipped: Skipped) -> None:
        count, examples = self._skipped.get(skipped.why, (0, []))
        self._skipped[skipped.why] = (count + 1, [*examples, skipped.where][:_EXAMPLES])
        self._network += skipped.network

    def _is_full(self) -> bool:
        return (
            len(self._batch) >= BATCH
            or self._characters >= _BATCH_CHARACTERS
            or self._clock() - self._since >= SECONDS
        )

    async def _flush(self) -> None:
        # Shielded: a batch that is being put is put, and counted, before anybody leaves.
        put = asyncio.ensure_future(asyncio.to_thread(self._put))
        try:
            await asyncio.shield(put)
        except asyncio.CancelledError:
            await put
            raise
        self._report(self.tally(), None)

    def _put(self) -> None:
        if self._batch:
            stored = self._index.put(self._batch)
            before = self._stored
            self._stored = Stored(
                before.added + stored.added,
                before.updated + stored.updated,
                before.unchanged + stored.unchanged,
                before.duplicates + stored.duplicates,
            )
            self._batch.clear()
        self._characters = 0
        self._checkpoint()
        self._since = self._clock()
