"""Lines on standard input, read by a thread of our own that nobody waits for.

A read of standard input cannot be broken off, and whoever interrupts the server must not have to press a key
for it.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread

_CHUNK = 64 * 1024


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
        await self._ready()
        if not self._lines:
            raise StopAsyncIteration
        return self._lines.popleft().decode("utf-8", "replace")

    async def first(self) -> str:
        """The line that comes next, which stays there; empty if none does."""
        await self._ready()
        return self._lines[0].decode("utf-8", "replace") if self._lines else ""

    def give_back(self, lines: Sequence[str]) -> None:
        """Lines that were taken come again, before all others."""
        self._lines.extendleft(line.encode() for line in reversed(lines))

    async def _ready(self) -> None:
        """Wait for a line, or for the end of all lines."""
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
            with suppress(RuntimeError):  # the loop is closed: nobody listens any more
                self._loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
