"""Leases have one holder at a time and expire by the clock of the database, on every kind of store."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep

import pytest

from groundwire.errors import RequestError
from groundwire.store.base import Session, Store

pytestmark = pytest.mark.server

SESSION = Session("s1", "a", "", "", "2026-01-01", "2026-01-01")
LONG = 1000.0


def test_a_lease_has_one_holder_until_it_is_released(reopen: Callable[[], Store]) -> None:
    one, other = reopen(), reopen()
    one.put_session(SESSION)
    one.put_session(Session("s2", "a", ""))
    assert one.take_lease("s1", "me", LONG)
    assert not other.take_lease("s1", "you", LONG)
    assert other.take_lease("s2", "you", LONG)
    assert one.take_lease("s1", "me", LONG)
    other.release_lease("s1", "you")
    assert not other.take_lease("s1", "you", LONG)
    one.release_lease("s1", "me")
    assert other.take_lease("s1", "you", LONG)
    assert not one.renew_lease("s1", "me", LONG)
    assert other.renew_lease("s1", "you", LONG)


def test_a_lease_expires_if_it_is_not_renewed(store: Store) -> None:
    store.put_session(SESSION)
    assert store.take_lease("s1", "me", 0.3)
    assert not store.take_lease("s1", "you", LONG)
    until = monotonic() + 20
    while not store.take_lease("s1", "you", LONG):
        assert monotonic() < until
        sleep(0.02)
    assert not store.renew_lease("s1", "me", LONG)


def test_a_renewed_lease_does_not_expire_at_its_first_deadline(store: Store) -> None:
    store.put_session(SESSION)
    assert store.take_lease("s1", "me", 0.0)
    assert store.renew_lease("s1", "me", LONG)
    assert not store.take_lease("s1", "you", LONG)


def test_of_concurrent_claims_of_a_lease_one_succeeds(reopen: Callable[[], Store]) -> None:
    stores = [reopen() for _ in range(3)]
    stores[0].put_session(SESSION)
    with ThreadPoolExecutor(12) as pool:
        for _ in range(5):
            took = list(pool.map(lambda n: stores[n % 3].take_lease("s1", f"h{n}", LONG), range(12)))
            assert took.count(True) == 1
            stores[0].release_lease("s1", f"h{took.index(True)}")


def test_removing_a_session_removes_its_lease(store: Store) -> None:
    store.put_session(SESSION)
    assert store.take_lease("s1", "me", LONG)
    store.remove_session("s1")
    assert not store.renew_lease("s1", "me", LONG)
    with pytest.raises(RequestError):
        store.take_lease("s1", "me", LONG)
