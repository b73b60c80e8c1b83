"""The clock of a shared store, which all its gateways follow.

Gateways on several machines must agree when a key, a login or a link expires, but their clocks differ.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from groundwire.store.base import Store


class StoreClock:
    """The time of a store's database in seconds since 1970; between two readings, a timer adds what has
    passed. It needs no store once it was read, and does not follow changes of this machine's own clock."""

    def __init__(self, store: Store, timer: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._timer = timer
        self._difference: float | None = None

    def __call__(self) -> float:
        """The time now. Blocks the first time, and never later."""
        if self._difference is None:
            self.read()
        return self._timer() + (self._difference or 0.0)

    def read(self) -> None:
        """Ask the database. Blocks."""
        before = self._timer()
        now = self._store.now()
        after = self._timer()
        # The database read its clock at some moment in between. A difference that is possible stays, so the
        # time does not jump back and forth with the duration of the calls.
        known = (now - before + now - after) / 2 if self._difference is None else self._difference
        self._difference = min(max(known, now - after), now - before)
