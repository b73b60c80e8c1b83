"""What an answer costs, in USD. Amounts are exact to a billionth of a dollar, the unit of the ledger."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal, TypeAlias

from groundwire.model.value import value

NANO = 10**9
"""Nano-USD in a dollar."""

CostBasis: TypeAlias = Literal["reported", "listed", "configured", "free", "subscription", "unknown"]
"""reported: the provider names the cost in its answer; listed: by the price list; configured: by `[prices]`;
free: the provider charges nothing; subscription: a flat rate covers it; unknown: no price is known."""

_ZERO = Decimal(0)


@value
class Cost:
    """The cost of one answer."""

    basis: CostBasis = "unknown"
    tokens: Decimal = _ZERO
    searches: Decimal = _ZERO
    prices: str = ""
    """The price list that was used, and its date."""

    @property
    def usd(self) -> Decimal | None:
        """The sum; None if it is not known."""
        return None if self.basis == "unknown" else self.tokens + self.searches


UNKNOWN_COST = Cost()


@value
class ConfiguredPrices:
    """`[prices.NAME]`: USD per million tokens, and per 1,000 searches."""

    input: float | None = None
    output: float | None = None
    cached: float | None = None
    """Of input read from the provider's cache; the price of input where it is not set."""
    cache_write: float | None = None
    search: float | None = None
    max_output_tokens: int | None = None
    """The most that the model writes, for estimates."""


def to_nano(usd: Decimal | float) -> int:
    """An amount in nano-USD, rounded."""
    exact = usd if isinstance(usd, Decimal) else Decimal(repr(usd))
    return int((exact * NANO).to_integral_value(ROUND_HALF_EVEN))


def from_nano(amount: int) -> Decimal:
    """An amount in USD."""
    return Decimal(amount) / NANO


def rounded_usd(usd: Decimal) -> float:
    """An amount as a float that is exact to a nano-USD up to a million dollars."""
    return to_nano(usd) / NANO
