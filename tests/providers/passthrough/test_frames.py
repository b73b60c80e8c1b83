"""Bytes that are passed through are complete frames, however they were split."""

from __future__ import annotations

from random import Random

import pytest

from groundwire.dialects import sse
from groundwire.errors import UpstreamWireError
from groundwire.providers.passthrough import frames
from groundwire.providers.passthrough.frames import (
    FrameSplitter,
    frame_at,
    frame_data,
    frames_in,
    valid_length,
)

FRAMES = (
    b'data: {"a":"x"}\n\n',
    'event: b\ndata: {"a":"ü – 東京"}\n\n'.encode(),
    b": a comment\n\n",
    b'id: 1\ndata: {\ndata: "a":1\ndata: }\n\n',
    b"data: [DONE]\n\n",
)
STREAM = b"".join(FRAMES)
by_line_end = pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])


@by_line_end
def test_complete_frames_come_out_wherever_the_bytes_are_split(end: bytes) -> None:
    stream = STREAM.replace(b"\n", end)
    random = Random(1)
    for _ in range(300):
        cuts = sorted(random.sample(range(1, len(stream)), random.randint(1, 9)))
        splitter = FrameSplitter()
        out = b""
        for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            whole = splitter.feed(stream[start:stop])
            assert whole == b"" or whole.endswith((end + end, b"\r\n"))
            out += whole
        assert out + splitter.rest == stream


@by_line_end
def test_every_frame_of_a_valid_stream_is_readable(end: bytes) -> None:
    stream = STREAM.replace(b"\n", end)
    assert valid_length(stream) == len(stream)
    assert [b"".join(frame_data(frame)) != b"" for frame in frames_in(stream)] == [
        True,
        True,
        False,
        True,
        True,
    ]


@by_line_end
@pytest.mark.parametrize(
    "noise", [b"data: null\n\n", b"data: <html>\n\n", b'data: {"a":\n\n', b"data: 1\n\n"]
)
def test_a_frame_that_is_not_an_object_ends_the_valid_length(noise: bytes, end: bytes) -> None:
    before, after = b"".join(FRAMES[:2]).replace(b"\n", end), b"".join(FRAMES[2:]).replace(b"\n", end)
    assert valid_length(before + noise.replace(b"\n", end) + after) == len(before)


@by_line_end
def test_the_frame_around_an_offset_is_found(end: bytes) -> None:
    stream = STREAM.replace(b"\n", end)
    start = 0
    for frame in frames_in(stream):
        for offset in range(start, start + len(frame) - 2 * len(end)):
            assert frame_at(stream, offset) == (start, start + len(frame))
        start += len(frame)


def test_broken_utf8_is_replaced_and_a_cut_sequence_is_not() -> None:
    splitter = FrameSplitter()
    character = "東".encode()
    assert splitter.feed(b'data: {"a":"' + character[:1]) == b""
    assert splitter.feed(character[1:] + b'"}\n\n') == b'data: {"a":"' + character + b'"}\n\n'
    assert splitter.feed(b'data: {"a":"\xff"}\n\n') == 'data: {"a":"\ufffd"}\n\n'.encode()


def test_a_frame_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_PENDING", 1000)
    assert sse.MAX_PENDING > 1000
    splitter = FrameSplitter()
    for _ in range(10):
        assert splitter.feed(b"x" * 100) == b""
    with pytest.raises(UpstreamWireError):
        splitter.feed(b"x")
