"""The server on standard input and output, for clients that start it themselves.

Lines are read by a thread of our own that nobody waits for: a read of standard input cannot be broken off,
and whoever interrupts the server must not have to press a key for it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, cast

from mcp.server.stdio import stdio_server

from groundwire.faces.mcp.addresses import Addresses
from groundwire.faces.mcp.server import SearchServer

if TYPE_CHECKING:
    import anyio

    from groundwire.faces.mcp.offering import Asker

_CHUNK = 64 * 1024


async def serve(asker: Asker, *, language: str = "en", every: bool = False) -> None:
    """Serve until the client closes its end, or a signal asks us to stop."""
    running = asyncio.create_task(
        _serve(SearchServer(asker, Addresses(os.urandom(32)), language=language, every=every))
    )
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):  # Windows has no signals for an event loop
        loop.add_signal_handler(signal.SIGTERM, running.cancel)
    try:
        await asyncio.wait({running})
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def _serve(tools: SearchServer) -> None:
    lines = cast("anyio.AsyncFile[str]", Lines(sys.stdin.fileno()))
    try:
        async with stdio_server(stdin=lines) as (reading, writing):
            await tools.server.run(reading, writing, tools.server.create_initialization_options())
    except* BrokenPipeError:
        pass  # the client has gone, and nobody reads what we would still say


class Lines:
    """The lines that come in on a descriptor.

    Read below Python's own streams: those abort the interpreter if it ends while somebody reads.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._rest = bytearray()
        self._lines: deque[bytes] = deque()
        Thread(target=self._read, name="standard input", daemon=True).start()

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> str:
        while not self._lines:
            chunk = await self._chunks.get()
            if not chunk and not self._rest:
                raise StopAsyncIteration
            if not chunk:
                self._chunks.put_nowait(b"")
            self._take(chunk or b"\n")
        return self._lines.popleft().decode("utf-8", "replace")

    def _take(self, chunk: bytes) -> None:
        *lines, rest = chunk.split(b"\n")
        if lines:
            self._lines.append(bytes(self._rest) + lines[0])
            self._lines.extend(lines[1:])
            self._rest.clear()
        self._rest += rest

    def _read(self) -> None:
        chunk = b"-"
        while chunk:
            try:
                chunk = os.read(self._descriptor, _CHUNK)
            except OSError:
                chunk = b""
            with suppress(RuntimeError):  # the loop is closed: nobody listens any more
                self._loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
