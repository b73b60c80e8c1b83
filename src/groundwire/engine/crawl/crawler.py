"""Crawls what the user names (URL, sitemap, site, file, folder, archive) and indexes the pages."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Container, Iterable
from importlib.metadata import Distribution
from pathlib import Path
from typing import TypeAlias

from groundwire.engine.crawl.file_record import FileRecord
from groundwire.engine.crawl.files import crawl_path
from groundwire.engine.crawl.package_archive import archive_name, crawl_distribution, is_package_archive
from groundwire.engine.crawl.results import (
    CrawledPage,
    CrawlOptions,
    CrawlResult,
    RemovedFile,
    SkippedSource,
    UnchangedFile,
)
from groundwire.engine.crawl.web import (
    Frontier,
    HostThrottle,
    SiteClient,
    crawl_site,
    crawl_sitemap,
    host_of,
    looks_like_sitemap,
)
from groundwire.engine.index.base import Index, Stored
from groundwire.engine.pages import Page
from groundwire.errors import RequestError
from groundwire.model.value import replace, value
from groundwire.text.urls import safe_url
from groundwire.transport.fetch import Fetcher

CrawlSource: TypeAlias = str | Path | Distribution
"""A web URL, the path of a file or folder, or an installed package."""
StoredUrls: TypeAlias = Callable[[str], Container[str]]
"""The URLs of the stored pages of a collection."""


def parse_source(text: str, cwd: str = "") -> CrawlSource:
    """Parses an argument of `index add`; raises `RequestError` if it is neither a web URL nor a file."""
    if text.lower().startswith(("http://", "https://")):
        address = safe_url(text).partition("#")[0]
        if not host_of(address):
            raise RequestError(f"{text!r} is not a web address.")
        return address
    path = Path(os.path.join(cwd, os.path.expanduser(text)))
    if not path.exists():
        raise RequestError(f"there is no file or folder {text!r}; web addresses begin with https://")
    return path


class Crawler:
    """Crawls sources one after the other.

    The caller calls `checkpoint` when pages are stored; an interrupted crawl resumes from there.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        scope: CrawlOptions,
        *,
        kept: Path | None = None,
        pace: HostThrottle | None = None,
        stored: StoredUrls | None = None,
    ) -> None:
        self._visitor = SiteClient(fetcher, pace or HostThrottle())
        self._scope = scope
        self._kept = kept
        self._stored = stored
        self._record: FileRecord | None = None
        self._frontier: Frontier | None = None
        self._finished: list[Frontier] = []

    async def outcomes(
        self, whats: Iterable[CrawlSource], *, collection: str = "", language: str = ""
    ) -> AsyncGenerator[CrawlResult, None]:
        """Every page with its collection; `language` is for pages that do not declare one."""
        for what in whats:
            name = collection or collection_of(what)
            async for outcome in self._gather(what, name, language):
                yield _labelled(outcome, name, language)

    def checkpoint(self) -> None:
        """Everything yielded so far is stored: saves the frontier."""
        for frontier in self._finished:
            frontier.forget()
        self._finished.clear()
        if self._frontier is not None:
            self._frontier.save()
        if self._record is not None:
            self._record.save()

    def close(self) -> None:
        """Everything is stored that was yielded, and nothing more will be."""
        if self._record is not None:
            self._record.save(at_once=True)

    async def _gather(
        self, what: CrawlSource, collection: str, language: str
    ) -> AsyncGenerator[CrawlResult, None]:
        if isinstance(what, Path):
            self.close()
            self._record = await asyncio.to_thread(self._file_record, what, collection, language)
            found = crawl_path(what, self._scope, self._record)
        elif isinstance(what, Distribution):
            found = crawl_distribution(what, self._scope)
        elif looks_like_sitemap(what):
            found = crawl_sitemap(what, self._scope, self._visitor)
        elif self._scope.follow:
            found = self._crawl(what)
        else:
            yield (await self._visitor.visit(what, obey_robots=False)).outcome
            return
        async for outcome in found:
            yield outcome

    def _file_record(self, folder: Path, collection: str, language: str) -> FileRecord | None:
        if self._kept is None or self._stored is None or not folder.is_dir():
            return None
        options = (self._scope.base_url, str(self._scope.as_html), collection, language)
        return FileRecord(self._kept, folder, options, stored=self._stored(collection))

    async def _crawl(self, start: str) -> AsyncGenerator[CrawlResult, None]:
        self._frontier = Frontier(start, self._kept)
        async for outcome in crawl_site(start, self._scope, self._visitor, self._frontier):
            yield outcome
        self._finished.append(self._frontier)
        self._frontier = None


def collection_of(what: CrawlSource) -> str:
    """The default collection of a source: the name of the folder or the package, or the host."""
    if isinstance(what, Path):
        if is_package_archive(what.name) and what.is_file():
            return archive_name(what.name)
        folder = what if what.is_dir() else what.parent
        return os.fsencode(folder.resolve().name).decode("utf-8", "replace") or "files"
    return host_of(what) if isinstance(what, str) else what.name


def _labelled(outcome: CrawlResult, collection: str, language: str) -> CrawlResult:
    if not isinstance(outcome, CrawledPage):
        return outcome
    page: Page = outcome.page
    return CrawledPage(replace(page, collection=collection, language=page.language or language))


BATCH = 200
SECONDS = 2.0
_BATCH_CHARACTERS = 20_000_000
_EXAMPLES = 3


@value
class SkipReason:
    """A reason for skipping, how often it occurred, and examples."""

    why: str
    count: int
    examples: tuple[str, ...]


@value
class CrawlTally:
    """Counts of a crawl so far."""

    stored: Stored = Stored()
    waiting: int = 0
    """Pages that were read and not yet stored."""
    skipped: tuple[SkipReason, ...] = ()
    network: int = 0
    """How many were skipped because of the network or a server."""
    removed: int = 0
    """Pages of files that no longer exist."""

    @property
    def pages(self) -> int:
        """The number of pages, new or not."""
        stored = self.stored
        return stored.added + stored.updated + stored.unchanged + stored.duplicates + self.waiting


class BatchIndexer:
    """Puts pages into the index in batches: what two seconds bring, at most 200 pages."""

    def __init__(
        self,
        index: Index,
        checkpoint: Callable[[], None],
        report: Callable[[CrawlTally, CrawlResult | None], None],
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
        self._gone: list[str] = []
        self._removed = 0

    async def store(self, outcomes: AsyncGenerator[CrawlResult, None]) -> CrawlTally:
        """Stores all pages. On cancellation, what was read is stored first."""
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

    def tally(self) -> CrawlTally:
        """Counts of a crawl so far."""
        skipped = tuple(
            SkipReason(why, count, tuple(examples))
            for why, (count, examples) in sorted(self._skipped.items(), key=lambda item: -item[1][0])
        )
        return CrawlTally(self._stored, len(self._batch), skipped, self._network, self._removed)

    def _count(self, outcome: CrawlResult) -> None:
        match outcome:
            case CrawledPage():
                self._batch.append(outcome.page)
                self._characters += len(outcome.page.text)
            case UnchangedFile():
                self._stored += Stored(unchanged=outcome.pages)
            case RemovedFile():
                self._gone += outcome.urls
            case SkippedSource():
                self._skip(outcome)

    def _skip(self, skipped: SkippedSource) -> None:
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
        # Shielded: a batch that is being written is finished and counted before cancellation.
        put = asyncio.ensure_future(asyncio.to_thread(self._put))
        try:
            await asyncio.shield(put)
        except asyncio.CancelledError:
            await put
            raise
        self._report(self.tally(), None)

    def _put(self) -> None:
        if self._batch:
            self._stored += self._index.put(self._batch)
            self._batch.clear()
        if self._gone:
            self._removed += self._index.remove(urls=self._gone)
            self._gone.clear()
        self._characters = 0
        self._checkpoint()
        self._since = self._clock()
