"""The embedded engine: searches the index in the data directory, which starts with built-in knowledge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock
from typing import TYPE_CHECKING, TypeAlias

from groundwire.engine.dense.build import complete_vectors
from groundwire.engine.dense.location import open_stage
from groundwire.engine.dense.packages import MeaningUnavailable
from groundwire.engine.index.base import Index, Stored
from groundwire.engine.knowledge import (
    ReportProgress,
    add_core,
    has_core,
    has_everything,
    ignore_progress,
    is_complete,
    refresh,
)
from groundwire.engine.pages import EngineResult, Page
from groundwire.engine.retrieve.query import parse_query
from groundwire.engine.retrieve.rank import RankedPassages, find_passages
from groundwire.errors import GroundwireError
from groundwire.model import SearchOptions, Warned

if TYPE_CHECKING:
    from groundwire.engine.dense.stage import DenseStage

OpenIndex: TypeAlias = Callable[[Path], Index]


_PARTIAL_INDEX = Warned(
    "index_partial",
    "So far the index has only the most used modules of Python. "
    "`groundwire index refresh` adds the rest, and the installed packages.",
)


def _open(folder: Path) -> Index:
    from groundwire.engine.index.location import open_index  # noqa: PLC0415  brings tantivy and SQLite along

    return open_index(folder)


class LocalEngine:
    """Searches an index that is opened with the first search. Blocking calls run in threads."""

    name = "local"
    honours = frozenset(("allowed_domains", "blocked_domains", "since", "until", "language", "live"))

    def __init__(
        self, folder: Path, *, report: ReportProgress = ignore_progress, opener: OpenIndex = _open
    ) -> None:
        self._folder = folder
        self._report = report
        self._opener = opener
        self._opening = Lock()
        self._index: Index | None = None
        self._temporary: TemporaryDirectory[str] | None = None
        self._warnings: tuple[Warned, ...] = ()
        self._stage: DenseStage | None = None
        self._not_built: tuple[Warned, ...] = ()
        self._building = Lock()
        self._closed = Event()

    async def find(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        """Searches: the best passages, at most `limit`."""
        index = await asyncio.to_thread(self._opened)
        found, warnings = await asyncio.to_thread(self._find, index, query, options, limit)
        return EngineResult(
            passages=found.passages,
            queries=(found.interpretation.text,),
            is_answer=found.is_answer,
            understood=found.interpretation.text,
            warnings=self._warnings + warnings + _not_live(options),
            advice=() if await asyncio.to_thread(has_everything, index) else (_PARTIAL_INDEX,),
        )

    async def page(self, url: str) -> Page | None:
        """The stored page; None if there is none."""
        index = await asyncio.to_thread(self._opened)
        return await asyncio.to_thread(index.page, url)

    async def complete(self) -> Stored:
        """Adds the missing built-in knowledge; for long-running processes, in the background."""
        return await asyncio.to_thread(self._complete)

    async def close(self) -> None:
        """Closes the index. A build of vectors ends after its current batch."""
        self._closed.set()
        await asyncio.to_thread(self._close)

    def _find(
        self, index: Index, query: str, options: SearchOptions, limit: int
    ) -> tuple[RankedPassages, tuple[Warned, ...]]:
        """Searches by words and, if there are vectors, by meaning."""
        try:
            stage = self._meaning(index, query)
            if stage is not None:
                return find_passages(index, query, options, limit, stage), self._not_built
        except MeaningUnavailable as error:
            return find_passages(index, query, options, limit), (_words_only(error),)
        return find_passages(index, query, options, limit), self._not_built

    def _meaning(self, index: Index, query: str) -> DenseStage | None:
        """Search by meaning; None without the extra, without vectors, and for queries that require words."""
        parsed = parse_query(query)
        if parsed.phrases or parsed.prefixes:
            return None
        with self._opening:
            if self._stage is None:
                self._stage = open_stage(index) if self._temporary is None else None
            return self._stage

    def _opened(self) -> Index:
        with self._opening:
            if self._index is None:
                self._closed.clear()
                self._index = self._opened_somewhere()
            return self._index

    def _opened_somewhere(self) -> Index:
        """The index of the data directory; a temporary one if that cannot be written."""
        try:
            return self._knowing(self._opener(self._folder))
        except GroundwireError as error:
            self._temporary = TemporaryDirectory(prefix="groundwire-", ignore_cleanup_errors=True)
            message = f"The index is kept for this run only: {error.message}"
            self._warnings = (Warned("index_not_kept", message),)
            return self._knowing(self._opener(Path(self._temporary.name)))

    def _knowing(self, index: Index) -> Index:
        """Adds the core modules, unless they are there or another process is adding them."""
        try:
            if not has_core(index):
                add_core(index, self._report)
        except GroundwireError:
            # The process that holds the write lock may have added them meanwhile.
            if not has_core(index):
                index.close()
                raise
        return index

    def _complete(self) -> Stored:
        index = self._opened()
        stored = Stored() if is_complete(index) else refresh(index, self._report)
        try:
            if self._temporary is None:
                with self._building:
                    complete_vectors(index, should_stop=self._closed.is_set)
            self._not_built = ()
        except MeaningUnavailable as error:
            self._not_built = (_words_only(error),)
        return stored

    def _close(self) -> None:
        with self._building, self._opening:
            self._stage = None
            if self._index is not None:
                self._index.close()
                self._index = None
            if self._temporary is not None:
                self._temporary.cleanup()
                self._temporary = None


def _not_live(options: SearchOptions) -> tuple[Warned, ...]:
    if not options.live:
        return ()
    return (Warned("not_live", "The embedded index answers from stored pages; nothing was fetched."),)


def _words_only(error: GroundwireError) -> Warned:
    return Warned("words_only", f"The search matched words, not meaning: {error.message}")
