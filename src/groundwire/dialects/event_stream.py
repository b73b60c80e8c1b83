"""Amazon's binary event stream (`application/vnd.amazon.eventstream`): bytes to frames and frames to bytes.

A message is a prelude (length of the message, length of its headers, CRC of both), headers, a payload, and a
CRC of everything before it. All numbers are big-endian. A header is its name, a type and a value; the ones
that matter are strings:

    :message-type     `event`, `exception` or `error`
    :event-type       name of an event (`contentBlockDelta`)
    :exception-type   name of an exception (`throttlingException`)
    :error-code, :error-message   of an error, which has no payload
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812  a class, named like a function
from zlib import crc32

from groundwire.dialects.json import dump_json
from groundwire.dialects.sse import MAX_PENDING, Frame
from groundwire.errors import UpstreamWireError

CONTENT_TYPE = "application/vnd.amazon.eventstream"
ERROR_EVENT = "error"
"""Name of the frame of an error, whose data is an object with `code` and `message`."""

_PRELUDE = Struct(">III")
_CRC = Struct(">I")
_LENGTH = Struct(">H")
_STRING = 7
_FIXED_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header value, by its type: booleans, numbers, timestamp, UUID."""
_LENGTH_PREFIXED = (6, _STRING)
_OVERHEAD = _PRELUDE.size + _CRC.size


class EventStreamReader:
    """Incremental parser: bytes split anywhere in, frames out."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that these bytes complete."""
        self._buffer += data
        frames: list[Frame] = []
        position = 0
        while len(self._buffer) - position >= _PRELUDE.size:
            total, header_length, crc = _PRELUDE.unpack_from(self._buffer, position)
            _check_prelude(bytes(self._buffer[position : position + 8]), total, header_length, crc)
            if len(self._buffer) - position < total:
                break
            frames.append(_decode_message(bytes(self._buffer[position : position + total]), header_length))
            position += total
        del self._buffer[:position]
        return frames

    def close(self) -> list[Frame]:
        """Return nothing: a message that is not complete cannot be read."""
        self._buffer.clear()
        return []


def _check_prelude(lengths: bytes, total: int, header_length: int, crc: int) -> None:
    if crc32(lengths) != crc or not header_length + _OVERHEAD <= total <= MAX_PENDING:
        raise UpstreamWireError("expected a message of Amazon's event stream, found other bytes")


def _decode_message(message: bytes, header_length: int) -> Frame:
    body, crc = message[: -_CRC.size], _CRC.unpack(message[-_CRC.size :])[0]
    if crc32(body) != crc:
        raise UpstreamWireError("the checksum of a message of the event stream is wrong")
    headers = _decode_headers(body[_PRELUDE.size : _PRELUDE.size + header_length])
    payload = body[_PRELUDE.size + header_length :]
    match headers.get(":message-type", "event"):
        case "exception":
            return Frame(headers.get(":exception-type", ""), payload)
        case "error":
            code, message_text = headers.get(":error-code", ""), headers.get(":error-message", "")
            return Frame(ERROR_EVENT, dump_json({"code": code, "message": message_text}).encode())
    return Frame(headers.get(":event-type", ""), payload)


def _decode_headers(data: bytes) -> dict[str, str]:
    """The headers that are strings; others are skipped."""
    headers: dict[str, str] = {}
    position = 0
    try:
        while position < len(data):
            name_end = position + 1 + data[position]
            name, kind = data[position + 1 : name_end].decode(), data[name_end]
            position = name_end + 1
            if kind in _LENGTH_PREFIXED:
                (length,) = _LENGTH.unpack_from(data, position)
                start = position + _LENGTH.size
                position = start + length
                if kind == _STRING:
                    headers[name] = data[start:position].decode()
            else:
                position += _FIXED_SIZES[kind]
    except (IndexError, KeyError, StructError, UnicodeDecodeError):
        raise UpstreamWireError("the headers of a message of the event stream cannot be read") from None
    return headers


def encode_message(headers: dict[str, str], payload: bytes) -> bytes:
    """Encode one message; all its headers are strings."""
    encoded = b"".join(_encode_header(name, text) for name, text in headers.items())
    lengths = _PRELUDE.pack(len(encoded) + len(payload) + _OVERHEAD, len(encoded), 0)[:8]
    body = lengths + _CRC.pack(crc32(lengths)) + encoded + payload
    return body + _CRC.pack(crc32(body))


def _encode_header(name: str, text: str) -> bytes:
    value = text.encode()
    return bytes((len(name),)) + name.encode() + bytes((_STRING,)) + _LENGTH.pack(len(value)) + value


def encode_event(name: str, payload: bytes) -> bytes:
    """Encode an event."""
    return encode_message(
        {":event-type": name, ":content-type": "application/json", ":message-type": "event"}, payload
    )


def encode_exception(name: str, payload: bytes) -> bytes:
    """Encode an exception, which ends the stream."""
    return encode_message(
        {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}, payload
    )
