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
)

ANSWER_SECONDS = 12.0
"""A little more than the server itself allows a statement: beyond it the server hangs."""

_UNLIMITED: LiteralString = "SET LOCAL synchronous_commit = on"
_LIMITED: LiteralString = f"{_UNLIMITED}; SET LOCAL statement_timeout = 10000"
_NAMED = re.compile(r":([a-z_]+)")


def open_postgres(address: str, steps: Sequence[Migration] = ON_POSTGRES) -> SqlStore:
    """The store in the database at an address (`postgresql://…`)."""
    connections = PostgresPool(address, ANSWER_SECONDS)
    with closed_on_error(connections):
        migrate(connections, COMPONENT, steps)
        store = SqlStore(PostgresDatabase(connections), POSTGRES, POSTGRES_LEASES)
        if steps[-1].version >= WORDS_SINCE:
            store.fill_words()
    return store


class PostgresDatabase:
    """Connections, each of which carries out one transaction at a time."""

    def __init__(self, connections: PostgresPool) -> None:
        self._connections = connections

    @contextmanager
    def transaction(self, *, limited: bool = True) -> Iterator[PostgresTransaction]:
        """All of it or nothing; on disk when it ends, whatever the server's default is."""
        with self._connections.transaction(limited=limited) as connection:
            # For this transaction only: a pooler may give the connection to somebody else after it.
            limits = _LIMITED if limited else _UNLIMITED
            connection.execute(limits)
            try:
                yield PostgresTransaction(connection)
            except REFUSED_VALUES as error:
                said = error.diag.message_primary or type(error).__name__
                raise RowRefused(f"PostgreSQL does not take a value: {said}") from error

    def check(self) -> None:
        """Does the server answer?"""
        with self._connections.statements() as connection:
            connection.execute("SELECT 1")

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()


class PostgresTransaction:
    """Statements on a connection."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection

    def rows(self, statement: LiteralString, values: Values) -> list[Row]:
        """What a statement answers."""
        text = _in_postgres(statement)
        cursor = self._connection.execute(text, values)
        return list(cursor.fetchall()) if cursor.description else []

    def many(self, statement: LiteralString, values: Sequence[Values]) -> None:
        """Carry out a statement for each of them, without waiting between."""
        text = _in_postgres(statement)
        self._connection.cursor().executemany(text, values)


@cache
def _in_postgres(statement: LiteralString) -> LiteralString:
    """The statement with its values named as psycopg wants it. Texts of ours only: it never sees a value."""
    return _NAMED.sub(r"%(\1)s", statement)
