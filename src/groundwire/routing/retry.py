"""When to try again: full jitter, the provider's own word first, and a budget for all requests together.

Without a budget every layer's retries multiply an outage; with one, a dead provider gets at most a quarter
more requests than were asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from groundwire.errors import GroundwireError, RateLimited, UpstreamError
from groundwire.model.value import value


@value
class RetryPolicy:
    """How often, how long, how patiently."""

    attempts: int = 3
    base: float = 0.5
    cap: float = 8.0
    patience: float = 30.0
    """A provider that asks for a longer wait than this is passed over."""
    detour: float = 0.05
    """So long a wait is worth it where somebody else can be asked instead."""


def delay(
    error: GroundwireError, attempt: int, policy: RetryPolicy, chance: Callable[[], float]
) -> float | None:
    """Seconds to wait before the next attempt (the first has number 0); None if that is too long."""
    asked = error.retry_after if isinstance(error, UpstreamError) else None
    if asked is not None:
        return asked if asked <= policy.patience else None
    span: float = min(policy.cap, policy.base * 2**attempt)
    # Rate limits want to be waited out: never less than half. Anything else: anywhere in the span.
    return span * (0.5 + chance() / 2) if isinstance(error, RateLimited) else span * chance()


class RetryBudget:
    """A purse: each request pays in a fifth of a retry, each retry takes one out."""

    __slots__ = ("_purse", "_ratio", "_size")

    def __init__(self, ratio: float = 0.2, size: float = 10.0, start: float = 3.0) -> None:
        self._ratio = ratio
        self._size = size
        self._purse = start

    def request(self) -> None:
        """A request began."""
        self._purse = min(self._size, self._purse + self._ratio)

    def take(self) -> bool:
        """May a retry be made?"""
        if self._purse < 1:
            return False
        self._purse -= 1
        return True
