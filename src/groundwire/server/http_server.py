"""uvicorn server for `HttpApp`: accept loop, load shedding, graceful shutdown.

The settings suit thousands of streams and slow readers. uvloop is not used: with it, a client that does not
read costs ten times the memory.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, cast

import uvicorn

from groundwire.server.connection import HttpProtocol
from groundwire.server.overload import LoopDelay

if TYPE_CHECKING:
    from uvicorn._types import ASGIApplication

    from groundwire.server.app import HttpApp

log = logging.getLogger("groundwire.gateway")

_ACCEPTS_PER_CALL = 64
"""Connections accepted before the event loop serves others."""
PAUSE = 0.5
"""Seconds without accepting after the system had no room for another connection."""
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_POLL_SECONDS = 0.05
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_STARTUP_FAILED = 3
_BACKLOG = 4096


class SocketListener:
    """Accepts connections on one socket, and pauses while the process has no file descriptors left.

    It has the part of `asyncio.Server` that uvicorn uses. asyncio's own accept loop logs a traceback for each
    connection that it cannot accept, thousands in a row.
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

    async def wait_closed(self) -> None:
        """Return at once: `close` leaves nothing to wait for."""

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


class HttpServer(uvicorn.Server):
    """uvicorn server that keeps answering, with 503, until the open requests have ended."""

    def __init__(
        self, config: uvicorn.Config, app: HttpApp, drain: float, *, sheds_load: bool = False
    ) -> None:
        super().__init__(config)
        self._app = app
        self._drain = drain
        self._sheds_load = sheds_load
        self.loop_delay = LoopDelay(app.load_shedder.observe)
        app.load_shedder.current_delay = self.loop_delay.current

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then accept connections."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(_STARTUP_FAILED)
        listeners = [SocketListener(one, self._create_protocol, _BACKLOG) for one in sockets or ()]
        self.servers = cast("list[asyncio.base_events.Server]", listeners)
        if self._sheds_load:
            self.loop_delay.start()
        self.started = True

    def _create_protocol(self) -> HttpProtocol:
        return HttpProtocol(self.config, self.server_state, self.lifespan.state)

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second: publishes the number of open requests for the other workers."""
        self._app.metrics.set_open_requests(self._app.open_requests)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for open requests, end those that remain with an error, then close."""
        app = self._app
        app.draining = True
        last = min(2.0, self._drain / 4)
        await self._wait_idle(self._drain - last)
        app.active_streams.close()
        await self._wait_idle(last)
        await super().shutdown(sockets)
        self.loop_delay.stop()

    async def _wait_idle(self, seconds: float) -> None:
        deadline = monotonic() + seconds
        while self._app.open_requests and monotonic() < deadline and not self.force_exit:
            await asyncio.sleep(_POLL_SECONDS)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Handle SIGINT and SIGTERM. uvicorn would raise them again afterwards, as if the server had
        failed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, action in before.items():
                signal.signal(number, action)


def create_server(
    app: HttpApp, host: str, port: int, *, drain: float = 30.0, sheds_load: bool = False
) -> HttpServer:
    """A server, ready to run. `sheds_load`: refuse requests while the event loop is late. The loop must then
    belong to the server alone: other work in it would be mistaken for load."""
    config = uvicorn.Config(
        cast("ASGIApplication", app),
        host=host,
        port=port,
        loop="asyncio",
        http=HttpProtocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )
    return HttpServer(config, app, drain, sheds_load=sheds_load)
