"""Accepts connections on a listening socket, and pauses while the process has no file descriptors left.

asyncio's own accept loop logs a traceback for each connection it cannot accept, thousands in a row.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

log = logging.getLogger("groundwire.gateway")

_AT_ONCE = 64
"""Connections accepted before others are served."""
PAUSE = 0.5
"""Seconds without accepting after the system had no room for another connection."""
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Listener:
    """One listening socket, with the part of `asyncio.Server` that uvicorn uses."""

    def __init__(
        self, listening: socket.socket, connection: Callable[[], asyncio.Protocol], backlog: int
    ) -> None:
        self._socket = listening
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._starting: set[asyncio.Task[object]] = set()
        self._full = False
        listening.settimeout(0)
        listening.listen(backlog)
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        """Stop accepting."""
        if self._pause is not None:
            self._pause.cancel()
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
        self._socket.close()

    async def wait_closed(self) -> None:
        """Nothing is left to wait for."""

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                self._wait(error)
                return
            self._full = False
            accepted.settimeout(0)
            task = self._loop.create_task(self._start(accepted))
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    async def _start(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._connection, accepted)
        except OSError:  # the client is gone already
            accepted.close()

    def _wait(self, error: OSError) -> None:
        """Leave new connections in the backlog for a moment; said once until one is accepted again."""
        if not self._full:
            log.error("no connection can be accepted: %s; trying again every %g s", error.strerror, PAUSE)
        self._full = True
        self._loop.remove_reader(self._socket)
        self._pause = self._loop.call_later(PAUSE, self._resume)

    def _resume(self) -> None:
        self._pause = None
        self._loop.add_reader(self._socket, self._accept)
