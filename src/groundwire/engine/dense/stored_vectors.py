"""The protocols of stored vectors: in files next to the embedded index, or in PostgreSQL with pgvector."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Protocol

from groundwire.engine.dense.texts import VectorKey

if TYPE_CHECKING:
    from groundwire.engine.dense.arrays import Floats


class StoredVectors(Protocol):
    """The vectors of passages or phrases that an encoder made."""

    def nearest(
        self,
        query: Floats,
        limit: int,
        admitted: Sequence[VectorKey] | None = None,
        preferred: StoredVectors | None = None,
    ) -> list[tuple[VectorKey, float]]:
        """The closest vectors with their cosines, best first: of the admitted keys, if they are given, and
        without those that the preferred vectors of the same index have."""
        ...

    def cosines(self, query: Floats, keys: Sequence[VectorKey]) -> list[float | None]:
        """The cosines of some vectors; None for those that are missing."""
        ...


class VectorSource(Protocol):
    """Reads the vectors of an encoder."""

    def now(self) -> StoredVectors | None:
        """The vectors that are stored now; None if there are none. Raises `MeaningUnavailable`."""
        ...


class VectorSink(Protocol):
    """Writes the vectors of an encoder, as the only one."""

    def keys(self) -> list[VectorKey]:
        """The keys of all vectors."""
        ...

    def append(self, keys: Sequence[VectorKey], vectors: Floats) -> None:
        """Adds a batch. When this returns it survives a crash."""
        ...

    def compact(self, kept: Container[VectorKey]) -> None:
        """Leaves out all vectors but these."""
        ...
