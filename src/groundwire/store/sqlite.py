"""The store in one SQLite file, for one machine.

Rollback journal, not WAL: SQLite before 3.51.3 can lose pages of a WAL that two connections checkpoint, and
no version loses anything this way. With TRUNCATE and FULL a commit that returned is on disk. A process has
one connection and takes turns on it; processes take turns by SQLite's own lock.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from typing import LiteralString

from groundwire.errors import ConfigError, GroundwireError
from groundwire.store.base import RowRefused
from groundwire.store.full_text import SQLITE
from groundwire.store.migrations import COMPONENT, ON_SQLITE, WORDS_SINCE
from groundwire.store.rows import Row, Values
from groundwire.store.sql import SQLITE_LEASES, SqlStore
from groundwire.transport.migrations import Migration

PATIENCE = 30.0
_PRAGMAS = (
    "PRAGMA journal_mode = TRUNCATE",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA mmap_size = 0",
)
_RECORDS: LiteralString = """
CREATE TABLE IF NOT EXISTS groundwire_migrations (
    component text NOT NULL,
    version integer NOT NULL,
    applied text NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (component, version)
)
"""
_VERSION: LiteralString = """
SELECT coalesce(max(version), 0) FROM groundwire_migrations WHERE component = ?
"""
_EXISTS: LiteralString = "SELECT 1 FROM sqlite_schema WHERE name = 'groundwire_migrations'"


def open_sqlite(path: Path, steps: Sequence[Migration] = ON_SQLITE) -> SqlStore:
    """The store in a file, which is made if it is missing, for its owner's eyes only."""
    store = SqlStore(SqliteDatabase(path, steps), SQLITE, SQLITE_LEASES)
    with ExitStack() as undo:
        undo.callback(store.close)
        if steps[-1].version >= WORDS_SINCE:
            store.fill_words()
        undo.pop_all()
    return store


class SqliteDatabase:
    """One connection, used by one thread after the other."""

    def __init__(self, path: Path, steps: Sequence[Migration]) -> None:
        self._path = path
        self._turn = Lock()
        with _told(path):
            _make_private(path)
            self._connection = sqlite3.connect(
                path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
        with ExitStack() as undo, _told(path):
            undo.callback(self._connection.close)
            for pragma in _PRAGMAS:
                self._connection.execute(pragma)
            self._migrate(steps)
            undo.pop_all()

    @contextmanager
    def transaction(self, *, limited: bool = True) -> Iterator[SqliteTransaction]:  # noqa: ARG002
        """All of it or nothing, one after the other. A file is never silent: there is nothing to limit."""
        with self._turn, _told(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteTransaction(self._connection)
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.rollback()

    def check(self) -> None:
        """Can the file be read? While a call of this process reads or writes it, it can."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            with _told(self._path):
                self._connection.execute(_EXISTS).fetchone()
        finally:
            self._turn.release()

    def close(self) -> None:
        """Close the file."""
        with self._turn:
            self._connection.close()

    def _migrate(self, steps: Sequence[Migration]) -> None:
        newest, done = steps[-1].version, self._version()
        if done > newest:
            raise ConfigError(
                f"{self._path} holds version {done} of the {COMPONENT}, "
                f"this groundwire knows version {newest}: use a newer groundwire"
            )
        for step in steps:
            if step.version > done:
                self._apply(step)

    def _apply(self, step: Migration) -> None:
        with self.transaction():
            self._connection.execute(_RECORDS)
            if self._version() >= step.version:
                return
            for statement in step.statements:
                self._connection.execute(statement)
            self._connection.execute(
                "INSERT INTO groundwire_migrations (component, version) VALUES (?, ?)",
                (COMPONENT, step.version),
            )

    def _version(self) -> int:
        if self._connection.execute(_EXISTS).fetchone() is None:
            return 0
        version: int = self._connection.execute(_VERSION, (COMPONENT,)).fetchone()[0]
        return version


class SqliteTransaction:
    """Statements on a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: LiteralString, values: Values) -> list[Row]:
        """What a statement answers."""
        return self._connection.execute(statement, values).fetchall()

    def many(self, statement: LiteralString, values: Sequence[Values]) -> None:
        """Carry out a statement for each of them."""
        self._connection.executemany(statement, values)


def _make_private(path: Path) -> None:
    """What is kept here is private: the journal beside the file gets the same rights."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


_UNUSABLE = "the store {path} cannot be used ({why}); give write access, or choose another place"
_BROKEN = "the store {path} is no database of groundwire, or broken ({why}); move it away, or restore it"
_CONFIGURED = {
    "SQLITE_NOTADB": _BROKEN,
    "SQLITE_CORRUPT": _BROKEN,
    "SQLITE_READONLY": _UNUSABLE,
    "SQLITE_CANTOPEN": _UNUSABLE,
    "SQLITE_PERM": _UNUSABLE,
}
_PASSING = {
    "SQLITE_FULL": (507, "the disk is full"),
    "SQLITE_IOERR": (503, "the disk failed"),
    "SQLITE_BUSY": (503, "others held it for too long"),
    "SQLITE_LOCKED": (503, "others held it for too long"),
}


# A number of more than 64 bits is an OverflowError of Python's, not an error of SQLite's.
_REFUSALS = (OverflowError, sqlite3.DataError, sqlite3.IntegrityError, sqlite3.InterfaceError)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What goes wrong in the file, in the project's words."""
    try:
        yield
    except _REFUSALS as error:
        raise RowRefused(f"the store {path} does not take a value: {error}") from error
    except sqlite3.Error as error:
        raise _translated(path, error) from error
    except OSError as error:
        raise ConfigError(_UNUSABLE.format(path=path, why=error.strerror)) from error


def _translated(path: Path, error: sqlite3.Error) -> GroundwireError:
    name: str = getattr(error, "sqlite_errorname", "")
    for start, sentence in _CONFIGURED.items():
        if name.startswith(start):
            return ConfigError(sentence.format(path=path, why=error))
    failure = GroundwireError(f"the store {path} failed: {error}")
    for start, (status, why) in _PASSING.items():
        if name.startswith(start):
            failure = GroundwireError(f"the store {path} failed: {why}")
            failure.code, failure.status_hint, failure.retryable = "STORE_UNAVAILABLE", status, True
    return failure
