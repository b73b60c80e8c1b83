"""Whether anybody has written to an index since, told without asking its store.

The file of the writer's lock holds a number: odd while somebody writes, or was killed while writing, and
another even one after each writer. It is no part of the store, because whoever closes a file of SQLite takes
the locks away that other threads hold on it (https://sqlite.org/howtocorrupt.html, 2.2).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WIDTH = 8
_SECONDS = 1.0


class Changes:
    """The writers of an index. One that was put in the place of another is noticed within a second."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._file = b""
        self._opened: list[int] = []
        self._look()

    def __del__(self) -> None:
        self.close()

    def stamp(self) -> bytes:
        """Equal to an earlier one if nobody has begun to write since; empty if that cannot be told."""
        if not self._opened:
            return b""
        if time.monotonic() >= self._look_again:
            self._look()
        number = os.pread(self._opened[-1], _WIDTH, 0)
        return b"" if number and number[-1] & 1 else self._file + number

    def close(self) -> None:
        """Let go of the file."""
        while self._opened:
            os.close(self._opened.pop())

    def _look(self) -> None:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        found = os.fstat(descriptor)
        file = b"%d %d " % (found.st_dev, found.st_ino)
        if file == self._file:
            os.close(descriptor)
        else:
            # What was opened before may be just in use by another thread.
            self._opened.append(descriptor)
            self._file = file
        self._look_again = time.monotonic() + _SECONDS


@contextmanager
def counted(path: Path) -> Iterator[None]:
    """Say that somebody writes; the lock is held. What ends with an error stays said to be written to."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        number = int.from_bytes(os.pread(descriptor, _WIDTH, 0), "big") | 1
        os.pwrite(descriptor, (number + 2).to_bytes(_WIDTH, "big"), 0)
        yield
        os.pwrite(descriptor, (number + 3).to_bytes(_WIDTH, "big"), 0)
    finally:
        os.close(descriptor)
