"""A killed migration has completed each step or not started it, and the next opener resumes it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from time import perf_counter
from typing import TypeAlias

import psycopg
import pytest
from psycopg import conninfo, sql

from groundwire.store.migrations import ON_POSTGRES, ON_SQLITE
from groundwire.store.open import open_store
from groundwire.store.postgres import open_postgres
from groundwire.store.sqlite import open_sqlite
from tests.store.conftest import NEWEST, Statements, on_postgres, on_sqlite
from tests.store.test_migrations import MESSAGES, SESSIONS

pytestmark = pytest.mark.server

PROJECT = Path(__file__).parents[2]
TIMEOUT = 60.0
SIZE = 1500
"""Messages in a store: enough that a kill can hit any step."""

Copy: TypeAlias = Callable[[], tuple[str, Statements]]
"""Creates another store of the first version; returns its URL, and a function for direct statements."""


def fill(many: Callable[[str, list[tuple[object, ...]]], object]) -> None:
    many("INSERT INTO groundwire_sessions VALUES (?, ?, ?, ?, ?, ?)", [*SESSIONS])
    body = MESSAGES[0][3]
    rows: list[tuple[object, ...]] = [(f"m{n}", "s1", n, body, "", f"2026-01-{n:06}") for n in range(SIZE)]
    many(
        "INSERT INTO groundwire_messages (id, session, number, body, provider, created) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        rows,
    )


@pytest.fixture(params=["sqlite", "postgres"])
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> Copy:
    numbers = count()
    if request.param == "sqlite":
        import sqlite3

        first = tmp_path / "first.db"
        open_sqlite(first, ON_SQLITE[:1]).close()
        with sqlite3.connect(first) as connection:
            fill(connection.executemany)
        connection.close()

        def copied() -> tuple[str, Statements]:
            path = tmp_path / f"{next(numbers)}.db"
            shutil.copy(first, path)
            return f"sqlite:///{path}", partial(on_sqlite, path)

        return copied
    address: str = request.getfixturevalue("postgres")
    open_postgres(address, ON_POSTGRES[:1]).close()
    with psycopg.connect(address) as opened:
        fill(lambda text, rows: opened.cursor().executemany(text.replace("?", "%s"), rows))
    name = str(conninfo.conninfo_to_dict(address)["dbname"])

    def created() -> tuple[str, Statements]:
        made = f"{name}_{next(numbers)}"
        with psycopg.connect(conninfo.make_conninfo(address, dbname="postgres"), autocommit=True) as server:
            server.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(
                    sql.Identifier(made), sql.Identifier(name)
                )
            )
        there = address.replace(f"/{name}?", f"/{made}?")
        return there, partial(on_postgres, there)

    return created


def upgrade(address: str, kill_after: float | None) -> tuple[float, bool]:
    """Migrate in another process; return how long it ran, and whether it finished."""
    command = [sys.executable, "-m", "tests.store.writer", "upgrade", address]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        began = perf_counter()
        if kill_after is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(kill_after)
            process.kill()
        output = process.stdout.read()
        process.wait(TIMEOUT)
        return perf_counter() - began, output == b"done\n"


def check_half(statements: Statements) -> int:
    """Check that the recorded migrations match the schema; return the version."""
    ((version,),) = statements("SELECT max(version) FROM groundwire_migrations WHERE component = 'store'", ())
    ((filled,),) = statements("SELECT count(*) FROM groundwire_migrations WHERE component = 'words'", ())
    for version_of, statement in (
        ((2,), "SELECT words FROM groundwire_messages LIMIT 1"),
        (range(3, NEWEST + 1), "SELECT count(*) FROM groundwire_words"),
    ):
        try:
            found = statements(statement, ())
        except Exception:  # noqa: BLE001  each driver has its own error for a missing table
            found = []
        assert bool(found) == (version in version_of)
        assert not filled or version_of == (2,) or found == [(SIZE,)]
    assert isinstance(version, int)
    return version


@pytest.mark.parametrize("runs", [3, pytest.param(100, marks=pytest.mark.thorough)])
def test_a_killed_migration_keeps_completed_steps_and_is_resumed(runs: int, copy: Copy) -> None:
    rng = Random(runs)
    whole, done = upgrade(copy()[0], None)
    assert done
    ended = 0
    for number in range(runs):
        address, statements = copy()
        # Kill times are spread over the duration of a whole migration, which is reduced if one is faster.
        took, done = upgrade(address, (number + rng.random()) / runs * whole)
        whole = min(whole, took) if done else whole
        version = check_half(statements)
        assert not done or version == NEWEST
        ended += done
        with open_store(address) as store:
            assert len(store.messages("s1")) == SIZE
            assert len(store.find_messages("kolner", "", limit=2 * SIZE)) == SIZE
        assert check_half(statements) == NEWEST
    assert ended < runs
