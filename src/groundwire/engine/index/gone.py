"""Pages that are removed from the store, and perhaps not yet from what is searched.

A writer that ends between the two leaves passages behind that must not be shown. The store is asked for them
only when its file has changed. A change of this very moment may not show in its time, so then it is asked.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from threading import Lock

from groundwire.engine.index import records

# Times of files advance in steps of up to 10 ms.
_UNSURE_NANOSECONDS = 50_000_000


class Gone:
    """The ids of those pages, as text."""

    def __init__(self, path: Path, store: sqlite3.Connection, reading: Lock) -> None:
        self._path = path
        self._store = store
        self._reading = reading
        self._known: tuple[tuple[int, int, int], frozenset[str]] = ((0, 0, 0), frozenset())

    def pages(self) -> frozenset[str]:
        """What must not be shown by searchers made from now on."""
        found = os.stat(self._path)
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        seen, pages = self._known
        if stamp != seen or time.time_ns() - found.st_mtime_ns < _UNSURE_NANOSECONDS:
            with self._reading:
                pages = frozenset(map(str, records.gone(self._store)))
            self._known = (stamp, pages)
        return pages
