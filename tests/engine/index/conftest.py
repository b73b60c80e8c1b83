"""Fixtures: each kind of index, for the tests that all of them must pass.

A factory is a context manager that yields a function. Each call opens the same index, which is empty at
first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from groundwire.engine.index.base import Index
from groundwire.engine.index.location import open_index
from groundwire.engine.index.postgres import PostgresIndex
from tests.servers.fixtures import postgres, postgres_server

__all__ = ["index", "opener", "postgres", "postgres_server"]

Opener: TypeAlias = Callable[[], Index]
Factory: TypeAlias = Callable[[pytest.FixtureRequest], AbstractContextManager[Opener]]


@contextmanager
def embedded(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """The index in a folder."""
    folder: Path = request.getfixturevalue("tmp_path")
    with ExitStack() as opened:
        yield lambda: opened.enter_context(open_index(folder / "index"))


@contextmanager
def in_postgres(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """The index in a PostgreSQL database."""
    address: str = request.getfixturevalue("postgres")
    with ExitStack() as opened:
        yield lambda: opened.enter_context(PostgresIndex(address))


FACTORIES: dict[str, Factory] = {"embedded": embedded, "postgres": in_postgres}


@pytest.fixture(params=FACTORIES)
def opener(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """A function that opens the same index again."""
    with FACTORIES[request.param](request) as made:
        yield made


@pytest.fixture
def index(opener: Opener) -> Index:
    """An empty index."""
    return opener()
