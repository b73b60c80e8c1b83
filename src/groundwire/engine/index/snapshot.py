"""Snapshots of the search index, and the change counter that tells when a snapshot is outdated.

A snapshot is complete as long as no writer has started since. A writer that dies leaves passages of removed
pages, so a snapshot knows which pages must not be returned.

The file of the write lock contains a number: odd while a writer is active or was killed, and a new even
number after each writer. It is not part of the SQLite file, because closing a file of SQLite releases the
locks that other threads hold on it (https://sqlite.org/howtocorrupt.html, 2.2).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from tantivy import Searcher

from groundwire.engine.index import page_table
from groundwire.engine.index.errors import translate_errors
from groundwire.engine.index.search_index import SearchIndex
from groundwire.engine.retrieve.query_builder import (
    CachedQueries,
    QueryBuilder,
    cached_queries,
    make_query_builder,
)
from groundwire.model.value import value

_WIDTH = 8
_SECONDS = 1.0


class ChangeCounter:
    """Reads the change counter of an index. A replaced index folder is noticed within a second."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._file = b""
        self._opened: list[int] = []
        self._look()

    def __del__(self) -> None:
        self.close()

    def stamp(self) -> bytes:
        """Equal to an earlier value if no writer has started since; empty if that is unknown."""
        if not self._opened:
            return b""
        if time.monotonic() >= self._look_again:
            self._look()
        number = os.pread(self._opened[-1], _WIDTH, 0)
        return b"" if number and number[-1] & 1 else self._file + number

    def close(self) -> None:
        """Closes the file."""
        while self._opened:
            os.close(self._opened.pop())

    def _look(self) -> None:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        found = os.fstat(descriptor)
        file = b"%d %d " % (found.st_dev, found.st_ino)
        if file == self._file:
            os.close(descriptor)
        else:
            # Another thread may still read the previous descriptor.
            self._opened.append(descriptor)
            self._file = file
        self._look_again = time.monotonic() + _SECONDS


@contextmanager
def count_write(path: Path) -> Iterator[None]:
    """Counts a write; the lock is held. After an error the number stays odd."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        number = int.from_bytes(os.pread(descriptor, _WIDTH, 0), "big") | 1
        os.pwrite(descriptor, (number + 2).to_bytes(_WIDTH, "big"), 0)
        yield
        os.pwrite(descriptor, (number + 3).to_bytes(_WIDTH, "big"), 0)
    finally:
        os.close(descriptor)


@value
class Snapshot:
    """A searcher of one state of the index, with its query cache."""

    searcher: Searcher
    queries: CachedQueries
    builder: QueryBuilder
    gone: frozenset[str]
    """The ids of pages that must not be returned, as text."""


class SnapshotCache:
    """Keeps the latest snapshot and replaces it after a write."""

    def __init__(self, lock: Path, store: sqlite3.Connection, reading: Lock) -> None:
        self._folder = lock.parent
        self._store = store
        self._reading = reading
        self._changes = ChangeCounter(lock)
        self._kept: tuple[bytes, SearchIndex, Snapshot] | None = None

    def now(self, passages: SearchIndex) -> Snapshot:
        """A snapshot no older than this call."""
        stamp, kept = self._changes.stamp(), self._kept
        if kept is not None and kept[0] == stamp and kept[1] is passages:
            return kept[2]
        snapshot = self._renewed(passages)
        self._kept = (stamp, passages, snapshot) if stamp and self._changes.stamp() == stamp else None
        return snapshot

    def close(self) -> None:
        """Closes the files; no snapshot is kept from now on."""
        self._kept = None
        self._changes.close()

    def _renewed(self, passages: SearchIndex) -> Snapshot:
        # Removed pages are read first: a page that is removed later may still be returned.
        with translate_errors(self._folder), self._reading:
            gone = frozenset(map(str, page_table.removed_pages(self._store)))
        searcher = passages.searcher()
        found = make_query_builder(searcher, passages.schema, passages.analysis)
        return Snapshot(searcher, cached_queries(found), found, gone)
