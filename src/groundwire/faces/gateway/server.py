"""The gateway on a socket: uvicorn with the settings that bear thousands of streams and slow readers.

uvloop is left out: a client that does not read costs ten times the memory with it.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Generator, MutableMapping
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, cast

import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from groundwire.faces.gateway.asgi import LINE
from groundwire.faces.gateway.limits import HEAD_BYTES, HEAD_SECONDS

if TYPE_CHECKING:
    from uvicorn._types import ASGIApplication

    from groundwire.faces.gateway.app import Gateway

_SEND_BUFFER = 64 * 1024
_WRITE_LIMIT = 32 * 1024
_TICK = 0.05
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_HEAD_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)


class _Client:
    """Who is at the other end of a connection, and who wants to know when it hangs up."""

    __slots__ = ("leave", "lost")

    def __init__(self) -> None:
        self.leave: Callable[[], object] | None = None
        self.lost = False


class _Line:
    """What a response is written to. A head that is told to wait goes out with what follows it."""

    __slots__ = ("_client", "_flow", "_held", "_holds", "_transport", "abort", "is_read")

    def __init__(self, transport: asyncio.Transport, flow: FlowControl, client: _Client) -> None:
        self._transport = transport
        self._flow = flow
        self._client = client
        self.abort = transport.abort
        self.is_read = False
        self._holds = False
        self._held = b""

    def watch(self, leave: Callable[[], object] | None) -> None:
        """Say when the client hangs up; nobody, to be told no more."""
        self._client.leave = leave
        if leave is None:
            return
        self._flow.resume_reading()  # who does not read does not notice
        if self._client.lost:
            asyncio.get_running_loop().call_soon(leave)

    def hold(self) -> None:
        """Keep what is written next until there is more."""
        self._holds = True

    def write(self, data: bytes) -> None:
        """As a transport does it."""
        if self._holds:
            self._holds, self._held = False, data
            return
        if self._held:
            data, self._held = self._held + data, b""
        self._transport.write(data)

    def chunk(self, data: bytes) -> bool:
        """As the server would write it, if nobody has to wait."""
        if self._flow.write_paused or self._client.lost:
            return False
        self.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    def close(self) -> None:
        """As a transport does it."""
        if self._held:
            self.write(b"")
        self._transport.close()

    def is_closing(self) -> bool:
        """As a transport does it."""
        return self._transport.is_closing()


class Protocol(HttpToolsProtocol):
    """A connection with small buffers and a clock on its heads; the application may cut it."""

    _clock: asyncio.TimerHandle | None = None
    _begun = False
    """Is there a part of a head?"""
    _head = 0
    _line: _Line | None = None
    """Of the request that came last."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Bound what one client can make us hold."""
        super().connection_made(transport)
        self._client = _Client()
        transport.set_write_buffer_limits(high=_WRITE_LIMIT)
        line = transport.get_extra_info("socket")
        if line is not None and line.family != socket.AF_UNIX:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
            # A socket that was bound for us may still wait for full packets.
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._clock = self.loop.call_later(HEAD_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        """A head may come in pieces, but not for ever."""
        super().data_received(data)
        if not self._begun:
            return
        if self._clock is None:
            self._clock = self.loop.call_later(HEAD_SECONDS, self.transport.abort)
        self._head += len(data)
        if self._head > HEAD_BYTES:
            self._refuse_head()

    def on_message_begin(self) -> None:
        """A head has begun: if it is not complete with what came now, it must be so in time."""
        super().on_message_begin()
        self._begun = True
        self._head = 0

    def on_headers_complete(self) -> None:
        """The head is there; the application may cut the line from now on."""
        self._stop_clock()
        self._begun = False
        if len(self.url) + sum(len(name) + len(text) + 4 for name, text in self.headers) > HEAD_BYTES:
            self._refuse_head()
            return
        super().on_headers_complete()
        self._line = _Line(self.transport, self.flow, self._client)
        self.cycle.transport = cast("asyncio.Transport", self._line)
        cast("MutableMapping[str, object]", self.scope)[LINE] = self._line

    def on_message_complete(self) -> None:
        """The whole request is there."""
        if self._line is not None:
            self._line.is_read = True
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the clock, and tell whoever watches."""
        self._stop_clock()
        super().connection_lost(exc)
        self._client.lost = True
        if self._client.leave is not None:
            self._client.leave()

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing to say: the application answers 426."""

    def _refuse_head(self) -> None:
        self._stop_clock()
        if not self.transport.is_closing():
            self.transport.write(_HEAD_TOO_LARGE)
            self.transport.close()

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None


class Server(uvicorn.Server):
    """A server that goes on answering, with 503, until what runs has ended."""

    def __init__(self, config: uvicorn.Config, gateway: Gateway, drain: float) -> None:
        super().__init__(config)
        self._gateway = gateway
        self._drain = drain

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


def server_for(gateway: Gateway, host: str, port: int, *, drain: float = 30.0) -> Server:
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
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
        backlog=4096,
    )
    return Server(config, gateway, drain)
