"""Vectors in PostgreSQL, by the extension `vector` (pgvector).

All vectors of an encoder are compared with the query: that is exact, and fast enough for some hundred
thousand passages. The vectors are 32-bit numbers, which every version of the extension has.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, LiteralString, cast

from groundwire.engine.dense.encoder import SentenceEncoder
from groundwire.engine.dense.stored_vectors import StoredVectors
from groundwire.engine.dense.texts import VectorKey
from groundwire.errors import TimedOut
from groundwire.transport.migrations import Migration
from groundwire.transport.postgres import PostgresConnection, PostgresPool, migrate

if TYPE_CHECKING:
    from groundwire.engine.dense.arrays import Floats

COMPONENT = "vectors"
STEPS = (
    Migration(
        1,
        (
            "CREATE EXTENSION IF NOT EXISTS vector",
            """
            CREATE TABLE groundwire_vectors (
                encoder text NOT NULL,
                kind text NOT NULL,
                key bigint NOT NULL,
                vector vector NOT NULL,
                PRIMARY KEY (encoder, kind, key)
            )
            """,
            # In the row, because a search reads all of them.
            "ALTER TABLE groundwire_vectors ALTER COLUMN vector SET STORAGE PLAIN",
        ),
    ),
)

_MISSING = (
    "PostgreSQL does not have the extension `vector` (pgvector), so searches match words only. "
    "Install pgvector on the server, then run `groundwire index refresh`."
)
_NOT_CREATED = (
    "The database does not have the extension `vector` (pgvector), so searches match words only. "
    "Run `CREATE EXTENSION vector` in it as a superuser, then `groundwire index refresh`."
)


def prepare_vectors(pool: PostgresPool) -> str:
    """Creates the table of vectors where it is missing; returns why there cannot be one, else nothing."""
    _, problem = _extension(pool)
    if not problem:
        migrate(pool, COMPONENT, STEPS)
    return problem


def extension_state(address: str) -> tuple[str, str]:
    """The version of the extension, and why there is no search by meaning, if there is none."""
    pool = PostgresPool(address)
    try:
        return _extension(pool)
    finally:
        pool.close()


def _extension(pool: PostgresPool) -> tuple[str, str]:
    with pool.statements() as connection:
        row = connection.execute(_EXTENSION).fetchone()
    version, is_usable = cast("tuple[str, bool]", row or ("", False))
    return version, "" if is_usable else _NOT_CREATED if version else _MISSING


class PostgresVectors:
    """The vectors of passages or phrases that an encoder made."""

    def __init__(self, pool: PostgresPool, encoder: str, kind: str) -> None:
        self._pool = pool
        self.encoder = encoder
        self._kind = kind

    def now(self) -> PostgresVectors | None:
        """The vectors; None if there are none."""
        with self._pool.statements() as connection:
            found = connection.execute(_ANY, [self.encoder, self._kind]).fetchone()
        return None if found is None else self

    def nearest(
        self,
        query: Floats,
        limit: int,
        admitted: Sequence[VectorKey] | None = None,
        preferred: StoredVectors | None = None,
    ) -> list[tuple[VectorKey, float]]:
        """The closest vectors with their cosines, best first."""
        parameters = {
            "encoder": self.encoder,
            "kind": self._kind,
            "query": query.tolist(),
            "admitted": None if admitted is None else list(admitted),
            "preferred": preferred.encoder if isinstance(preferred, PostgresVectors) else "",
            "limit": limit,
        }
        with self._pool.statements() as connection:
            rows = connection.execute(_NEAREST, parameters).fetchall()
        return [cast("tuple[VectorKey, float]", row) for row in rows]

    def cosines(self, query: Floats, keys: Sequence[VectorKey]) -> list[float | None]:
        """The cosines of some vectors; None for those that are missing."""
        with self._pool.statements() as connection:
            rows = connection.execute(
                _COSINES, [query.tolist(), self.encoder, self._kind, list(keys)]
            ).fetchall()
        found = dict(cast("list[tuple[VectorKey, float]]", rows))
        return [found.get(key) for key in keys]


class PostgresVectorWriter:
    """Writes vectors; the lock is held."""

    def __init__(self, connection: PostgresConnection, encoder: str, kind: str) -> None:
        self._connection = connection
        self._of = (encoder, kind)

    def keys(self) -> list[VectorKey]:
        """The keys of all vectors."""
        return [cast("VectorKey", key) for (key,) in self._connection.execute(_KEYS, self._of)]

    def append(self, keys: Sequence[VectorKey], vectors: Floats) -> None:
        """Adds a batch, in one transaction."""
        rows = [(*self._of, key, vector) for key, vector in zip(keys, vectors.tolist(), strict=True)]
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(_INSERT, rows)

    def compact(self, kept: Container[VectorKey]) -> None:
        """Removes all vectors but these."""
        gone = [key for key in self.keys() if key not in kept]
        self._connection.execute(_REMOVE, [*self._of, gone])


@contextmanager
def writing(pool: PostgresPool, encoder: SentenceEncoder, kind: str) -> Iterator[PostgresVectorWriter]:
    """A writer of vectors; those of other versions of the encoder are removed.

    Raises `TimedOut` while another process writes them.
    """
    lock = int.from_bytes(sha256(f"groundwire {encoder.name} {kind}".encode()).digest()[:8], signed=True)
    with pool.statements() as connection:
        if connection.execute("SELECT pg_try_advisory_lock(%s)", [lock]).fetchone() != (True,):
            raise TimedOut(f"Another process computes the vectors of {encoder.name}.")
        try:
            connection.execute(_REMOVE_OTHERS, [encoder.name, encoder.name])
            yield PostgresVectorWriter(connection, encoder.name, kind)
        finally:
            # If the connection is broken, the server has released the lock.
            if not connection.closed:
                connection.execute("SELECT pg_advisory_unlock(%s)", [lock])


# The version, and whether it is created or this user may do so.
_EXTENSION: LiteralString = """
SELECT coalesce(found.installed_version, found.default_version),
    found.installed_version IS NOT NULL OR current_setting('is_superuser')::boolean
    OR version.trusted AND has_database_privilege(current_database(), 'CREATE')
FROM pg_available_extensions AS found
JOIN pg_available_extension_versions AS version
    ON version.name = found.name AND version.version = found.default_version
WHERE found.name = 'vector'
"""
_ANY: LiteralString = "SELECT 1 FROM groundwire_vectors WHERE encoder = %s AND kind = %s LIMIT 1"
_KEYS: LiteralString = "SELECT key FROM groundwire_vectors WHERE encoder = %s AND kind = %s"
_INSERT: LiteralString = """
INSERT INTO groundwire_vectors (encoder, kind, key, vector) VALUES (%s, %s, %s, %s::real[]::vector)
ON CONFLICT DO NOTHING
"""
_REMOVE: LiteralString = (
    "DELETE FROM groundwire_vectors WHERE encoder = %s AND kind = %s AND key = ANY(%s::bigint[])"
)
_REMOVE_OTHERS: LiteralString = """
DELETE FROM groundwire_vectors
WHERE split_part(encoder, '/', 1) = split_part(%s, '/', 1) AND encoder <> %s
"""
# The operator <#> is the negative product: of vectors of length 1, the negative cosine.
_NEAREST: LiteralString = """
SELECT key, -(vector <#> %(query)s::real[]::vector) AS cosine FROM groundwire_vectors AS found
WHERE encoder = %(encoder)s AND kind = %(kind)s
    AND (%(admitted)s::bigint[] IS NULL OR key = ANY(%(admitted)s::bigint[]))
    AND NOT EXISTS (
        SELECT FROM groundwire_vectors AS other
        WHERE other.encoder = %(preferred)s AND other.kind = %(kind)s AND other.key = found.key
    )
ORDER BY cosine DESC, key
LIMIT %(limit)s
"""
_COSINES: LiteralString = """
SELECT key, -(vector <#> %s::real[]::vector) FROM groundwire_vectors
WHERE encoder = %s AND kind = %s AND key = ANY(%s::bigint[])
"""
