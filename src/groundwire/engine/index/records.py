"""The page store: SQLite, and the truth. What is searched can be made from it again at any time.

The pieces of a page stand in rows of their own; joined they are its text. A page that changes gets a new id,
so ids only grow, and an id that was searched means the same text for ever or nothing.

Rollback journal, not WAL: SQLite before 3.51.3 can lose pages of a WAL that two processes checkpoint. With
TRUNCATE and FULL the end of the journal is synced too, so a commit that returned has happened.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from groundwire.credentials.files import PRIVATE, make_private_files
from groundwire.engine.index.base import PageInfo, Stored
from groundwire.engine.index.cut import cut
from groundwire.engine.index.formats import PIECE_BITS
from groundwire.engine.index.words import fingerprint
from groundwire.engine.pages import Page
from groundwire.model.value import value
from groundwire.text.urls import canonical_url, domain_of

_PATIENCE = 30.0
_LISTED_AT_ONCE = 500
_HALF = re.compile("[\ud800-\udfff]")


Piece: TypeAlias = tuple[int, str, int]
"""A piece of a page: where it starts, its text, and its words, equal where the words are the same."""


@value
class State:
    """Which folder the passages are searched in, and what it holds: every page up to `indexed`."""

    folder: int
    analysis: int
    indexed: int
    passages: int


def connect(path: Path) -> sqlite3.Connection:
    """A connection in autocommit mode. Transactions are begun and ended by name."""
    # The journal beside the file gets the same rights.
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE))
    make_private_files(path.parent)
    store = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
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
    """All of it or nothing; for reading, all of one moment."""
    store.execute(begin)
    with ExitStack() as undo:
        undo.callback(store.rollback)
        yield
        store.execute("COMMIT")
        undo.pop_all()


def key_of(url: str) -> str:
    """Equal for addresses of the same page. Fragments count: documentation has many pages in one."""
    fragment = url.partition("#")[2]
    return _sound(canonical_url(url) + (f"#{fragment}" if fragment and domain_of(url) else ""))


def add_pages(store: sqlite3.Connection, pages: Iterable[Page]) -> Stored:
    """Add or renew pages, within a transaction."""
    counts = dict.fromkeys(("added", "updated", "unchanged", "duplicates"), 0)
    for page in pages:
        counts[_add(store, _clean(page))] += 1
    return Stored(**counts)


def remove_pages(store: sqlite3.Connection, keys: Iterable[str], collection: str) -> int:
    """Forget pages, within a transaction."""
    found = {row[0] for key in keys for row in store.execute("SELECT id FROM pages WHERE key = ?", (key,))}
    if collection:
        found.update(
            row[0] for row in store.execute("SELECT id FROM pages WHERE collection = ?", (collection,))
        )
    for page in found:
        _forget(store, page)
    return len(found)


def page_of(store: sqlite3.Connection, key: str) -> Page | None:
    """A page as it was stored."""
    with transaction(store, "BEGIN"):
        row = store.execute(
            "SELECT id, url, title, published, language, collection FROM pages WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        page, url, title, *rest = row
        return Page(url, title, "".join(text for _, text, _ in pieces_of(store, page)), *rest)


def pieces_of(store: sqlite3.Connection, page: int) -> list[Piece]:
    """The pieces of a page, in order."""
    return store.execute(
        "SELECT start, text, words FROM passages WHERE id >= ? AND id < ? ORDER BY id",
        (page << PIECE_BITS, (page + 1) << PIECE_BITS),
    ).fetchall()


def pieces_of_pages(store: sqlite3.Connection, first: int, last: int) -> Iterator[tuple[int, list[Piece]]]:
    """The pages from one id to another, each with its pieces."""
    rows = store.execute(
        "SELECT id, start, text, words FROM passages WHERE id >= ? AND id < ? ORDER BY id",
        (first << PIECE_BITS, (last + 1) << PIECE_BITS),
    )
    for page, pieces in groupby(rows, lambda row: row[0] >> PIECE_BITS):
        yield page, [(start, text, words) for _, start, text, words in pieces]


def listed(
    store: sqlite3.Connection, collection: str, prefix: str, after: tuple[str, int]
) -> list[tuple[int, PageInfo]]:
    """The next pages by address, with their ids."""
    rows = store.execute(
        """SELECT id, url, title, collection, characters, published, language FROM pages
        WHERE url >= ? AND substr(url, 1, ?) = ? AND (? = '' OR collection = ?) AND (url, id) > (?, ?)
        ORDER BY url, id LIMIT ?""",
        (prefix, len(prefix), prefix, collection, collection, *after, _LISTED_AT_ONCE),
    )
    return [(row[0], PageInfo(*row[1:])) for row in rows]


def counted(store: sqlite3.Connection) -> tuple[int, int, tuple[tuple[str, int], ...]]:
    """Pages, passages, and the collections with their number of pages."""
    pages, passages = store.execute("SELECT count(*), coalesce(sum(pieces), 0) FROM pages").fetchone()
    groups = store.execute("SELECT collection, count(*) FROM pages GROUP BY collection ORDER BY collection")
    return pages, passages, tuple((name, number) for name, number in groups)


def state_of(store: sqlite3.Connection) -> State:
    """What the searchable part is said to hold."""
    return State(*store.execute("SELECT folder, analysis, indexed, passages FROM state").fetchone())


def set_state(store: sqlite3.Connection, state: State) -> None:
    """Say what the searchable part holds."""
    fields = (state.folder, state.analysis, state.indexed, state.passages)
    store.execute("UPDATE state SET folder = ?, analysis = ?, indexed = ?, passages = ?", fields)


def last_id(store: sqlite3.Connection) -> int:
    """The id of the latest page; 0 where there is none."""
    (found,) = store.execute("SELECT coalesce(max(id), 0) FROM pages").fetchone()
    return int(found)


def pages_after(store: sqlite3.Connection, after: int, limit: int) -> dict[int, tuple[int, Page]]:
    """The next pages by id, with their words and without their texts."""
    rows = store.execute(
        "SELECT id, words, url, title, published, language FROM pages WHERE id > ? ORDER BY id LIMIT ?",
        (after, limit),
    )
    return {row[0]: (row[1], Page(row[2], row[3], "", row[4], row[5])) for row in rows}


def gone(store: sqlite3.Connection) -> list[int]:
    """Pages that were removed here and perhaps not yet from what is searched."""
    return [page for (page,) in store.execute("SELECT page FROM gone")]


def forget_gone(store: sqlite3.Connection, pages: Iterable[int]) -> None:
    """These are no longer searched."""
    store.executemany("DELETE FROM gone WHERE page = ?", ((page,) for page in pages))


def _add(store: sqlite3.Connection, page: Page) -> str:
    key, mark = key_of(page.url), _hash(page)
    old = store.execute("SELECT id, hash FROM pages WHERE key = ?", (key,)).fetchone()
    if old is not None and old[1] == mark:
        return "unchanged"
    if old is not None:
        _forget(store, old[0])
    words = fingerprint(page.text)
    known = page.text.strip() and store.execute("SELECT 1 FROM pages WHERE words = ?", (words,)).fetchone()
    pieces = [(start, page.text[start:end]) for start, end in cut(page.text)]
    row = (key, page.url, page.title, page.published, page.language, page.collection, mark, len(page.text))
    cursor = store.execute(
        """INSERT INTO pages
        (key, url, title, published, language, collection, hash, characters, pieces, words)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (*row, sum(1 for _, text in pieces if text.strip()), words),
    )
    first = (cursor.lastrowid or 0) << PIECE_BITS
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
        "DELETE FROM passages WHERE id >= ? AND id < ?", (page << PIECE_BITS, (page + 1) << PIECE_BITS)
    )
    store.execute("DELETE FROM pages WHERE id = ?", (page,))
    store.execute("INSERT OR IGNORE INTO gone VALUES (?)", (page,))


def _hash(page: Page) -> bytes:
    fields = (page.url, page.title, page.text, page.published, page.language, page.collection)
    return blake2b("\0".join(f"{len(field)}\0{field}" for field in fields).encode(), digest_size=16).digest()


def _clean(page: Page) -> Page:
    """Half surrogates cannot be stored; what stands for them keeps every place in the text."""
    fields = (page.url, page.title, page.text, page.published, page.language, page.collection)
    return page if all(map(str.isascii, fields)) else Page(*map(_sound, fields))


def _sound(text: str) -> str:
    return text if text.isascii() else _HALF.sub("\ufffd", text)
