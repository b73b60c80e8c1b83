"""Fixtures: each kind of store, for the tests that all of them must pass."""

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

__all__ = ["open_at", "postgres", "postgres_server", "reopen", "store", "tmp_path"]

Row: TypeAlias = tuple[object, ...]
Statements: TypeAlias = Callable[[LiteralString, Sequence[object]], list[Row]]

NEWEST = ON_SQLITE[-1].version


class StoreOpener(Protocol):
    """Opens the same store with any set of migrations; it is empty at first."""

    def __call__(self, until: int = NEWEST, more: Sequence[Migration] = ()) -> Store:
        """Open the store with the migrations up to a version, and additional ones."""
        ...


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of the SQLite store."""
    return tmp_path / "data" / "store.db"


@pytest.fixture(params=["sqlite", "postgres"])
def open_at(request: pytest.FixtureRequest) -> Iterator[StoreOpener]:
    """A function that opens the same store with given migrations."""
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
def reopen(open_at: StoreOpener) -> Callable[[], Store]:
    """A function that opens the same store again."""
    return open_at


@pytest.fixture
def store(reopen: Callable[[], Store]) -> Store:
    """An empty store."""
    return reopen()


def on_sqlite(path: Path, statement: LiteralString, values: Sequence[object]) -> list[Row]:
    """Run a statement directly on the file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def on_postgres(address: str, statement: LiteralString, values: Sequence[object]) -> list[Row]:
    """Run a statement directly on the PostgreSQL database."""
    with psycopg.connect(address) as connection:
        cursor = connection.execute(statement.replace("?", "%s"), values)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def statements(request: pytest.FixtureRequest, open_at: StoreOpener) -> Statements:
    """A function that runs statements directly on the database of the store."""
    del open_at  # requested only for its parameter
    if "sqlite" in request.node.callspec.id:
        return partial(on_sqlite, request.getfixturevalue("file"))
    return partial(on_postgres, request.getfixturevalue("postgres"))
