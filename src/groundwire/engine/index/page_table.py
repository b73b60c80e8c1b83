"""The page table: SQLite, the source of truth, from which the search index can be rebuilt at any time.

A page that changes gets a new id, so ids only grow, and an id always refers to the same text or to nothing.
The texts and outlines of pages with consecutive ids are one compressed block, because short texts compress
badly alone. Passages are not stored: they are cut from the text again.

Rollback journal, not WAL: SQLite before 3.51.3 can lose pages of a WAL that two processes checkpoint. With
TRUNCATE and FULL the end of the journal is synced too, so a commit that returned has happened.
"""

from __future__ import annotations

import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
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
    following = _next_id(store)
    for block in _blocks(_pages_of_format_3(store)):
        _insert_block(store, block, "pages_4")
    for statement in _FORMAT_4_NAMES:
        store.execute(statement)
    # The sequence of the renamed table begins with the pages that were copied.
    store.execute("DELETE FROM sqlite_sequence WHERE name = 'pages'")
    store.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('pages', ?)", (following - 1,))


def _pages_of_format_3(store: sqlite3.Connection) -> Iterator[PageRecord]:
    rows = store.execute(
        """SELECT id, key, hash, words, pieces, url, title, published, language, collection, outline
        FROM pages ORDER BY id"""
    )
    for number, key, mark, words, pieces, url, title, *rest in rows:
        ids = (number << _PASSAGE_BITS, (number + 1) << _PASSAGE_BITS)
        parts = store.execute("SELECT text FROM passages WHERE id >= ? AND id < ? ORDER BY id", ids)
        page = Page(url, title, "".join(text for (text,) in parts), *rest)
        yield PageRecord(number, _key_hash(key), mark, words, pieces, page)


STEPS: tuple[Step, ...] = (_first, _with_fingerprints, _with_outlines, _with_blocks)
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
    key: bytes
    hash: bytes
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


def page_key(url: str) -> bytes:
    """What a page is stored under."""
    return _key_hash(canonical_key(url))


def _key_hash(key: str) -> bytes:
    return blake2b(key.encode(), digest_size=16).digest()


def add_pages(store: sqlite3.Connection, pages: Iterable[Page]) -> tuple[Stored, list[StoredPage]]:
    """Adds or updates pages, within a transaction: their counts, and the pages that are new or changed."""
    batch = [(page_key(page.url), _hash(page), page) for page in map(_clean, pages)]
    known: dict[bytes, tuple[int, bytes]] = {
        key: (page, mark)
        for page, key, mark in _select(store, "id, key, hash", "key", [key for key, _, _ in batch])
    }
    fresh: dict[int, tuple[bytes, bytes, StoredPage]] = {}
    changes: list[tuple[StoredPage, bool]] = []
    replaced: list[int] = []
    following = _next_id(store)
    for key, mark, page in batch:
        old = known.get(key)
        if old is not None and old[1] == mark:
            continue
        if old is not None and fresh.pop(old[0], None) is None:
            replaced.append(old[0])
        cut = _cut(following, page)
        fresh[following] = (key, mark, cut)
        changes.append((cut, old is not None))
        known[key] = (following, mark)
        following += 1
    counted = _counted(store, changes)
    _forget(store, replaced)
    for block in _blocks(_record(key, mark, cut) for key, mark, cut in fresh.values()):
        _insert_block(store, block)
    return replace(counted, unchanged=len(batch) - len(changes)), [cut for _, _, cut in fresh.values()]


def remove_pages(store: sqlite3.Connection, keys: Iterable[bytes], collection: str) -> int:
    """Removes pages, within a transaction."""
    found = {row[0] for key in keys for row in store.execute("SELECT id FROM pages WHERE key = ?", (key,))}
    if collection:
        found.update(
            row[0] for row in store.execute("SELECT id FROM pages WHERE collection = ?", (collection,))
        )
    _forget(store, found)
    return len(found)


_COLUMNS = "id, words, block, start, outlined, characters, url, title, published, language, collection"


def load_page(store: sqlite3.Connection, key: bytes) -> Page | None:
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
    rows = store.execute(
        """SELECT id FROM pages WHERE substr(url, 1, ?) = ? AND (? = '' OR collection = ?)
        ORDER BY url, id""",
        (len(prefix), prefix, collection, collection),
    )
    return [number for (number,) in rows]


def page_infos(store: sqlite3.Connection, ids: Sequence[int]) -> list[PageInfo]:
    """The pages with these ids that are still stored, in this order."""
    columns = "id, url, title, collection, characters, published, language"
    found = {row[0]: PageInfo(*row[1:]) for row in _select(store, columns, "id", ids)}
    return [found[number] for number in ids if number in found]


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

    @lru_cache(1)
    def content(block: int) -> str:
        (data,) = store.execute("SELECT data FROM blocks WHERE id = ?", (block,)).fetchone()
        return _unpack(data)

    for number, words, block, start, outlined, characters, url, title, *rest in rows:
        text, cut = content(block), start + outlined
        about = Page(url, title, text[cut : cut + characters], *rest)
        yield number, words, replace(about, outline=text[start:cut]) if outlined else about


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
        return fingerprint(text)
    return fingerprint_of_tokens(" ".join([piece.tokens for piece in pieces if piece.tokens]))


def _counted(store: sqlite3.Connection, changes: Sequence[tuple[StoredPage, bool]]) -> Stored:
    """Counts new and updated pages; a new page with the words of another one is a duplicate."""
    words = [page.words for page, is_update in changes if not is_update]
    known = {found for (found,) in _select(store, "words", "words", words)}
    counts = dict.fromkeys(("added", "updated", "duplicates"), 0)
    for page, is_update in changes:
        is_duplicate = page.words in known and bool(page.page.text.strip())
        counts["updated" if is_update else "duplicates" if is_duplicate else "added"] += 1
        known.add(page.words)
    return Stored(**counts)


def _record(key: bytes, mark: bytes, cut: StoredPage) -> PageRecord:
    return PageRecord(
        cut.id, key, mark, cut.words, sum(bool(piece.text.strip()) for piece in cut.pieces), cut.page
    )


_BLOCK = 32_000
"""Characters of a block. Larger blocks are hardly smaller in total, and a page is read with its block."""
_LEVEL = 1
"""Of zlib. The next levels take twice the time and save a tenth."""


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


def _insert_block(store: sqlite3.Connection, block: Sequence[PageRecord], table: str = "pages") -> None:
    rows: list[tuple[object, ...]] = []
    contents: list[str] = []
    first, start = block[0].id, 0
    for record in block:
        number, key, mark, words, pieces, page = record
        about = (number, key, page.url, page.title, page.published, page.language, page.collection, mark)
        rows.append((*about, words, pieces, first, start, len(page.outline), len(page.text)))
        contents += (page.outline, page.text)
        start += record.size
    store.execute("INSERT INTO blocks VALUES (?, ?, ?, ?)", (first, block[-1].id, start, _pack(contents)))
    store.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)  # noqa: S608


def _pack(contents: Iterable[str]) -> bytes:
    return zlib.compress("".join(contents).encode(), _LEVEL)


def _unpack(data: bytes) -> str:
    return zlib.decompress(data).decode()


def _select(
    store: sqlite3.Connection, columns: str, column: str, wanted: Sequence[bytes] | Sequence[int]
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
    blocks = [store.execute("SELECT block FROM pages WHERE id = ?", number).fetchone() for number in numbers]
    store.executemany("DELETE FROM pages WHERE id = ?", numbers)
    store.executemany("INSERT OR IGNORE INTO gone VALUES (?)", numbers)
    for (block,) in dict.fromkeys(blocks):
        _shrink(store, block)


def _shrink(store: sqlite3.Connection, block: int) -> None:
    """Removes a block without pages. If more than half of it is of removed pages, leaves that out."""
    last, characters, data = store.execute(
        "SELECT last, characters, data FROM blocks WHERE id = ?", (block,)
    ).fetchone()
    kept = store.execute(
        "SELECT id, start, outlined + characters FROM pages WHERE id BETWEEN ? AND ? ORDER BY id",
        (block, last),
    ).fetchall()
    size = sum(length for _, _, length in kept)
    if not kept:
        store.execute("DELETE FROM blocks WHERE id = ?", (block,))
    elif 2 * size < characters:
        text, at = _unpack(data), 0
        for number, _, length in kept:
            store.execute("UPDATE pages SET start = ? WHERE id = ?", (at, number))
            at += length
        contents = (text[start : start + length] for _, start, length in kept)
        store.execute(
            "UPDATE blocks SET characters = ?, data = ? WHERE id = ?", (size, _pack(contents), block)
        )


def _hash(page: Page) -> bytes:
    # A page without an outline has the hash that it had before format 3.
    outline = (page.outline,) if page.outline else ()
    fields = (page.url, page.title, page.text, page.published, page.language, page.collection, *outline)
    return blake2b(
        "\0".join([f"{len(field)}\0{field}" for field in fields]).encode(), digest_size=16
    ).digest()


def _clean(page: Page) -> Page:
    """Replaces lone surrogates, which cannot be stored, one for one: offsets stay valid."""
    fields = (page.url, page.title, page.text, page.published, page.language, page.collection, page.outline)
    return page if all(map(str.isascii, fields)) else Page(*map(_storable, fields))


def _storable(text: str) -> str:
    return text if text.isascii() else _LONE_SURROGATES.sub("\ufffd", text)
