"""Limits how often wrong keys may be tried.

An address may try a few different keys in a minute, and a few logins; one wrong key, which a client sends
again and again, may come more often. A key that is valid is never refused here, so nobody can lock others out
who share an address: keys are 256 random bits, and the limit is there to make trying them cheap to refuse.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

from groundwire.errors import TurnedAway

WINDOW = 60.0
MOST_KEYS = 10
"""Different wrong keys from one address in a window."""
MOST_LOGINS = 10
"""Wrong logins from one address in a window."""
MOST_REPEATS = 30
"""The same wrong key in a window, from wherever."""
_KEPT = 8192
"""Addresses and keys that are remembered; the one that was quiet longest is forgotten first."""


class Guesses:
    """Counts of wrong keys in the current minute."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._counts)

    def add_key(self, address: str, key: str) -> None:
        """Count a wrong key of a request; raises 429 where there were too many."""
        repeats = self._count(f"key {key}", MOST_REPEATS)
        is_new = self._counts[f"key {key}"][1] == 1
        self._refuse(repeats, self._count(f"address {address}", MOST_KEYS, new=is_new))

    def add_login(self, address: str) -> None:
        """Count a wrong login; raises 429 where there were too many."""
        self._refuse(self._count(f"login {address}", MOST_LOGINS))

    def _refuse(self, *waits: float) -> None:
        if (wait := max(waits)) > 0:
            raise TurnedAway(
                status=429, message="too many wrong keys; wait before the next attempt", retry_after=wait
            )

    def _count(self, origin: str, most: int, *, new: bool = True) -> float:
        """Seconds to wait, none while there is room."""
        now = self._clock()
        began, count = self._counts.pop(origin, (now, 0))
        if now - began >= WINDOW:
            began, count = now, 0
        count += new
        self._counts[origin] = (began, count)
        if len(self._counts) > _KEPT:
            self._counts.popitem(last=False)
        return began + WINDOW - now if count > most else 0.0
