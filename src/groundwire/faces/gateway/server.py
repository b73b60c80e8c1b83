"""The gateway on a socket: uvicorn with the settings that bear thousands of streams and slow readers.

uvloop is left out: a client that does not read costs ten times the memory with it.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, cast

import uvicorn

from groundwire.faces.gateway.connection import Protocol
from groundwire.faces.gateway.listener import Listener
from groundwire.faces.gateway.overload import LoopDelay

if TYPE_CHECKING:
    from uvicorn._types import ASGIApplication

    from groundwire.faces.gateway.app import Gateway

_TICK = 0.05
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_STARTUP_FAILED = 3
_BACKLOG = 4096


class Server(uvicorn.Server):
    """A server that goes on answering, with 503, until what runs has ended."""

    def __init__(
        self, config: uvicorn.Config, gateway: Gateway, drain: float, *, sheds: bool = False
    ) -> None:
        super().__init__(config)
        self._gateway = gateway
        self._drain = drain
        self._sheds = sheds
        self.delay = LoopDelay(gateway.overload.observe)
        gateway.overload.current = self.delay.current

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then accept connections."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(_STARTUP_FAILED)
        listeners = [Listener(one, self._connection, _BACKLOG) for one in sockets or ()]
        self.servers = cast("list[asyncio.base_events.Server]", listeners)
        if self._sheds:
            self.delay.start()
        self.started = True

    def _connection(self) -> Protocol:
        return Protocol(self.config, self.server_state, self.lifespan.state)

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        self._gateway.metrics.leave(self._gateway.open)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests end; tell those that do not that they must; then close."""
        gateway = self._gateway
        gateway.draining = True
        last = min(2.0, self._drain / 4)
        await self._until_idle(self._drain - last)
        gateway.running.end()
        await self._until_idle(last)
        await super().shutdown(sockets)
        self.delay.stop()

    async def _until_idle(self, seconds: float) -> None:
        ends = monotonic() + seconds
        while self._gateway.open and monotonic() < ends and not self.force_exit:
            await asyncio.sleep(_TICK)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Whoever is asked to end, and does, has not failed: signals are not raised again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, action in before.items():
                signal.signal(number, action)


def server_for(gateway: Gateway, host: str, port: int, *, drain: float = 30.0, sheds: bool = False) -> Server:
    """A server, ready to run. `sheds`: it refuses requests while the event loop is late, which it must have
    for itself then: work of others in the same loop would be taken for load."""
    config = uvicorn.Config(
        cast("ASGIApplication", gateway),
        host=host,
        port=port,
        loop="asyncio",
        http=Protocol,
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
    return Server(config, gateway, drain, sheds=sheds)
