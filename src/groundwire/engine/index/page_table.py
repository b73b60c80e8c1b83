"""The page table: SQLite, the source of truth, from which the search index can be rebuilt at any time.

The passages of a page are rows of their own; joined they are its text. A page that changes gets a new id,
so ids only grow, and an id always refers to the same text or to nothing.

Rollback journal, not WAL: SQLite before 3.51.3 can lose pages of a WAL that two processes checkpoint. With
TRUNCATE and FULL the end of the journal is synced too, so a commit that returned has happened.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, TypeAlias

from groundwire.engine.index.base import PageInfo, Stored
from groundwire.engine.pages import Page, split_passages
from groundwire.engine.words import fingerprint
from groundwire.errors import ConfigError
from groundwire.files.text_file import PRIVATE, make_private_files
from groundwire.model.value import replace, value
from groundwire.text.urls import canonical_url, domain_of

Step: TypeAlias = Callable[[sqlite3.Connection], None]

PASSAGE_BITS = 24
"""The id of a passage is the id of its page and, in the lower bits, its position in it."""

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
        ids = (page << PASSAGE_BITS, (page + 1) << PASSAGE_BITS)
        pieces = store.execute("SELECT text FROM passages WHERE id >= ? AND id < ? ORDER BY id", ids)
        words = fingerprint("".join(text for (text,) in pieces))
        store.execute("UPDATE pages SET words = ? WHERE id = ?", (words, page))
    store.execute("CREATE INDEX pages_by_words ON pages (words)")


def _with_outlines(store: sqlite3.Connection) -> None:
    """Format 3: the outlines of pages. Pages that are stored already get theirs when they are read again."""
    store.execute("ALTER TABLE pages ADD COLUMN outline TEXT NOT NULL DEFAULT ''")


STEPS: tuple[Step, ...] = (_first, _with_fingerprints, _with_outlines)
FORMAT = len(STEPS)


def format_version(store: sqlite3.Connection) -> int:
    """The format of a store; 0 if it is new."""
    (found,) = store.execute("PRAGMA user_version").fetchone()
    return int(found)


def upgrade(store: sqlite3.Connection, steps: tuple[Step, ...] = STEPS) -> None:
    """Upgrades a store to the latest format, one transaction for each step."""
    known = len(steps)
    for number in range(format_version(store), known):
        with ExitStack() as undo:
            store.execute("BEGIN IMMEDIATE")
            undo.callback(store.rollback)
            # Another process may have upgraded while this one waited for the lock.
            if format_version(store) == number:
                steps[number](store)
                store.execute(f"PRAGMA user_version = {number + 1}")
            store.execute("COMMIT")
            undo.pop_all()
    if format_version(store) > known:
        found = format_version(store)
        raise ConfigError(
            f"The index has format {found}, this groundwire knows {known}. Use a newer groundwire."
        )


_BUSY_TIMEOUT = 30.0
_LISTED_AT_ONCE = 500
_SELECTED_AT_ONCE = 500
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


StoredPassage: TypeAlias = tuple[int, str, int]
"""A passage: start, text and fingerprint."""


class StoredPage(NamedTuple):
    """A page with its fingerprint and its passages; the text may be in the passages alone."""

    id: int
    words: int
    page: Page
    pieces: tuple[StoredPassage, ...]


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


def canonical_key(url: str) -> str:
    """Equal for URLs of the same page. Fragments count: documentation has many pages in one document."""
    fragment = url.partition("#")[2]
    return _storable(canonical_url(url) + (f"#{fragment}" if fragment and domain_of(url) else ""))


def add_pages(store: sqlite3.Connection, pages: Iterable[Page]) -> tuple[Stored, list[StoredPage]]:
    """Adds or updates pages, within a transaction: their counts, and the pages that are new or changed."""
    batch = [(canonical_key(page.url), _hash(page), page) for page in map(_clean, pages)]
    known: dict[str, tuple[int, bytes]] = {
        key: (page, mark)
        for page, key, mark in _select(store, "id, key, hash", "key", [key for key, _, _ in batch])
    }
    fresh: dict[int, tuple[str, bytes, StoredPage]] = {}
    changes: list[tuple[StoredPage, bool]] = []
    following = _next_id(store)
    for key, mark, page in batch:
        old = known.get(key)
        if old is not None and old[1] == mark:
            continue
        if old is not None and fresh.pop(old[0], None) is None:
            _forget(store, old[0])
        cut = _cut(following, page)
        fresh[following] = (key, mark, cut)
        changes.append((cut, old is not None))
        known[key] = (following, mark)
        following += 1
    counted = _counted(store, changes)
    _insert(store, fresh.values())
    return replace(counted, unchanged=len(batch) - len(changes)), [cut for _, _, cut in fresh.values()]


def remove_pages(store: sqlite3.Connection, keys: Iterable[str], collection: str) -> int:
    """Removes pages, within a transaction."""
    found = {row[0] for key in keys for row in store.execute("SELECT id FROM pages WHERE key = ?", (key,))}
    if collection:
        found.update(
            row[0] for row in store.execute("SELECT id FROM pages WHERE collection = ?", (collection,))
        )
    for page in found:
        _forget(store, page)
    return len(found)


def load_page(store: sqlite3.Connection, key: str) -> Page | None:
    """A page as it was stored."""
    with transaction(store, "BEGIN"):
        row = store.execute(
            "SELECT id, url, title, published, language, collection, outline FROM pages WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        page, url, title, *rest = row
        return Page(url, title, "".join(text for _, text, _ in load_passages(store, page)), *rest)


def load_passages(store: sqlite3.Connection, page: int) -> list[StoredPassage]:
    """The passages of a page, in order."""
    return store.execute(
        "SELECT start, text, words FROM passages WHERE id >= ? AND id < ? ORDER BY id",
        (page << PASSAGE_BITS, (page + 1) << PASSAGE_BITS),
    ).fetchall()


def list_pages(
    store: sqlite3.Connection, collection: str, prefix: str, after: tuple[str, int]
) -> list[tuple[int, PageInfo]]:
    """The next pages by URL, with their ids."""
    rows = store.execute(
        """SELECT id, url, title, collection, characters, published, language FROM pages
        WHERE url >= ? AND substr(url, 1, ?) = ? AND (? = '' OR collection = ?) AND (url, id) > (?, ?)
        ORDER BY url, id LIMIT ?""",
        (prefix, len(prefix), prefix, collection, collection, *after, _LISTED_AT_ONCE),
    )
    return [(row[0], PageInfo(*row[1:])) for row in rows]


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
        """SELECT id, words, url, title, '', published, language, collection, outline FROM pages
        WHERE id > ? ORDER BY id LIMIT ?""",
        (after, limit),
    ).fetchall()
    for page, words, *fields in rows:
        yield StoredPage(page, words, Page(*fields), tuple(load_passages(store, page)))


def removed_pages(store: sqlite3.Connection) -> list[int]:
    """Pages that were removed, perhaps not yet from the search index."""
    return [page for (page,) in store.execute("SELECT page FROM gone")]


def clear_removed(store: sqlite3.Connection, pages: Iterable[int]) -> None:
    """Forgets removed pages that the search index no longer contains."""
    store.executemany("DELETE FROM gone WHERE page = ?", ((page,) for page in pages))


def _cut(number: int, page: Page) -> StoredPage:
    """A page with its passages and their fingerprints."""
    words = fingerprint(page.text)
    ranges = list(split_passages(page.text, page.outline))
    if len(ranges) == 1:
        return StoredPage(number, words, page, ((0, page.text, words),))
    texts = [(start, page.text[start:end]) for start, end in ranges]
    return StoredPage(number, words, page, tuple((start, text, fingerprint(text)) for start, text in texts))


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


def _insert(store: sqlite3.Connection, pages: Collection[tuple[str, bytes, StoredPage]]) -> None:
    store.executemany(
        """INSERT INTO pages
        (id, key, url, title, published, language, collection, hash, characters, pieces, words, outline)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            (
                *(cut.id, key, page.url, page.title, page.published, page.language, page.collection, mark),
                *(len(page.text), sum(bool(text.strip()) for _, text, _ in cut.pieces)),
                *(cut.words, page.outline),
            )
            for key, mark, cut in pages
            for page in (cut.page,)
        ),
    )
    store.executemany(
        "INSERT INTO passages (id, start, text, words) VALUES (?, ?, ?, ?)",
        (
            ((cut.id << PASSAGE_BITS) + number, start, text, words)
            for _, _, cut in pages
            for number, (start, text, words) in enumerate(cut.pieces)
        ),
    )


def _select(
    store: sqlite3.Connection, columns: str, column: str, wanted: Sequence[str] | Sequence[int]
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


def _forget(store: sqlite3.Connection, page: int) -> None:
    store.execute(
        "DELETE FROM passages WHERE id >= ? AND id < ?", (page << PASSAGE_BITS, (page + 1) << PASSAGE_BITS)
    )
    store.execute("DELETE FROM pages WHERE id = ?", (page,))
    store.execute("INSERT OR IGNORE INTO gone VALUES (?)", (page,))


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
