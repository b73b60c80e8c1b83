"""What a provider tells about its rate limits in the headers of its responses, without a request for it.

Anthropic sends `anthropic-ratelimit-requests-remaining` and the like, with the time of the reset as RFC 3339.
OpenAI and those who copy its API send `x-ratelimit-remaining-requests`, with a duration such as `6m0s`. Azure
may send 0 or -1 as the reset, which says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from time import time

from groundwire.model.value import value
from groundwire.text.lazy_pattern import lazy_pattern

KINDS = ("requests", "tokens", "input-tokens", "output-tokens")
_DURATION = lazy_pattern(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_SCALES = (86_400.0, 3600.0, 60.0, 1.0, 0.001)
_LONGEST = 366 * 86_400.0
_MOST = 10**15


@value
class Quota:
    """What is left of one rate limit of a provider."""

    kind: str
    """`requests`, `tokens`, `input-tokens` or `output-tokens`."""
    remaining: int
    limit: int | None = None
    reset: float | None = None
    """Seconds until the whole limit is available again."""


def read_quota(headers: Mapping[str, str], now: float) -> tuple[Quota, ...]:
    """The rate limits in response headers with lower-case names. `now` is the time of the response."""
    found = (_read(headers, kind, now) for kind in KINDS)
    return tuple(quota for quota in found if quota is not None)


def _read(headers: Mapping[str, str], kind: str, now: float) -> Quota | None:
    for named in (f"anthropic-ratelimit-{kind}-{{}}", f"x-ratelimit-{{}}-{kind}"):
        remaining = _count(headers.get(named.format("remaining"), ""))
        if remaining is not None:
            limit = _count(headers.get(named.format("limit"), ""))
            return Quota(kind, remaining, limit, _seconds(headers.get(named.format("reset"), ""), now))
    return None


def _count(text: str) -> int | None:
    digits = text.strip()
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= len(str(_MOST))
    return int(digits) if is_number else None


def _seconds(text: str, now: float) -> float | None:
    """Seconds until a reset: a duration, or a time."""
    given = text.strip()
    if match := _DURATION.fullmatch(given):
        seconds = sum(
            float(part) * scale for part, scale in zip(match.groups(), _SCALES, strict=True) if part
        )
        return seconds if given and seconds <= _LONGEST else None
    try:
        at = datetime.fromisoformat(given)
    except ValueError:
        return None
    seconds = at.timestamp() - now if at.tzinfo is not None else -1.0
    return max(0.0, seconds) if seconds <= _LONGEST and at.tzinfo is not None else None


class QuotaBoard:
    """The last response headers of every provider; they are decoded when they are asked for."""

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._headers: dict[str, tuple[Mapping[str, str], float]] = {}

    def record(self, provider: str, headers: Mapping[str, str]) -> None:
        """Remember the headers of a response."""
        self._headers[provider] = (headers, self._clock())

    def of(self, provider: str) -> tuple[Quota, ...]:
        """What a provider told last, with the seconds that have passed since; a limit whose reset is over is
        left out."""
        headers, at = self._headers.get(provider, ({}, 0.0))
        passed = self._clock() - at
        return tuple(
            Quota(quota.kind, quota.remaining, quota.limit, quota.reset and quota.reset - passed)
            for quota in read_quota(headers, at)
            if quota.reset is None or quota.reset >= passed
        )
