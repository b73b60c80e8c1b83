"""Logins of the page that were ended before they expired, for all workers.

One file in the data directory, a line for each: the id of the login, and when it would have expired. Every
worker looks at its change before it accepts a cookie. Only a valid login can add a line.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from groundwire.files.text_file import PRIVATE, write_private

FILE = "page-logouts"
_LARGEST = 256 * 1024
"""Bytes after which expired lines are dropped."""


class Logouts:
    """The ids of ended logins."""

    def __init__(self, data_dir: str, clock: Callable[[], float]) -> None:
        self._path = Path(data_dir) / FILE
        self._clock = clock
        self._seen: tuple[int, ...] = ()
        self._ended: dict[str, int] = {}

    def add(self, login: str, until: int) -> None:
        """End a login."""
        descriptor = os.open(
            self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE
        )
        try:
            os.write(descriptor, f"{login} {until}\n".encode())
        finally:
            os.close(descriptor)
        if self._path.stat().st_size > _LARGEST:
            self._read()
            write_private(str(self._path), "".join(f"{id_} {end}\n" for id_, end in self._ended.items()))

    def holds(self, login: str) -> bool:
        """Was this login ended?"""
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return False
        seen = (found.st_mtime_ns, found.st_ino, found.st_size)
        if seen != self._seen:
            self._read()
            self._seen = seen
        return login in self._ended

    def _read(self) -> None:
        now = self._clock()
        pairs = (line.split(" ") for line in self._path.read_text("ascii").splitlines())
        self._ended = {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and int(pair[1]) > now}
