"""The ledger of budgets: what keys have spent and reserved, by day and month of UTC, in nano-USD.

A request reserves the most that it can cost, and is settled by what it did cost. Both are one transaction, so
the counters never drift: a counter is the sum of what was settled, and `reserved` the sum of the reservations
in the table. A new day or month is a new row, so nothing has to be reset.

A reservation that is never settled, because its process died, keeps counting in the day and month in which it
was made: the provider may have billed the request, and nobody knows how much of it. Its lease only tells such
a lost reservation from one of a request in progress.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, LiteralString, cast

from groundwire.model.value import replace, value
from groundwire.store.base import BudgetPeriod, BudgetState
from groundwire.store.rows import cells

if TYPE_CHECKING:
    from groundwire.store.sql import Transaction

# Returns the counters, and locks them until the transaction ends.
_LOCK: LiteralString = """
INSERT INTO groundwire_budgets (owner, period, spent, reserved) VALUES (:owner, :period, 0, 0)
ON CONFLICT (owner, period) DO UPDATE SET spent = groundwire_budgets.spent
RETURNING spent, reserved
"""
_READ: LiteralString = (
    "SELECT spent, reserved FROM groundwire_budgets WHERE owner = :owner AND period = :period"
)
_ADD: LiteralString = """
UPDATE groundwire_budgets SET spent = spent + :spent, reserved = reserved + :reserved
WHERE owner = :owner AND period = :period
"""
_KNOWN: LiteralString = "SELECT 1 FROM groundwire_reservations WHERE id = :id"
_INSERT: LiteralString = """
INSERT INTO groundwire_reservations (id, owner, day, month, amount, expires)
VALUES (:id, :owner, :day, :month, :amount, :expires)
"""
_TAKE: LiteralString = """
DELETE FROM groundwire_reservations WHERE id = :id RETURNING owner, day, month, amount
"""
_LOST: LiteralString = """
SELECT CAST(coalesce(sum(amount), 0) AS bigint) FROM groundwire_reservations
WHERE owner = :owner AND month = :month AND expires <= :now
"""


@value
class Reservation:
    """An amount that a request reserves."""

    id: str
    owner: str
    amount: int
    expires: float
    """In the database's time."""


def reserve(
    transaction: Transaction, now: float, wanted: Reservation, limits: tuple[int | None, int | None]
) -> BudgetState:
    """Reserve an amount, unless the limit of the day or of the month is reached.

    The last request before the limit may exceed it by what it reserves, and no other can.
    """
    day, month = periods(now)
    day = _with_counters(transaction, _LOCK, wanted.owner, day)
    month = _with_counters(transaction, _LOCK, wanted.owner, month)
    found = BudgetState(now, day, month)
    if transaction.rows(_KNOWN, cells(id=wanted.id)):
        return replace(found, is_reserved=True)
    if any(_is_reached(period, limit) for period, limit in zip((day, month), limits, strict=True)):
        return replace(found, lost=_lost(transaction, wanted.owner, month, now))
    row = cells(id=wanted.id, owner=wanted.owner, amount=wanted.amount, expires=wanted.expires, day=day.name)
    transaction.rows(_INSERT, {**row, "month": month.name})
    for period in (day, month):
        _add(transaction, wanted.owner, period.name, spent=0, reserved=wanted.amount)
    return BudgetState(
        now,
        replace(day, reserved=day.reserved + wanted.amount),
        replace(month, reserved=month.reserved + wanted.amount),
        is_reserved=True,
    )


def settle(transaction: Transaction, id: str, amount: int) -> bool:  # noqa: A002
    """Replace a reservation by what was spent."""
    for owner, day, month, reserved in transaction.rows(_TAKE, cells(id=id)):
        for period in (day, month):
            _add(transaction, str(owner), str(period), spent=amount, reserved=-cast("int", reserved))
        return True
    return False


def state(transaction: Transaction, now: float, owner: str) -> BudgetState:
    """The counters of a key."""
    day, month = (_with_counters(transaction, _READ, owner, period) for period in periods(now))
    return BudgetState(now, day, month, _lost(transaction, owner, month, now))


def periods(now: float) -> tuple[BudgetPeriod, BudgetPeriod]:
    """The day and the month of a time, without counters."""
    day = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    next_month = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    return (
        BudgetPeriod(f"{day:%Y-%m-%d}", (day + timedelta(days=1)).timestamp()),
        BudgetPeriod(f"{day:%Y-%m}", next_month.timestamp()),
    )


def _is_reached(period: BudgetPeriod, limit: int | None) -> bool:
    return limit is not None and period.spent + period.reserved >= limit


def _with_counters(
    transaction: Transaction, statement: LiteralString, owner: str, period: BudgetPeriod
) -> BudgetPeriod:
    for spent, reserved in transaction.rows(statement, cells(owner=owner, period=period.name)):
        return replace(period, spent=cast("int", spent), reserved=cast("int", reserved))
    return period


def _add(transaction: Transaction, owner: str, period: str, *, spent: int, reserved: int) -> None:
    transaction.rows(_ADD, cells(owner=owner, period=period, spent=spent, reserved=reserved))


def _lost(transaction: Transaction, owner: str, month: BudgetPeriod, now: float) -> int:
    found = transaction.rows(_LOST, cells(owner=owner, month=month.name, now=now))
    return cast("int", found[0][0])
