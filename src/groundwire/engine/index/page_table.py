"""The page table: SQLite, the source of truth, from which the search index can be rebuilt at any time.

A page that changes gets a new id, so ids only grow, and an id always refers to the same text or to nothing.
Pages with consecutive ids are one compressed block, because short texts compress badly alone: first a table
of their addresses and titles, then their outlines and texts. A row has only what pages are looked up by.
Passages are not stored: they are cut from the text again.

Rollback journal, not WAL: SQLite before 3.51.3 can lose pages of a WAL that two processes checkpoint. With
TRUNCATE and FULL the end of the journal is synced too, so a commit that returned has happened.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, TypeAlias

from groundwire.engine.index.base import PageInfo, Stored
from groundwire.engine.pages import Page, split_passages
from groundwire.engine.words import fingerprint, fingerprint_of_tokens, joined_tokens
from groundwire.errors import ConfigError
from groundwire.files.text_file import PRIVATE, make_private_files
from groundwire.model.value import replace, value
from groundwire.text.urls import canonical_url, domain_of

Step: TypeAlias = Callable[[sqlite3.Connection], None]

_PASSAGE_BITS = 24
"""Up to format 3, the id of a passage was the id of its page and, in the lower bits, its position in it."""

_FORMAT_1 = (
    """CREATE TABLE pages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE,
        url TEXT NOT NULL,
        title TEXT NOT NULL,
        published TEXT NOT NULL,
        language TEXT NOT NULL,
        collection TEXT NOT NULL,
        hash BLOB NOT NULL,
        characters INTEGER NOT NULL,
        pieces INTEGER NOT NULL
    )""",
    "CREATE INDEX pages_by_url ON pages (url)",
    "CREATE INDEX pages_by_collection ON pages (collection)",
    "CREATE TABLE passages (id INTEGER PRIMARY KEY, start INTEGER NOT NULL, text TEXT NOT NULL)",
    "CREATE TABLE gone (page INTEGER PRIMARY KEY)",
    """CREATE TABLE state (
        folder INTEGER NOT NULL,
        analysis INTEGER NOT NULL,
        indexed INTEGER NOT NULL,
        passages INTEGER NOT NULL
    )""",
    "INSERT INTO state VALUES (0, 0, 0, 0)",
)


def _first(store: sqlite3.Connection) -> None:
    for statement in _FORMAT_1:
        store.execute(statement)


def _with_fingerprints(store: sqlite3.Connection) -> None:
    """Format 2: fingerprints of pages and passages."""
    store.create_function("fingerprint", 1, fingerprint, deterministic=True)
    for table in ("pages", "passages"):
        store.execute(f"ALTER TABLE {table} ADD COLUMN words INTEGER NOT NULL DEFAULT 0")
    store.execute("UPDATE passages SET words = fingerprint(text)")
    for (page,) in store.execute("SELECT id FROM pages").fetchall():
        ids = (page << _PASSAGE_BITS, (page + 1) << _PASSAGE_BITS)
        pieces = store.execute("SELECT text FROM passages WHERE id >= ? AND id < ? ORDER BY id", ids)
        words = fingerprint("".join(text for (text,) in pieces))
        store.execute("UPDATE pages SET words = ? WHERE id = ?", (words, page))
    store.execute("CREATE INDEX pages_by_words ON pages (words)")


def _with_outlines(store: sqlite3.Connection) -> None:
    """Format 3: the outlines of pages. Pages that are stored already get theirs when they are read again."""
    store.execute("ALTER TABLE pages ADD COLUMN outline TEXT NOT NULL DEFAULT ''")


_FORMAT_4 = (
    """CREATE TABLE blocks (
        id INTEGER PRIMARY KEY,
        last INTEGER NOT NULL,
        characters INTEGER NOT NULL,
        data BLOB NOT NULL
    )""",
    """CREATE TABLE pages_4 (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key BLOB NOT NULL,
        url TEXT NOT NULL,
        title TEXT NOT NULL,
        published TEXT NOT NULL,
        language TEXT NOT NULL,
        collection TEXT NOT NULL,
        hash BLOB NOT NULL,
        words INTEGER NOT NULL,
        pieces INTEGER NOT NULL,
        block INTEGER NOT NULL,
        start INTEGER NOT NULL,
        outlined INTEGER NOT NULL,
        characters INTEGER NOT NULL
    )""",
)
"""The block of a page has its outline and its text from `start` on: `outlined` and `characters` long."""
_FORMAT_4_NAMES = (
    "DROP TABLE passages",
    "DROP TABLE pages",
    "ALTER TABLE pages_4 RENAME TO pages",
    "CREATE UNIQUE INDEX pages_by_key ON pages (key)",
    "CREATE INDEX pages_by_words ON pages (words)",
)
"""There is no index by URL or collection: it would be a tenth of the file, and pages are seldom listed."""


def _with_blocks(store: sqlite3.Connection) -> None:
    """Format 4: text and outlines in compressed blocks, keys as hashes, no passages."""
    for statement in _FORMAT_4:
        store.execute(statement)
    with _same_sequence(store):
        _copy_format_3(store)
        for statement in _FORMAT_4_NAMES:
            store.execute(statement)


def _copy_format_3(store: sqlite3.Connection) -> None:
    """Copies the pages, a block for each: the next step puts them together."""
    rows = store.execute(
        """SELECT id, key, url, title, published, language, collection, hash, words, pieces, outline
        FROM pages ORDER BY id"""
    )
    for number, key, *about, outline in rows:
        ids = (number << _PASSAGE_BITS, (number + 1) << _PASSAGE_BITS)
        parts = store.execute("SELECT text FROM passages WHERE id >= ? AND id < ? ORDER BY id", ids)
        text = "".join(part for (part,) in parts)
        place = (number, 0, len(outline), len(text))
        store.execute(
            "INSERT INTO pages_4 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (number, _key_hash(key), *about, *place),
        )
        data = _pack((outline + text).encode())
        store.execute(
            "INSERT INTO blocks VALUES (?, ?, ?, ?)", (number, number, len(outline) + len(text), data)
        )


@contextmanager
def _same_sequence(store: sqlite3.Connection) -> Iterator[None]:
    """Keeps the sequence of ids: that of a renamed table begins with the pages that were copied."""
    following = _next_id(store)
    yield
    store.execute("DELETE FROM sqlite_sequence WHERE name = 'pages'")
    store.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('pages', ?)", (following - 1,))


_FORMAT_5 = (
    "ALTER TABLE pages RENAME TO pages_4",
    "ALTER TABLE blocks RENAME TO blocks_4",
    "DROP INDEX pages_by_key",
    "DROP INDEX pages_by_words",
    """CREATE TABLE blocks (
        id INTEGER PRIMARY KEY,
        last INTEGER NOT NULL,
        characters INTEGER NOT NULL,
        described INTEGER NOT NULL,
        data BLOB NOT NULL
    )""",
    """CREATE TABLE pages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key INTEGER NOT NULL,
        hash INTEGER NOT NULL,
        words INTEGER NOT NULL,
        collection TEXT NOT NULL,
        pieces INTEGER NOT NULL
    )""",
)
"""A block begins with the table of its pages, `described` bytes long. After it are the outline and the text
of each page, in the order of the table."""
_FORMAT_5_INDEXES = (
    "DROP TABLE pages_4",
    "DROP TABLE blocks_4",
    "CREATE UNIQUE INDEX pages_by_key ON pages (key)",
    "CREATE INDEX pages_by_words ON pages (words)",
)


def _with_short_rows(store: sqlite3.Connection) -> None:
    """Format 5: addresses and titles in the blocks, shorter hashes."""
    with _same_sequence(store):
        for statement in _FORMAT_5:
            store.execute(statement)
        for block in _blocks(_pages_of_format_4(store)):
            _insert_block(store, block, *_close_block(block))
        for statement in _FORMAT_5_INDEXES:
            store.execute(statement)


def _pages_of_format_4(store: sqlite3.Connection) -> Iterator[PageRecord]:
    rows = store.execute(
        """SELECT pages_4.id, key, hash, words, pieces, data, start, outlined, pages_4.characters,
        url, title, published, language, collection
        FROM pages_4 JOIN blocks_4 ON blocks_4.id = block ORDER BY pages_4.id"""
    )
    unpacked = lru_cache(1)(lambda data: _unpack(data).decode())
    for number, key, mark, words, pieces, data, start, outlined, characters, *about in rows:
        text, cut = unpacked(data), start + outlined
        url, title, published, language, collection = about
        body, outline = text[cut : cut + characters], text[start:cut]
        page = Page(url, title, body, published, language, collection, outline)
        yield PageRecord(number, _key_number(key), _mark_number(mark), words >> _SPARE_BITS, pieces, page)


STEPS: tuple[Step, ...] = (_first, _with_fingerprints, _with_outlines, _with_blocks, _with_short_rows)
FORMAT = len(STEPS)


def format_version(store: sqlite3.Connection) -> int:
    """The format of a store; 0 if it is new."""
    (found,) = store.execute("PRAGMA user_version").fetchone()
    return int(found)


def upgrade(store: sqlite3.Connection, steps: tuple[Step, ...] = STEPS) -> None:
    """Upgrades a store to the latest format, one transaction for each step."""
    known, found = len(steps), format_version(store)
    for number in range(found, known):
        with ExitStack() as undo:
            store.execute("BEGIN IMMEDIATE")
            undo.callback(store.rollback)
            # Another process may have upgraded while this one waited for the lock.
            if format_version(store) == number:
                steps[number](store)
                store.execute(f"PRAGMA user_version = {number + 1}")
            store.execute("COMMIT")
            undo.pop_all()
    if 0 < found < known:
        with suppress(sqlite3.OperationalError):  # another process uses it, or there is no room for a copy
            store.execute("VACUUM")
    if (found := format_version(store)) > known:
        raise ConfigError(
            f"The index has format {found}, this groundwire knows {known}. Use a newer groundwire."
        )


_BUSY_TIMEOUT = 30.0
_SELECTED_AT_ONCE = 500
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


class CutPassage(NamedTuple):
    """A passage of a page: start, text, and the tokens of the text, separated by spaces."""

    start: int
    text: str
    tokens: str


class StoredPage(NamedTuple):
    """A page with its fingerprint and its passages, which together are its text."""

    id: int
    words: int
    page: Page
    pieces: tuple[CutPassage, ...]


class PageRecord(NamedTuple):
    """A page as it is stored."""

    id: int
    key: int
    hash: int
    words: int
    pieces: int
    page: Page

    @property
    def size(self) -> int:
        """Characters in its block."""
        return len(self.page.outline) + len(self.page.text)


@value
class IndexState:
    """State of the search index: its folder and its content, which is every page up to `indexed`."""

    folder: int
    analysis: int
    indexed: int
    passages: int


def connect(path: Path) -> sqlite3.Connection:
    """Opens the database in autocommit mode; transactions are explicit."""
    # The journal next to the file gets the same permissions.
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE))
    make_private_files(path.parent)
    store = sqlite3.connect(path, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
    for pragma in (
        "auto_vacuum = INCREMENTAL",
        "journal_mode = TRUNCATE",
        "synchronous = FULL",
        "cache_spill = OFF",
        "cache_size = -65536",
    ):
        store.execute(f"PRAGMA {pragma}")
    return store


@contextmanager
def transaction(store: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """A transaction; `BEGIN` for a consistent read."""
    store.execute(begin)
    with ExitStack() as undo:
        undo.callback(store.rollback)
        yield
        store.execute("COMMIT")
        undo.pop_all()


def release_space(store: sqlite3.Connection) -> None:
    """Gives space of removed pages back to the file system, if it is an eighth of the file."""
    (free,) = store.execute("PRAGMA freelist_count").fetchone()
    (pages,) = store.execute("PRAGMA page_count").fetchone()
    if free * 8 > pages:
        # Each step of this statement frees one page, and `execute` takes only the first.
        store.executescript("PRAGMA incremental_vacuum")


def canonical_key(url: str) -> str:
    """Equal for URLs of the same page. Fragments count: documentation has many pages in one document."""
    fragment = url.partition("#")[2]
    return _storable(canonical_url(url) + (f"#{fragment}" if fragment and domain_of(url) else ""))


def page_key(url: str) -> int:
    """What a page is stored under."""
    return _key_number(_key_hash(canonical_key(url)))


def _key_hash(key: str) -> bytes:
    return blake2b(key.encode(), digest_size=16).digest()


def _key_number(digest: bytes) -> int:
    """The first 64 bits of a hash: among a million pages, two have the same with a probability of 3e-8."""
    return int.from_bytes(digest[:8], "big", signed=True)


def _mark_number(digest: bytes) -> int:
    """The first 48 bits of a hash, which is compared with one other hash only."""
    return int.from_bytes(digest[:6], "big", signed=True)


_SPARE_BITS = 16
"""Bits of a fingerprint that are not stored. The rest tells the passages of a result apart."""


def short_fingerprint(tokens: str) -> int:
    """The fingerprint of tokens, separated by spaces, in 48 bits."""
    return fingerprint_of_tokens(tokens) >> _SPARE_BITS


def add_pages(
    store: sqlite3.Connection,
    pages: Iterable[Page],
    index_page: Callable[[StoredPage], None] | None = None,
) -> Stored:
    """Adds or updates pages, within a transaction; returns their counts. `index_page` is called with every
    page that is new or changed as soon as it is cut, while the search index has time for it."""
    batch = [(page_key(page.url), page) for page in map(_clean, pages)]
    changes, replaced = _changes(store, batch)
    fingerprints: list[int] = []

    def records() -> Iterator[PageRecord]:
        for number, change in changes.items():
            cut = _cut(number, change.page)
            fingerprints.append(cut.words if change.page.text.strip() else 0)
            if number in replaced:  # by a later page of this batch
                continue
            if index_page is not None:
                index_page(cut)
            yield _record(change.key, change.mark, cut)

    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  most processes only search

    # Compressing does not hold the GIL: a block is compressed while the next pages are cut.
    with ThreadPoolExecutor(1, "groundwire-index") as threads:
        blocks = [(block, threads.submit(_close_block, block)) for block in _blocks(records())]
    counts = _counted(store, fingerprints, [change.is_update for change in changes.values()])
    _forget(store, replaced - changes.keys())
    for block, closed in blocks:
        _insert_block(store, block, *closed.result())
    return replace(counts, unchanged=len(batch) - len(changes))


class _Change:
    """A page that is new or changed. Its hash is computed when it is needed: for new pages, only when the
    page is cut and stored, while the search index is busy with the pages before it."""

    __slots__ = ("_mark", "is_update", "key", "page")

    def __init__(self, key: int, page: Page, *, is_update: bool) -> None:
        self.key = key
        self.page = page
        self.is_update = is_update
        self._mark: int | None = None

    @property
    def mark(self) -> int:
        """The hash of the page."""
        if self._mark is None:
            self._mark = _mark_number(_hash(self.page))
        return self._mark


def _changes(
    store: sqlite3.Connection, batch: Sequence[tuple[int, Page]]
) -> tuple[dict[int, _Change], set[int]]:
    """The pages that are new or changed, by their new ids; and the ids that they replace, of stored pages and
    of earlier pages of the batch."""
    stored: dict[int, tuple[int, int]] = {
        key: (page, mark)
        for page, key, mark in _select(store, "id, key, hash", "key", [key for key, _ in batch])
    }
    latest: dict[int, int] = {}
    changes: dict[int, _Change] = {}
    replaced: set[int] = set()
    following = _next_id(store)
    for key, page in batch:
        change = _Change(key, page, is_update=key in stored or key in latest)
        if change.is_update:
            earlier = latest.get(key)
            old, mark = (earlier, changes[earlier].mark) if earlier is not None else stored[key]
            if mark == change.mark:
                continue
            replaced.add(old)
        changes[following] = change
        latest[key] = following
        following += 1
    return changes, replaced


def remove_pages(store: sqlite3.Connection, keys: Iterable[int], collection: str) -> int:
    """Removes pages, within a transaction."""
    found = {row[0] for key in keys for row in store.execute("SELECT id FROM pages WHERE key = ?", (key,))}
    if collection:
        found.update(
            row[0] for row in store.execute("SELECT id FROM pages WHERE collection = ?", (collection,))
        )
    _forget(store, found)
    return len(found)


_COLUMNS = "id, words, collection"


def load_page(store: sqlite3.Connection, key: int) -> Page | None:
    """A page as it was stored."""
    with transaction(store, "BEGIN"):
        rows = store.execute(f"SELECT {_COLUMNS} FROM pages WHERE key = ?", (key,)).fetchall()  # noqa: S608
        return next((page for _, _, page in _loaded(store, rows)), None)


def pages_before(store: sqlite3.Connection, before: int, limit: int) -> list[tuple[int, Page]]:
    """The next pages by id, from the highest on."""
    with transaction(store, "BEGIN"):
        rows = store.execute(
            f"SELECT {_COLUMNS} FROM pages WHERE id < ? ORDER BY id DESC LIMIT ?",  # noqa: S608
            (before, limit),
        ).fetchall()
        return [(number, page) for number, _, page in _loaded(store, rows)]


def list_ids(store: sqlite3.Connection, collection: str, prefix: str) -> list[int]:
    """The ids of pages, sorted by URL."""
    with transaction(store, "BEGIN"):
        rows = store.execute("SELECT id FROM pages WHERE ? IN ('', collection)", (collection,))
        listed = {number for (number,) in rows}
        found = [
            (entry.url, number)
            for block in store.execute("SELECT described, data FROM blocks")
            for number, entry in _entries(*block).items()
            if number in listed and entry.url.startswith(prefix)
        ]
    return [number for _, number in sorted(found)]


def page_infos(store: sqlite3.Connection, ids: Sequence[int]) -> list[PageInfo]:
    """The pages with these ids that are still stored, in this order."""
    with transaction(store, "BEGIN"):
        collections = {row[0]: row[1] for row in _select(store, "id, collection", "id", ids)}
        entries: dict[int, PageEntry] = {}
        for number in ids:
            if number in collections and number not in entries:
                entries |= _entries(*_block_of(store, number))
    return [_info(entries[number], collections[number]) for number in ids if number in collections]


def _info(entry: PageEntry, collection: str) -> PageInfo:
    return PageInfo(entry.url, entry.title, collection, entry.characters, entry.published, entry.language)


def count_pages(store: sqlite3.Connection) -> tuple[int, int, tuple[tuple[str, int], ...]]:
    """Pages, passages, and the collections with their number of pages."""
    pages, passages = store.execute("SELECT count(*), coalesce(sum(pieces), 0) FROM pages").fetchone()
    groups = store.execute("SELECT collection, count(*) FROM pages GROUP BY collection ORDER BY collection")
    return pages, passages, tuple((name, number) for name, number in groups)


def state_of(store: sqlite3.Connection) -> IndexState:
    """The recorded state of the search index."""
    return IndexState(*store.execute("SELECT folder, analysis, indexed, passages FROM state").fetchone())


def set_state(store: sqlite3.Connection, state: IndexState) -> None:
    """Records the state of the search index."""
    fields = (state.folder, state.analysis, state.indexed, state.passages)
    store.execute("UPDATE state SET folder = ?, analysis = ?, indexed = ?, passages = ?", fields)


def last_id(store: sqlite3.Connection) -> int:
    """The id of the latest page; 0 if there is none."""
    (found,) = store.execute("SELECT coalesce(max(id), 0) FROM pages").fetchone()
    return int(found)


def pages_after(store: sqlite3.Connection, after: int, limit: int) -> Iterator[StoredPage]:
    """The next pages by id, with their passages."""
    rows = store.execute(
        f"SELECT {_COLUMNS} FROM pages WHERE id > ? ORDER BY id LIMIT ?",  # noqa: S608
        (after, limit),
    ).fetchall()
    for number, words, page in _loaded(store, rows):
        yield StoredPage(number, words, page, _pieces(page))


def _loaded(store: sqlite3.Connection, rows: Iterable[sqlite3.Row]) -> Iterator[tuple[int, int, Page]]:
    """The id, the fingerprint and the page of each row. Neighbours are in the same block."""
    pages: Mapping[int, tuple[PageEntry, str, str]] = {}
    for number, words, collection in rows:
        if number not in pages:
            pages = _opened(*_block_of(store, number))
        yield number, words, _page_of(*pages[number], collection)


def _page_of(entry: PageEntry, outline: str, text: str, collection: str) -> Page:
    return Page(entry.url, entry.title, text, entry.published, entry.language, collection, outline)


def _block_of(store: sqlite3.Connection, page: int) -> tuple[int, bytes]:
    """The length of the table and the content of the block of a page."""
    found: tuple[int, bytes] = store.execute(
        "SELECT described, data FROM blocks WHERE id <= ? ORDER BY id DESC LIMIT 1", (page,)
    ).fetchone()
    return found


def removed_pages(store: sqlite3.Connection) -> list[int]:
    """Pages that were removed, perhaps not yet from the search index."""
    return [page for (page,) in store.execute("SELECT page FROM gone")]


def clear_removed(store: sqlite3.Connection, pages: Iterable[int]) -> None:
    """Forgets removed pages that the search index no longer contains."""
    store.executemany("DELETE FROM gone WHERE page = ?", ((page,) for page in pages))


def _cut(number: int, page: Page) -> StoredPage:
    """A page with its passages."""
    pieces = _pieces(page)
    return StoredPage(number, _page_fingerprint(page.text, pieces), page, pieces)


def _pieces(page: Page) -> tuple[CutPassage, ...]:
    text = page.text
    ranges = split_passages(text, page.outline)
    return tuple(
        [CutPassage(start, text[start:end], joined_tokens(text[start:end])) for start, end in ranges]
    )


def _page_fingerprint(text: str, pieces: Sequence[CutPassage]) -> int:
    """The fingerprint of a page by the tokens of its passages, unless one is cut within a token."""
    if any(piece.start and text[piece.start - 1].isalnum() for piece in pieces):
        return short_fingerprint(joined_tokens(text))
    return short_fingerprint(" ".join([piece.tokens for piece in pieces if piece.tokens]))


def _counted(store: sqlite3.Connection, fingerprints: Sequence[int], updates: Sequence[bool]) -> Stored:
    """Counts new and updated pages by their fingerprints, which are 0 without text; a new page with the words
    of another one is a duplicate."""
    changes = list(zip(fingerprints, updates, strict=True))
    new = [words for words, is_update in changes if not is_update]
    known = {found for (found,) in _select(store, "words", "words", new)}
    counts = dict.fromkeys(("added", "updated", "duplicates"), 0)
    for words, is_update in changes:
        is_duplicate = bool(words) and words in known
        counts["updated" if is_update else "duplicates" if is_duplicate else "added"] += 1
        known.add(words)
    return Stored(**counts)


def _record(key: int, mark: int, cut: StoredPage) -> PageRecord:
    return PageRecord(
        cut.id, key, mark, cut.words, sum(bool(piece.text.strip()) for piece in cut.pieces), cut.page
    )


_BLOCK = 256_000
"""Characters of a block. SQLite fills its last page of 4 KB by half, and a page is read with its block, which
takes a few milliseconds on a busy machine."""
_LEVEL = 4
"""Of zlib. Level 1 takes half the time and a twelfth more space, level 6 three times the time and a
twentieth less."""


def _blocks(records: Iterable[PageRecord]) -> Iterator[list[PageRecord]]:
    """Pages with consecutive ids, as many as fill a block."""
    block: list[PageRecord] = []
    size = 0
    for record in records:
        block.append(record)
        size += record.size
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def _insert_block(
    store: sqlite3.Connection, block: Sequence[PageRecord], described: int, data: bytes
) -> None:
    characters = sum(record.size for record in block)
    store.execute(
        "INSERT INTO blocks VALUES (?, ?, ?, ?, ?)", (block[0].id, block[-1].id, characters, described, data)
    )
    store.executemany(
        "INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?)",
        [
            (number, key, mark, words, page.collection, pieces)
            for number, key, mark, words, pieces, page in block
        ],
    )


class PageEntry(NamedTuple):
    """A page in the table of its block."""

    outlined: int
    """Length of its outline."""
    characters: int
    """Length of its text."""
    url: str
    title: str
    published: str
    language: str


def _close_block(block: Sequence[PageRecord]) -> tuple[int, bytes]:
    return _closed([(record.id, record.page) for record in block])


def _closed(pages: Sequence[tuple[int, Page]]) -> tuple[int, bytes]:
    """A block: the length of its table, and its compressed content."""
    table = _encode_table(
        [number for number, _ in pages],
        [
            PageEntry(len(page.outline), len(page.text), page.url, page.title, page.published, page.language)
            for _, page in pages
        ],
    )
    contents = "".join([part for _, page in pages for part in (page.outline, page.text)])
    return len(table), _pack(table + contents.encode())


@lru_cache(4)
def _opened(described: int, data: bytes) -> Mapping[int, tuple[PageEntry, str, str]]:
    """The pages of a block with their outlines and texts. A search reads several pages of a few blocks."""
    content = _unpack(data)
    text, start = content[described:].decode(), 0
    pages: dict[int, tuple[PageEntry, str, str]] = {}
    for number, entry in _decode_table(content[:described]).items():
        cut = start + entry.outlined
        end = cut + entry.characters
        pages[number] = (entry, text[start:cut], text[cut:end])
        start = end
    return pages


def _entries(described: int, data: bytes) -> dict[int, PageEntry]:
    """The table of a block; no more of it is unpacked."""
    return _decode_table(zlib.decompressobj().decompress(data, described))


def _encode_table(numbers: Sequence[int], entries: Iterable[PageEntry]) -> bytes:
    """The table by columns, with the differences of the ids: it compresses best so."""
    steps = map(int.__sub__, numbers, (0, *numbers))
    return json.dumps(
        [[*steps], *zip(*entries, strict=True)], ensure_ascii=False, separators=(",", ":")
    ).encode()


def _decode_table(table: bytes) -> dict[int, PageEntry]:
    steps, *columns = json.loads(table)
    return dict(zip(accumulate(steps), map(PageEntry, *columns), strict=True))


def _pack(content: bytes) -> bytes:
    return zlib.compress(content, _LEVEL)


def _unpack(data: bytes) -> bytes:
    return zlib.decompress(data)


def _select(
    store: sqlite3.Connection, columns: str, column: str, wanted: Sequence[int]
) -> Iterator[sqlite3.Row]:
    """The columns of the pages whose `column` has one of the wanted values."""
    for at in range(0, len(wanted), _SELECTED_AT_ONCE):
        some = wanted[at : at + _SELECTED_AT_ONCE]
        marks = ",".join("?" * len(some))
        yield from store.execute(f"SELECT {columns} FROM pages WHERE {column} IN ({marks})", some)  # noqa: S608


def _next_id(store: sqlite3.Connection) -> int:
    """Ids of removed pages are not used again."""
    row = store.execute("SELECT seq FROM sqlite_sequence WHERE name = 'pages'").fetchone()
    return int(row[0]) + 1 if row else 1


def _forget(store: sqlite3.Connection, pages: Collection[int]) -> None:
    """Removes pages, which the search index may still have."""
    numbers = [(page,) for page in pages]
    store.executemany("DELETE FROM pages WHERE id = ?", numbers)
    store.executemany("INSERT OR IGNORE INTO gone VALUES (?)", numbers)
    blocks = (
        store.execute("SELECT max(id) FROM blocks WHERE id <= ?", number).fetchone() for number in numbers
    )
    for (block,) in list(dict.fromkeys(blocks)):
        _shrink(store, block)


def _shrink(store: sqlite3.Connection, block: int) -> None:
    """Removes a block without pages. If more than half of it is of removed pages, leaves that out."""
    last, characters, described, data = store.execute(
        "SELECT last, characters, described, data FROM blocks WHERE id = ?", (block,)
    ).fetchone()
    rows = store.execute(
        "SELECT id, collection FROM pages WHERE id BETWEEN ? AND ? ORDER BY id", (block, last)
    ).fetchall()
    if not rows:
        store.execute("DELETE FROM blocks WHERE id = ?", (block,))
        return
    entries = _entries(described, data)
    size = sum(entries[number].outlined + entries[number].characters for number, _ in rows)
    if 2 * size < characters:
        pages = _opened(described, data)
        described, data = _closed(
            [(number, _page_of(*pages[number], collection)) for number, collection in rows]
        )
        store.execute(
            "UPDATE blocks SET characters = ?, described = ?, data = ? WHERE id = ?",
            (size, described, data, block),
        )


def _hash(page: Page) -> bytes:
    # A page without an outline has the hash that it had before format 3.
    outline = (page.outline,) if page.outline else ()
    fields = (page.url, page.title, page.text, page.published, page.language, page.collection, *outline)
    parts = [part for field in fields for part in (str(len(field)), field)]
    return blake2b("\0".join(parts).encode(), digest_size=16).digest()


def _clean(page: Page) -> Page:
    """Replaces lone surrogates, which cannot be stored, one for one: offsets stay valid."""
    fields = (page.url, page.title, page.text, page.published, page.language, page.collection, page.outline)
    return page if all(map(str.isascii, fields)) else Page(*map(_storable, fields))


def _storable(text: str) -> str:
    return text if text.isascii() else _LONE_SURROGATES.sub("\ufffd", text)
