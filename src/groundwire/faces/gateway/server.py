"""The gateway on a socket: uvicorn with the settings that bear thousands of streams and slow readers.

uvloop is left out: a client that does not read costs ten times the memory with it.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    from uvicorn._types import ASGIApplication

    from groundwire.faces.gateway.app import Gateway

_SEND_BUFFER = 64 * 1024
_WRITE_LIMIT = 32 * 1024
_HEAD_SECONDS = 10.0


class Protocol(HttpToolsProtocol):
    """A connection with small buffers and a clock on its heads; the application may cut it."""

    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Bound what one client can make us hold."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=_WRITE_LIMIT)
        line = transport.get_extra_info("socket")
        if line is not None and line.family != socket.AF_UNIX:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        self._clock = self.loop.call_later(_HEAD_SECONDS, transport.abort)

    def on_message_begin(self) -> None:
        """A head has begun: it must be complete in time."""
        super().on_message_begin()
        if self._clock is None:
            self._clock = self.loop.call_later(_HEAD_SECONDS, self.transport.abort)

    def on_headers_complete(self) -> None:
        """The head is there; the application may cut the line from now on."""
        self._stop_clock()
        super().on_headers_complete()
        self.scope["groundwire.abort"] = self.transport.abort  # type: ignore[typeddict-unknown-key]

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None


def server_for(gateway: Gateway, host: str, port: int, *, drain: float = 30.0) -> uvicorn.Server:
    """A server, ready to run."""
    config = uvicorn.Config(
        cast("ASGIApplication", gateway),
        host=host,
        port=port,
        loop="asyncio",
        http=Protocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="warning",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=int(drain),
        h11_max_incomplete_event_size=64 * 1024,
    )
    return uvicorn.Server(config)
