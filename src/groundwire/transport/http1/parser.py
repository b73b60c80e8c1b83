"""HTTP/1.1 messages (RFC 9112): request heads are written, response heads and bodies are parsed.

No header value can inject a line break into a request. A response may end its lines with a bare line feed and
fold them; every other deviation is a `ProtocolError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Protocol

from groundwire.model.value import value

MAX_HEAD = 64 * 1024

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_STATUS = re.compile(r"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: .*)?")
_FOLD = re.compile(r"\n[ \t]+")
_LENGTH = re.compile(r"[0-9]{1,18}")


class ProtocolError(ValueError):
    """The response violates HTTP/1.1."""


@value
class ResponseHead:
    """Status and headers of a response."""

    status: int
    headers: Mapping[str, str]
    """By lower-case names; repeated headers are joined by commas."""
    is_http11: bool = True
    """False for HTTP/1.0."""


def encode_request(method: str, target: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """The head of a request; raises `ValueError` if it cannot be written."""
    lines = [f"{method} {target} HTTP/1.1"]
    for name, text in headers:
        if not is_token(name):
            raise ValueError("a header name is not a token")
        lines.append(f"{name}: {text}")
    head = "\r\n".join(lines)
    breaks = len(lines) - 1
    if head.count("\n") != breaks or head.count("\r") != breaks or "\0" in head or lines[0].count(" ") != 2:
        raise ValueError("a header value has a line break or a NUL")
    return head.encode() + b"\r\n\r\n"


def decode_response(data: bytes) -> ResponseHead:
    """The head of a response, given without the blank line that ends it; raises `ProtocolError`."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = text.replace("\r\n", "\n")
    if "\r" in text or "\0" in text:
        raise ProtocolError("a header line has a bare carriage return or a NUL")
    first, _, rest = text.partition("\n")
    status = _STATUS.fullmatch(first)
    if status is None:
        raise ProtocolError("the status line is malformed")
    headers: dict[str, str] = {}
    if "\n " in rest or "\n\t" in rest:
        rest = _FOLD.sub(" ", rest)
    for line in rest.split("\n") if rest else ():
        name, colon, text_value = line.partition(":")
        if not colon or not is_token(name):
            raise ProtocolError("a header line is malformed")
        name, text_value = name.lower(), text_value.strip(" \t")
        headers[name] = f"{headers[name]}, {text_value}" if name in headers else text_value
    return ResponseHead(int(status[2]), headers, status[1] == "1")


def length_in(headers: Mapping[str, str]) -> int | None:
    """The content length in headers; None without one. Raises `ProtocolError`."""
    listed = headers.get("content-length")
    if listed is None:
        return None
    if _LENGTH.fullmatch(listed):
        return int(listed)
    first, *repeated = (text.strip(" \t") for text in listed.split(","))
    if not _LENGTH.fullmatch(first) or any(text != first for text in repeated):
        raise ProtocolError("the content length is not a number")
    return int(first)


def is_kept_alive(head: ResponseHead) -> bool:
    """Does the server keep the connection open?"""
    options = head.headers.get("connection")
    return head.is_http11 and (options is None or "close" not in options.lower())


@lru_cache(maxsize=512)
def is_token(name: str) -> bool:
    """Is it a valid header name?"""
    return _TOKEN.fullmatch(name) is not None


_LINE = re.compile(rb"([^\r\n]{0,4096})\r\n")
"""A line between chunks, which must end with CRLF."""
_PARTIAL_LINE = re.compile(rb"[^\r\n]{0,4096}\r?")
_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}")
_PLAIN_SIZE = re.compile(rb"([0-9a-fA-F]{1,7})\r\n")
_SIZE_LINE = re.compile(rb"\r\n([0-9a-fA-F]{1,7})\r\n")
_MANY_BYTES = 128
"""From here on, more than a few chunks of a stream may have arrived together."""
_CHUNKED = re.compile("chunked", re.ASCII | re.IGNORECASE)
_NO_BODY = frozenset({204, 304})


class BodyParser(Protocol):
    """Takes bytes from the connection and returns those of the body."""

    is_complete: bool
    surplus: bytes
    """Bytes after the end of the body."""
    error: ProtocolError | None
    """What is wrong after the bytes returned so far."""

    def feed(self, data: bytes) -> bytes:
        """The bytes that belong to the body."""
        ...

    def end(self) -> None:
        """The connection was closed."""
        ...


def body_parser(head: ResponseHead, method: str) -> BodyParser:
    """The parser for the body that follows a head; raises `ProtocolError`."""
    length = length_in(head.headers)
    tunnelled = method == "CONNECT" and 200 <= head.status < 300
    if tunnelled or method == "HEAD" or head.status in _NO_BODY:
        return SizedBody(0)
    coding = head.headers.get("transfer-encoding")
    if coding is None:
        return UnsizedBody() if length is None else SizedBody(length)
    if length is not None or _CHUNKED.fullmatch(coding) is None:
        raise ProtocolError("the transfer encoding is not chunked, or there is a content length as well")
    return ChunkedBody()


class SizedBody:
    """A body with a content length."""

    __slots__ = ("_left", "is_complete", "surplus")
    error: ProtocolError | None = None

    def __init__(self, length: int) -> None:
        self._left = length
        self.is_complete = not length
        self.surplus = b""

    def feed(self, data: bytes) -> bytes:
        left = self._left
        if len(data) < left:
            self._left = left - len(data)
            return data
        self._left, self.is_complete = 0, True
        if len(data) == left:
            return data
        self.surplus += data[left:]
        return data[:left]

    def end(self) -> None:
        """A closed connection does not complete the body."""


class UnsizedBody:
    """A body that ends when the connection is closed."""

    __slots__ = ("is_complete", "surplus")
    error: ProtocolError | None = None

    def __init__(self) -> None:
        self.is_complete = False
        self.surplus = b""

    def feed(self, data: bytes) -> bytes:
        return data

    def end(self) -> None:
        self.is_complete = True


class ChunkedBody:
    """A body with chunked transfer encoding."""

    __slots__ = (
        "_is_at_size",
        "_left",
        "_line",
        "_on_line",
        "_trailer_size",
        "error",
        "is_complete",
        "surplus",
    )

    def __init__(self) -> None:
        self._left = 0
        """Bytes of the current chunk that have not arrived."""
        self._line = b""
        """An incomplete line."""
        self._on_line = ChunkedBody._size_line
        """Handles the next line. A function of the class: a bound method would be a reference cycle."""
        self._is_at_size = True
        """Is the next line the size of a chunk?"""
        self._trailer_size = 0
        self.is_complete = False
        self.surplus = b""
        self.error: ProtocolError | None = None

    def feed(self, data: bytes) -> bytes:
        if self._line:
            data, self._line = self._line + data, b""
        elif self._is_at_size and (size := _PLAIN_SIZE.match(data)):
            # One whole chunk, as most reads of a stream are.
            start, end = size.end(), len(data) - 2
            if end - start == int(size[1], 16) and end > start and data.endswith(b"\r\n"):
                return data[start:end]
        chunks: list[bytes] = []
        try:
            self._split(data, chunks)
        except ProtocolError as error:
            self.error = error
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def end(self) -> None:
        """A closed connection does not complete the body."""

    def _split(self, data: bytes, chunks: list[bytes]) -> None:
        offset, size = 0, len(data)
        has_searched = False
        while offset < size and not self.is_complete:
            if self._left:
                chunk = data[offset : offset + self._left]
                chunks.append(chunk)
                offset += len(chunk)
                self._left -= len(chunk)
            elif self._is_at_size and not has_searched:  # once: it looks at all bytes
                has_searched, offset = True, _many_chunks(data, offset, chunks)
            elif self._is_at_size and (end := _whole_chunks(data, offset, chunks)) > offset:
                offset = end
            elif line := _LINE.match(data, offset):
                self._on_line(self, line[1])
                offset = line.end()
            elif _PARTIAL_LINE.fullmatch(data, offset):
                self._line = data[offset:]
                break
            else:
                raise ProtocolError("a line between chunks is too long or not ended by CRLF")
        if self.is_complete:
            self.surplus += data[offset:]

    def _size_line(self, line: bytes) -> None:
        size = _SIZE.fullmatch(line.partition(b";")[0].rstrip(b" \t"))
        if size is None:
            raise ProtocolError("a chunk has no valid size")
        self._left = int(size[0], 16)
        self._is_at_size = False
        self._on_line = ChunkedBody._end_line if self._left else ChunkedBody._trailer_line

    def _end_line(self, line: bytes) -> None:
        if line:
            raise ProtocolError("a chunk is longer than its size")
        self._is_at_size = True
        self._on_line = ChunkedBody._size_line

    def _trailer_line(self, line: bytes) -> None:
        self._trailer_size += len(line)
        name, colon, _ = line.partition(b":")
        if self._trailer_size > MAX_HEAD or (line and not (colon and is_token(name.decode("latin-1")))):
            raise ProtocolError("a trailer is malformed or too large")
        self.is_complete = not line


def _many_chunks(data: bytes, offset: int, chunks: list[bytes]) -> int:
    """Like `_whole_chunks`, for chunks that have arrived together: all lines that look like a size are found
    at once. If the sizes fit the bytes between them, they are sizes; the last one is left."""
    if len(data) - offset < _MANY_BYTES:
        return offset
    _, *found = _SIZE_LINE.split(b"\r\n" + data[offset:])
    sizes, bodies = [int(size, 16) for size in found[:-2:2]], found[1:-2:2]
    if not sizes or 0 in sizes or sizes != list(map(len, bodies)):
        return offset
    chunks += bodies
    return len(data) - len(found[-2]) - len(found[-1]) - 2


def _whole_chunks(data: bytes, offset: int, chunks: list[bytes]) -> int:
    """Append the chunks that are complete and have no extensions; returns the offset after them.

    Most chunks are so, and need not be parsed line by line.
    """
    while size := _PLAIN_SIZE.match(data, offset):
        start = size.end()
        end = start + int(size[1], 16)
        if end == start or data[end : end + 2] != b"\r\n":
            break
        chunks.append(data[start:end])
        offset = end + 2
    return offset
