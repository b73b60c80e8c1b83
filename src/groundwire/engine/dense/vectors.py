"""Vectors in a file, for one writer and any number of readers that map it into memory.

A record has a key, the vector as signed bytes with their scale, and the signs of its components as bits. A
search compares the bits of all vectors with those of the query, and then the vectors of the closest ones.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import BinaryIO

from groundwire.engine.dense.arrays import Floats, Integers, np
from groundwire.engine.dense.encoder import SentenceEncoder
from groundwire.engine.dense.stored_vectors import StoredVectors
from groundwire.engine.dense.texts import VectorKey
from groundwire.engine.dense.vector_file import (
    RECORDS_AT,
    DamagedVectors,
    Header,
    append_records,
    create_file,
    note_checked,
    read_header,
    records_checksum,
    was_checked,
)
from groundwire.files.lock import locked

_ADVICE = "`groundwire index refresh` computes them again."
_LARGEST_VALUE = 127
_RESCORED = 400
"""Candidates whose vectors are compared, at least. `bench/dense.py` prints the share of the ten best of
100,000 generated vectors that it finds."""


class VectorSet:
    """The vectors of one state of the file."""

    def __init__(self, file: BinaryIO, header: Header) -> None:
        records = _mapped(file, header)
        self._values = records["values"]
        self._scales = records["scale"]
        self.keys: Integers = np.ascontiguousarray(records["key"])
        # One row for each word of bits: numpy is fast along rows.
        self._signs = np.ascontiguousarray(records["signs"].T)

    def __len__(self) -> int:
        return len(self.keys)

    def search(
        self, query: Floats, limit: int, allowed: Integers | None = None
    ) -> list[tuple[VectorKey, float]]:
        """The closest vectors with their cosines, best first; of those at the rows `allowed`, if given."""
        signs = self._signs if allowed is None else self._signs[:, allowed]
        count = signs.shape[1]
        rows = np.arange(count)
        wanted = max(_RESCORED, 4 * limit)
        if count > wanted:
            rows = np.argpartition(_differing_bits(signs, _signs_of(query[None])[0]), wanted)[:wanted]
        at = rows if allowed is None else allowed[rows]
        cosines = self._cosines(query, at)
        best = np.argsort(-cosines, kind="stable")[:limit]
        return list(zip(self.keys[at[best]].tolist(), cosines[best].tolist(), strict=True))

    def nearest(
        self,
        query: Floats,
        limit: int,
        admitted: Sequence[VectorKey] | None = None,
        preferred: StoredVectors | None = None,
    ) -> list[tuple[VectorKey, float]]:
        """The closest vectors with their cosines, best first: of the admitted keys, if they are given, and
        without those that the preferred vectors have."""
        rows = _rows_missing_in(preferred, self) if isinstance(preferred, VectorSet) else None
        if admitted is not None:
            allowed = self.rows(admitted)
            rows = allowed[allowed >= 0] if rows is None else np.intersect1d(allowed, rows)
        return self.search(query, limit, rows) if rows is None or len(rows) else []

    def cosines(self, query: Floats, keys: Sequence[VectorKey]) -> list[float | None]:
        """The cosines of some vectors; None for those that are missing."""
        rows = self.rows(keys)
        cosines = self._cosines(query, np.maximum(rows, 0)).tolist() if len(self) else [0.0] * len(keys)
        return [cosine if row >= 0 else None for row, cosine in zip(rows.tolist(), cosines, strict=True)]

    def rows(self, keys: Sequence[VectorKey] | Integers) -> Integers:
        """The rows of keys; -1 for those that are missing."""
        wanted = np.asarray(keys, np.int64)
        if not len(self):
            return np.full(len(wanted), -1)
        order = self._order
        at = np.minimum(np.searchsorted(self.keys, wanted, sorter=order), len(self) - 1)
        return np.where(self.keys[order[at]] == wanted, order[at], -1)

    @cached_property
    def _order(self) -> Integers:
        return np.argsort(self.keys, kind="stable")

    def _cosines(self, query: Floats, rows: Integers) -> Floats:
        cosines: Floats = (self._values[rows].astype(np.float32) @ query) * self._scales[rows]
        return cosines


@lru_cache(8)
def _rows_missing_in(preferred: VectorSet, vectors: VectorSet) -> Integers:
    """The rows of vectors whose keys another set does not have."""
    if np.array_equal(preferred.keys, vectors.keys):  # as those of phrases: sorting a set takes milliseconds
        return np.empty(0, np.int64)
    return np.flatnonzero(preferred.rows(vectors.keys) < 0)


def _record(dimensions: int) -> np.dtype[np.void]:
    fields = [
        ("key", "<i8"),
        ("scale", "<f4"),
        ("unused", "<u4"),
        ("signs", "<u8", (dimensions // 64,)),
        ("values", "i1", (dimensions,)),
    ]
    return np.dtype(fields)


def _mapped(file: BinaryIO, header: Header) -> np.typing.NDArray[np.void]:
    record = _record(header.dimensions)
    # An empty file cannot be mapped.
    return np.memmap(file, record, "r", RECORDS_AT, (header.count,)) if header.count else np.zeros(0, record)


class VectorReader:
    """Reads the file of an encoder; after a write, the next call returns the new state."""

    def __init__(self, path: Path, encoder: SentenceEncoder) -> None:
        self._path = path
        self._name = encoder.name
        self._dimensions = encoder.dimensions
        self._kept: tuple[int, Header, VectorSet] | None = None

    def now(self) -> VectorSet | None:
        """The vectors; None if there are none. Raises `DamagedVectors`."""
        try:
            with self._path.open("rb") as file:
                found = os.fstat(file.fileno())
                header = read_header(file.fileno(), self._path)
                if (header.name, header.dimensions) != (self._name, self._dimensions):
                    raise DamagedVectors(f"{self._path} has vectors of another encoder. {_ADVICE}")
                inode = found.st_ino
                if self._kept is None or self._kept[:2] != (inode, header):
                    self._check(file.fileno(), found, header)
                    self._kept = inode, header, VectorSet(file, header)
                return self._kept[2]
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DamagedVectors(f"{self._path} cannot be read ({error.strerror or error})") from error

    def _check(self, descriptor: int, found: os.stat_result, header: Header) -> None:
        """Checks the records that were added since the last call. Raises `DamagedVectors`.

        `found` is from before the header was read: what was written later is checked by the next call.
        """
        known = (0, 0)
        if self._kept is not None and self._kept[0] == found.st_ino and self._kept[1].count <= header.count:
            known = (self._kept[1].count, self._kept[1].checksum)
        elif was_checked(self._path, found):
            return
        if records_checksum(descriptor, header, known) != header.checksum:
            raise DamagedVectors(f"{self._path} is damaged. {_ADVICE}")
        note_checked(self._path, found)


class VectorWriter:
    """Appends vectors; the write lock is held."""

    def __init__(self, path: Path, encoder: SentenceEncoder) -> None:
        self._path = path
        self._encoder = encoder
        self._file, self._header = _open_checked(path, encoder)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def keys(self) -> list[VectorKey]:
        """The keys of all vectors."""
        found: list[VectorKey] = _mapped(self._file, self._header)["key"].tolist()
        return found

    def append(self, keys: Sequence[VectorKey], vectors: Floats) -> None:
        """Adds a batch. When this returns it survives a crash."""
        data = _records(keys, vectors).tobytes()
        self._header = append_records(self._file.fileno(), self._header, data)

    def compact(self, kept: Container[VectorKey]) -> None:
        """Leaves out all vectors but these."""
        rows = {key: row for row, key in enumerate(self.keys()) if key in kept}
        data = _mapped(self._file, self._header)[sorted(rows.values())].tobytes()
        create_file(self._path, _empty(self._encoder, self._header.sequence + 1), data)
        self.close()
        self._file, self._header = _open_checked(self._path, self._encoder)


def _empty(encoder: SentenceEncoder, sequence: int = 1) -> Header:
    return Header(sequence, encoder.dimensions, 0, 0, encoder.name)


def _open_checked(path: Path, encoder: SentenceEncoder) -> tuple[BinaryIO, Header]:
    """The file, with all records checked. Raises `DamagedVectors` if it cannot be continued."""
    with ExitStack() as undo:
        file = undo.enter_context(path.open("r+b", buffering=0))
        header = read_header(file.fileno(), path)
        if (header.name, header.dimensions) != (encoder.name, encoder.dimensions):
            raise DamagedVectors(f"{path} has vectors of another encoder")
        if records_checksum(file.fileno(), header) != header.checksum:
            raise DamagedVectors(f"{path} is damaged")
        undo.pop_all()
        return file, header


@contextmanager
def writing(path: Path, encoder: SentenceEncoder, timeout: float = 0.0) -> Iterator[VectorWriter]:
    """Opens the file for a writer; a damaged file, or one of another encoder, is replaced by an empty one.

    Raises `TimedOut` while another process writes.
    """
    with locked(path.with_suffix(".lock"), timeout):
        if not path.exists():
            create_file(path, _empty(encoder))
        try:
            writer = VectorWriter(path, encoder)
        except DamagedVectors:
            create_file(path, _empty(encoder))
            writer = VectorWriter(path, encoder)
        try:
            yield writer
        finally:
            writer.close()


def _records(keys: Collection[VectorKey], vectors: Floats) -> np.typing.NDArray[np.void]:
    records = np.zeros(len(keys), _record(vectors.shape[1]))
    scales = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), np.finfo(np.float32).tiny) / _LARGEST_VALUE
    records["key"] = list(keys)
    records["scale"] = scales
    records["signs"] = _signs_of(vectors)
    records["values"] = np.rint(vectors / scales[:, None])
    return records


def _signs_of(vectors: Floats) -> np.typing.NDArray[np.uint64]:
    return np.packbits(vectors > 0, axis=1).view("<u8")


def _differing_bits(
    signs: np.typing.NDArray[np.uint64], query: np.typing.NDArray[np.uint64]
) -> np.typing.NDArray[np.uint16]:
    """The number of different bits of each vector and the query."""
    total = np.zeros(signs.shape[1], np.uint16)
    for row, word in zip(signs, query, strict=True):
        total += np.bitwise_count(row ^ word)
    return total
