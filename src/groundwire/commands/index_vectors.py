"""Computes vectors for search by meaning after pages were added, with progress in the terminal."""

from __future__ import annotations

import time

from groundwire.engine.dense.build import complete_vectors
from groundwire.engine.dense.packages import MeaningUnavailable
from groundwire.engine.index.base import Index
from groundwire.faces.cli.console import YELLOW, Console
from groundwire.faces.cli.live import Status

_NOTE_INTERVAL = 10.0


def add_vectors(index: Index, console: Console) -> None:
    """Compute the vectors that are missing. Without the extra `semantic` this does nothing."""
    status = Status(console, time.monotonic)
    noted = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal noted
        line = f"{done:,} of {total:,} vectors for search by meaning"
        if console.notes_live:
            status.show(line)
        elif done < total and time.monotonic() - noted >= _NOTE_INTERVAL:
            noted = time.monotonic()
            console.note(line)

    try:
        complete_vectors(index, report)
    except MeaningUnavailable as error:
        console.note(error.message, YELLOW)
    except KeyboardInterrupt:
        status.clear()
        console.note("Stopped. `groundwire index refresh` computes the other vectors.")
        raise
    finally:
        status.clear()
