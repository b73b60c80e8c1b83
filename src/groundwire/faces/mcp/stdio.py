"""MCP over standard input and output, for clients that start the server as a subprocess.

The package `mcp` is imported while the handshake is answered already.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from groundwire.dialects.json import dump_json
from groundwire.faces.mcp.calls import FetchAllowList
from groundwire.faces.mcp.handshake import (
    HandshakeReply,
    handshake_reply,
    import_with_mcp,
    is_initialized_notification,
    tool_list_reply,
)
from groundwire.faces.mcp.tool_list import tool_definitions

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundwire.client_protocol import SearchClient
    from groundwire.model import JsonObject

_CHUNK = 64 * 1024


class StdinLines:
    """Async iterator over the lines of a file descriptor, which a daemon thread reads.

    A read of standard input cannot be cancelled, and an interrupted server must not wait for a key press. The
    descriptor is read directly: Python's own streams abort the interpreter if it exits during a read.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._rest = bytearray()
        self._lines: deque[bytes] = deque()
        Thread(target=self._read, name="standard input", daemon=True).start()

    def __aiter__(self) -> StdinLines:
        return self

    async def __anext__(self) -> str:
        await self._ready()
        if not self._lines:
            raise StopAsyncIteration
        return self._lines.popleft().decode("utf-8", "replace")

    async def peek(self) -> str:
        """The next line, which stays unread; empty at the end of input."""
        await self._ready()
        return self._lines[0].decode("utf-8", "replace") if self._lines else ""

    def push_back(self, lines: Sequence[str]) -> None:
        """Make lines unread again, before all others."""
        self._lines.extendleft(line.encode() for line in reversed(lines))

    async def _ready(self) -> None:
        """Wait for a line or the end of input."""
        while not self._lines:
            chunk = await self._chunks.get()
            if not chunk:
                self._chunks.put_nowait(b"")
                if not self._rest:
                    return
            self._take(chunk or b"\n")

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
            with suppress(RuntimeError):  # the event loop is closed
                self._loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)


async def serve(client: SearchClient, *, language: str = "en", every: bool = False) -> None:
    """Serve until the client closes its end, or SIGTERM."""
    running = asyncio.create_task(_serve(client, language, every=every))
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):  # Windows has no signals for an event loop
        loop.add_signal_handler(signal.SIGTERM, running.cancel)
    try:
        await asyncio.wait({running})
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def _serve(client: SearchClient, language: str, *, every: bool) -> None:
    lines = StdinLines(sys.stdin.fileno())
    loading = asyncio.create_task(asyncio.to_thread(import_with_mcp, "groundwire.faces.mcp.server"))
    try:
        handshake = await _answer_handshake(
            lines, loading, lambda: tool_definitions(client, language, every=every)
        )
    except BrokenPipeError:
        return  # the client has exited
    await loading  # imports the package `mcp`, in a thread
    from groundwire.faces.mcp.server import SearchServer, serve_stdio_client  # noqa: PLC0415  see above

    tools = SearchServer(client, FetchAllowList(os.urandom(32)), language=language, every=every)
    await serve_stdio_client(tools, lines, handshake)


async def _answer_handshake(
    lines: StdinLines, loading: asyncio.Task[None], tools: Callable[[], list[JsonObject]]
) -> HandshakeReply | None:
    """Answer the handshake and tool lists until the package is loaded; it then gets the messages it needs."""
    handshake = handshake_reply(await _peek(lines, loading))
    if handshake is None:
        return None
    unread = [await anext(lines)]
    _write(handshake.response)
    while line := await _peek(lines, loading):
        if response := tool_list_reply(line, handshake, tools):
            _write(response)
        elif is_initialized_notification(line):
            unread.append(line)
        else:
            break
        await anext(lines)
    lines.push_back(unread)
    return handshake


async def _peek(lines: StdinLines, loading: asyncio.Task[None]) -> str:
    """The next line, which stays unread; empty if the package is loaded before it arrives."""
    peeking = asyncio.create_task(lines.peek())
    try:
        await asyncio.wait({peeking, loading}, return_when=asyncio.FIRST_COMPLETED)
        return peeking.result() if peeking.done() else ""
    finally:
        peeking.cancel()


def _write(message: JsonObject) -> None:
    """Write a message, without `sys.stdout`, which would try again at exit if the client has exited."""
    data = memoryview(dump_json(message).encode() + b"\n")
    while data:
        data = data[os.write(sys.stdout.fileno(), data) :]
