"""The ledger of budgets: exact under concurrency, idempotent, with windows of UTC, on every kind of store."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.model import Usage
from groundwire.store.base import BudgetState, Store, UsageRow
from groundwire.store.ledger import periods

pytestmark = pytest.mark.server

LEASE = 600.0
NO_LIMITS = (None, None)


def reserve(
    store: Store,
    name: str,
    amount: int,
    *,
    day: int | None = None,
    month: int | None = None,
    owner: str = "k",
) -> BudgetState:
    return store.reserve_budget(name, owner, amount, (day, month), LEASE)


def test_a_reservation_counts_until_it_is_settled_by_what_was_spent(store: Store) -> None:
    assert reserve(store, "r1", 700, day=1000).is_reserved
    held = store.budget("k")
    assert (held.day.spent, held.day.reserved, held.month.reserved) == (0, 700, 700)
    assert store.settle_budget("r1", 40)
    settled = store.budget("k")
    assert (settled.day.spent, settled.day.reserved) == (40, 0)
    assert (settled.month.spent, settled.month.reserved) == (40, 0)


def test_the_last_reservation_may_exceed_the_limit_and_no_other_can(store: Store) -> None:
    assert reserve(store, "r1", 5000, day=1000).is_reserved
    refused = reserve(store, "r2", 1, day=1000)
    assert not refused.is_reserved
    assert (refused.day.spent, refused.day.reserved, refused.lost) == (0, 5000, 0)
    store.settle_budget("r1", 999)
    assert reserve(store, "r3", 5000, day=1000).is_reserved
    store.settle_budget("r3", 1)
    assert not reserve(store, "r4", 1, day=1000).is_reserved


@pytest.mark.parametrize(("day", "month"), [(100, None), (None, 100), (100, 500), (500, 100)])
def test_each_limit_is_enough_to_refuse(store: Store, day: int | None, month: int | None) -> None:
    assert reserve(store, "r1", 100, day=day, month=month).is_reserved
    assert not reserve(store, "r2", 1, day=day, month=month).is_reserved
    assert reserve(store, "r3", 1, owner="another key", day=day, month=month).is_reserved


def test_reserving_and_settling_twice_changes_nothing(reopen: Callable[[], Store]) -> None:
    """A call that is repeated after a timeout must not count twice: see LiteLLM issue 30460."""
    one, other = reopen(), reopen()
    for store in (one, other, one):
        assert reserve(store, "r1", 700, day=700).is_reserved
    assert one.budget("k").day.reserved == 700
    assert one.settle_budget("r1", 30)
    assert not other.settle_budget("r1", 30)
    assert not other.settle_budget("unknown", 30)
    assert (one.budget("k").day.spent, one.budget("k").day.reserved) == (30, 0)


def test_a_changed_limit_applies_to_the_next_reservation(store: Store) -> None:
    reserve(store, "r1", 100, day=1000)
    store.settle_budget("r1", 100)
    assert not reserve(store, "r2", 1, day=50).is_reserved
    assert reserve(store, "r3", 1, day=101).is_reserved


def test_a_lost_reservation_keeps_counting_and_is_told_apart(store: Store) -> None:
    assert store.reserve_budget("r1", "k", 300, (300, None), 0.0).is_reserved
    refused = reserve(store, "r2", 1, day=300)
    assert not refused.is_reserved
    assert refused.lost == 300
    assert store.budget("k").lost == 300
    # Its process was only slow: what it settles replaces the reservation.
    assert store.settle_budget("r1", 7)
    assert store.budget("k").lost == 0
    assert store.budget("k").day.spent == 7


def test_a_reservation_is_settled_in_the_periods_in_which_it_was_made(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC).timestamp(), 2.0)
    monkeypatch.setattr(store, "_now", lambda _: next(clock))
    assert reserve(store, "r1", 100, day=100, month=100).is_reserved
    assert reserve(store, "r2", 100, day=100, month=100).is_reserved, "a new day and a new month"
    store.settle_budget("r1", 60)
    after = store.budget("k")
    assert (after.day.name, after.month.name) == ("2026-12-01", "2026-12")
    assert (after.day.spent, after.day.reserved, after.month.spent, after.month.reserved) == (0, 100, 0, 100)


def test_the_period_is_that_of_the_databases_clock(store: Store) -> None:
    before = datetime.now(UTC)
    found = store.budget("nobody")
    assert found.day.name in (f"{before:%Y-%m-%d}", f"{datetime.now(UTC):%Y-%m-%d}")
    assert found.now < found.day.ends <= found.now + 86_400
    assert found.day.ends <= found.month.ends


@settings(max_examples=50)
@given(st.floats(946_684_800, 4_102_444_000))
def test_periods_are_calendar_days_and_months(seconds: float) -> None:
    moment = datetime.fromtimestamp(seconds, UTC)
    day, month = periods(moment.timestamp())
    assert day.name == f"{moment:%Y-%m-%d}"
    assert month.name == f"{moment:%Y-%m}"
    assert 0 < day.ends - moment.timestamp() <= 86_400 + 1e-3
    next_month = datetime.fromtimestamp(month.ends, UTC)
    assert (next_month.day, next_month.hour, next_month.minute, next_month.second) == (1, 0, 0, 0)
    assert 0 < month.ends - moment.timestamp() <= 31 * 86_400 + 1e-3


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.thorough)])
def test_concurrent_reservations_of_the_last_unit_exceed_it_by_one(
    reopen: Callable[[], Store], count: int
) -> None:
    """R25, and LiteLLM issues 26672 and 34732: the check and the reservation are one transaction."""
    stores = [reopen() for _ in range(3)]
    amount = 600

    def one(number: int) -> bool:
        return reserve(stores[number % 3], f"r{number}", amount, day=1).is_reserved

    with ThreadPoolExecutor(12) as pool:
        admitted = [number for number, ok in enumerate(pool.map(one, range(count))) if ok]
    assert len(admitted) == 1
    assert stores[0].budget("k").day.reserved == amount


def test_concurrent_requests_leave_exact_counters(reopen: Callable[[], Store]) -> None:
    stores = [reopen() for _ in range(3)]

    def one(number: int) -> int:
        store = stores[number % 3]
        if not reserve(store, f"r{number}", 1000, month=10_000).is_reserved:
            return 0
        spent = 100 + number
        assert store.settle_budget(f"r{number}", spent)
        return spent

    with ThreadPoolExecutor(12) as pool:
        total = sum(pool.map(one, range(120)))
    found = stores[0].budget("k")
    assert (found.month.spent, found.month.reserved) == (total, 0)
    assert 0 < total < 10_000 + 1000, "at most one reservation above the limit"


def test_usage_sums_are_exact_in_nano_usd(store: Store) -> None:
    rows = [
        UsageRow(f"u{number}", "2026-01-01T10:00:00Z", "p", "m", Usage(cost=0.1), "k") for number in range(30)
    ]
    store.add_usage(rows)
    (total,) = store.usage("k")
    assert total.usage.cost == 3.0, "thirty times 0.1 is 3.0000000000000013 as a sum of floats"
