"""When Python looks for cycles among what is alive: for a process that serves, seldom."""

from __future__ import annotations

import gc

_THRESHOLDS = (50_000, 20, 100)
"""By default every third request would begin a search through all that thousands of open streams hold, tens
of milliseconds in which nobody is answered. Answering makes no cycles, so that little waits to be found."""


def collect_seldom() -> None:
    """Leave out what was imported for good, and search the rest less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
