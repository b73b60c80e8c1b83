"""Time limits for blocking reads of a socket that somebody else's code carries out.

A driver waits for ever for a server that accepts bytes and never answers: neither a timeout of the server nor
TCP keep-alive ends it. At the deadline the socket is shut down here, and the driver sees its end.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from threading import Condition, Thread
from time import monotonic


class Watchdog:
    """One daemon thread for any number of sockets, started with the first deadline."""

    def __init__(self) -> None:
        self._begin()
        # A worker that was forked has neither the thread nor the sockets that were watched.
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._changed = Condition()
        self._due: dict[object, tuple[float, int]] = {}
        self._thread: Thread | None = None

    @contextmanager
    def limit(self, fileno: int, seconds: float) -> Iterator[None]:
        """Shut the socket down if the block lasts longer. It must not be closed inside the block."""
        entry = object()
        with self._changed:
            if self._thread is None:
                self._thread = Thread(target=self._watch, name="groundwire-watchdog", daemon=True)
                self._thread.start()
            self._due[entry] = (monotonic() + seconds, fileno)
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._due.pop(entry, None)

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = monotonic()
                for entry, (due, fileno) in tuple(self._due.items()):
                    if due <= now:
                        del self._due[entry]
                        _shut_down(fileno)
                nearest = min((due for due, _ in self._due.values()), default=inf)
                self._changed.wait(None if nearest == inf else max(0.0, nearest - monotonic()))


def _shut_down(fileno: int) -> None:
    with suppress(OSError), socket.socket(fileno=os.dup(fileno)) as copy:
        copy.shutdown(socket.SHUT_RDWR)
