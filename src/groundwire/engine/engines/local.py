"""The embedded engine: searches the index in the data directory, which starts with built-in knowledge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from groundwire.engine.compiled import keep_tables
from groundwire.engine.dense.location import open_stage
from groundwire.engine.dense.packages import MeaningUnavailable
from groundwire.engine.index.base import Index
from groundwire.engine.knowledge import ReportProgress, add_core, has_core, has_everything, ignore_progress
from groundwire.engine.knowledge.background import BackgroundBuild
from groundwire.engine.pages import EngineResult, Page, Passage
from groundwire.engine.retrieve.query import parse_query
from groundwire.engine.retrieve.rank import RankedPassages, find_passages
from groundwire.engine.retrieve.translate import translate
from groundwire.engine.words import text_language
from groundwire.errors import GroundwireError
from groundwire.model import SearchOptions, Warned

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from groundwire.engine.dense.stage import DenseStage

OpenIndex: TypeAlias = Callable[[Path], Index]


_PARTIAL_INDEX = Warned(
    "index_partial",
    "So far the index has only the most used modules of Python. "
    "`groundwire index refresh` adds the rest, and the installed packages.",
)
_BUILDING = "The index is being completed in the background{progress}; later answers may find more."
_INCOMPLETE = "The index could not be completed: {why}. This answer is from what is there."


def _open(folder: Path) -> Index:
    from groundwire.engine.index.location import open_index  # noqa: PLC0415  brings tantivy and SQLite along

    return open_index(folder)


class LocalEngine:
    """Searches an index that is opened with the first search. Blocking calls run in threads."""

    name = "local"
    honours = frozenset(("allowed_domains", "blocked_domains", "since", "until", "language", "live"))

    def __init__(
        self,
        folder: Path,
        *,
        report: ReportProgress = ignore_progress,
        opener: OpenIndex = _open,
        background: BackgroundBuild | None = None,
    ) -> None:
        self._folder = folder
        self._report = report
        self._opener = opener
        self._background = background
        self._opening = Lock()
        self._index: Index | None = None
        self._temporary: TemporaryDirectory[str] | None = None
        self._warnings: tuple[Warned, ...] = ()
        self._notices: tuple[Warned, ...] = ()
        """For the next answer only."""
        self._stage: DenseStage | None = None

    async def find(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        """Searches: the best passages, at most `limit`."""
        index = await asyncio.to_thread(self._opened)
        found, warnings = await asyncio.to_thread(self._find, index, query, options, limit)
        building, advice = await asyncio.to_thread(self._completeness, index)
        notices, self._notices = self._notices, ()
        return EngineResult(
            passages=found.passages,
            queries=(found.interpretation.text,),
            is_answer=found.is_answer,
            probability=found.probability,
            understood=found.interpretation.text,
            warnings=(
                *(*_notices(found, query), *notices, *self._warnings),
                *(*warnings, *_not_live(options), *building),
            ),
            advice=(*_suggestions(found), *advice),
        )

    async def page(self, url: str) -> Page | None:
        """The stored page; None if there is none."""
        index = await asyncio.to_thread(self._opened)
        return await asyncio.to_thread(index.page, url)

    async def close(self) -> None:
        """Closes the index."""
        await asyncio.to_thread(self._close)

    def _find(
        self, index: Index, query: str, options: SearchOptions, limit: int
    ) -> tuple[RankedPassages, tuple[Warned, ...]]:
        """Searches by words and, if there are vectors, by meaning."""
        try:
            return find_passages(index, query, options, limit, self._meaning(index, query)), ()
        except MeaningUnavailable as error:
            return find_passages(index, query, options, limit), (_words_only(error),)

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
                self._index = self._opened_somewhere()
                keep_tables(self._folder)
            return self._index

    def _opened_somewhere(self) -> Index:
        """The index of the data directory; a temporary one if that cannot be written."""
        try:
            index = self._knowing(self._opener(self._folder))
        except GroundwireError as error:
            from tempfile import TemporaryDirectory  # noqa: PLC0415  slow to import, and seldom needed

            self._temporary = TemporaryDirectory(prefix="groundwire-", ignore_cleanup_errors=True)
            message = f"The index is kept for this run only: {error.message}"
            self._warnings = (Warned("index_not_kept", message),)
            return self._knowing(self._opener(Path(self._temporary.name)))
        self._notices = (Warned("index_rebuilt", index.notice),) if index.notice else ()
        return index

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

    def _completeness(self, index: Index) -> tuple[tuple[Warned, ...], tuple[Warned, ...]]:
        """Warnings and advice about an index that is not complete. A background build that is due starts."""
        if self._background is not None and self._temporary is None:
            status = self._background.status()
            if status.phase == "complete":
                return (), ()
            if status.phase == "building":
                progress = f" ({status.progress})" if status.progress else ""
                return (Warned("index_building", _BUILDING.format(progress=progress)),), ()
            if status.phase == "failed":
                why = status.message.rstrip(".")
                return (Warned("index_incomplete", _INCOMPLETE.format(why=why)),), ()
        return (), () if has_everything(index) else (_PARTIAL_INDEX,)

    def _close(self) -> None:
        with self._opening:
            self._stage = None
            if self._index is not None:
                self._index.close()
                self._index = None
            if self._temporary is not None:
                self._temporary.cleanup()
                self._temporary = None


def _notices(found: RankedPassages, query: str) -> Iterator[Warned]:
    """What was searched, if it is not what the user typed."""
    kind, text = found.interpretation.kind, found.interpretation.text
    if found.is_answer and kind == "corrected":
        yield Warned("query_corrected", f"Showing results for “{text}”.")
    elif found.is_answer and kind == "translated" and not _is_german(found.passages[0]):
        words = translate(query, meanings=1) or text
        yield Warned("query_translated", f"Showing results for the English words “{words}”.")


def _is_german(passage: Passage) -> bool:
    return text_language(passage.language, passage.text) == "de"


def _suggestions(found: RankedPassages) -> Iterator[Warned]:
    """The corrected question, if it is not the one that was searched."""
    if found.corrected and not (found.is_answer and found.corrected == found.interpretation.text):
        yield Warned("did_you_mean", f"Did you mean “{found.corrected}”?")


def _not_live(options: SearchOptions) -> tuple[Warned, ...]:
    if not options.live:
        return ()
    return (Warned("not_live", "The embedded index answers from stored pages; nothing was fetched."),)


def _words_only(error: GroundwireError) -> Warned:
    return Warned("words_only", f"The search matched words, not meaning: {error.message}")
