"""The server on standard input and output, for clients that start it themselves.

The package is imported while the client is greeted already.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from groundwire.dialects.json import dump_json
from groundwire.faces.mcp.fetch_allow_list import Addresses
from groundwire.faces.mcp.handshake import Greeting, greeting, is_ready, listing
from groundwire.faces.mcp.package import imported
from groundwire.faces.mcp.stdin import Lines
from groundwire.faces.mcp.tool_list import offered

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundwire.faces.mcp.tool_list import Asker
    from groundwire.model import JsonObject


async def serve(asker: Asker, *, language: str = "en", every: bool = False) -> None:
    """Serve until the client closes its end, or a signal asks us to stop."""
    running = asyncio.create_task(_serve(asker, language, every=every))
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):  # Windows has no signals for an event loop
        loop.add_signal_handler(signal.SIGTERM, running.cancel)
    try:
        await asyncio.wait({running})
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def _serve(asker: Asker, language: str, *, every: bool) -> None:
    lines = Lines(sys.stdin.fileno())
    loading = asyncio.create_task(asyncio.to_thread(imported, "groundwire.faces.mcp.session"))
    try:
        greeted = await _greet(lines, loading, lambda: offered(asker, language, every=every))
    except BrokenPipeError:
        return  # the client has gone
    await loading
    from groundwire.faces.mcp.server import SearchServer  # noqa: PLC0415  brings the package along
    from groundwire.faces.mcp.session import converse  # noqa: PLC0415  the same

    tools = SearchServer(asker, Addresses(os.urandom(32)), language=language, every=every)
    await converse(tools, lines, greeted)


async def _greet(
    lines: Lines, loading: asyncio.Task[None], tools: Callable[[], list[JsonObject]]
) -> Greeting | None:
    """Answer what can be answered until the package is there, which then hears of all that concerns it."""
    greeted = greeting(await _first(lines, loading))
    if greeted is None:
        return None
    heard = [await anext(lines)]
    _write(greeted.answer)
    while line := await _first(lines, loading):
        if answer := listing(line, greeted, tools):
            _write(answer)
        elif is_ready(line):
            heard.append(line)
        else:
            break
        await anext(lines)
    lines.give_back(heard)
    return greeted


async def _first(lines: Lines, loading: asyncio.Task[None]) -> str:
    """The next line, which stays there; empty if the package is loaded before it comes."""
    coming = asyncio.create_task(lines.first())
    try:
        await asyncio.wait({coming, loading}, return_when=asyncio.FIRST_COMPLETED)
        return coming.result() if coming.done() else ""
    finally:
        coming.cancel()


def _write(answer: JsonObject) -> None:
    """Say something, below Python's own stream, which would try again at the end if the client has gone."""
    data = memoryview(dump_json(answer).encode() + b"\n")
    while data:
        data = data[os.write(sys.stdout.fileno(), data) :]
