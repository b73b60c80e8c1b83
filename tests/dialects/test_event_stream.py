"""Amazon's event stream, read and written like botocore reads it."""

from __future__ import annotations

from struct import pack
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer

from groundwire.dialects.event_stream import (
    EventStreamReader,
    encode_event,
    encode_exception,
    encode_message,
)
from groundwire.dialects.sse import Frame
from groundwire.errors import UpstreamWireError

STREAM = (
    encode_event("messageStart", b'{"role":"assistant"}')
    + encode_event("contentBlockDelta", '{"delta":{"text":"Köln 🌍"}}'.encode())
    + encode_exception("throttlingException", b'{"message":"slow down"}')
)
FRAMES = [
    Frame("messageStart", b'{"role":"assistant"}'),
    Frame("contentBlockDelta", '{"delta":{"text":"Köln 🌍"}}'.encode()),
    Frame("throttlingException", b'{"message":"slow down"}'),
]


def test_botocore_reads_what_is_written() -> None:
    buffer = EventStreamBuffer()
    buffer.add_data(STREAM)
    assert [(message.headers, message.payload) for message in buffer] == [
        (
            {
                ":exception-type" if frame.event.endswith("Exception") else ":event-type": frame.event,
                ":content-type": "application/json",
                ":message-type": "exception" if frame.event.endswith("Exception") else "event",
            },
            frame.data,
        )
        for frame in FRAMES
    ]


@pytest.mark.parametrize("size", [1, 2, 7, 12, 100, len(STREAM)])
def test_messages_are_read_however_they_are_split(size: int) -> None:
    reader = EventStreamReader()
    frames = [
        frame for start in range(0, len(STREAM), size) for frame in reader.feed(STREAM[start : start + size])
    ]
    assert frames + reader.close() == FRAMES


def test_a_changed_byte_is_noticed_and_earlier_messages_are_kept() -> None:
    first = len(encode_event(*FRAMES[0]))
    for place in range(first, len(STREAM)):
        reader = EventStreamReader()
        assert reader.feed(STREAM[:first]) == FRAMES[:1]
        with pytest.raises(UpstreamWireError):
            reader.feed(STREAM[first:place] + bytes((STREAM[place] ^ 1,)) + STREAM[place + 1 :])


def test_headers_of_every_type_are_skipped_and_errors_have_a_frame() -> None:
    numbers = b"\x01a\x00" + b"\x01b\x02\x07" + b"\x01c\x05" + bytes(8) + b"\x01d\x06\x00\x02xy"
    error = encode_message({":message-type": "error", ":error-code": "Gone", ":error-message": "no"}, b"")
    assert EventStreamReader().feed(error) == [Frame("error", b'{"code":"Gone","message":"no"}')]
    plain = encode_message({":event-type": "metadata"}, b"{}")
    header_length = int.from_bytes(plain[4:8])
    lengths = pack(">II", len(plain) + len(numbers), header_length + len(numbers))
    body = lengths + pack(">I", crc32(lengths)) + numbers + plain[12:-4]
    assert EventStreamReader().feed(body + pack(">I", crc32(body))) == [Frame("metadata", b"{}")]
