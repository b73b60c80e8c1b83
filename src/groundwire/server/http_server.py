"""The server of `HttpApp`: accept loop, load shedding, graceful shutdown.

The settings suit thousands of streams and slow readers. uvloop is not used: with it, a client that does not
read costs ten times the memory.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from groundwire.server.connection import HttpProtocol
from groundwire.server.overload import LoopDelay

if TYPE_CHECKING:
    from groundwire.server.app import HttpApp

log = logging.getLogger("groundwire.gateway")

_ACCEPTS_PER_CALL = 64
"""Connections accepted before the event loop serves others."""
PAUSE = 0.5
"""Seconds without accepting after the system had no room for another connection."""
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_POLL_SECONDS = 0.05
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_TICK_SECONDS = 0.1
_CLOSE_SECONDS = 1.0
"""For connections to close after their responses."""
_BACKLOG = 4096


class SocketListener:
    """Accepts connections on one socket, and pauses while the process has no file descriptors left.

    asyncio's own accept loop logs a traceback for each connection that it cannot accept, thousands in a row.
    """

    def __init__(
        self, listening: socket.socket, protocol_factory: Callable[[], asyncio.Protocol], backlog: int
    ) -> None:
        self._socket = listening
        self._protocol_factory = protocol_factory
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._connecting: set[asyncio.Task[object]] = set()
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

    def _accept(self) -> None:
        for _ in range(_ACCEPTS_PER_CALL):
            try:
                accepted, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                self._pause_accepting(error)
                return
            self._full = False
            accepted.settimeout(0)
            task = self._loop.create_task(self._connect(accepted))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)

    async def _connect(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._protocol_factory, accepted)
        except OSError:  # the client has disconnected already
            accepted.close()

    def _pause_accepting(self, error: OSError) -> None:
        """Leave new connections in the backlog for a while; logged once until one is accepted again."""
        if not self._full:
            log.error("cannot accept connections: %s; trying again every %g s", error.strerror, PAUSE)
        self._full = True
        self._loop.remove_reader(self._socket)
        self._pause = self._loop.call_later(PAUSE, self._resume)

    def _resume(self) -> None:
        self._pause = None
        self._loop.add_reader(self._socket, self._accept)


class HttpServer:
    """Serves an application until it receives a signal, and keeps answering, with 503, until the open
    requests have ended. For `drain_delay` seconds before that, only readiness fails.

    With `sheds_load`, requests are refused while the event loop is late. The loop must then belong to the
    server alone: other work in it would be mistaken for load.
    """

    def __init__(
        self, app: HttpApp, *, drain: float = 30.0, drain_delay: float = 0.0, sheds_load: bool = False
    ) -> None:
        self.app = app
        self.connections: set[HttpProtocol] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.started = False
        self.should_exit = False
        self.force_exit = False
        self._drain = drain
        self._drain_delay = drain_delay
        self._sheds_load = sheds_load
        self._listeners: list[SocketListener] = []
        self.loop_delay = LoopDelay(lambda delay: app.load_shedder.observe(delay, app.open_requests))
        app.load_shedder.current_delay = self.loop_delay.current

    async def serve(self, sockets: Sequence[socket.socket]) -> None:
        """Accept connections on bound sockets until `should_exit` is set, or SIGINT or SIGTERM arrives."""
        with self._handle_signals():
            await self.app.start()
            self._listeners = [SocketListener(one, partial(HttpProtocol, self), _BACKLOG) for one in sockets]
            if self._sheds_load:
                self.loop_delay.start()
            self.started = True
            while not self.should_exit:
                # Published for the other workers.
                self.app.metrics.set_open_requests(self.app.open_requests)
                await asyncio.sleep(_TICK_SECONDS)
            await self._shutdown()

    async def _shutdown(self) -> None:
        """Wait for the load balancer, then for open requests; end the rest with an error, then close."""
        app = self.app
        app.leaving = True
        await self._wait(lambda: True, self._drain_delay)
        app.draining = True
        last = min(2.0, self._drain / 4)
        await self._wait(lambda: app.open_requests, self._drain - last)
        app.active_streams.close()
        await self._wait(lambda: app.open_requests, last)
        for listener in self._listeners:
            listener.close()
        for connection in list(self.connections):
            connection.shutdown()
        await self._wait(lambda: self.connections or self.tasks, _CLOSE_SECONDS)
        for task in self.tasks:
            task.cancel()
        if not self.force_exit:
            await app.aclose()
        self.loop_delay.stop()

    async def _wait(self, busy: Callable[[], object], seconds: float) -> None:
        deadline = monotonic() + seconds
        while busy() and monotonic() < deadline and not self.force_exit:
            await asyncio.sleep(_POLL_SECONDS)

    @contextmanager
    def _handle_signals(self) -> Generator[None, None, None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, action in before.items():
                signal.signal(number, action)

    def _on_signal(self, number: int, _: object) -> None:
        """Exit; a second SIGINT does not wait for open requests."""
        if self.should_exit and number == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True
