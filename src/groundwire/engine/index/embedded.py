"""The index in a folder: a page table (SQLite) as the source of truth, and a tantivy index derived from it.

Pages are stored first, in a transaction; then the search index catches up, and the page table records how far
it got. If a process dies in between, the next writer or opener continues from that record. Indexing a page
twice is harmless: what a crash may have left of it is removed first.
"""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self, TypeAlias

from tantivy import DocAddress, Query, Searcher

from groundwire.engine.dense.encoder import SentenceEncoder
from groundwire.engine.dense.packages import PACKAGES
from groundwire.engine.dense.stored_vectors import VectorSink, VectorSource
from groundwire.engine.dense.texts import VectorKey, passage_text, vector_key
from groundwire.engine.dense.vector_file import stored_keys, vectors_path
from groundwire.engine.index import page_table
from groundwire.engine.index.base import PageInfo, PassageStore, Stats, Stored, StoredText
from groundwire.engine.index.errors import translate_errors
from groundwire.engine.index.page_table import StoredPage, format_version, upgrade
from groundwire.engine.index.rebuild import (
    bring_up_to_date,
    create_search_index,
    is_behind,
    is_of_another_version,
    open_search_index,
)
from groundwire.engine.index.search_index import (
    SEPARATOR,
    STORED_FIELD,
    TANTIVY_ERRORS,
    VECTOR_FIELD,
    PassageWriter,
    SearchIndex,
    vector_term,
)
from groundwire.engine.index.snapshot import SnapshotCache, count_write
from groundwire.engine.pages import Page, Passage, split_passages, strip_passage
from groundwire.engine.words import guess_language
from groundwire.errors import TimedOut
from groundwire.files.lock import locked
from groundwire.model import SearchOptions, Source
from groundwire.text.domains import admits

ScoredDocument: TypeAlias = tuple[float, str]
"""A score, and the stored fields of the passage."""

PER_PAGE = 3
_PARTINGS = 10


def select_hits(
    portions: Iterable[list[ScoredDocument]], options: SearchOptions, limit: int, gone: Container[str]
) -> list[Passage]:
    """Picks the passages to return: allowed URLs, a few for each page, no duplicates.

    Scores are not adjusted: a passage with all the words may score below a later one with some.
    """
    passages: list[Passage] = []
    shown: dict[str, list[str]] = {}  # by the words of a page: the page that is shown, as often as it is
    words_shown: set[str] = set()
    may_show = _admission(options)
    for score, kept in chain.from_iterable(portions):
        page, page_words, words, language, published, section, outline, start, url, title, text = kept.split(
            SEPARATOR, _PARTINGS
        )
        words = words or page_words
        if words in words_shown or page in gone or not (may_show is None or may_show(Source(url))):
            continue
        shown_here = shown.get(page_words)
        if shown_here is None:
            shown[page_words] = [page]
        elif page in shown_here and len(shown_here) < PER_PAGE:
            shown_here.append(page)
        else:
            continue
        words_shown.add(words)
        passages.append(Passage(url, title, text, int(start), score, published, language, section, outline))
        if len(passages) >= limit:
            break
    return passages


def _admission(options: SearchOptions) -> Callable[[Source], bool] | None:
    """A check for domain entries with a path: hosts are matched by the query, paths are not indexed."""
    entries = options.allowed_domains + options.blocked_domains
    return partial(admits, options) if entries and any("/" in entry for entry in entries) else None


STORE = "pages.sqlite3"
REBUILT = "The index is from another version of groundwire. It was built again from its pages."
_LOCK = "write.lock"
_LOCK_TIMEOUT = 60.0
_BATCH_PAGES = 40_000
_BATCH_CHARACTERS = 32_000_000
"""A batch is one segment of the search index. Merging smaller segments takes more time, and as much memory as
the larger batches; more segments make queries slower."""
_DEEPEST = 4096
_SPARE = 8
_MOST_WORDS = 50_000
_PAGES_AT_ONCE = 200
_LISTED_AT_ONCE = 500
_ABOVE_ALL_IDS = 1 << 62
_COPIES = 4
"""Passages that are read for each vector: pages with the same title may have equal passages."""
_NO_OPTIONS = SearchOptions()


class EmbeddedIndex:
    """Implements `Index` in a folder, for several threads and processes at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reading = Lock()
        self.notice = ""
        with translate_errors(folder), ExitStack() as undo:
            self._store = page_table.connect(folder / STORE)
            undo.callback(self._store.close)
            upgrade(self._store)
            self._views = SnapshotCache(folder / _LOCK, self._store, self._reading)
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
        """Closes the files."""
        self._views.close()
        self._store.close()

    def put(self, pages: Iterable[Page]) -> Stored:
        """Adds or updates pages. When this returns they survive a crash, and every later search sees them."""
        total = Stored()
        for batch in _batches(pages):
            with translate_errors(self._folder), self._writing(_LOCK_TIMEOUT) as (store, passages):
                unsure = page_table.last_id(store)
                is_current = page_table.state_of(store).indexed >= unsure
                with _EarlyWriter(passages if is_current else None) as early:
                    with page_table.transaction(store), _no_collection():
                        total += page_table.add_pages(store, batch, early.add)
                    self._passages = bring_up_to_date(self._folder, store, passages, unsure, early.writer)
        return total

    def remove(self, *, urls: Iterable[str] = (), collection: str = "") -> int:
        """Removes pages by URL, or a whole collection; returns their number."""
        keys = [page_table.page_key(url) for url in urls]
        with translate_errors(self._folder), self._writing(_LOCK_TIMEOUT) as (store, passages):
            unsure = page_table.last_id(store)
            with page_table.transaction(store):
                count = page_table.remove_pages(store, keys, collection)
            self._passages = bring_up_to_date(self._folder, store, passages, unsure)
            page_table.release_space(store)
        return count

    def page(self, url: str) -> Page | None:
        """The page as it was stored, by its URL or the URL of one of its sections."""
        with translate_errors(self._folder), self._reading:
            for key in dict.fromkeys(map(page_table.page_key, (url, url.partition("#")[0]))):
                if (page := page_table.load_page(self._store, key)) is not None:
                    return page
            return None

    def words_with_prefix(self, prefix: str) -> list[tuple[str, int]]:
        """The words of all passages that begin with a prefix, and how many passages have each."""
        try:
            searcher = self._views.now(self._passages).searcher
            return searcher.terms_with_prefix("words", prefix, limit=_MOST_WORDS)
        except TANTIVY_ERRORS:
            return []  # the next search repairs the index

    def search(self, query: str, options: SearchOptions = _NO_OPTIONS, limit: int = 20) -> list[Passage]:
        """Best passages first: those with all the words, then those with some.

        At most three passages of a page are returned, and equal passages once. Pages without a date do not
        match a date filter; pages in the requested language come first.
        """
        if limit <= 0:
            return []
        passages = self._passages
        try:
            return self._found(passages, query, options, limit)
        except TANTIVY_ERRORS:
            # Damaged, or replaced by another process.
            with translate_errors(self._folder):
                self._passages = self._replaced(passages)
                return self._found(self._passages, query, options, limit)

    def pages(self, collection: str = "", prefix: str = "") -> Iterator[PageInfo]:
        """Lists the stored pages by URL, in chunks, so that no writer waits for a slow reader."""
        with translate_errors(self._folder), self._reading:
            ids = page_table.list_ids(self._store, collection, prefix)
        for at in range(0, len(ids), _LISTED_AT_ONCE):
            with translate_errors(self._folder), self._reading:
                some = page_table.page_infos(self._store, ids[at : at + _LISTED_AT_ONCE])
            yield from some

    def stats(self) -> Stats:
        """Counts pages, passages and bytes."""
        with translate_errors(self._folder), self._reading:
            pages, passages, collections = page_table.count_pages(self._store)
            version = format_version(self._store)
        return Stats(pages, passages, _size(self._folder), collections, version, self._vectors())

    def passage_store(self) -> PassageStore:
        """Passages by the keys of their vectors."""
        return self

    @property
    def folder(self) -> Path:
        """The folder of the index."""
        return self._folder

    def has_vectors(self, encoder: str) -> bool:
        """Are there vectors of passages that an encoder with this name made?"""
        return vectors_path(self._folder, encoder).is_file()

    def vector_source(self, encoder: SentenceEncoder, what: str) -> VectorSource:
        """The vectors of an encoder, in a file."""
        from groundwire.engine.dense.vectors import VectorReader  # noqa: PLC0415  imports numpy

        return VectorReader(vectors_path(self._folder, encoder.name, what), encoder)

    def writing_vectors(self, encoder: SentenceEncoder, what: str) -> AbstractContextManager[VectorSink]:
        """Writes vectors to a file."""
        from groundwire.engine.dense.vectors import writing  # noqa: PLC0415  imports numpy

        return writing(vectors_path(self._folder, encoder.name, what), encoder)

    def texts(self) -> Iterator[StoredText]:
        """What is encoded of all passages that have text, the newest first. Read in chunks, so that no writer
        waits for a slow reader."""
        before = _ABOVE_ALL_IDS
        while True:
            with translate_errors(self._folder), self._reading:
                some = page_table.pages_before(self._store, before, _PAGES_AT_ONCE)
            if not some:
                return
            for _, page in some:
                yield from page_texts(page)
            before = some[-1][0]

    def passages(
        self, scored: Sequence[tuple[VectorKey, float]], options: SearchOptions, limit: int
    ) -> list[Passage]:
        """The passages with these vectors and scores that a search may return, best first: those in the
        requested language, then the others."""
        scores = dict(scored)
        if not scores or limit <= 0:
            return []
        try:
            view = self._views.now(self._passages)
            portions: list[list[ScoredDocument]] = []
            for query in view.builder.filtered(VECTOR_FIELD, [*map(vector_term, scores)], options):
                documents = _read_all(view.searcher, query, _COPIES * len(scores))
                found = (
                    (scores.get(key), kept)
                    for key, kept in zip(map(_key_of, documents), documents, strict=True)
                )
                portions.append(
                    sorted(((score, kept) for score, kept in found if score is not None), reverse=True)
                )
            return select_hits(portions, options, limit, view.gone)
        except TANTIVY_ERRORS:
            return []  # the next search by words repairs the index

    def admitted_keys(self, options: SearchOptions, limit: int) -> list[VectorKey]:
        """The keys of some passages that the filters admit, at most `limit`."""
        try:
            view = self._views.now(self._passages)
            *_, query = view.builder.filtered(VECTOR_FIELD, (), options)
            return [_key_of(kept) for kept in _read_all(view.searcher, query, limit)]
        except TANTIVY_ERRORS:
            return []

    def _vectors(self) -> tuple[tuple[str, int], ...]:
        """The encoders that have vectors, and of how many passages."""
        known = {
            package.package: stored_keys(vectors_path(self._folder, package.name), package.name)
            for package in PACKAGES
        }
        if not any(known.values()):
            return ()
        keys = [vector_key(stored.text) for stored in self.texts()]
        return tuple((name, sum(key in found for key in keys)) for name, found in known.items() if found)

    def _found(self, passages: SearchIndex, query: str, options: SearchOptions, limit: int) -> list[Passage]:
        view = self._views.now(passages)
        found = _ranked(view.searcher, view.queries(query, options), limit)
        return select_hits(found, options, limit, view.gone)

    def _opened(self) -> SearchIndex:
        """The search index: up to date, unless another process is writing and will bring it up to date."""
        with self._reading:
            passages = open_search_index(self._folder, self._store)
            if passages is not None and not is_behind(self._store):
                return passages
            if is_of_another_version(self._store):
                self.notice = REBUILT
        try:
            with self._writing(0 if passages else _LOCK_TIMEOUT) as (store, renewed):
                return bring_up_to_date(self._folder, store, renewed, page_table.last_id(store))
        except TimedOut:
            if passages is None:
                raise
            return passages

    def _replaced(self, broken: SearchIndex) -> SearchIndex:
        """A search index rebuilt from the pages."""
        with self._writing(_LOCK_TIMEOUT) as (store, found):
            renewed = create_search_index(self._folder, store) if found.folder == broken.folder else found
            return bring_up_to_date(self._folder, store, renewed, page_table.last_id(store))

    @contextmanager
    def _writing(self, timeout: float) -> Iterator[tuple[sqlite3.Connection, SearchIndex]]:
        """The page table and the search index, with the write lock held."""
        lock = self._folder / _LOCK
        with (
            locked(lock, timeout),
            count_write(lock),
            closing(page_table.connect(self._folder / STORE)) as store,
        ):
            passages = open_search_index(self._folder, store) or create_search_index(self._folder, store)
            yield store, passages


@contextmanager
def _no_collection() -> Iterator[None]:
    """Leaves out garbage collection: the pages of a batch are many objects, none of them in a cycle, and each
    collection would look at all of them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _EarlyWriter:
    """Adds pages to the search index while they are being stored, unless earlier ones are missing there.

    After an error of tantivy there is no writer: the pages are indexed from the page table, where they are
    safe. At the end of the block tantivy's lock is released, even if an error keeps this object alive.
    """

    def __init__(self, passages: SearchIndex | None) -> None:
        self._passages = passages
        self.writer: PassageWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writer = None

    def add(self, page: StoredPage) -> None:
        """Adds a page."""
        if self._passages is None:
            return
        try:
            self.writer = self.writer or self._passages.writer()
            self.writer.add(page)
        except TANTIVY_ERRORS:
            self._passages = self.writer = None


def _ranked(searcher: Searcher, queries: Iterable[Query], limit: int) -> Iterator[list[ScoredDocument]]:
    """Hits, best first; a document that matches several queries once.

    They are fetched in growing batches and read lazily: reading a document costs more than searching, and the
    first `limit` hits are usually enough.
    """
    read = searcher.doc
    hits: list[tuple[float, DocAddress]] = []
    for query in queries:
        known = {(address.segment_ord, address.doc) for _, address in hits}
        at, size, more = 0, limit + _SPARE, True
        while more and at < _DEEPEST:
            found = searcher.search(query, size, count=False, offset=at).hits
            at, size, more = at + size, 4 * size, len(found) == size
            if known:
                found = [hit for hit in found if (hit[1].segment_ord, hit[1].doc) not in known]
            hits += found
            for some in (found[:limit], found[limit:]):
                yield [(score, read(address).get_first(STORED_FIELD) or "") for score, address in some]


def page_texts(page: Page) -> Iterator[StoredText]:
    """What is encoded of the passages of a page."""
    code = page.language.partition("-")[0].lower()
    for start, end in split_passages(page.text, page.outline):
        if text := strip_passage(page.text[start:end])[1]:
            yield StoredText(passage_text(page.title, text), code or guess_language(text), page.url)


def _read_all(searcher: Searcher, query: Query, limit: int) -> list[str]:
    """What is stored of the documents that match a query."""
    hits = searcher.search(query, limit, count=False).hits
    return [searcher.doc(address).get_first(STORED_FIELD) or "" for _, address in hits]


def _key_of(kept: str) -> VectorKey:
    *_, title, text = kept.split(SEPARATOR, _PARTINGS)
    return vector_key(passage_text(title, text))


def _batches(pages: Iterable[Page]) -> Iterator[list[Page]]:
    """Splits pages into batches of bounded size."""
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


def _size(folder: Path) -> int:
    """Bytes of all files of the index; files may disappear while they are counted."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            total += path.stat().st_size if path.is_file() else 0
    return total
