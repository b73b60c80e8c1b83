"""One response on one connection: what is sent, when it stops, and how the client's leaving is noticed."""

from __future__ import annotations

import asyncio
import socket
import struct
from asyncio import StreamWriter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from groundwire.dialects.json import load_json
from groundwire.errors import WireError
from groundwire.testing.http1 import write_chunk, write_head
from groundwire.testing.script import DOCUMENT, Dribble, Framing, ScriptedResponse

if TYPE_CHECKING:
    from groundwire.model import Json

_RESET = struct.pack("ii", 1, 0)  # linger on, for no time: closing then resets


class Received:
    """A recorded request, and the state of its response. Times are those of `time.monotonic`."""

    def __init__(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.number = 0
        """Number of the request, from 1."""
        self.attempt = 0
        """Number of the request among those with the same entry of the script, from 1."""
        self.connection = 0
        """Number of the connection, from 1."""
        self.at = 0.0
        """Time of arrival."""
        self.status: int | None = None
        """Status of the response, once it is sent."""
        self.sent = 0
        """Bytes of the body written so far."""
        self.stalled = False
        """True once the response stalls."""
        self.finished = False
        """True once the response is sent completely."""
        self.disconnected: float | None = None
        """Time at which the client disconnected before the end."""

    @property
    def path(self) -> str:
        """The request target without the query string."""
        return self.target.partition("?")[0]

    @property
    def json(self) -> Json:
        """The body as JSON; None if it is not valid JSON."""
        try:
            return load_json(self.body, WireError)
        except WireError:
            return None

    @property
    def wants_stream(self) -> bool:
        """True if the client requests a stream, in any dialect."""
        body = self.json
        return (isinstance(body, dict) and body.get("stream") is True) or ":stream" in self.path


class Playing:
    """A response being given. Whatever it waits for, it notices at once when the client is gone."""

    def __init__(
        self, received: Received, writer: StreamWriter, gone: asyncio.Event, changed: Callable[[], None]
    ) -> None:
        self._received = received
        self._writer = writer
        self._gone = gone
        self._changed = changed

    async def play(self, response: ScriptedResponse) -> bool:
        """Give the response; True if the connection can serve another request."""
        if await self._leaves_within(response.delay):
            return False
        if response.raw is not None:
            await self._send(response.raw, "close", response.dribble)
            return self._finish(keep=False)
        streams = response.stream is not None and self._received.wants_stream
        body = response.stream if streams and response.stream is not None else response.body
        framing = response.framing or ("chunked" if streams or response.repeat else "length")
        content_type = response.stream_type if streams else DOCUMENT
        await self._begin(response, content_type, framing, len(body))
        ends = [place for place in (response.stall_at, response.cut_at) if place is not None]
        await self._send(body[: min(ends)] if ends else body, framing, response.dribble)
        if response.cut_at is not None and response.cut_at == min(ends):
            return self._break(response)
        if response.stall_at is not None:
            self._received.stalled = True
            self._changed()
            await self._gone.wait()
        while response.repeat and not await self._leaves_within(response.every):
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
            if self._gone.is_set() or (number and dribble and await self._leaves_within(dribble.seconds)):
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

    async def _leaves_within(self, seconds: float) -> bool:
        """Wait; True if the client left meanwhile."""
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
