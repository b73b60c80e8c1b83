"""The watchdog of sockets, and the connection pool without a server."""

from __future__ import annotations

import multiprocessing
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pytest

from groundwire.errors import GroundwireError
from groundwire.transport import postgres as transport_postgres
from groundwire.transport.postgres import CONNECT_SECONDS, PostgresPool, Watchdog

pytestmark = pytest.mark.server

LONG = 60.0


@contextmanager
def silent_pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of a connection; reading is bounded, so that a failure is one."""
    one, other = socket.socketpair()
    with one, other:
        one.settimeout(20)
        yield one, other


def test_a_silent_read_ends_at_its_deadline() -> None:
    watchdog = Watchdog()
    with silent_pair() as (one, _), watchdog.limit(one.fileno(), 0.05):
        assert one.recv(1) == b""


def test_a_read_that_ends_in_time_is_not_interrupted() -> None:
    watchdog = Watchdog()
    with silent_pair() as (one, other), silent_pair() as (late, _):
        for _ in range(3):
            with watchdog.limit(one.fileno(), LONG):
                other.sendall(b"x")
                assert one.recv(1) == b"x"
        with watchdog.limit(late.fileno(), 0.05):
            assert late.recv(1) == b""
        other.sendall(b"y")
        assert one.recv(1) == b"y"


def test_the_nearest_deadline_is_kept_though_a_later_one_was_set_first() -> None:
    watchdog = Watchdog()
    with (
        silent_pair() as (one, _),
        silent_pair() as (soon, _),
        watchdog.limit(one.fileno(), LONG),
        watchdog.limit(soon.fileno(), 0.05),
    ):
        assert soon.recv(1) == b""


def test_many_sockets_need_one_thread() -> None:
    watchdog = Watchdog()
    with silent_pair() as (one, _):
        with watchdog.limit(one.fileno(), LONG):
            before = threading.active_count()
        for _ in range(50):
            with watchdog.limit(one.fileno(), LONG):
                assert threading.active_count() == before


def _read_in_child(watchdog: Watchdog) -> None:
    with silent_pair() as (one, _), watchdog.limit(one.fileno(), 0.05):
        assert one.recv(1) == b""


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_forked_process_has_deadlines_too() -> None:
    watchdog = Watchdog()
    with silent_pair() as (one, _), watchdog.limit(one.fileno(), 0.01):
        assert one.recv(1) == b""  # its thread runs now, in this process
    child = multiprocessing.get_context("fork").Process(target=_read_in_child, args=(watchdog,))
    child.start()
    child.join(30)
    assert child.exitcode == 0


def test_an_unreachable_database_is_an_immediate_error_with_its_reason(tmp_path: Path) -> None:
    pool = PostgresPool(f"postgresql:///x?host={tmp_path}")
    before = monotonic()
    try:
        for _ in range(2):
            with pytest.raises(GroundwireError, match="PostgreSQL failed: ") as caught, pool.statements():
                pass
            assert (caught.value.code, caught.value.retryable) == ("STORE_UNAVAILABLE", True)
    finally:
        pool.close()
    assert monotonic() - before < CONNECT_SECONDS


def test_a_pool_without_a_free_connection_is_an_error_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_postgres, "CONNECTIONS", 1)
    monkeypatch.setattr(transport_postgres, "FREE_SECONDS", 0.05)
    pool = PostgresPool("postgresql:///x?host=/nowhere")
    try:
        with (
            pool._slot(),
            pytest.raises(GroundwireError, match="all connections to PostgreSQL are in use"),
            pool.statements(),
        ):
            pass
    finally:
        pool.close()
