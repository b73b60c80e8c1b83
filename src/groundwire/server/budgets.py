"""Budgets of API keys: a request reserves the most that it can cost, and is settled by what it did cost.

`AccessControl.scope` has the limits of a key, so a changed limit applies to the next request. Only requests
of keys with a limit in USD use the store here. They are refused while the store does not respond, because a
budget that cannot be checked must not be exceeded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from contextvars import ContextVar
from datetime import UTC, datetime
from decimal import Decimal
from uuid import uuid4

from groundwire.errors import GroundwireError, TurnedAway
from groundwire.model.access import KeyLimits
from groundwire.model.cost import from_nano, to_nano
from groundwire.model.value import value
from groundwire.providers.spec import Batches
from groundwire.routing.metering import CURRENT_BILL, Bill, Quote, with_bill
from groundwire.store.base import BudgetPeriod, BudgetState, Store

log = logging.getLogger("groundwire.gateway")

_LEASE_MARGIN = 60.0
"""Seconds after the time limit of a request until its reservation counts as lost."""
_RETRY_BUSY = 2.0
"""Seconds after which a request is repeated if the budget is held by requests in progress."""
_RETRY_STORE = 5.0
_RETRY_SETTLE = 1.0
"""Seconds between two attempts to settle while the store does not respond."""
_SETTLE_ATTEMPTS = 30


@value
class Spender:
    """The key whose budget pays for a request."""

    key: str
    """Its fingerprint."""
    limits: KeyLimits

    @property
    def nano_limits(self) -> tuple[int | None, int | None]:
        """The limits of the day and of the month, in nano-USD."""
        day, month = self.limits.usd_per_day, self.limits.usd_per_month
        return None if day is None else to_nano(day), None if month is None else to_nano(month)


CURRENT_SPENDER: ContextVar[Spender | None] = ContextVar("current_spender", default=None)
"""The key that pays for the request in progress; None if it has no budget."""


def set_spender(key: str, limits: KeyLimits) -> None:
    """Set who pays for the request in progress, in all tasks that it starts."""
    has_budget = limits.usd_per_day is not None or limits.usd_per_month is not None
    CURRENT_SPENDER.set(Spender(key, limits) if key and has_budget else None)


class Budgets:
    """Reserves and settles in the ledger of a store. A `SpendingGuard` of the client."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._settling: set[asyncio.Task[None]] = set()

    def is_needed(self) -> bool:
        """Has the key of the request in progress a budget, and nothing been reserved for it yet?"""
        return CURRENT_SPENDER.get() is not None and CURRENT_BILL.get() is None

    async def guard(self, quote: Quote, send: Callable[[], Batches]) -> Batches:
        """The answer, if the budget of the key allows it."""
        spender = CURRENT_SPENDER.get()
        if spender is None:
            raise GroundwireError("a request without a budget needs no guard")
        if quote.usd is None:
            raise _unknown_price(quote)
        amount = to_nano(quote.usd)
        reservation = uuid4().hex
        if amount:  # what is free is not refused
            await self._reserve(reservation, spender, amount, quote.seconds + _LEASE_MARGIN)
        bill = Bill()
        try:
            async with aclosing(with_bill(bill, send())) as batches:
                async for batch in batches:
                    yield batch
        finally:
            if amount:
                # What has no price counts as the most that it could cost.
                self._settle(reservation, amount if bill.has_unknown else to_nano(bill.usd))

    async def aclose(self) -> None:
        """Wait until everything is settled, or cannot be."""
        while self._settling:
            await asyncio.wait(self._settling)

    async def _reserve(self, reservation: str, spender: Spender, amount: int, seconds: float) -> None:
        call = asyncio.to_thread(
            self._store.reserve_budget, reservation, spender.key, amount, spender.nano_limits, seconds
        )
        reserving = asyncio.ensure_future(call)
        try:
            state = await asyncio.shield(reserving)
        except asyncio.CancelledError:
            # The thread cannot be stopped: what it reserves is released when it has ended.
            reserving.add_done_callback(lambda done: self._release(reservation, done))
            raise
        except GroundwireError as error:
            log.warning("a budget cannot be checked: %s", error.message)
            raise TurnedAway(
                status=503,
                code="BUDGET_UNAVAILABLE",
                message="the budget of this API key cannot be checked: the store does not respond",
                retry_after=_RETRY_STORE,
            ) from error
        if not state.is_reserved:
            raise _refusal(state, spender)

    def _release(self, reservation: str, reserving: asyncio.Future[BudgetState]) -> None:
        if not reserving.cancelled() and reserving.exception() is None:
            self._settle(reservation, 0)

    def _settle(self, reservation: str, amount: int) -> None:
        task = asyncio.create_task(self._settle_until_stored(reservation, amount))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def _settle_until_stored(self, reservation: str, amount: int) -> None:
        for attempt in range(_SETTLE_ATTEMPTS):
            try:
                await asyncio.to_thread(self._store.settle_budget, reservation, amount)
            except GroundwireError as error:
                if attempt == 0:
                    log.warning("a budget cannot be settled now: %s", error.message)
                await asyncio.sleep(_RETRY_SETTLE)
            else:
                return
        log.error("the reservation %s was not settled: it counts as spent", reservation)


def _unknown_price(quote: Quote) -> TurnedAway:
    return TurnedAway(
        status=403,
        code="PRICE_UNKNOWN",
        message=f"this API key has a budget, and the price of {', '.join(quote.unpriced) or 'the model'} is "
        "not known: choose another model, or set its price in [prices] of the gateway's configuration",
    )


def _refusal(state: BudgetState, spender: Spender) -> TurnedAway:
    """Why nothing was reserved: the budget is spent, or held by requests in progress."""
    day, month = spender.nano_limits
    # The longer period first: the shorter one ends without helping.
    for period, limit, name in ((state.month, month, "month"), (state.day, day, "day")):
        if limit is not None and period.spent + min(state.lost, period.reserved) >= limit:
            return _spent(state, period, limit, name)
    limits = " and ".join(
        f"${_usd(limit)} a {name}" for limit, name in ((day, "day"), (month, "month")) if limit is not None
    )
    return TurnedAway(
        status=429,
        code="BUDGET_RESERVED",
        message=f"the rest of this API key's budget ({limits}) is reserved by requests in progress; try "
        "again when they have ended, or limit their output tokens, so that they reserve less",
        retry_after=_RETRY_BUSY,
    )


def _spent(state: BudgetState, period: BudgetPeriod, limit: int, name: str) -> TurnedAway:
    resets = datetime.fromtimestamp(period.ends, UTC)
    spent = period.spent + min(state.lost, period.reserved)
    # 402 and not 429: clients repeat a 429 at once, and a budget is spent for hours.
    return TurnedAway(
        status=402,
        code="BUDGET_SPENT",
        message=f"the budget of this API key is spent: ${_usd(spent)} of ${_usd(limit)} this {name}; it "
        f"starts anew at {resets:%Y-%m-%dT%H:%M:%SZ}",
        retry_after=period.ends - state.now,
    )


def _usd(amount: int) -> str:
    usd = from_nano(amount)
    cents = usd.quantize(Decimal("0.01"))
    return str(cents) if usd == cents else f"{usd.normalize():f}"
