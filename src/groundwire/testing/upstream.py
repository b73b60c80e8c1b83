"""Test server on loopback that follows a script and records the requests it receives.

    async with Upstream(answer("gemini", answer_events("Yes.", Source("https://a.example")))) as upstream:
        ...  # point a provider at upstream.url
        assert upstream.requests[0].headers["x-goog-api-key"] == "…"
        await upstream.disconnected(timeout=1)

Tests wait for events of the server instead of sleeping. As a program, `python -m groundwire.testing.upstream
--script FILE` prints its URL and serves until it is interrupted.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader, StreamReaderProtocol, StreamWriter
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeVar

from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ConfigError, WireError
from groundwire.model import JsonObject
from groundwire.testing.script import (
    DOCUMENT,
    Dribble,
    Framing,
    Script,
    ScriptedResponse,
    answer,
    load_script,
)

if TYPE_CHECKING:
    from groundwire.model import Json

__all__ = ["Received", "Script", "ScriptedResponse", "Upstream", "answer"]

MAX_HEAD = 256 * 1024
MAX_BODY = 256 * 1024 * 1024


class ReceivedHead(NamedTuple):
    """A request line and its headers, names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]


async def read_request(reader: StreamReader) -> tuple[ReceivedHead, bytes] | None:
    """The next request of a connection; None when there is none, or none that can be read."""
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        fields = (line.partition(":") for line in lines[1:] if line)
        head = ReceivedHead(method, target, {name.strip().lower(): text.strip() for name, _, text in fields})
        return head, await _read_body(reader, head.headers)
    except (IncompleteReadError, LimitOverrunError, ConnectionError, ValueError):
        return None


async def _read_body(reader: StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(min(int(headers.get("content-length", "0")), MAX_BODY))
    body = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readuntil(b"\r\n")
        if len(body) > MAX_BODY:
            raise ValueError("too much")
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return bytes(body)


def write_head(status: int, headers: Mapping[str, str]) -> bytes:
    """A status line and headers."""
    known = {item.value: item.phrase for item in HTTPStatus}
    lines = [f"HTTP/1.1 {status} {known.get(status, 'Scripted')}"]
    lines += (f"{name}: {text}" for name, text in headers.items())
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def write_chunk(data: bytes) -> bytes:
    """A piece of a chunked body; the empty one ends it."""
    return b"%x\r\n%s\r\n" % (len(data), data)


_RESET = struct.pack("ii", 1, 0)  # linger on, for no time: closing then resets


class Received:
    """A received request and the progress of its response. Times are those of `time.monotonic`."""

    def __init__(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.number = 0
        """Counts all requests from one."""
        self.attempt = 0
        """Counts the requests of one entry of the script."""
        self.connection = 0
        self.at = 0.0
        self.status: int | None = None
        """Status of the response, once it is sent."""
        self.sent = 0
        """Bytes of the body written so far."""
        self.stalled = False
        self.finished = False
        """Is the response complete?"""
        self.disconnected: float | None = None
        """When the client disconnected before the end."""

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def json(self) -> Json:
        """The body as JSON; None if it is not JSON."""
        try:
            return load_json(self.body, WireError)
        except WireError:
            return None

    @property
    def wants_stream(self) -> bool:
        """Does the client request a stream, in any dialect?"""
        body = self.json
        in_path = ":stream" in self.path or self.path.endswith("/converse-stream")
        return in_path or (isinstance(body, dict) and body.get("stream") is True)


class ScriptedExchange:
    """Sends one response; notices at once when the client disconnects."""

    def __init__(
        self, received: Received, writer: StreamWriter, gone: asyncio.Event, changed: Callable[[], None]
    ) -> None:
        self._received = received
        self._writer = writer
        self._gone = gone
        self._changed = changed

    async def play(self, response: ScriptedResponse) -> bool:
        """Send the response; True if the connection can serve another request."""
        if await self._disconnects_within(response.delay):
            return False
        if response.raw is not None:
            await self._send(response.raw, "close", response.dribble)
            return self._finish(keep=False)
        streams = response.stream is not None and self._received.wants_stream
        body = response.stream if streams and response.stream is not None else response.body
        framing = response.framing or ("chunked" if streams or response.repeat else "length")
        content_type = response.stream_type if streams else DOCUMENT
        await self._begin(response, content_type, framing, len(body))
        ends = [offset for offset in (response.stall_at, response.cut_at) if offset is not None]
        await self._send(body[: min(ends)] if ends else body, framing, response.dribble)
        if response.cut_at is not None and response.cut_at == min(ends):
            return self._break(response)
        if response.stall_at is not None:
            self._received.stalled = True
            self._changed()
            await self._gone.wait()
        while response.repeat and not await self._disconnects_within(response.every):
            await self._send(response.repeat, framing, None)
        if self._gone.is_set():
            return False
        if framing == "chunked":
            await self._write(write_chunk(b""))
        return self._finish(keep=framing != "close")

    async def _begin(
        self, response: ScriptedResponse, content_type: str, framing: Framing, size: int
    ) -> None:
        headers = {"content-type": content_type}
        if framing == "length":
            headers["content-length"] = str(size)
        elif framing == "chunked":
            headers["transfer-encoding"] = "chunked"
        else:
            headers["connection"] = "close"
        self._received.status = response.status
        await self._write(write_head(response.status, headers | dict(response.headers)))
        self._changed()

    async def _send(self, body: bytes, framing: Framing, dribble: Dribble | None) -> None:
        for number, piece in enumerate(_pieces(body, dribble)):
            if self._gone.is_set() or (
                number and dribble and await self._disconnects_within(dribble.seconds)
            ):
                return
            await self._write(write_chunk(piece) if framing == "chunked" else piece)
            self._received.sent += len(piece)
            self._changed()

    async def _write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError:
            self._gone.set()

    async def _disconnects_within(self, seconds: float) -> bool:
        """Wait; True if the client disconnected."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return self._gone.is_set()
        try:
            async with asyncio.timeout(None if seconds == float("inf") else seconds):
                return await self._gone.wait()
        except TimeoutError:
            return False

    def _break(self, response: ScriptedResponse) -> bool:
        if response.cut == "rst":
            connection = self._writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._writer.transport.abort()
        return self._finish(keep=False)

    def _finish(self, *, keep: bool) -> bool:
        self._received.finished = True
        self._changed()
        return keep


def _pieces(body: bytes, dribble: Dribble | None) -> Iterator[bytes]:
    size = dribble.size if dribble else max(len(body), 1)
    return (body[start : start + size] for start in range(0, len(body), size))


HOST = "127.0.0.1"
TIMEOUT = 15.0

T = TypeVar("T")


class Upstream:
    """A scripted server; it listens for the duration of its `async with` block."""

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
        """May be replaced at any time, for later requests."""
        self.requests: list[Received] = []
        self.connections = 0
        """Number of connections so far."""
        self._port = port
        self._log = log
        self._open: dict[asyncio.Task[None], StreamWriter] = {}
        self._attempts: Counter[str] = Counter()
        self._change = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._sockets: list[socket.socket] = []

    @property
    def url(self) -> str:
        """The URL, without a trailing slash."""
        return f"http://{HOST}:{self._port}"

    @property
    def open_connections(self) -> int:
        """Number of open connections."""
        return len(self._open)

    async def __aenter__(self) -> Upstream:
        # With the protocol given, asyncio disables Nagle's algorithm.
        listener = socket.socket(proto=socket.IPPROTO_TCP)
        self._sockets.append(listener)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, self._port))
        self._port = listener.getsockname()[1]
        if self.script.port_state == "open":
            self._server = await asyncio.get_running_loop().create_server(self._protocol, sock=listener)
        elif self.script.port_state == "unresponsive":
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
        await asyncio.sleep(0)  # transports are closed in the next iteration of the loop

    async def received(self, nth: int = 1, timeout: float = TIMEOUT) -> Received:
        """The nth request, when it is complete."""
        return await self._until(
            lambda: self.requests[nth - 1] if len(self.requests) >= nth else None, "request", timeout
        )

    async def sent(self, size: int, nth: int = 1, timeout: float = TIMEOUT) -> Received:
        """The nth request, when this number of bytes of its response body is written."""
        return await self._reached(nth, lambda item: item.sent >= size, f"{size} bytes sent", timeout)

    async def stalled(self, nth: int = 1, timeout: float = TIMEOUT) -> Received:
        """The nth request, when its response stalls."""
        return await self._reached(nth, lambda item: item.stalled, "stall", timeout)

    async def finished(self, nth: int = 1, timeout: float = TIMEOUT) -> Received:
        """The nth request, when its response is complete."""
        return await self._reached(nth, lambda item: item.finished, "end of an answer", timeout)

    async def disconnected(self, nth: int = 1, timeout: float = TIMEOUT) -> float:
        """The time at which the client of the nth request disconnected before the end."""
        left = await self._reached(nth, lambda item: item.disconnected is not None, "disconnect", timeout)
        return left.disconnected or 0.0

    async def closed(self, timeout: float = TIMEOUT) -> None:
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

    def _protocol(self) -> _DisconnectProtocol:
        return _DisconnectProtocol(self._connected)

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
                keep = await ScriptedExchange(received, writer, gone, self._changed).play(response)
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
        """Fill the queue of the listener: Linux then does not answer further connections."""
        listener.listen(0)
        for _ in range(3):
            waiting = socket.socket()
            self._sockets.append(waiting)
            waiting.settimeout(0)
            waiting.connect_ex((HOST, self._port))


class _DisconnectProtocol(StreamReaderProtocol):
    """A stream that notices a disconnect at once, also while it is neither read nor written."""

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
