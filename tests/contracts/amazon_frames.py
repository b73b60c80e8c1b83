"""Amazon's event stream as server-sent events, and back, so that one set of tests reads and breaks both.

botocore parses it here, and a few lines write it; neither shares code with the codec.
"""

from __future__ import annotations

from random import Random
from struct import pack
from zlib import crc32

from botocore.eventstream import EventStreamBuffer

BINARY = ("bedrock_converse",)
"""Dialects whose streams are not server-sent events."""


def as_sse(data: bytes) -> bytes:
    """Every message as a server-sent event of its name. Raises botocore's errors for broken bytes."""
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    blocks = []
    read = 0
    for message in buffer:
        headers = message.headers
        name = headers.get(":event-type") or headers.get(":exception-type") or ""
        blocks.append(b"event: " + name.encode() + b"\ndata: " + message.payload + b"\n\n")
        read += message.prelude.total_length
    if read != len(data):
        raise ValueError("bytes after the last message")
    return b"".join(blocks)


def as_binary(sse: bytes, random: Random | None = None) -> bytes:
    """Every block as a message; sometimes with one byte changed."""
    messages = b"".join(_message(block) for block in sse.split(b"\n\n") if block)
    if random is None or not messages or random.random() < 0.8:
        return messages
    place = random.randrange(len(messages))
    return messages[:place] + bytes((random.randrange(256),)) + messages[place + 1 :]


def _message(block: bytes) -> bytes:
    head, _, data = block.partition(b"data: ")
    name = head.removeprefix(b"event: ").strip()[:200]
    kind = b"exception" if name.endswith(b"Exception") else b"event"
    headers = _header(b":message-type", kind) + _header(b":" + kind + b"-type", name)
    lengths = pack(">II", len(headers) + len(data) + 16, len(headers))
    whole = lengths + pack(">I", crc32(lengths)) + headers + data
    return whole + pack(">I", crc32(whole))


def _header(name: bytes, text: bytes) -> bytes:
    return bytes((len(name),)) + name + b"\x07" + pack(">H", len(text)) + text
