"""The server on standard input and output, for clients that start it themselves.

Lines are read by a thread of our own that nobody waits for: a read of standard input cannot be broken off,
and whoever interrupts the server must not have to press a key for it.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from os import urandom
from threading import Thread
from typing import TYPE_CHECKING, BinaryIO, cast

from mcp.server.stdio import stdio_server

from groundwire.faces.mcp.addresses import Addresses
from groundwire.faces.mcp.server import SearchServer

if TYPE_CHECKING:
    import anyio

    from groundwire.faces.mcp.offering import Asker


async def serve(asker: Asker, *, language: str = "en", every: bool = False) -> None:
    """Serve until the client closes its end, or a signal asks us to stop."""
    running = asyncio.create_task(
        _serve(SearchServer(asker, Addresses(urandom(32)), language=language, every=every))
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
    lines = cast("anyio.AsyncFile[str]", Lines(sys.stdin.buffer))
    async with stdio_server(stdin=lines) as (reading, writing):
        await tools.server.run(reading, writing, tools.server.create_initialization_options())


class Lines:
    """The lines of a stream, as they come."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        Thread(target=self._read, name="standard input", daemon=True).start()

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")

    def _read(self) -> None:
        line = b"-"
        while line:
            try:
                line = self._stream.readline()
            except (OSError, ValueError):
                line = b""
            with suppress(RuntimeError):  # the loop is closed: nobody listens any more
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
