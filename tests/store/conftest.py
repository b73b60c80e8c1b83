"""Every kind of store, for the tests that all of them must pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest

from groundwire.store.base import Store
from groundwire.store.migrations import STEPS
from groundwire.store.postgres import open_postgres
from groundwire.store.sqlite import open_sqlite
from groundwire.transport.steps import Step
from tests.servers.fixtures import postgres, postgres_server

__all__ = ["migrated", "opener", "postgres", "postgres_server", "store"]

Migrated: TypeAlias = Callable[[Sequence[Step]], Store]


@pytest.fixture(params=["sqlite", "postgres"])
def migrated(request: pytest.FixtureRequest) -> Iterator[Migrated]:
    """Opens the same, at first empty, store by the steps given."""
    if request.param == "sqlite":
        folder: Path = request.getfixturevalue("tmp_path")
        open_it: Migrated = partial(open_sqlite, folder / "data" / "store.db")
    else:
        open_it = partial(open_postgres, request.getfixturevalue("postgres"))
    with ExitStack() as opened:
        yield lambda steps: opened.enter_context(open_it(steps))


@pytest.fixture
def opener(migrated: Migrated) -> Callable[[], Store]:
    """Opens the same store again and again."""
    return partial(migrated, STEPS)


@pytest.fixture
def store(opener: Callable[[], Store]) -> Store:
    """An empty store."""
    return opener()
