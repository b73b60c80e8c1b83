"""Streams decode to the same answer however their bytes are split, formatted or truncated.

Over every recorded stream, and over streams that each dialect's own encoder makes of one answer with
everything in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from random import Random
from typing import NamedTuple

import pytest

from groundwire.dialects.base import CitationPolicy, StreamDecoder
from groundwire.dialects.features import Feature, project
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.model import Event, Failed, Finished, TextDelta, TextSettled, assemble
from tests.contracts.amazon_frames import BINARY
from tests.contracts.recorded.catalogue import Recording, body_of, events_of, recorded_answer, recordings_of
from tests.contracts.recorded.each import each
from tests.contracts.recorded.frames import (
    FRAMINGS,
    LINE_ENDS,
    borders,
    decode,
    is_sse,
    payloads,
    pieces_of,
    random_pieces,
    with_line_ends,
)
from tests.contracts.recorded.full_answer import RICH, encoded

BYTEWISE = 20_000
"""Bytes up to which a stream is fed byte by byte; longer ones go in pieces of seven."""
EFFORT = 500_000
"""Bytes that a test reads of one stream, all its variations taken together."""

ENDS = {
    "anthropic_messages": rb'"stop_reason"\s*:\s*"',
    "openai_responses": rb'"response\.(completed|incomplete|done)"',
    "openai_chat": rb'"finish_reason"\s*:\s*"',
    "gemini": rb'"(finishReason|blockReason)"',
    "gemini_interactions": rb'"interaction\.completed"',
    "bedrock_converse": rb'"stopReason"',
    "cohere_chat": rb'"message-end"',
    "mistral_conversations": rb'"conversation\.response\.done"',
}
"""The bytes with which a wire format marks an answer as complete."""


class Stream(NamedTuple):
    """A stream by name: recorded, or made by a dialect's encoder."""

    dialect: str
    recording: Recording | None
    events: str = ""
    citations: CitationPolicy = "exact"

    @property
    def name(self) -> str:
        made = f"{self.dialect} {self.events} {self.citations}"
        return self.recording.name if self.recording else made

    @property
    def data(self) -> bytes:
        if self.recording is not None:
            return self.recording.data
        return _encoded(self.dialect, self.events, self.citations)

    def decoder(self) -> StreamDecoder:
        return dialect(self.dialect).decoder()


@cache
def _encoded(name: str, events: str, citations: CitationPolicy) -> bytes:
    return encoded(name, RICH[events], citations)


@cache
def _whole(stream: Stream) -> tuple[Event, ...]:
    return tuple(decode(stream.decoder(), [stream.data]))


STREAMS = [Stream(recording.dialect, recording) for recording in recordings_of("stream")]
STREAMS += [Stream(name, None, events) for name in DIALECTS for events in RICH]
STREAMS += [Stream(name, None, "whole", "live") for name in DIALECTS]
every_stream = each(STREAMS)
every_text_stream = each(stream for stream in STREAMS if stream.dialect not in BINARY)


def _check(stream: Stream, pieces: Iterable[bytes]) -> None:
    assert decode(stream.decoder(), pieces) == [*_whole(stream)]


@every_stream
def test_a_stream_split_into_bytes_gives_the_same_answer(stream: Stream) -> None:
    data = stream.data
    _check(stream, pieces_of(data, 1 if len(data) <= BYTEWISE else 7))


@every_stream
def test_a_stream_split_at_random_gives_the_same_answer(stream: Stream) -> None:
    random = Random(stream.name)
    for _ in range(max(4, min(20, EFFORT // len(stream.data)))):
        _check(stream, random_pieces(stream.data, random))


@pytest.mark.thorough
@every_stream
def test_a_stream_split_into_chunks_of_any_size_gives_the_same_answer(stream: Stream) -> None:
    for size in (1, 2, 3, 5, 7, 64, 1021, 4096):
        _check(stream, pieces_of(stream.data, size))


@pytest.mark.thorough
@every_stream
def test_a_stream_split_at_random_two_hundred_times_gives_the_same_answer(stream: Stream) -> None:
    random = Random(stream.name)
    for _ in range(200):
        _check(stream, random_pieces(stream.data, random))


@every_text_stream
def test_line_ends_make_no_difference(stream: Stream) -> None:
    for end in LINE_ENDS.values():
        data = with_line_ends(stream.data, end)
        _check(stream, [data])
        _check(stream, pieces_of(data, 5 if len(data) <= BYTEWISE else 101))


@every_text_stream
def test_the_formatting_of_events_makes_no_difference(stream: Stream) -> None:
    if is_sse(stream.data):
        for framed in FRAMINGS.values():
            data = framed(stream.data)
            _check(stream, [data])
            _check(stream, pieces_of(data, 11 if len(data) <= BYTEWISE else 997))


@every_stream
def test_a_stream_ends_once_and_nothing_follows(stream: Stream) -> None:
    decoder = stream.decoder()
    events = decode(decoder, [stream.data])
    assert [event for event in events if isinstance(event, Finished | Failed)] == events[-1:]
    assert decoder.feed(stream.data) == []
    assert decoder.close() == []


@every_stream
def test_every_text_is_settled_before_the_end(stream: Stream) -> None:
    events = _whole(stream)
    settled: set[int] = set()
    for event in events:
        if isinstance(event, TextSettled):
            settled.add(event.part)
        elif isinstance(event, TextDelta):
            assert event.part not in settled, f"more text of part {event.part} after it was settled"
    text_parts = {event.part for event in events if isinstance(event, TextDelta) and event.text}
    assert isinstance(events[-1], Failed) or text_parts <= settled


def _texts(events: Iterable[Event]) -> dict[int, str]:
    """The text of each part; those of one answer may come interleaved."""
    texts: dict[int, str] = {}
    for event in events:
        if isinstance(event, TextDelta):
            texts[event.part] = texts.get(event.part, "") + event.text
    return texts


def _check_truncated(stream: Stream, ends: Iterable[int]) -> None:
    data = stream.data
    whole = _texts(_whole(stream))
    end = re.search(ENDS[stream.dialect], data) if stream.dialect in ENDS else None
    for end_offset in ends:
        events = decode(stream.decoder(), [data[:end_offset]])
        assert [event for event in events if isinstance(event, Finished | Failed)] == events[-1:], end_offset
        for part, text in _texts(events).items():
            assert whole[part].startswith(text), end_offset
        if end is not None and end_offset <= end.start():
            assert isinstance(events[-1], Failed), f"cut at {end_offset}, it claims to be complete"


@every_stream
def test_a_stream_truncated_between_frames_ends_once_with_the_text_so_far(stream: Stream) -> None:
    ends = borders(stream.data)
    step = len(ends) * len(stream.data) // (2 * EFFORT) + 1
    _check_truncated(stream, {0, *ends[::step], *ends[-5:]})


@pytest.mark.thorough
@every_stream
def test_a_stream_truncated_between_any_frames_ends_once_with_the_text_so_far(stream: Stream) -> None:
    _check_truncated(stream, borders(stream.data))


@every_stream
def test_a_stream_truncated_anywhere_ends_once_with_the_text_so_far(stream: Stream) -> None:
    random = Random(stream.name)
    count = max(4, min(30, EFFORT // len(stream.data)))
    _check_truncated(stream, [random.randrange(len(stream.data)) for _ in range(count)])


COMPLETE = [recording for recording in recordings_of("stream") if recorded_answer(recording).refusal is None]


@each(COMPLETE)
def test_a_stream_and_the_body_of_the_same_answer_are_equal(recording: Recording) -> None:
    body = assemble(dialect(recording.dialect).decode_response(body_of(recording)))
    assert assemble(events_of(recording)) == body


RESPONSES = [recording for recording in COMPLETE if recording.dialect == "openai_responses"]


@each(RESPONSES)
def test_a_stream_equals_the_response_in_its_last_event(recording: Recording) -> None:
    final = payloads(recording.data)[-1]["response"]
    assert isinstance(final, dict)
    body = assemble(dialect(recording.dialect).decode_response(final))
    streamed = assemble(events_of(recording))
    for feature in Feature:
        assert project(streamed, feature) == project(body, feature), feature
