"""A fake provider on loopback that follows a script and records the requests it receives.

    async with Upstream(answer("gemini", told("Yes.", Source("https://a.example")))) as upstream:
        ...  # point a provider at upstream.url
        assert upstream.requests[0].headers["x-goog-api-key"] == "…"
        await upstream.disconnected(timeout=1)

Tests wait for what happens here instead of sleeping. On its own: `python -m groundwire.testing.upstream
--script FILE` prints its address and serves until it is interrupted.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from asyncio import StreamReader, StreamReaderProtocol, StreamWriter
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TextIO, TypeVar

from groundwire.dialects.json import dump_json
from groundwire.errors import ConfigError
from groundwire.model import JsonObject
from groundwire.testing.http1 import MAX_HEAD, read_request
from groundwire.testing.playing import Playing, Received
from groundwire.testing.script import Script, ScriptedResponse, answer, load_script

__all__ = ["Received", "Script", "ScriptedResponse", "Upstream", "answer"]

HOST = "127.0.0.1"
PATIENCE = 15.0

T = TypeVar("T")


class Upstream:
    """A fake provider: an HTTP server that follows a script. It listens inside its `async with` block."""

    def __init__(
        self,
        script: Script | ScriptedResponse | Sequence[ScriptedResponse],
        *,
        port: int = 0,
        log: Callable[[Received], None] | None = None,
    ) -> None:
        if isinstance(script, ScriptedResponse):
            script = (script,)
        self.script = script if isinstance(script, Script) else Script(tuple(script))
        """The script. You may assign another one at any time; it applies to later requests."""
        self.requests: list[Received] = []
        """All requests so far."""
        self.connections = 0
        """The number of connections so far."""
        self._port = port
        self._log = log
        self._open: dict[asyncio.Task[None], StreamWriter] = {}
        self._attempts: Counter[str] = Counter()
        self._change = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._sockets: list[socket.socket] = []

    @property
    def url(self) -> str:
        """The URL of the server, without a slash at the end."""
        return f"http://{HOST}:{self._port}"

    @property
    def open_connections(self) -> int:
        """The number of open connections."""
        return len(self._open)

    async def __aenter__(self) -> Upstream:
        # With its protocol named, asyncio switches off Nagle's algorithm, and no answer waits for another.
        listener = socket.socket(proto=socket.IPPROTO_TCP)
        self._sockets.append(listener)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, self._port))
        self._port = listener.getsockname()[1]
        if self.script.door == "open":
            self._server = await asyncio.get_running_loop().create_server(self._protocol, sock=listener)
        elif self.script.door == "deaf":
            self._fill(listener)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for held in self._sockets:
            held.close()
        tasks = list(self._open)
        for task, writer in self._open.items():
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # transports say goodbye in the next round of the loop

    async def received(self, nth: int = 1, timeout: float = PATIENCE) -> Received:
        """Wait until the nth request has arrived completely; return it."""
        return await self._until(
            lambda: self.requests[nth - 1] if len(self.requests) >= nth else None, "request", timeout
        )

    async def sent(self, size: int, nth: int = 1, timeout: float = PATIENCE) -> Received:
        """Wait until `size` bytes of the nth response body are written; return the request."""
        return await self._reached(nth, lambda item: item.sent >= size, f"{size} bytes sent", timeout)

    async def stalled(self, nth: int = 1, timeout: float = PATIENCE) -> Received:
        """Wait until the nth response stalls; return the request."""
        return await self._reached(nth, lambda item: item.stalled, "stall", timeout)

    async def finished(self, nth: int = 1, timeout: float = PATIENCE) -> Received:
        """Wait until the nth response is complete; return the request."""
        return await self._reached(nth, lambda item: item.finished, "end of an answer", timeout)

    async def disconnected(self, nth: int = 1, timeout: float = PATIENCE) -> float:
        """Wait until the client of the nth request disconnects early; return the time."""
        left = await self._reached(nth, lambda item: item.disconnected is not None, "disconnect", timeout)
        return left.disconnected or 0.0

    async def closed(self, timeout: float = PATIENCE) -> None:
        """Wait until no connection is open."""
        await self._until(lambda: True if not self._open else None, "end of all connections", timeout)

    async def _reached(
        self, nth: int, has: Callable[[Received], bool], what: str, timeout: float
    ) -> Received:
        def found() -> Received | None:
            item = self.requests[nth - 1] if len(self.requests) >= nth else None
            return item if item is not None and has(item) else None

        return await self._until(found, f"{what} of request {nth}", timeout)

    async def _until(self, found: Callable[[], T | None], what: str, timeout: float) -> T:
        try:
            async with asyncio.timeout(timeout):
                while (result := found()) is None:
                    await self._change.wait()
                return result
        except TimeoutError:
            raise TimeoutError(f"no {what} within {timeout} s; requests: {len(self.requests)}") from None

    def _changed(self) -> None:
        self._change.set()
        self._change = asyncio.Event()

    def _protocol(self) -> _Watched:
        return _Watched(self._connected)

    def _connected(self, reader: StreamReader, writer: StreamWriter, gone: asyncio.Event) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer, gone, self.connections))
        self._open[task] = writer

    async def _serve(
        self, reader: StreamReader, writer: StreamWriter, gone: asyncio.Event, connection: int
    ) -> None:
        try:
            while (request := await read_request(reader)) is not None:
                received = Received(*request[0], request[1])
                received.connection = connection
                response = self._take(received)
                keep = await Playing(received, writer, gone, self._changed).play(response)
                if gone.is_set() and not received.finished:
                    received.disconnected = monotonic()
                if self._log:
                    self._log(received)
                self._changed()
                if not keep or received.headers.get("connection", "").lower() == "close":
                    break
        finally:
            writer.close()
            task = asyncio.current_task()
            if task is not None:
                self._open.pop(task, None)
            self._changed()

    def _take(self, received: Received) -> ScriptedResponse:
        key = self.script.key_for(received.path)
        self._attempts[key] += 1
        received.attempt = self._attempts[key]
        received.number = len(self.requests) + 1
        received.at = monotonic()
        self.requests.append(received)
        self._changed()
        return self.script.response(key, received.attempt)

    def _fill(self, listener: socket.socket) -> None:
        """Let nobody be accepted: with its queue full, Linux leaves further connections unanswered."""
        listener.listen(0)
        for _ in range(3):
            waiting = socket.socket()
            self._sockets.append(waiting)
            waiting.settimeout(0)
            waiting.connect_ex((HOST, self._port))


class _Watched(StreamReaderProtocol):
    """A stream that tells at once when the other side has gone, also while nobody reads or writes."""

    def __init__(self, connected: Callable[[StreamReader, StreamWriter, asyncio.Event], None]) -> None:
        self.gone = asyncio.Event()

        def begin(reader: StreamReader, writer: StreamWriter) -> None:
            connected(reader, writer, self.gone)

        super().__init__(StreamReader(limit=MAX_HEAD), begin)

    def eof_received(self) -> bool | None:
        self.gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        super().connection_lost(exc)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a script until interrupted."""
    from argparse import ArgumentParser  # noqa: PLC0415  only the command line needs it

    parser = ArgumentParser(
        prog="python -m groundwire.testing.upstream",
        description="Play a scripted provider on loopback. Prints its address first.",
    )
    parser.add_argument("--script", required=True, type=Path, help="a JSON file (see docs/testing.md)")
    parser.add_argument("--port", default=0, type=int, help="0, the default, takes any that is free")
    parser.add_argument("--log", type=Path, help="write every request to this file, one JSON object a line")
    options = parser.parse_args(arguments)
    try:
        script = load_script(options.script.read_text("utf-8"), options.script.parent)
        asyncio.run(_serve_until_stopped(script, options.port, options.log))
    except (ConfigError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


async def _serve_until_stopped(script: Script, port: int, log: Path | None) -> None:
    from contextlib import ExitStack, suppress  # noqa: PLC0415
    from signal import SIGTERM  # noqa: PLC0415

    stopped = asyncio.Event()
    with ExitStack() as stack:
        with suppress(NotImplementedError):  # not everywhere; there only an interrupt ends it
            asyncio.get_running_loop().add_signal_handler(SIGTERM, stopped.set)
        file = stack.enter_context(log.open("a", encoding="utf-8")) if log else None
        async with Upstream(script, port=port, log=_logger(file) if file else None) as upstream:
            sys.stdout.write(f"{upstream.url}\n")
            sys.stdout.flush()
            await stopped.wait()


def _logger(file: TextIO) -> Callable[[Received], None]:
    def write(item: Received) -> None:
        line: JsonObject = {
            "number": item.number,
            "attempt": item.attempt,
            "connection": item.connection,
            "method": item.method,
            "target": item.target,
            "headers": dict(item.headers),
            "body": item.body.decode("utf-8", "replace"),
            "status": item.status,
            "sent": item.sent,
            "at": item.at,
            "disconnected": item.disconnected,
        }
        file.write(f"{dump_json(line)}\n")
        file.flush()

    return write


if __name__ == "__main__":
    sys.exit(main())
