"""The store in PostgreSQL, for any number of gateways."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import LiteralString

from groundwire.store.base import RowRefused
from groundwire.store.full_text import POSTGRES
from groundwire.store.migrations import COMPONENT, ON_POSTGRES, WORDS_SINCE
from groundwire.store.rows import Row, Values
from groundwire.store.sql import POSTGRES_LEASES, SqlStore
from groundwire.transport.migrations import Migration
from groundwire.transport.postgres import (
    REFUSED_VALUES,
    PostgresConnection,
    PostgresPool,
    closed_on_error,
    migrate,
    schema_version,
)

ANSWER_SECONDS = 12.0
"""A little more than the server's own statement timeout: after it the server hangs."""

_UNLIMITED: LiteralString = "SET LOCAL synchronous_commit = on"
# A gateway that loses its connection in the middle of a transaction still has the locks, and PostgreSQL does
# not notice for hours. So it ends transactions that wait for their next statement, which takes milliseconds.
TRANSACTION_LIMITS: LiteralString = (
    f"{_UNLIMITED}; SET LOCAL statement_timeout = 10000; SET LOCAL idle_in_transaction_session_timeout = 3000"
)
_NAMED = re.compile(r":([a-z_]+)")


def open_postgres(address: str, steps: Sequence[Migration] = ON_POSTGRES) -> SqlStore:
    """Open the store in a database (`postgresql://…`)."""
    pool = PostgresPool(address, ANSWER_SECONDS)
    with closed_on_error(pool):
        migrate(pool, COMPONENT, steps)
        store = SqlStore(PostgresDatabase(pool), POSTGRES, POSTGRES_LEASES)
        if steps[-1].version >= WORDS_SINCE:
            store.fill_words()
    return store


def postgres_version(address: str) -> int:
    """The version of the store in a database, which is not migrated; 0 if there is no store."""
    pool = PostgresPool(address, ANSWER_SECONDS)
    try:
        return schema_version(pool, COMPONENT)
    finally:
        pool.close()


class PostgresDatabase:
    """`Database` on a connection pool; each transaction has its own connection."""

    def __init__(self, pool: PostgresPool) -> None:
        self._pool = pool

    @contextmanager
    def transaction(self, *, limited: bool = True) -> Iterator[PostgresTransaction]:
        """A transaction; on disk when it ends, whatever the server's default is."""
        with self._pool.transaction(limited=limited) as connection:
            # For this transaction only: a pooler may give the connection to another client after it.
            limits = TRANSACTION_LIMITS if limited else _UNLIMITED
            connection.execute(limits)
            try:
                yield PostgresTransaction(connection)
            except REFUSED_VALUES as error:
                reason = error.diag.message_primary or type(error).__name__
                raise RowRefused(f"PostgreSQL rejects a value: {reason}") from error

    def check(self) -> None:
        """Check that the server responds."""
        with self._pool.statements() as connection:
            connection.execute("SELECT 1")

    def close(self) -> None:
        """Close the pool."""
        self._pool.close()


class PostgresTransaction:
    """Executes statements on a connection."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection

    def rows(self, statement: LiteralString, values: Values) -> list[Row]:
        """The rows of a statement."""
        text = _with_placeholders(statement)
        cursor = self._connection.execute(text, values)
        return list(cursor.fetchall()) if cursor.description else []

    def many(self, statement: LiteralString, values: Sequence[Values]) -> None:
        """Execute a statement for each set of values, without waiting in between."""
        text = _with_placeholders(statement)
        self._connection.cursor().executemany(text, values)


@cache
def _with_placeholders(statement: LiteralString) -> LiteralString:
    """Rewrite `:name` to the placeholders of psycopg. Only for our own statements: it never sees a value."""
    return _NAMED.sub(r"%(\1)s", statement)
