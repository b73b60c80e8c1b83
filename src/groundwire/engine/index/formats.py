"""The formats of the page store, and the way from each to the next.

A new store is made by taking all steps from nothing. Each step is one transaction together with the number
of the format it leads to, so a step that is interrupted has not happened.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeAlias

from groundwire.engine.index.words import fingerprint
from groundwire.errors import ConfigError

Step: TypeAlias = Callable[[sqlite3.Connection], None]

PIECE_BITS = 24
"""The id of a passage is the id of its page and, in the lower bits, its place in it."""

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
    """Format 2 knows pages and passages of the same words."""
    store.create_function("fingerprint", 1, fingerprint, deterministic=True)
    for table in ("pages", "passages"):
        store.execute(f"ALTER TABLE {table} ADD COLUMN words INTEGER NOT NULL DEFAULT 0")
    store.execute("UPDATE passages SET words = fingerprint(text)")
    for (page,) in store.execute("SELECT id FROM pages").fetchall():
        ids = (page << PIECE_BITS, (page + 1) << PIECE_BITS)
        pieces = store.execute("SELECT text FROM passages WHERE id >= ? AND id < ? ORDER BY id", ids)
        words = fingerprint("".join(text for (text,) in pieces))
        store.execute("UPDATE pages SET words = ? WHERE id = ?", (words, page))
    store.execute("CREATE INDEX pages_by_words ON pages (words)")


STEPS: tuple[Step, ...] = (_first, _with_fingerprints)
FORMAT = len(STEPS)


def format_of(store: sqlite3.Connection) -> int:
    """The format a store has; 0 when it is new."""
    (found,) = store.execute("PRAGMA user_version").fetchone()
    return int(found)


def bring_up(store: sqlite3.Connection, steps: tuple[Step, ...] = STEPS) -> None:
    """Take the steps from the format a store has to the last one."""
    known = len(steps)
    for number in range(format_of(store), known):
        with ExitStack() as undo:
            store.execute("BEGIN IMMEDIATE")
            undo.callback(store.rollback)
            # Another process may have taken the step while this one waited for the lock.
            if format_of(store) == number:
                steps[number](store)
                store.execute(f"PRAGMA user_version = {number + 1}")
            store.execute("COMMIT")
            undo.pop_all()
    if format_of(store) > known:
        raise ConfigError(
            f"the index has format {format_of(store)}, this groundwire knows {known}; use a newer groundwire"
        )
