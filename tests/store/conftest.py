"""Every kind of store, for the tests that all of them must pass."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import LiteralString, Protocol, TypeAlias

import psycopg
import pytest

from groundwire.store.base import Store
from groundwire.store.migrations import ON_POSTGRES, ON_SQLITE
from groundwire.store.postgres import open_postgres
from groundwire.store.sqlite import open_sqlite
from groundwire.transport.migrations import Migration
from tests.memory_folders import tmp_path
from tests.servers.fixtures import postgres, postgres_server

__all__ = ["migrated", "opener", "postgres", "postgres_server", "store", "tmp_path"]

Row: TypeAlias = tuple[object, ...]
Statements: TypeAlias = Callable[[LiteralString, Sequence[object]], list[Row]]

NEWEST = ON_SQLITE[-1].version


class Migrated(Protocol):
    """One store, at first empty, of which every version can be opened."""

    def __call__(self, until: int = NEWEST, more: Sequence[Migration] = ()) -> Store:
        """Open it with the steps up to a version, and more."""
        ...


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the store is that is a file."""
    return tmp_path / "data" / "store.db"


@pytest.fixture(params=["sqlite", "postgres"])
def migrated(request: pytest.FixtureRequest) -> Iterator[Migrated]:
    """Opens the same store by the steps given."""
    if request.param == "sqlite":
        steps = ON_SQLITE
        open_it: Callable[[Sequence[Migration]], Store] = partial(
            open_sqlite, request.getfixturevalue("file")
        )
    else:
        steps = ON_POSTGRES
        open_it = partial(open_postgres, request.getfixturevalue("postgres"))
    with ExitStack() as opened:

        def at(until: int = NEWEST, more: Sequence[Migration] = ()) -> Store:
            wanted = [step for step in steps if step.version <= until]
            return opened.enter_context(open_it((*wanted, *more)))

        yield at


@pytest.fixture
def opener(migrated: Migrated) -> Callable[[], Store]:
    """Opens the same store again and again."""
    return migrated


@pytest.fixture
def store(opener: Callable[[], Store]) -> Store:
    """An empty store."""
    return opener()


def on_sqlite(path: Path, statement: LiteralString, values: Sequence[object]) -> list[Row]:
    """What a file answers to somebody who goes past the store."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def on_postgres(address: str, statement: LiteralString, values: Sequence[object]) -> list[Row]:
    """The same of a database."""
    with psycopg.connect(address) as connection:
        cursor = connection.execute(statement.replace("?", "%s"), values)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def statements(request: pytest.FixtureRequest, migrated: Migrated) -> Statements:
    """Statements on the database of the store, past the store."""
    del migrated  # it says which database that is
    if "sqlite" in request.node.callspec.id:
        return partial(on_sqlite, request.getfixturevalue("file"))
    return partial(on_postgres, request.getfixturevalue("postgres"))
