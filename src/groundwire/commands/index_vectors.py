"""Computes vectors for search by meaning after pages were added, with progress in the terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence

from groundwire.engine.dense.build import complete_vectors
from groundwire.engine.dense.packages import MeaningUnavailable
from groundwire.engine.index.base import Index
from groundwire.faces.cli.console import YELLOW, Console
from groundwire.faces.cli.live import ProgressLine


def add_vectors(index: Index, pages: Sequence[str], console: Console) -> None:
    """Compute the vectors that the pages with these URLs lack; the background build computes the others.
    Without the extra `semantic` this does nothing."""
    progress = ProgressLine(console, time.monotonic)
    try:
        complete_vectors(
            index,
            lambda done, total: progress.show(f"Preparing search by meaning: {done:,} of {total:,} passages"),
            pages=pages,
        )
    except MeaningUnavailable as error:
        console.note(error.message, YELLOW)
    except KeyboardInterrupt:
        progress.clear()
        console.note("Stopped. `groundwire index refresh` computes the other vectors.")
        raise
    finally:
        progress.clear()
