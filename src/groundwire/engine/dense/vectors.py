"""Vectors of passages in a file, for one writer and any number of readers that map it into memory.

A record has the id of a passage, the fingerprint of its words, its vector as signed bytes, and the signs of
the vector's components as bits. A search compares the bits of all vectors with those of the query, and then
the vectors of the closest ones.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from groundwire.engine.dense.arrays import Floats, Integers, np
from groundwire.engine.dense.vector_file import (
    DIMENSIONS,
    RECORDS_AT,
    DamagedVectors,
    Header,
    append_records,
    create_file,
    read_header,
    records_checksum,
)
from groundwire.engine.index.base import PassageKey, ScoredKey
from groundwire.files.lock import locked

_RECORD = np.dtype(
    [
        ("id", "<i8"),
        ("words", "<i8"),
        ("scale", "<f8"),
        ("signs", "<u8", (DIMENSIONS // 64,)),
        ("values", "i1", (DIMENSIONS,)),
    ]
)
_LARGEST_VALUE = 127
_RESCORED = 400
"""Candidates whose vectors are compared, at least. `bench/dense.py` finds 99 % of the ten best of 100,000
generated vectors with it; of the 9,600 passages about Python and packages it was all, for 105 questions."""


class VectorSet:
    """The vectors of one state of the file."""

    def __init__(self, file: BinaryIO, count: int) -> None:
        records = _mapped(file, count)
        self._values = records["values"]
        self._scales = records["scale"]
        self.ids: Integers = np.ascontiguousarray(records["id"])
        self._words: Integers = np.ascontiguousarray(records["words"])
        # One row for each word of bits: numpy is fast along rows.
        self._signs = np.ascontiguousarray(records["signs"].T)

    def __len__(self) -> int:
        return len(self.ids)

    def passages(self) -> list[PassageKey]:
        """The passages that have vectors."""
        return list(zip(self.ids.tolist(), self._words.tolist(), strict=True))

    def search(self, query: Floats, limit: int, allowed: Integers | None = None) -> list[ScoredKey]:
        """The closest passages, best first; of those at the positions `allowed`, if given."""
        signs = self._signs if allowed is None else self._signs[:, allowed]
        count = signs.shape[1]
        rows = np.arange(count)
        wanted = max(_RESCORED, 4 * limit)
        if count > wanted:
            rows = np.argpartition(_differing_bits(signs, _signs_of(query[None])[0]), wanted)[:wanted]
        at = rows if allowed is None else allowed[rows]
        cosines = (self._values[at].astype(np.float32) @ query) * self._scales[at]
        best = np.argsort(-cosines, kind="stable")[:limit]
        found = at[best]
        keys = zip(self.ids[found].tolist(), self._words[found].tolist(), strict=True)
        return [ScoredKey(key, cosine) for key, cosine in zip(keys, cosines[best].tolist(), strict=True)]


def _mapped(file: BinaryIO, count: int) -> np.typing.NDArray[np.void]:
    # An empty file cannot be mapped.
    return np.memmap(file, _RECORD, "r", RECORDS_AT, (count,)) if count else np.zeros(0, _RECORD)


class VectorReader:
    """Reads the file; after a write, the next call returns the new state."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._kept: tuple[tuple[int, int], VectorSet] | None = None

    def now(self) -> VectorSet | None:
        """The vectors; None if there are none of this encoder. Raises `DamagedVectors`."""
        try:
            with self._path.open("rb") as file:
                header = read_header(file.fileno(), self._path)
                if header.name != self._name:
                    return None
                kept, stamp = self._kept, (os.fstat(file.fileno()).st_ino, header.sequence)
                if kept is None or kept[0] != stamp:
                    kept = self._kept = (stamp, VectorSet(file, header.count))
                return kept[1]
        except FileNotFoundError:
            return None


class VectorWriter:
    """Appends vectors; the write lock is held."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._file, self._header = _open_checked(path, name)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def passages(self) -> list[PassageKey]:
        """The passages that have vectors."""
        return VectorSet(self._file, self._header.count).passages()

    def append(self, keys: Sequence[PassageKey], vectors: Floats) -> None:
        """Adds a batch. When this returns it survives a crash."""
        data = _records(keys, vectors).tobytes()
        self._header = append_records(self._file.fileno(), self._header, data)

    def compact(self, kept: Container[PassageKey]) -> None:
        """Leaves out all passages but these, and second vectors of a passage."""
        positions = {key: at for at, key in enumerate(self.passages()) if key in kept}
        data = _mapped(self._file, self._header.count)[sorted(positions.values())].tobytes()
        create_file(self._path, self._header.name, data, self._header.sequence + 1)
        self.close()
        self._file, self._header = _open_checked(self._path, self._header.name)


def _open_checked(path: Path, name: str) -> tuple[BinaryIO, Header]:
    """The file, with all records checked. Raises `DamagedVectors` if it cannot be continued."""
    with ExitStack() as undo:
        file = undo.enter_context(path.open("r+b", buffering=0))
        header = read_header(file.fileno(), path)
        if header.name != name:
            raise DamagedVectors(f"{path} has vectors of another encoder")
        if records_checksum(file.fileno(), header.count) != header.checksum:
            raise DamagedVectors(f"{path} is damaged")
        undo.pop_all()
        return file, header


@contextmanager
def writing(path: Path, name: str, timeout: float = 0.0) -> Iterator[VectorWriter]:
    """Opens the file for a writer; a damaged file, or one of another encoder, is replaced by an empty one.

    Raises `TimedOut` while another process writes.
    """
    with locked(path.with_suffix(".lock"), timeout):
        if not path.exists():
            create_file(path, name)
        try:
            writer = VectorWriter(path, name)
        except DamagedVectors:
            create_file(path, name)
            writer = VectorWriter(path, name)
        try:
            yield writer
        finally:
            writer.close()


def _records(keys: Sequence[PassageKey], vectors: Floats) -> np.typing.NDArray[np.void]:
    records = np.zeros(len(keys), _RECORD)
    scales = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), np.finfo(np.float32).tiny) / _LARGEST_VALUE
    records["id"] = [identifier for identifier, _ in keys]
    records["words"] = [words for _, words in keys]
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
