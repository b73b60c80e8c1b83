"""Server-sent events: bytes to frames and frames to bytes.

The parser follows the standard and works on bytes, because only CR, LF and CRLF end a line and
`str.splitlines` knows nine more. A body that begins with `{` or `[` is not SSE: it is an error body with
status 200, or Gemini's stream without `alt=sse`, which is one JSON array sent in chunks. Its elements become
frames too, so that decoders do not have to care.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from groundwire.errors import UpstreamWireError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PENDING = 16 * 1024 * 1024
"""Limit of buffered bytes of one unfinished event or value. The largest real events contain an image."""


class Frame(NamedTuple):
    """One server-sent event: its name, empty if it had none, and its data."""

    event: str
    data: bytes


def encode_frame(event: str, data: str) -> bytes:
    """Encode one event as one block; name and data must never be separated (Anthropic's SDK fails on it)."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {data}\n\n".encode("utf-8", "replace")


def encode_comment(text: str) -> bytes:
    """Encode a comment line: a keep-alive for clients that tolerate it."""
    return f": {text}\n\n".encode()


def _check_size(pending: int) -> None:
    if pending > MAX_PENDING:
        raise UpstreamWireError(f"more than {MAX_PENDING} bytes without an end")


class FrameReader:
    """Incremental parser: bytes split anywhere in, frames out."""

    __slots__ = ("_head", "_reader")

    def __init__(self) -> None:
        self._reader: SseReader | JsonReader | None = None
        self._head = b""

    @property
    def is_json(self) -> bool:
        """Whether this is a JSON body rather than server-sent events."""
        return isinstance(self._reader, JsonReader)

    def feed(self, data: bytes) -> list[Frame]:
        if self._reader is None:
            # Either form may be preceded by a byte-order mark and keep-alive whitespace.
            self._head = (self._head + data).removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
            if not self._head or b"\xef\xbb\xbf".startswith(self._head):
                return []
            self._reader = JsonReader() if self._head[:1] in b"{[" else SseReader()
            data, self._head = self._head, b""
        return self._reader.feed(data)

    def close(self) -> list[Frame]:
        """Return the remaining frames: a last event without its blank line still counts."""
        return [] if self._reader is None else self._reader.close()


_CR = 13
_SHORT = 2048
"""A shorter beginning of an event is parsed when the rest has arrived; a longer one is not copied again."""


def _split_lines(data: bytes) -> tuple[list[bytes], bytes]:
    """Split off complete lines. A CR at the very end may be half of a CRLF and stays in the rest."""
    half = b""
    if b"\r" in data:
        if data.endswith(b"\r"):
            data, half = data[:-1], b"\r"
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    *lines, rest = data.split(b"\n")
    return lines, rest + half


class SseReader:
    """Parser of server-sent events: those that arrive whole at once, others line by line."""

    __slots__ = ("_block", "_data", "_event", "_rest", "_size")

    def __init__(self) -> None:
        self._block = b""  # the beginning of an event, not parsed yet
        self._rest = bytearray()
        self._event = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[Frame]:
        if self._block:
            data, self._block = self._block + data, b""
        if b"\r" in data or (self._rest and self._rest[-1] == _CR):
            return self._feed_lines(data)
        frames: list[Frame] = []
        if self._rest or self._data or self._event:
            # The rest of an event that is parsed line by line.
            end = data.find(b"\n\n") + 2
            if end < 2:
                return self._feed_lines(data)
            frames += self._feed_lines(data[:end])
            data = data[end:]
        *blocks, rest = data.split(b"\n\n")
        for block in blocks:
            first, is_named, second = block.partition(b"\n")
            if not is_named and first.startswith(b"data: "):
                frames.append(_new_frame(Frame, ("", first[6:])))
            elif first.startswith(b"event: ") and second.startswith(b"data: ") and b"\n" not in second:
                name = first[7:]
                event = _usual_name(name) if len(name) < _LONG_NAME else _decode_name(name)
                frames.append(_new_frame(Frame, (event, second[6:])))
            else:
                frames += self._feed_lines(block + b"\n\n")
        if len(rest) < _SHORT:
            _check_size(len(rest))
            self._block = rest
        else:
            frames += self._feed_lines(rest)
        return frames

    def _feed_lines(self, data: bytes) -> list[Frame]:
        if not data:
            return []
        frames: list[Frame] = []
        if self._rest:
            known = self._finish_line(data, frames)
            if known is None:
                return []
            data = data[known:]
        lines, rest = _split_lines(data)
        for line in lines:
            self._line(line, frames)
        self._rest = bytearray(rest)
        _check_size(self._size + len(rest))
        return frames

    def _finish_line(self, data: bytes, frames: list[Frame]) -> int | None:
        """Continue a partial line; return how many bytes belong to it, or None if all of them do.

        Only the new bytes are searched, and a long line is copied once, when it is complete.
        """
        if self._rest[-1] == _CR:
            del self._rest[-1]
            known = 1 if data.startswith(b"\n") else 0
        else:
            end = data.find(b"\n")
            half = data.find(b"\r", 0, end if end >= 0 else len(data))
            if half >= 0:
                end = half
            if end < 0 or half == len(data) - 1:
                self._rest += data  # a CR at the very end may be half of a CRLF
                _check_size(self._size + len(self._rest))
                return None
            self._rest += data[:end]
            known = end + (2 if data.startswith(b"\r\n", end) else 1)
        _check_size(self._size + len(self._rest))
        line, self._rest = self._rest, bytearray()
        self._line(line, frames)
        return known

    def close(self) -> list[Frame]:
        block, self._block = self._block, b""
        frames = self._feed_lines(block)
        rest = bytes(self._rest).removesuffix(b"\r")
        self._rest.clear()
        if rest:
            self._line(rest, frames)
        self._line(b"", frames)
        return frames

    def _line(self, line: bytes | bytearray, frames: list[Frame]) -> None:
        if not line:
            if self._data:
                data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                frames.append(Frame(self._event, data))
                self._data.clear()
                self._size = 0
            self._event = ""
            return
        if line.startswith(b"data:"):
            start = 6 if line[5:6] == b" " else 5
            if isinstance(line, bytes):
                self._data.append(line[start:])
            else:
                with memoryview(line) as view:  # one copy instead of two
                    self._data.append(bytes(view[start:]))
            self._size += len(line)
            return
        name, _, content = line.partition(b":")
        if name == b"data":
            self._data.append(b"")
        elif name == b"event":
            self._event = _decode_name(content)


_new_frame = tuple.__new__


_LONG_NAME = 64
"""Event names that are longer are not kept in memory."""


def _decode_name(name: bytes | bytearray) -> str:
    return name.strip().decode("utf-8", "replace")


_usual_name = lru_cache(maxsize=256)(_decode_name)


_STRUCTURE = re.compile(rb'["\\\[\]{}]')


class JsonReader:
    """Parser of a JSON body: the elements of an array as they complete, or the one value."""

    __slots__ = ("_buffer", "_depth", "_in_array", "_in_string", "_scanned", "_start")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._scanned = 0
        self._start = 0
        self._depth = 0
        self._in_string = False
        self._in_array: bool | None = None

    def feed(self, data: bytes) -> list[Frame]:
        self._buffer += data
        if self._in_array is None:
            self._in_array = self._buffer[:1] == b"["
            self._scanned = self._start = 1 if self._in_array else 0
        frames = list(self._elements())
        del self._buffer[: self._start]
        _check_size(len(self._buffer))
        self._scanned -= self._start
        self._start = 0
        return frames

    def close(self) -> list[Frame]:
        """Return the rest, unless it is only the end of the array: a truncated value."""
        rest = bytes(self._buffer).strip(b" \t\r\n,]")
        self._buffer.clear()
        return [Frame("", rest)] if rest else []

    def _elements(self) -> Iterator[Frame]:
        position = self._scanned
        while match := _STRUCTURE.search(self._buffer, position):
            position = match.end()
            character = match[0]
            if character == b'"':
                self._in_string = not self._in_string
            elif self._in_string:
                if character == b"\\" and position == len(self._buffer):
                    self._scanned = position - 1  # what it escapes is in the next bytes
                    return
                position += character == b"\\"
            elif character in b"{[":
                if self._depth == 0:
                    self._start = match.start()
                self._depth += 1
            elif character in b"}]" and self._depth:
                self._depth -= 1
                if self._depth == 0:
                    yield Frame("", bytes(self._buffer[self._start : position]))
                    self._start = position
        self._scanned = len(self._buffer)
