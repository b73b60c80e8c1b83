"""Completes an index: the built-in knowledge, a local copy of Python's documentation, and vectors.

`python -m groundwire.engine.knowledge.builder FOLDER ENVIRONMENT` is the process that the background build
starts. It has a low priority and ends by itself, at the latest after an hour.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from groundwire.engine.dense.build import complete_vectors
from groundwire.engine.index.base import Index, Stored
from groundwire.engine.index.location import open_configured_index
from groundwire.engine.knowledge import (
    DOCUMENTATION,
    BuildProgress,
    ReportProgress,
    has_core,
    ignore_progress,
    refresh,
)
from groundwire.engine.knowledge.addresses import DOCS_URL
from groundwire.engine.knowledge.background import (
    STATUS_FILE,
    STORE_VARIABLE,
    BuildRecorder,
    BuildStatus,
    documentation_mark,
    environment_mark,
)
from groundwire.engine.knowledge.local_copy import local_copy
from groundwire.errors import GroundwireError, TimedOut
from groundwire.files.lock import locked

_NICENESS = 15
_SECONDS = 3600
_PATIENCE = 1.0
"""Seconds to wait for the lock: a process that only looks whether it is held has it for a moment."""


def complete_index(
    index: Index, folder: Path, report: ReportProgress = ignore_progress, *, environment: str = ""
) -> Stored:
    """Adds everything that is missing and removes what no longer exists, as the only builder of the folder.

    Raises `TimedOut` if another process is building."""
    with locked(folder / STATUS_FILE, _PATIENCE) as descriptor:
        recorder = BuildRecorder(descriptor)
        before = recorder.status
        copy = _wanted_copy(index, before)
        mark = documentation_mark(copy)
        recorder.record(
            phase="building", done=0, total=0, what="", message="", attempts=before.attempts + 1, reading=mark
        )

        def report_both(progress: BuildProgress) -> None:
            recorder.report(progress)
            report(progress)

        try:
            stored = refresh(
                index, report_both, documentation=copy, resumes=bool(mark) and mark == before.reading
            )
            # Again after each pass that found something: pages may have been added meanwhile.
            while complete_vectors(
                index, lambda done, total: report_both(BuildProgress(done, total, "vectors"))
            ):
                pass
        except GroundwireError as error:
            recorder.record(phase="failed", message=error.message)
            raise
        recorder.record(
            phase="complete",
            attempts=0,
            environment=environment or environment_mark(),
            documentation=mark or before.documentation,
            reading="",
        )
    return stored


def _wanted_copy(index: Index, status: BuildStatus) -> Path | None:
    """The local copy of the documentation, unless it was added before, the user removed it, or the index has
    the documentation of another version."""
    copy = local_copy()
    if copy is None or documentation_mark(copy) == status.documentation:
        return None
    others = (info for info in index.pages(DOCUMENTATION) if not info.url.startswith(DOCS_URL))
    return copy if next(others, None) is None else None


def main(arguments: list[str]) -> int:
    """Runs the builder."""
    os.nice(_NICENESS)
    signal.alarm(_SECONDS)
    folder, environment = Path(arguments[0]), arguments[1]
    began = time.monotonic()
    try:
        with open_configured_index(folder, os.environ.get(STORE_VARIABLE, "")) as index:
            if not has_core(index):
                _log("building the index")
            stored = complete_index(index, folder, environment=environment)
    except TimedOut as error:
        _log(error.message)
        return 0
    except GroundwireError as error:
        _log(error.message)
        return 1
    _log(f"complete after {time.monotonic() - began:.0f} s: {stored}")
    return 0


def _log(message: str) -> None:
    print(time.strftime("%Y-%m-%d %H:%M:%S"), message, flush=True)  # noqa: T201  into the log file


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
