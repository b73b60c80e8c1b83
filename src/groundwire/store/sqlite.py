"""The store in one SQLite file, for one machine.

Rollback journal, not WAL: SQLite before 3.51.3 can lose pages of a WAL that two connections checkpoint, and
no version loses anything this way. With TRUNCATE and FULL a commit that returned is on disk. A process has
one connection and takes turns on it; processes take turns by SQLite's own lock.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import LiteralString

from groundwire.errors import ConfigError, GroundwireError
from groundwire.store.base import RowRefused
from groundwire.store.full_text import SQLITE
from groundwire.store.migrations import COMPONENT, ON_SQLITE, WORDS_SINCE
from groundwire.store.rows import Row, Values
from groundwire.store.sql import SQLITE_LEASES, SqlStore
from groundwire.transport.migrations import Migration, is_too_old, oldest_component, oldest_version

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
    """Open the store in a file; a missing file is created, readable by its owner alone."""
    store = SqlStore(SqliteDatabase(path, steps), SQLITE, SQLITE_LEASES)
    with ExitStack() as undo:
        undo.callback(store.close)
        if steps[-1].version >= WORDS_SINCE:
            store.fill_words()
        undo.pop_all()
    return store


def copy_sqlite(source: Path, target: Path) -> None:
    """Copy a database as it is at one moment. Other processes may use both files: writers wait for it."""
    with _mapped_errors(source):
        _make_private(target)
        # `rw`: a journal that a killed process has left must be rolled back first.
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", PATIENCE, uri=True)) as one,
            closing(sqlite3.connect(target, PATIENCE)) as other,
        ):
            one.backup(other)


def check_sqlite(path: Path) -> bool:
    """Is the file a SQLite database without damage?"""
    try:
        with closing(sqlite3.connect(path, PATIENCE)) as connection:
            return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    except sqlite3.DatabaseError:
        return False


class SqliteDatabase:
    """One connection, used by one thread after the other."""

    def __init__(self, path: Path, steps: Sequence[Migration]) -> None:
        self._path = path
        self._lock = Lock()
        with _mapped_errors(path):
            _make_private(path)
            self._connection = sqlite3.connect(
                path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
        with ExitStack() as undo, _mapped_errors(path):
            undo.callback(self._connection.close)
            for pragma in _PRAGMAS:
                self._connection.execute(pragma)
            self._migrate(steps)
            undo.pop_all()

    @contextmanager
    def transaction(self, *, limited: bool = True) -> Iterator[SqliteTransaction]:  # noqa: ARG002
        """A transaction; transactions of one process run one after the other. SQLite needs no `limited`."""
        with self._lock, _mapped_errors(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteTransaction(self._connection)
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.rollback()

    def check(self) -> None:
        """Check that the file can be read. While another call of this process uses it, it can."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            with _mapped_errors(self._path):
                self._connection.execute(_EXISTS).fetchone()
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _migrate(self, steps: Sequence[Migration]) -> None:
        newest, done = steps[-1].version, self._version()
        if is_too_old(newest, done, self._version(oldest_component(COMPONENT, done))):
            raise ConfigError(
                f"{self._path} holds version {done} of the {COMPONENT}, "
                f"this groundwire knows version {newest}: use a newer groundwire"
            )
        for step in steps:
            if step.version > done:
                self._apply(step, oldest_version(steps, step.version))

    def _apply(self, step: Migration, oldest: int) -> None:
        with self.transaction():
            self._connection.execute(_RECORDS)
            if self._version() >= step.version:
                return
            for statement in step.statements:
                self._connection.execute(statement)
            self._connection.execute(
                "INSERT INTO groundwire_migrations (component, version) VALUES (?, ?), (?, ?)"
                " ON CONFLICT (component, version) DO NOTHING",
                (COMPONENT, step.version, oldest_component(COMPONENT, step.version), oldest),
            )

    def _version(self, component: str = COMPONENT) -> int:
        if self._connection.execute(_EXISTS).fetchone() is None:
            return 0
        version: int = self._connection.execute(_VERSION, (component,)).fetchone()[0]
        return version


class SqliteTransaction:
    """Executes statements on a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: LiteralString, values: Values) -> list[Row]:
        """The rows of a statement."""
        return self._connection.execute(statement, values).fetchall()

    def many(self, statement: LiteralString, values: Sequence[Values]) -> None:
        """Execute a statement for each set of values."""
        self._connection.executemany(statement, values)


def _make_private(path: Path) -> None:
    """Create the file with private permissions, which SQLite copies to its journal."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


_UNUSABLE = "the store {path} cannot be used ({why}); give write access, or choose another path"
_BROKEN = "the store {path} is not a database of groundwire, or damaged ({why}); move it away, or restore it"
_CONFIGURATION = {
    "SQLITE_NOTADB": _BROKEN,
    "SQLITE_CORRUPT": _BROKEN,
    "SQLITE_READONLY": _UNUSABLE,
    "SQLITE_CANTOPEN": _UNUSABLE,
    "SQLITE_PERM": _UNUSABLE,
}
_TEMPORARY = {
    "SQLITE_FULL": (507, "the disk is full"),
    "SQLITE_IOERR": (503, "the disk failed"),
    "SQLITE_BUSY": (503, "another process held it for too long"),
    "SQLITE_LOCKED": (503, "another process held it for too long"),
}


# A number of more than 64 bits is an OverflowError of Python's, not an error of SQLite's.
_REJECTED_VALUES = (OverflowError, sqlite3.DataError, sqlite3.IntegrityError, sqlite3.InterfaceError)


@contextmanager
def _mapped_errors(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as `GroundwireError`."""
    try:
        yield
    except _REJECTED_VALUES as error:
        raise RowRefused(f"the store {path} rejects a value: {error}") from error
    except sqlite3.Error as error:
        raise _mapped(path, error) from error
    except OSError as error:
        raise ConfigError(_UNUSABLE.format(path=path, why=error.strerror)) from error


def _mapped(path: Path, error: sqlite3.Error) -> GroundwireError:
    name: str = getattr(error, "sqlite_errorname", "")
    for start, sentence in _CONFIGURATION.items():
        if name.startswith(start):
            return ConfigError(sentence.format(path=path, why=error))
    failure = GroundwireError(f"the store {path} failed: {error}")
    for start, (status, why) in _TEMPORARY.items():
        if name.startswith(start):
            failure = GroundwireError(f"the store {path} failed: {why}")
            failure.code, failure.status_hint, failure.retryable = "STORE_UNAVAILABLE", status, True
    return failure
