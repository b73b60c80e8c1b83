"""What a search sees: the passages as of one moment, and the pages that must not be shown.

As long as nobody has begun to write since a view was made, nothing is missing from it. A writer that ends too
early leaves passages behind of pages that are gone.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from threading import Lock

from tantivy import Searcher

from groundwire.engine.index import records
from groundwire.engine.index.asking import Asking, asking
from groundwire.engine.index.changes import Changes
from groundwire.engine.index.failures import told
from groundwire.engine.index.matching import matching
from groundwire.engine.index.passages import Passages
from groundwire.model.value import value


@value
class View:
    """One moment of an index."""

    searcher: Searcher
    queries: Asking
    gone: frozenset[str]
    """The ids of pages that must not be shown, as text."""


class Views:
    """The latest view of an index, renewed when somebody has written to it."""

    def __init__(self, lock: Path, store: sqlite3.Connection, reading: Lock) -> None:
        self._folder = lock.parent
        self._store = store
        self._reading = reading
        self._changes = Changes(lock)
        self._kept: tuple[bytes, Passages, View] | None = None

    def now(self, passages: Passages) -> View:
        """What there is to see, no older than this call."""
        stamp, kept = self._changes.stamp(), self._kept
        if kept is not None and kept[0] == stamp and kept[1] is passages:
            return kept[2]
        view = self._renewed(passages)
        self._kept = (stamp, passages, view) if stamp and self._changes.stamp() == stamp else None
        return view

    def close(self) -> None:
        """Let go of the files; from now on no view is kept."""
        self._kept = None
        self._changes.close()

    def _renewed(self, passages: Passages) -> View:
        # Who is gone is asked before: what is removed after that may still be shown.
        with told(self._folder), self._reading:
            gone = frozenset(map(str, records.gone(self._store)))
        searcher = passages.searcher()
        found = matching(searcher, passages.schema, passages.analysis)
        return View(searcher, asking(found), gone)
