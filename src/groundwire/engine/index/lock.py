"""One writer at a time, whatever the number of processes and threads.

The lock is the kernel's (`flock`), so it ends with the process that holds it, however that ends. The file
stays: removing it would let two writers lock two files of one name.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groundwire.errors import TimedOut
from groundwire.files.text_file import lock_file

_PAUSE = 0.02


@contextmanager
def locked(path: Path, patience: float) -> Iterator[None]:
    """Hold the lock. Raises `TimedOut` when it is not free in time."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        ends = time.monotonic() + patience
        while not _try(descriptor):
            if time.monotonic() >= ends:
                raise TimedOut(
                    f"another process has been writing to {path.parent} for {patience:g} s; try again"
                )
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        lock_file(descriptor, wait=False)
    except BlockingIOError:
        return False
    return True
