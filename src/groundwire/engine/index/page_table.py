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
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from groundwire.engine.index.base import PageInfo, Stored
from groundwire.engine.pages import Page, split_passages
from groundwire.engine.words import fingerprint
from groundwire.errors import ConfigError
from groundwire.files.text_file import PRIVATE, make_private_files
from groundwire.model.value import value
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
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


StoredPassage: TypeAlias = tuple[int, str, int]
"""A passage: start, text and fingerprint."""


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


def add_pages(store: sqlite3.Connection, pages: Iterable[Page]) -> Stored:
    """Adds or updates pages, within a transaction."""
    counts = dict.fromkeys(("added", "updated", "unchanged", "duplicates"), 0)
    for page in pages:
        counts[_add(store, _clean(page))] += 1
    return Stored(**counts)


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


def load_page_passages(
    store: sqlite3.Connection, first: int, last: int
) -> Iterator[tuple[int, list[StoredPassage]]]:
    """The pages of a range of ids, each with its passages."""
    rows = store.execute(
        "SELECT id, start, text, words FROM passages WHERE id >= ? AND id < ? ORDER BY id",
        (first << PASSAGE_BITS, (last + 1) << PASSAGE_BITS),
    )
    for page, pieces in groupby(rows, lambda row: row[0] >> PASSAGE_BITS):
        yield page, [(start, text, words) for _, start, text, words in pieces]


def texts_before(store: sqlite3.Connection, before: int, limit: int) -> list[tuple[int, str, str, str]]:
    """The next passages by id, from the highest on, with the titles and languages of their pages."""
    return store.execute(
        f"""SELECT passages.id, title, text, language
        FROM passages JOIN pages ON pages.id = passages.id >> {PASSAGE_BITS}
        WHERE passages.id < ? ORDER BY passages.id DESC LIMIT ?""",  # noqa: S608  a constant number
        (before, limit),
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


def pages_after(store: sqlite3.Connection, after: int, limit: int) -> dict[int, tuple[int, Page]]:
    """The next pages by id, with their fingerprints and without their texts."""
    rows = store.execute(
        """SELECT id, words, url, title, '', published, language, collection, outline FROM pages
        WHERE id > ? ORDER BY id LIMIT ?""",
        (after, limit),
    )
    return {row[0]: (row[1], Page(*row[2:])) for row in rows}


def removed_pages(store: sqlite3.Connection) -> list[int]:
    """Pages that were removed, perhaps not yet from the search index."""
    return [page for (page,) in store.execute("SELECT page FROM gone")]


def clear_removed(store: sqlite3.Connection, pages: Iterable[int]) -> None:
    """Forgets removed pages that the search index no longer contains."""
    store.executemany("DELETE FROM gone WHERE page = ?", ((page,) for page in pages))


def _add(store: sqlite3.Connection, page: Page) -> str:
    key, mark = canonical_key(page.url), _hash(page)
    old = store.execute("SELECT id, hash FROM pages WHERE key = ?", (key,)).fetchone()
    if old is not None and old[1] == mark:
        return "unchanged"
    if old is not None:
        _forget(store, old[0])
    words = fingerprint(page.text)
    known = page.text.strip() and store.execute("SELECT 1 FROM pages WHERE words = ?", (words,)).fetchone()
    pieces = [(start, page.text[start:end]) for start, end in split_passages(page.text, page.outline)]
    row = (key, page.url, page.title, page.published, page.language, page.collection, mark, len(page.text))
    cursor = store.execute(
        """INSERT INTO pages
        (key, url, title, published, language, collection, hash, characters, pieces, words, outline)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (*row, sum(1 for _, text in pieces if text.strip()), words, page.outline),
    )
    first = (cursor.lastrowid or 0) << PASSAGE_BITS
    store.executemany(
        "INSERT INTO passages (id, start, text, words) VALUES (?, ?, ?, ?)",
        (
            (first + number, start, text, fingerprint(text) if len(pieces) > 1 else words)
            for number, (start, text) in enumerate(pieces)
        ),
    )
    return "updated" if old is not None else "duplicates" if known else "added"


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
    return blake2b("\0".join(f"{len(field)}\0{field}" for field in fields).encode(), digest_size=16).digest()


def _clean(page: Page) -> Page:
    """Replaces lone surrogates, which cannot be stored, one for one: offsets stay valid."""
    fields = (page.url, page.title, page.text, page.published, page.language, page.collection, page.outline)
    return page if all(map(str.isascii, fields)) else Page(*map(_storable, fields))


def _storable(text: str) -> str:
    return text if text.isascii() else _LONE_SURROGATES.sub("\ufffd", text)
