"""Answers of any size: what is too large ends with an error, and holds no more memory than it may."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.dialects.sse import MAX_PENDING, FrameReader
from groundwire.errors import UpstreamWireError
from groundwire.model import Failed, Finished, Started, TextDelta
from groundwire.model.value import replace
from groundwire.providers.spec import flatten
from groundwire.testing.script import ScriptedResponse
from groundwire.transport.deadlines import Deadlines
from tests.providers.asking import question, world
from tests.providers.speakers import STREAMING, Speaker
from tests.transport.bounded import run

LARGEST = 100_000


def endless(name: str, size: int) -> bytes:
    """A stream of many words, which never ends well."""
    encoder = dialect(name).encoder(Reply(citations="live"))
    pieces = [encoder.feed(Started("id", "model"))]
    while sum(map(len, pieces)) < size:
        pieces.append(encoder.feed(TextDelta(0, "word " * 100)))
    return b"".join(pieces)


@pytest.mark.parametrize("speaker", STREAMING, ids=str)
def test_a_stream_that_is_too_large_ends_with_an_error_after_what_was_read(speaker: Speaker) -> None:
    async def main() -> None:
        stream = endless(speaker.dialect, 3 * LARGEST)
        response = ScriptedResponse(stream=stream, headers={"content-type": "text/event-stream"})
        async with world(speaker, response) as here:
            provider = here.provider(deadlines=replace(Deadlines(), largest=LARGEST))
            events = [event async for event in flatten(provider.batches(question(stream=True)))]
        assert any(isinstance(event, TextDelta) for event in events)
        assert isinstance(events[-1], Failed)
        assert "larger than" in events[-1].error.message
        assert sum(isinstance(event, Failed | Finished) for event in events) == 1

    run(main())


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_tells_such_an_end_to_its_clients(name: str) -> None:
    encoder = dialect(name).encoder(Reply())
    wire = encoder.feed(Started("id", "model")) + encoder.feed(TextDelta(0, "Half"))
    wire += encoder.feed(Failed(UpstreamWireError("the answer is larger than 64 MB")))
    assert b"larger than 64 MB" in wire
    assert encoder.close() == b""


def pieces_of(line: bytes, size: int = 32 * 1024) -> Iterator[bytes]:
    return (line[at : at + size] for at in range(0, len(line), size))


def peak(line: bytes) -> int:
    """Bytes of memory that reading takes at most, beside the line itself."""
    reader = FrameReader()
    tracemalloc.start()
    try:
        for piece in pieces_of(line):
            reader.feed(piece)
        return tracemalloc.get_traced_memory()[1]
    except UpstreamWireError:
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_long_line_is_held_twice_at_most() -> None:
    line = b"data: " + json.dumps({"text": "x" * (MAX_PENDING // 2)}).encode() + b"\n\n"
    assert peak(line) < 2.5 * len(line)


def test_a_line_that_is_too_long_is_given_up_before_it_takes_much_more_than_it_may() -> None:
    line = b"data: " + b"x" * (4 * MAX_PENDING)
    assert peak(line) < 1.5 * MAX_PENDING


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_are_the_same_however_they_are_cut(end: bytes, size: int) -> None:
    lines = [
        b": comment",
        b"event: a",
        b"data: one",
        b"data:two",
        b"data",
        b"",
        b"data: {}",
        b"id: 1",
        b"",
        b"datax: no",
        b"",
    ]
    data = end.join(lines) + end
    reader = FrameReader()
    frames = [frame for piece in pieces_of(data, size) for frame in reader.feed(piece)] + reader.close()
    assert [(frame.event, frame.data) for frame in frames] == [("a", b"one\ntwo\n"), ("", b"{}")]
