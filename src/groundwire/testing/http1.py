"""As much of HTTP/1.1 as a scripted upstream needs: requests in, status lines and chunks out."""

from __future__ import annotations

from asyncio import IncompleteReadError, LimitOverrunError, StreamReader
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

MAX_HEAD = 256 * 1024
MAX_BODY = 256 * 1024 * 1024


class Head(NamedTuple):
    """A request line and its headers, names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]


async def read_request(reader: StreamReader) -> tuple[Head, bytes] | None:
    """The next request of a connection; None when there is none, or none that can be read."""
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        fields = (line.partition(":") for line in lines[1:] if line)
        head = Head(method, target, {name.strip().lower(): text.strip() for name, _, text in fields})
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
