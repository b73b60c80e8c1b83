"""The SQLite store under kill -9, full disks, locks and files of other programs."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import subprocess
import sys
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from time import monotonic, perf_counter, sleep

import pytest

from groundwire.errors import ConfigError, GroundwireError
from groundwire.model import Message, Text
from groundwire.store import sqlite as on_sqlite
from groundwire.store.base import Session, StoredMessage
from groundwire.store.migrations import ON_SQLITE
from groundwire.store.open import open_store
from groundwire.store.sqlite import open_sqlite
from tests.figures import Figures

pytestmark = pytest.mark.server

PROJECT = Path(__file__).parents[2]
TIMEOUT = 60.0
KEPT = Session("s", "a", "", title="before")
DISK_FULL = """
import resource, sys
from pathlib import Path
from groundwire.errors import GroundwireError
from groundwire.model import Message, Text
from groundwire.store.base import Session, StoredMessage
from groundwire.store.sqlite import open_sqlite

with open_sqlite(Path(sys.argv[1])) as store:
    store.put_session(Session("s", "a", ""))
    full = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, full[1]))
    added = 0
    try:
        while added < 1000:
            store.add_message(StoredMessage(f"m{added}", "s", Message("user", (Text("x" * 5000),))))
            added += 1
    except GroundwireError as error:
        print(error.code, error.status_hint in (503, 507), error.retryable)
    print(len(store.messages("s")) == added > 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, full)
    store.add_message(StoredMessage("after", "s", Message("user", (Text("It goes on."),))))
    print(len(store.messages("s")) == added + 1)
"""


def start_writer(stack: ExitStack, acknowledged: Path, *words: str) -> subprocess.Popen[bytes]:
    output = stack.enter_context(acknowledged.open("ab"))
    command = [sys.executable, "-m", "tests.store.writer", *words]
    process = subprocess.Popen(command, cwd=PROJECT, stdout=output)  # noqa: S603
    stack.callback(process.wait, TIMEOUT)
    stack.callback(process.kill)
    return process


def wait_for_size(path: Path, size: int) -> None:
    """Wait until a file has grown to a size."""
    until = monotonic() + TIMEOUT
    while not path.exists() or path.stat().st_size < size:
        assert monotonic() < until, "the writer prints nothing"
        sleep(0.001)


def is_intact(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        found: str = connection.execute("PRAGMA integrity_check").fetchone()[0]
        return found == "ok"


def kill_while_writing(folder: Path, rounds: int) -> int:
    """Kill two writers repeatedly; return how many messages were acknowledged."""
    rng = random.Random(7)
    path, acknowledged = folder / "store.db", folder / "acknowledged"
    with open_sqlite(path) as store:
        store.put_session(KEPT)
    for number in range(rounds):
        before = acknowledged.stat().st_size if acknowledged.exists() else 0
        with ExitStack() as stack:
            writers = [
                start_writer(stack, acknowledged, "write", str(path), f"{number}{name}") for name in "ab"
            ]
            wait_for_size(acknowledged, before + rng.randint(10, 200))
            end = perf_counter() + rng.random() * 0.01
            while perf_counter() < end:
                pass
            for writer in writers:
                writer.kill()
        with open_sqlite(path) as store:
            kept = {message.id: message.number for message in store.messages("s")}
        acknowledged_ids = acknowledged.read_text().split()
        assert set(acknowledged_ids) <= kept.keys()
        assert sorted(kept.values()) == list(range(1, len(kept) + 1))
        assert is_intact(path)
    return len(acknowledged_ids)


def test_nothing_acknowledged_is_lost_to_kill_9(tmp_path: Path) -> None:
    assert kill_while_writing(tmp_path, 6) > 12


@pytest.mark.thorough
def test_nothing_acknowledged_is_lost_to_two_hundred_kills(tmp_path: Path, figures: Figures) -> None:
    acknowledged = kill_while_writing(tmp_path, 200)
    figures.add("R20", "acknowledged messages in 200 kills, none lost", acknowledged)
    assert acknowledged > 400


def start_migration(stack: ExitStack, path: Path) -> subprocess.Popen[bytes]:
    """Start to migrate a store; the migration begins when this returns."""
    output_file = path.with_suffix(".output")
    process = start_writer(stack, output_file, "migrate", str(path))
    wait_for_size(output_file, len("started\n"))
    return process


def kill_while_migrating(folder: Path, rounds: int) -> int:
    """Kill migrations of copies of one store, at moments spread over the time that one of them takes; return
    how many were not done."""
    undone = 0
    with ExitStack() as stack:
        open_sqlite(folder / "whole.db").close()
        process = start_migration(stack, folder / "whole.db")
        begun = perf_counter()
        assert process.wait(TIMEOUT) == 0
        duration = perf_counter() - begun
    for number in range(rounds):
        path = folder / f"{number}.db"
        with open_sqlite(path) as store:
            store.put_session(KEPT)
        with ExitStack() as stack:
            process = start_migration(stack, path)
            with suppress(subprocess.TimeoutExpired):
                process.wait(duration * number / rounds)
            process.kill()
        with closing(sqlite3.connect(path)) as connection:
            versions = connection.execute("SELECT max(version) FROM groundwire_migrations").fetchone()[0]
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
            (title,) = connection.execute("SELECT title FROM groundwire_sessions").fetchone()
        done = versions > ON_SQLITE[-1].version
        assert (done, done, done) == ("large" in names, "large_body" in names, title == "migrated")
        assert done or "done" not in path.with_suffix(".output").read_text()
        assert is_intact(path)
        undone += not done
    return undone


def test_a_killed_migration_is_complete_or_not_started(tmp_path: Path) -> None:
    assert kill_while_migrating(tmp_path, 4) > 0


@pytest.mark.thorough
def test_a_hundred_killed_migrations_are_complete_or_not_started(tmp_path: Path, figures: Figures) -> None:
    undone = kill_while_migrating(tmp_path, 100)
    figures.add("R20", "of 100 killed migrations, rolled back; the others complete", undone)
    assert undone > 0


def test_a_full_disk_is_reported_and_the_store_works_again_when_there_is_space(tmp_path: Path) -> None:
    command = [sys.executable, "-c", DISK_FULL, str(tmp_path / "store.db")]
    result = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert result.stdout.split() == ["STORE_UNAVAILABLE", "True", "True", "True", "True"], result.stderr
    assert is_intact(tmp_path / "store.db")


def test_a_locked_store_is_a_retryable_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_sqlite, "PATIENCE", 0.05)
    path = tmp_path / "store.db"
    with open_sqlite(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        store.put_session(KEPT)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(GroundwireError) as caught:
            store.session("s")
        assert (caught.value.code, caught.value.status_hint) == ("STORE_UNAVAILABLE", 503)
        other.execute("ROLLBACK")
        assert store.session("s") == KEPT


def test_the_database_file_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        open_sqlite(tmp_path / "new" / "store.db").close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()] == [0o600] * len(
        list((tmp_path / "new").iterdir())
    )


def test_the_journal_mode_is_delete(tmp_path: Path) -> None:
    with open_sqlite(tmp_path / "store.db") as store:
        store.put_session(KEPT)
        store.add_message(StoredMessage("m", "s", Message("user", (Text("?"),))))
        assert not list(tmp_path.glob("*-wal"))
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


@pytest.mark.parametrize(
    "content", [b"this is not a database, and it is long enough" * 40, b"SQLite format 3\x00" * 90]
)
def test_a_file_of_another_program_is_refused_and_not_changed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="not a database of groundwire, or damaged"):
        open_sqlite(path)
    assert path.read_bytes() == content


def test_a_path_that_cannot_contain_a_store_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "store.db", tmp_path):
        with pytest.raises(ConfigError, match="choose another path"):
            open_sqlite(path)


@pytest.mark.parametrize("address", ["", "mysql://user:SECRET@host/db", "sqlite://host/SECRET", "/a/SECRET"])
def test_an_unknown_store_url_is_refused_without_quoting_it(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_store(address)
    assert "SECRET" not in str(caught.value)


def test_the_scheme_of_a_url_selects_the_store(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/with%20space.db") as store:
        store.put_session(KEPT)
    with open_sqlite(tmp_path / "with space.db") as again:
        assert again.session("s") == KEPT


def test_a_missing_driver_is_reported_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("psycopg", "groundwire.store.postgres", "groundwire.transport.postgres"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r"pip install 'groundwire\[postgres\]'"):
        open_store("postgresql://localhost/x")
