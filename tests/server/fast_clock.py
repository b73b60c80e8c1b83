"""`groundwire` with a clock that runs sixty times as fast: an hour of timeouts and expiries in a minute.

Run as a script, with the arguments of `groundwire`. The clocks are replaced before anything else is imported.
"""

from __future__ import annotations

import runpy
import selectors
import sys
import time
from collections.abc import Callable

RATE = 60


def faster(clock: Callable[[], float]) -> Callable[[], float]:
    """A clock that begins at the time of another and runs `RATE` times as fast."""
    began = clock()
    return lambda: began + (clock() - began) * RATE


class FastSelector(selectors.DefaultSelector):
    """Waits for as long as the fast clock says, in real time."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for events."""
        return super().select(timeout / RATE if timeout and timeout > 0 else timeout)


if __name__ == "__main__":
    time.monotonic = faster(time.monotonic)
    time.time = faster(time.time)
    selectors.DefaultSelector = FastSelector  # type: ignore[misc]
    sys.argv[0] = "groundwire"
    runpy.run_module("groundwire", run_name="__main__", alter_sys=True)
