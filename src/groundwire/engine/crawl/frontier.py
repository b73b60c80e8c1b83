"""How far a crawl has got, kept in a file until it is done, so that an interrupted one goes on."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from groundwire.credentials.files import PRIVATE, make_private_folder
from groundwire.errors import ConfigError
from groundwire.text.urls import canonical_url

_VERSION = 1
_STALE = 7 * 86400
_MOST = 50_000
"""Addresses that are remembered; a site that makes up more is not followed there."""


class Frontier:
    """Addresses that wait, breadth first, and all that were ever seen."""

    def __init__(self, start: str, folder: Path | None = None) -> None:
        self._path = folder / f"{sha256(start.encode()).hexdigest()[:24]}.json" if folder else None
        self._queue: deque[tuple[str, int]] = deque()
        self._seen: dict[str, None] = {}
        self._taken: tuple[str, int] | None = None
        self.visited = 0
        """How many addresses are done with."""
        self.resumed = self._load(start)
        if not self.resumed:
            self.add(start, 0)

    def add(self, url: str, depth: int) -> None:
        """Remember an address, once."""
        key = canonical_url(url)
        if key not in self._seen and len(self._seen) < _MOST:
            self._seen[key] = None
            self._queue.append((url, depth))

    def is_new(self, url: str) -> bool:
        """Has the address not been seen yet? From now on it has."""
        key = canonical_url(url)
        new = key not in self._seen
        self._seen[key] = None
        return new

    def take(self) -> tuple[str, int] | None:
        """The next address and how many links away it is. It waits on until it is settled."""
        self._taken = self._queue.popleft() if self._queue else None
        return self._taken

    def settle(self) -> None:
        """The address that was taken is done with."""
        self._taken = None
        self.visited += 1

    def save(self) -> None:
        """Keep it."""
        if self._path is None:
            return
        told = {
            "version": _VERSION,
            "visited": self.visited,
            "seen": list(self._seen),
            "queue": [*([self._taken] if self._taken else []), *self._queue],
        }
        new = self._path.with_suffix(".new")
        try:
            make_private_folder(self._path.parent)
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(told, file)
            os.replace(new, self._path)
        except OSError as error:
            raise ConfigError(f"{self._path.parent} cannot be written: {error.strerror}") from None

    def forget(self) -> None:
        """It is done: nothing is kept."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _load(self, start: str) -> bool:
        """Is there something to go on with? A file that is old or cannot be read is none."""
        if self._path is None:
            return False
        try:
            if time.time() - self._path.stat().st_mtime > _STALE:
                return False
            told = json.loads(self._path.read_text("utf-8"))
            queue = [(str(url), int(depth)) for url, depth in told["queue"]]
            seen, visited = [str(key) for key in told["seen"]], int(told["visited"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return False
        if told.get("version") != _VERSION or canonical_url(start) not in seen or not queue:
            return False
        self._queue.extend(queue)
        self._seen.update(dict.fromkeys(seen))
        self.visited = visited
        return True
