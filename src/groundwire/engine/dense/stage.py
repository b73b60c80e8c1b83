"""The dense stage of a search: finds passages by meaning, and computes their vectors.

It holds the encoder and the vectors of one index. Vectors are computed after pages are stored, in batches;
what has none yet is found by words only.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock
from typing import TypeAlias

from groundwire.engine.dense.arrays import np
from groundwire.engine.dense.encoder import SentenceEncoder, find_encoder, passage_text
from groundwire.engine.dense.vector_file import VECTORS_FILE
from groundwire.engine.dense.vectors import VectorReader, VectorSet, VectorWriter, writing
from groundwire.engine.index.base import PassageKey, PassageStore
from groundwire.engine.index.page_table import PASSAGE_BITS
from groundwire.engine.pages import Passage
from groundwire.errors import GroundwireError, TimedOut
from groundwire.model import SearchOptions

ReportVectors: TypeAlias = Callable[[int, int], None]
"""Called with the number of passages that have vectors, and of all."""
FindEncoder: TypeAlias = Callable[[Path], SentenceEncoder | None]


def ignore_vectors(done: int, total: int) -> None:
    """Does not report progress."""


_BATCH = 64
"""Passages in one batch, about a second of work: the most that a kill loses, and two syncs to disk."""
_SPARE = 4
"""Passages that are looked up for each one that is returned: some are of one page, or have equal text."""
_STALE_SHARE = 0.2
"""Share of vectors of removed passages above which the file is compacted. Chosen."""


class DenseStage:
    """Searches and builds the vectors of an index."""

    def __init__(self, store: PassageStore, models: Path, finder: FindEncoder = find_encoder) -> None:
        self._store = store
        self._models = models
        self._finder = finder
        self._path = store.folder / VECTORS_FILE
        self._loading = Lock()
        self._building = Lock()
        self._stopped = Event()
        self._loaded: tuple[SentenceEncoder, VectorReader] | None = None

    def search(self, query: str, options: SearchOptions, limit: int) -> list[Passage]:
        """The passages closest in meaning, best first, with their cosines as scores; none without vectors.

        Raises `GroundwireError` if encoder or vectors are damaged.
        """
        loaded = self._load()
        vectors = loaded[1].now() if loaded else None
        if loaded is None or not vectors:
            return []
        vector = loaded[0].encode([query])[0]
        found = vectors.search(vector, _SPARE * limit)
        passages = self._store.select_passages(found, options, limit)
        if len(passages) < limit and _restricts(options):
            found = vectors.search(vector, _SPARE * limit, self._positions(vectors, options))
            passages = self._store.select_passages(found, options, limit)
        return passages

    def build(self, report: ReportVectors = ignore_vectors, *, after: int = -1) -> int:
        """Computes the missing vectors; returns their number. It may be interrupted and started again.

        With `after`, only those of passages with a higher id. The newest passages come first.
        Does nothing while another process does the same. Raises `GroundwireError` if they cannot be stored.
        """
        loaded = self._load()
        if loaded is None:
            return 0
        try:
            with self._building, writing(self._path, loaded[0].name) as writer:
                return self._fill(writer, loaded[0], report, after)
        except TimedOut:
            return 0
        except OSError as error:
            raise GroundwireError(
                f"The vectors in {self._path} cannot be stored ({error.strerror or error}). "
                "Searches match words; `groundwire index refresh` continues."
            ) from error

    def close(self) -> None:
        """Ends a build after its current batch, and waits for that."""
        self._stopped.set()
        with self._building:
            pass

    def _fill(self, writer: VectorWriter, encoder: SentenceEncoder, report: ReportVectors, after: int) -> int:
        keys = self._store.passage_keys()
        stored, wanted = writer.passages(), set(keys)
        known = set(stored) & wanted
        if len(stored) - len(known) > _STALE_SHARE * len(stored):
            writer.compact(wanted)
        missing = [key for key in reversed(keys) if key not in known and key[0] > after]
        done, total = 0, len(known) + len(missing)
        for at in range(0, len(missing), _BATCH):
            if self._stopped.is_set():
                break
            batch = missing[at : at + _BATCH]
            done += self._append(writer, encoder, batch)
            report(len(known) + at + len(batch), total)
        return done

    def _append(self, writer: VectorWriter, encoder: SentenceEncoder, keys: list[PassageKey]) -> int:
        found = self._store.passage_texts(keys)
        if found:
            vectors = encoder.encode([passage_text(title, text) for _, title, text in found])
            writer.append([key for key, _, _ in found], vectors)
        return len(found)

    def _load(self) -> tuple[SentenceEncoder, VectorReader] | None:
        with self._loading:
            if self._loaded is None:
                encoder = self._finder(self._models)
                if encoder is not None:
                    self._loaded = encoder, VectorReader(self._path, encoder.name)
            return self._loaded

    def _positions(self, vectors: VectorSet, options: SearchOptions) -> np.typing.NDArray[np.int64]:
        pages = np.array(self._store.allowed_pages(options), np.int64)
        return np.flatnonzero(np.isin(vectors.ids >> PASSAGE_BITS, pages))


def _restricts(options: SearchOptions) -> bool:
    return bool(options.allowed_domains or options.blocked_domains or options.since or options.until)
