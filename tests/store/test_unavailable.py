"""Full, read-only and locked stores report what is wrong, and recover without a restart."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import which
from time import monotonic, time

import pytest

from groundwire.errors import ConfigError, GroundwireError
from groundwire.model import Message, Text
from groundwire.store import ledger
from groundwire.store import postgres as on_postgres
from groundwire.store import sqlite as on_sqlite
from groundwire.store.base import Session, Store, StoredMessage
from groundwire.store.postgres import PostgresDatabase, open_postgres
from groundwire.store.sqlite import open_sqlite
from groundwire.transport.postgres import PostgresPool

pytestmark = pytest.mark.server

KEPT = Session("s", "a", "", title="before")


def user_message(name: str, size: int = 10) -> StoredMessage:
    return StoredMessage(name, "s", Message("user", (Text("x" * size),)))


def mount(*words: str) -> bool:
    """Run mount; it needs root, and does not work in every container."""
    program = which("mount") or "mount"
    done = subprocess.run([program, *words], check=False, capture_output=True)  # noqa: S603
    return done.returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)):
        pytest.skip("mounting a file system is not permitted here")
    yield folder
    subprocess.run([which("umount") or "umount", "--lazy", str(folder)], check=True)  # noqa: S603


def fill_up(store: Store) -> tuple[list[str], GroundwireError]:
    """Write until the store refuses; return the acknowledged ids and the error."""
    acknowledged: list[str] = []
    for number in range(1000):
        try:
            store.add_message(user_message(f"m{number}", 5000))
        except GroundwireError as error:
            return acknowledged, error
        acknowledged.append(f"m{number}")
    pytest.fail("the disk did not fill up")


def test_a_full_disk_has_its_own_error_and_the_store_works_again_when_there_is_space(
    small_disk: Path,
) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 300_000)
    with open_sqlite(small_disk / "store.db") as store:
        store.put_session(KEPT)
        acknowledged, error = fill_up(store)
        assert (error.code, error.status_hint, error.retryable) == ("STORE_UNAVAILABLE", 507, True)
        assert [message.id for message in store.messages("s")] == acknowledged
        assert store.find_messages("x" * 100, "") != []
        ballast.unlink()
        store.add_message(user_message("after"))
        assert [message.id for message in store.messages("s")] == [*acknowledged, "after"]
    with closing(sqlite3.connect(small_disk / "store.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_read_only_disk_is_reported_with_advice_and_used_when_it_is_writable(small_disk: Path) -> None:
    with open_sqlite(small_disk / "store.db") as store:
        store.put_session(KEPT)
    assert mount("-o", "remount,ro", str(small_disk))
    with pytest.raises(ConfigError, match="give write access, or choose another path"):
        open_sqlite(small_disk / "store.db")
    assert mount("-o", "remount,rw", str(small_disk))
    with open_sqlite(small_disk / "store.db") as store:
        store.add_message(user_message("m2"))
        assert [message.id for message in store.messages("s")] == ["m2"]


def test_a_store_locked_by_another_process_is_reported_and_works_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_sqlite, "PATIENCE", 0.2)
    with (
        open_sqlite(tmp_path / "store.db") as store,
        closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other,
    ):
        store.put_session(KEPT)
        other.execute("BEGIN EXCLUSIVE")
        for _ in range(3):
            with pytest.raises(GroundwireError) as caught:
                store.add_message(user_message("m1"))
            assert (caught.value.code, caught.value.status_hint) == ("STORE_UNAVAILABLE", 503)
        other.execute("COMMIT")
        store.add_message(user_message("m2"))
        assert [message.id for message in store.messages("s")] == ["m2"]


def test_a_gateway_that_is_cut_off_in_a_transaction_does_not_keep_its_locks(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction gets no further statement, as if the network had gone away."""
    usual = on_postgres.TRANSACTION_LIMITS
    shorter = usual.replace("session_timeout = 3000", "session_timeout = 300")
    assert shorter != usual
    monkeypatch.setattr(on_postgres, "TRANSACTION_LIMITS", shorter)
    pool = PostgresPool(postgres)
    with open_postgres(postgres) as other, closing(pool):
        other.reserve_budget("before", "k", 1, (100, None), 600)
        began = monotonic()

        def cut_off() -> None:
            with PostgresDatabase(pool).transaction() as transaction:
                wanted = ledger.Reservation("lost", "k", 9, time() + 600)
                assert ledger.reserve(transaction, time(), wanted, (100, None)).is_reserved
                assert other.reserve_budget("next", "k", 1, (100, None), 600).is_reserved

        with pytest.raises(GroundwireError):
            cut_off()
        assert monotonic() - began < 5
        assert other.budget("k").day.reserved == 2
