"""The index in a folder: a page store that is the truth, and passages that are made from it.

Pages are stored first, in a transaction; then what is stored and not yet searchable is made searchable, and
the store notes how far that went. Whatever ends a process in between, the next writer or opener goes on from
the note. Doing a page again is harmless: what a crash may have left of it is removed first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

from tantivy import DocAddress, Query, Searcher

from groundwire.engine.index import records
from groundwire.engine.index.base import PageInfo, Stats, Stored
from groundwire.engine.index.changes import counted
from groundwire.engine.index.derived import brought_up, is_behind, make_passages, open_passages
from groundwire.engine.index.failures import told
from groundwire.engine.index.formats import bring_up, format_of
from groundwire.engine.index.passages import BROKEN, KEPT, Passages
from groundwire.engine.index.selection import Hit, selected
from groundwire.engine.index.view import Views
from groundwire.engine.pages import Page, Passage
from groundwire.errors import TimedOut
from groundwire.files.lock import locked
from groundwire.model import SearchOptions
from groundwire.model.value import field_names

STORE = "pages.sqlite3"
_LOCK = "write.lock"
_PATIENCE = 60.0
_BATCH_PAGES = 10_000
_BATCH_CHARACTERS = 8_000_000
_DEEPEST = 4096
_SPARE = 8
_NO_OPTIONS = SearchOptions()


class EmbeddedIndex:
    """An index in a folder. May be used from several threads, and by several processes at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reading = Lock()
        with told(folder), ExitStack() as undo:
            self._store = records.connect(folder / STORE)
            undo.callback(self._store.close)
            bring_up(self._store)
            self._views = Views(folder / _LOCK, self._store, self._reading)
            undo.callback(self._views.close)
            self._passages = self._opened()
            undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        self._views.close()
        self._store.close()

    def put(self, pages: Iterable[Page]) -> Stored:
        """Add or renew pages. When this returns they survive a crash, and every later search sees them."""
        total = Stored()
        for batch in _batches(pages):
            with told(self._folder), self._writing(_PATIENCE) as (store, passages):
                unsure = records.last_id(store)
                with records.transaction(store):
                    total = _sum(total, records.add_pages(store, batch))
                self._passages = brought_up(self._folder, store, passages, unsure)
        return total

    def remove(self, *, urls: Iterable[str] = (), collection: str = "") -> int:
        """Forget pages by address, or a whole collection; says how many there were."""
        keys = [records.key_of(url) for url in urls]
        with told(self._folder), self._writing(_PATIENCE) as (store, passages):
            unsure = records.last_id(store)
            with records.transaction(store):
                count = records.remove_pages(store, keys, collection)
            self._passages = brought_up(self._folder, store, passages, unsure)
        return count

    def page(self, url: str) -> Page | None:
        """The page as it was stored."""
        with told(self._folder), self._reading:
            return records.page_of(self._store, records.key_of(url))

    def search(self, query: str, options: SearchOptions = _NO_OPTIONS, limit: int = 20) -> list[Passage]:
        """Best passages first: those with all the words, then those with some.

        At most three of a page are shown, and the same words only once. Pages without a date are left out
        when dates are asked for; pages in the language asked for come first.
        """
        if limit <= 0:
            return []
        passages = self._passages
        try:
            return self._found(passages, query, options, limit)
        except BROKEN:
            # Damaged, or made anew by another process and removed here.
            with told(self._folder):
                self._passages = self._replaced(passages)
                return self._found(self._passages, query, options, limit)

    def pages(self, collection: str = "", prefix: str = "") -> Iterator[PageInfo]:
        """What is stored, by address. Read bit by bit, so that no writer waits for a slow reader."""
        after = ("", 0)
        while True:
            with told(self._folder), self._reading:
                some = records.listed(self._store, collection, prefix, after)
            if not some:
                return
            yield from (info for _, info in some)
            after = (some[-1][1].url, some[-1][0])

    def stats(self) -> Stats:
        """How much is stored."""
        with told(self._folder), self._reading:
            pages, passages, collections = records.counted(self._store)
            return Stats(pages, passages, _size(self._folder), collections, format_of(self._store))

    def _found(self, passages: Passages, query: str, options: SearchOptions, limit: int) -> list[Passage]:
        view = self._views.now(passages)
        found = _ranked(view.searcher, view.queries(query, options), limit)
        return selected(found, options, limit, view.gone)

    def _opened(self) -> Passages:
        """The passages as they are; up to date, unless somebody is just writing and will see to it."""
        with self._reading:
            passages = open_passages(self._folder, self._store)
            if passages is not None and not is_behind(self._store):
                return passages
        try:
            with self._writing(0 if passages else _PATIENCE) as (store, renewed):
                return brought_up(self._folder, store, renewed, records.last_id(store))
        except TimedOut:
            if passages is None:
                raise
            return passages

    def _replaced(self, broken: Passages) -> Passages:
        """Passages made anew from the pages."""
        with self._writing(_PATIENCE) as (store, found):
            renewed = make_passages(self._folder, store) if found.folder == broken.folder else found
            return brought_up(self._folder, store, renewed, records.last_id(store))

    @contextmanager
    def _writing(self, patience: float) -> Iterator[tuple[sqlite3.Connection, Passages]]:
        """The page store and the passages, for nobody else to write to meanwhile."""
        lock = self._folder / _LOCK
        with locked(lock, patience), counted(lock), closing(records.connect(self._folder / STORE)) as store:
            passages = open_passages(self._folder, store) or make_passages(self._folder, store)
            yield store, passages


def _ranked(searcher: Searcher, queries: Iterable[Query], limit: int) -> Iterator[list[Hit]]:
    """What is found, best first, and what answers to several queries once.

    Asked for in portions that grow, and read no sooner than needed: reading costs more than searching, and
    mostly the first `limit` are enough.
    """
    read = searcher.doc
    told: list[tuple[float, DocAddress]] = []
    for query in queries:
        known = {(address.segment_ord, address.doc) for _, address in told}
        at, size, more = 0, limit + _SPARE, True
        while more and at < _DEEPEST:
            found = searcher.search(query, size, count=False, offset=at).hits
            at, size, more = at + size, 4 * size, len(found) == size
            if known:
                found = [hit for hit in found if (hit[1].segment_ord, hit[1].doc) not in known]
            told += found
            for some in (found[:limit], found[limit:]):
                yield [(score, read(address).get_first(KEPT) or "") for score, address in some]


def _batches(pages: Iterable[Page]) -> Iterator[list[Page]]:
    """As many pages at once as are well stored together."""
    batch: list[Page] = []
    characters = 0
    for page in pages:
        batch.append(page)
        characters += len(page.text)
        if len(batch) >= _BATCH_PAGES or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _sum(one: Stored, other: Stored) -> Stored:
    return Stored(*(getattr(one, name) + getattr(other, name) for name in field_names(Stored)))


def _size(folder: Path) -> int:
    """What the files of the index take; files may go while they are counted."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            total += path.stat().st_size if path.is_file() else 0
    return total
