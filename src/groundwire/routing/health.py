"""Circuit breaker for each provider. The clock is injected.

A breaker opens after five failures in a row, or when at least twenty calls were made within ten seconds and
half of them failed or were slow. While it is open, one probe at a time is let through, until one succeeds in
good time. The last target of a plan is tried even if `admits` is false: a late answer is better than none.
Gateways that share a Redis open and close their breakers together (`shared_health.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from groundwire.model.value import value
from groundwire.providers.quota import Quota


@value
class BreakerPolicy:
    """When a breaker opens, and for how long."""

    in_a_row: int = 5
    share: float = 0.5
    at_least: int = 20
    window: float = 10.0
    rest: float = 30.0
    slow: float = 30.0
    """A call is slow if its first visible event takes more seconds than this."""


class _CallRecord(NamedTuple):
    ended: float
    ok: bool
    slow: bool


@value
class ProviderHealth:
    """The health of one provider, for people."""

    is_open: bool
    """Is the breaker open, so that the provider is skipped?"""
    failures: int
    """Failures in a row."""
    error: str = ""
    """The code of the last error, and how many seconds ago it happened."""
    seconds: float = 0.0
    retry_after: float | None = None
    """Seconds that the provider asked to wait, from now; None if it did not, or the time is over."""
    quotas: tuple[Quota, ...] = ()
    """What is left of the provider's rate limits, as far as it tells."""


class BreakerPeers(Protocol):
    """The same breakers on other gateways. Both methods return at once."""

    def changed(self, provider: str) -> None:
        """The breaker of a provider has opened, closed, or ended a probe."""
        ...

    def may_probe(self, provider: str) -> bool:
        """Is it the turn of this gateway to probe a provider?"""
        ...


class _NoPeers:
    def changed(self, provider: str) -> None:
        pass

    def may_probe(self, _: str) -> bool:
        return True


class Breaker:
    """The health of one provider."""

    __slots__ = (
        *("_calls", "_clock", "_error", "_failures", "_opened", "_policy", "_probing"),
        *("_wait_until", "name", "peers"),
    )

    def __init__(self, policy: BreakerPolicy, clock: Callable[[], float], name: str = "") -> None:
        self.name = name
        self.peers: BreakerPeers = _NoPeers()
        self._policy = policy
        self._clock = clock
        self._failures = 0
        self._calls: deque[_CallRecord] = deque()
        self._opened: float | None = None
        self._probing = False
        self._error: tuple[str, float] | None = None
        self._wait_until: float | None = None

    @property
    def is_open(self) -> bool:
        return self._opened is not None

    @property
    def open_seconds(self) -> float | None:
        """How long ago the breaker opened; None if it is closed."""
        return None if self._opened is None else self._clock() - self._opened

    def admits(self) -> bool:
        """May a call be made now? True while the breaker is open means that this call is the probe."""
        if self._opened is None:
            return True
        if self._probing or self._clock() - self._opened < self._policy.rest:
            return False
        if not self.peers.may_probe(self.name):
            return False
        self._probing = True
        return True

    def now(self) -> float:
        """The current time of the injected clock."""
        return self._clock()

    def record(self, *, ok: bool, seconds: float = 0.0) -> None:
        """Record the end of a call, and the seconds until its first visible event."""
        now = self._clock()
        slow = seconds > self._policy.slow
        self._probing = False
        self._calls.append(_CallRecord(now, ok, slow))
        while self._calls and self._calls[0].ended <= now - self._policy.window:
            self._calls.popleft()
        self._failures = 0 if ok else self._failures + 1
        if ok and not slow:
            if self._opened is not None:
                self.close()
                self.peers.changed(self.name)
        elif self._opened is not None or self._should_open():
            self._opened = now
            self.peers.changed(self.name)

    def note_error(self, code: str, retry_after: float | None = None) -> None:
        """Remember an error and how long the provider asked to wait; it does not count as a failure."""
        self._error = (code, self._clock())
        self._wait_until = None if retry_after is None else self._clock() + retry_after

    def report(self) -> ProviderHealth:
        """The state for people."""
        code, at = self._error or ("", self._clock())
        wait = None if self._wait_until is None else self._wait_until - self._clock()
        return ProviderHealth(
            self.is_open, self._failures, code, self._clock() - at, wait if wait and wait > 0 else None
        )

    def release(self) -> None:
        """A probe ended, perhaps without a verdict on the provider (cancelled, refused for its content)."""
        if self._probing:
            self._probing = False
            self.peers.changed(self.name)

    def open(self, seconds: float) -> None:
        """Another gateway opened its breaker so many seconds ago."""
        self._opened = self._clock() - seconds

    def close(self) -> None:
        """The provider answers again, here or at another gateway."""
        self._opened = None
        self._failures = 0
        self._calls.clear()

    def _should_open(self) -> bool:
        failed = sum(not call.ok for call in self._calls)
        slow = sum(call.slow for call in self._calls)
        many = len(self._calls) >= self._policy.at_least
        return self._failures >= self._policy.in_a_row or (
            many and max(failed, slow) >= self._policy.share * len(self._calls)
        )


class Health:
    """The breakers of all providers."""

    def __init__(self, clock: Callable[[], float], policy: BreakerPolicy = BreakerPolicy()) -> None:
        self._clock = clock
        self._policy = policy
        self._breakers: dict[str, Breaker] = {}
        self._peers: BreakerPeers | None = None

    def of(self, provider: str) -> Breaker:
        """The breaker of a provider."""
        if provider not in self._breakers:
            breaker = self._breakers[provider] = Breaker(self._policy, self._clock, provider)
            breaker.peers = self._peers or breaker.peers
        return self._breakers[provider]

    def report(self) -> dict[str, ProviderHealth]:
        """The health of every provider that was called."""
        return {name: breaker.report() for name, breaker in sorted(self._breakers.items())}

    @property
    def breakers(self) -> Mapping[str, Breaker]:
        """The breakers of the providers that were called."""
        return self._breakers

    def share(self, peers: BreakerPeers) -> None:
        """Open and close together with other gateways."""
        self._peers = peers
        for breaker in self._breakers.values():
            breaker.peers = peers
