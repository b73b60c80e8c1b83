"""Properties of the parsers that hold for any bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

from groundwire.dialects.json import STANDARD, dump_json, load_json, msgspec_library, use_library
from groundwire.dialects.sse import FrameReader
from groundwire.errors import ClientWireError, UpstreamWireError
from groundwire.server.connection import HttpProtocol
from groundwire.server.overload import LoadShedder
from groundwire.text.offsets import from_points, to_points
from groundwire.transport.http1.parser import ProtocolError, body_parser, decode_response

_STATUS_LINE = b"HTTP/1.1 200 OK\r\n"


def _pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def check_sse(data: bytes) -> None:
    """However the bytes are cut, the frames are the same."""

    def read(chunks: Iterable[bytes]) -> object:
        reader = FrameReader()
        try:
            return [frame for chunk in chunks for frame in reader.feed(chunk)] + reader.close()
        except UpstreamWireError as error:
            return type(error)

    whole = read((data,))
    assert read(_pieces(data, 1 + len(data) % 7)) == whole
    assert read(_pieces(data, 1)) == whole


def check_json(data: bytes) -> None:
    """msgspec accepts what the standard library accepts, and reads the same; what was read can be written."""

    def read(text: bytes) -> object:
        try:
            return load_json(text, ClientWireError)
        except ClientWireError:
            return ClientWireError

    try:
        use_library(STANDARD)
        value = read(data)
    finally:
        use_library(msgspec_library())
    assert read(data) == value
    if value is not ClientWireError:
        assert read(dump_json(value).encode()) == value  # type: ignore[arg-type]


def check_offsets(data: bytes) -> None:
    """Offsets survive the way into bytes or UTF-16 units and back; any number gives a place in the text."""
    text = data.decode("utf-8", "replace")
    points = sorted(byte % (len(text) + 1) for byte in data[:16])
    anywhere = [int.from_bytes(data[:3], "big"), -1]
    for unit in ("utf8", "utf16"):
        assert to_points(text, from_points(text, points, unit), unit) == points
        assert all(0 <= point <= len(text) for point in to_points(text, anywhere, unit))


def check_response_head(data: bytes) -> None:
    """A response head is parsed, or refused with `ProtocolError`; a chunked body is the same however it is
    cut."""
    with suppress(ProtocolError):
        decode_response(_STATUS_LINE + data)
    head = decode_response(_STATUS_LINE + b"transfer-encoding: chunked")

    def read(size: int) -> object:
        parser = body_parser(head, "POST")
        found = b""
        for piece in _pieces(data, size):
            found += parser.feed(piece)
            if parser.error is not None:
                break
        return found, parser.is_complete, parser.error is None

    assert read(1) == read(max(1, len(data)))


class _Transport(asyncio.Transport):
    """A connection in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def write_eof(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default


class _App:
    """Answers every request with `ok`, before its body has arrived."""

    def __init__(self) -> None:
        self.load_shedder = LoadShedder()

    async def __call__(self, _: object, __: object, send: Callable[[object], Awaitable[None]]) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok", "more_body": False})


class _Server:
    def __init__(self) -> None:
        self.app = _App()
        self.connections: set[object] = set()
        self.tasks: set[asyncio.Task[None]] = set()


def check_request_head(data: bytes) -> None:
    """Whatever arrives, the server does not raise, and writes only HTTP."""

    async def serve() -> None:
        transport = _Transport()
        protocol = HttpProtocol(_Server())  # type: ignore[arg-type]
        protocol.connection_made(transport)
        for piece in _pieces(data, 512):
            if not transport.closed:
                protocol.data_received(piece)
        for _ in range(5):
            await asyncio.sleep(0)
        protocol.connection_lost(None)
        for _ in range(3):
            await asyncio.sleep(0)
        assert not transport.written or transport.written.startswith(b"HTTP/1.1 ")

    asyncio.run(serve())


TARGETS: dict[str, tuple[Callable[[bytes], None], tuple[bytes, ...]]] = {
    "sse": (check_sse, (b"event: a\ndata: {}\n\n", b"data: [DONE]\r\n\r\n", b":x\rdata:1\r\r")),
    "json": (check_json, (b'{"a": [1, 2.5, "\\u00e9", null]}', b"[" * 70, b'"\\ud800"', b'"\xdcu\x99"')),
    "offsets": (check_offsets, ("Köln 🏙️ 東京".encode(), b"abc")),
    "response_head": (check_response_head, (b"content-length: 5\r\n\r\n", b"5\r\nhello\r\n0\r\n\r\n")),
    "request_head": (
        check_request_head,
        (
            b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
            b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        ),
    ),
}
"""The property and the first inputs of each target."""
