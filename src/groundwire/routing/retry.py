"""Retry delays: full jitter, the provider's `retry-after` first, and a retry budget over all requests.

Without a budget the retries of every layer multiply an outage; with one, a failing provider gets at most a
quarter more requests than clients have sent.
"""

from __future__ import annotations

from collections.abc import Callable

from groundwire.errors import GroundwireError, RateLimited, UpstreamError
from groundwire.model.value import value


@value
class RetryPolicy:
    """Number of attempts, and how long to wait between them."""

    attempts: int = 3
    base: float = 0.5
    cap: float = 8.0
    patience: float = 30.0
    """A provider whose `retry-after` is longer than this is not retried."""
    detour: float = 0.05
    """The longest wait for a retry where there is another target to try instead."""


def delay(
    error: GroundwireError, attempt: int, policy: RetryPolicy, random: Callable[[], float]
) -> float | None:
    """Seconds to wait before the next attempt (the first has number 0); None if that is too long."""
    requested = error.retry_after if isinstance(error, UpstreamError) else None
    if requested is not None:
        return requested if requested <= policy.patience else None
    span: float = min(policy.cap, policy.base * 2**attempt)
    # After a rate limit at least half of the span; otherwise anywhere in it.
    return span * (0.5 + random() / 2) if isinstance(error, RateLimited) else span * random()


class RetryBudget:
    """Token bucket: each request adds a fifth of a token, each retry takes one."""

    __slots__ = ("_ratio", "_size", "_tokens")

    def __init__(self, ratio: float = 0.2, size: float = 10.0, start: float = 3.0) -> None:
        self._ratio = ratio
        self._size = size
        self._tokens = start

    def request(self) -> None:
        """A request began: add its share."""
        self._tokens = min(self._size, self._tokens + self._ratio)

    def take(self) -> bool:
        """Take a token for a retry; False if there is none."""
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
