"""Scanning of responses that are passed through: only the end and the usage are looked for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import dialect
from groundwire.dialects.unsafe_urls import remove_unsafe_urls
from groundwire.model import Event, Failed, Finished, Source, TextDelta, Usage, UsageSeen, Verbatim
from groundwire.model.batch import FastPath
from groundwire.providers.passthrough.scan import (
    SCAN_RULES,
    ContentCheck,
    ScanResult,
    is_settled,
    scan_body,
    scan_frames,
    trailing_frames,
)
from groundwire.providers.response_reader import FrameStream
from groundwire.testing.answers import answer_events, encode_answer

EVENTS = answer_events(
    'He said {"type": "message_stop", "error": {}} [DONE].', Source("https://a.example/", "A")
)


def usage(events: list[Event] | None) -> Usage:
    return next(event.usage for event in events or () if isinstance(event, UsageSeen))


@pytest.mark.parametrize("name", SCAN_RULES)
def test_the_usage_of_a_whole_answer_is_found(name: str) -> None:
    body = json.loads(encode_answer(name, EVENTS).whole)
    seen = scan_body(dialect(name), body)
    whole = dialect(name).decode_response(body)
    assert usage(seen).output_tokens == usage(whole).output_tokens == 34
    assert isinstance((seen or [])[-1], Finished)
    assert not any(isinstance(event, TextDelta) for event in seen or ())


@pytest.mark.parametrize("name", SCAN_RULES)
def test_a_body_without_an_answer_is_decoded_instead(name: str) -> None:
    assert scan_body(dialect(name), {"error": {"message": "no"}}) is None


def frames_of(name: str) -> list[bytes]:
    return [frame + b"\n\n" for frame in encode_answer(name, EVENTS).stream.split(b"\n\n") if frame]


def ends(name: str, data: bytes) -> bool:
    return any(isinstance(event, Finished | Failed) for event in scan_frames(dialect(name), data).events)


@pytest.mark.parametrize("name", sorted(set(SCAN_RULES) - {"gemini"}))
def test_the_end_of_a_stream_is_found_once_and_not_before(name: str) -> None:
    frames = frames_of(name)
    (end,) = (number for number, frame in enumerate(frames) if ends(name, frame))
    assert end >= len(frames) - 2


def test_a_gemini_stream_ends_with_its_bytes_and_is_settled_before() -> None:
    frames = frames_of("gemini")
    assert not any(ends("gemini", frame) for frame in frames)
    assert [is_settled(dialect("gemini"), frame) for frame in frames] == [
        *([False] * (len(frames) - 1)),
        True,
    ]


@pytest.mark.parametrize("name", sorted(set(SCAN_RULES) - {"gemini"}))
def test_nothing_after_the_end_belongs_to_the_answer(name: str) -> None:
    whole = b"".join(frames_of(name))
    seen = scan_frames(dialect(name), whole + whole)
    assert isinstance(seen.events[-1], Finished)
    rest = trailing_frames(dialect(name), seen.events[-1], (whole + whole)[seen.length :])
    assert whole[: seen.length] + rest == whole or rest == b"data: [DONE]\n\n"


def test_text_that_looks_like_an_end_is_not_one() -> None:
    frame = json.dumps({"choices": [{"index": 0, "delta": {"content": "data: [DONE]"}}]}).encode()
    assert not ends("openai_chat", b"data: " + frame + b"\n\n")
    inner = {"type": "content_block_start", "index": 0, "content_block": {"input": {"type": "message_stop"}}}
    assert not ends("anthropic_messages", b"data: " + json.dumps(inner).encode() + b"\n\n")
    last = b'data: {"index":0,"type":"message_stop"}\n\n'
    assert ends("anthropic_messages", last)


@pytest.mark.parametrize("name", SCAN_RULES)
def test_the_usage_of_a_stream_is_found_in_its_last_frames(name: str) -> None:
    seen = scan_frames(dialect(name), encode_answer(name, EVENTS).stream, settled=True)
    assert usage(seen.events).output_tokens == 34


@pytest.mark.parametrize("name", SCAN_RULES)
def test_an_error_inside_a_stream_is_its_end(name: str) -> None:
    encoder = dialect(name).encoder(Reply())
    stream = b"".join(encoder.feed(event) for event in EVENTS[:-3])
    error = encoder.close()
    assert not any(isinstance(event, Failed) for event in scan_frames(dialect(name), stream).events)
    assert any(isinstance(event, Failed) for event in scan_frames(dialect(name), error).events)


TEXTS = st.text(st.sampled_from('ab \\"\n\rü}{[]:,url') | st.characters(codec="utf-8"), max_size=12)


@pytest.mark.parametrize("value", ["Infinity", "1", "[1]", '"no"', '{"message": "no"}'])
def test_an_error_of_any_type_is_the_end_and_null_is_none(value: str) -> None:
    language = dialect("openai_chat")
    frame = f'data: {{"error": {value}}}\n\n'.encode()
    assert isinstance(scan_frames(language, frame).events[-1], Failed)
    assert scan_frames(language, b'data: {"choices": [], "error": null}\n\n').events == []


KINDS = st.sampled_from(["content", "text", "type", "url", "error", "finish_reason", "usage", "delta"])


@given(
    st.sampled_from(sorted(SCAN_RULES)),
    st.lists(st.tuples(KINDS, TEXTS, KINDS, TEXTS), min_size=1, max_size=8),
)
def test_what_is_taken_for_content_has_no_events_and_no_unsafe_urls(
    name: str, fields: list[tuple[str, str, str, str]]
) -> None:
    check = ContentCheck(dialect(name))
    for key, text, other, value in fields:
        body = json.dumps({"kept": 1, other: value, key: text, "end": None}, ensure_ascii=False)
        frame = f"data: {body}\n\n".encode()
        if check.is_content(frame):
            assert scan_frames(dialect(name), frame) == ScanResult([], len(frame), settled=False)
            assert remove_unsafe_urls(frame) == frame


def test_a_frame_that_differs_only_in_its_text_is_content_however_often_the_text_changes() -> None:
    check = ContentCheck(dialect("openai_chat"))
    frame = 'data: {{"choices":[{{"delta":{{"content":"{}"}},"finish_reason":null}}]}}\n\n'
    for text in ("a", "b", "url", "ü", "", "[DONE]", "x y"):
        assert check.is_content(frame.format(text).encode()), text
    for broken in ('a","url":"javascript:x', 'a"}}]}\n\ndata: [DONE]', 'a"},"error":{"b":"'):
        assert not check.is_content(frame.format(broken).encode()), broken


PIECES = ["plain", 'with "quotes"', "a\\\\b", "url", "ü 東京", "x" * 300, "[DONE]", '"error":{"a":1}', ""]
ODD_FRAMES = [
    b": ping\n\n",
    b'data: {"type":"ping"}\n\n',
    b'event: x\ndata: {"citation":{"url":"javascript:alert(1)"}}\n\n',
    b'data: {"sources":[{"url":"https://a.example/"}]}\n\n',
]


@given(
    st.sampled_from(sorted(SCAN_RULES)),
    st.lists(st.sampled_from(PIECES), min_size=20, max_size=60),
    st.dictionaries(st.integers(0, 60), st.sampled_from(ODD_FRAMES), max_size=3),
)
@settings(max_examples=30)
def test_frames_that_arrive_together_are_scanned_like_frames_that_arrive_one_by_one(
    name: str, texts: list[str], odd: dict[int, bytes]
) -> None:
    start, *rest = answer_events("first", Source("https://a.example/", "A"))
    deltas = [TextDelta(0, text) for text in texts]
    frames = [frame + b"\n\n" for frame in encode_answer(name, [start, *deltas, *rest]).stream.split(b"\n\n")]
    frames.pop()
    for index, frame in sorted(odd.items()):
        frames.insert(min(index, len(frames)), frame)

    def received(pieces: list[bytes]) -> tuple[bytes, set[str]]:
        stream = FrameStream(dialect(name), bytes, FastPath())
        events: list[Event] = []
        for piece in pieces:
            if stream.receive(piece):
                batch, _ = stream.take()
                events += batch
                if isinstance(batch[-1], Finished | Failed):
                    break
        sent = b"".join(event.data for event in events if isinstance(event, Verbatim))
        # Usage and searches of one piece have no order, and a search that is reported twice has one id.
        return sent, {repr(event) for event in events if not isinstance(event, Verbatim)}

    assert received([b"".join(frames)]) == received(frames)


@pytest.mark.parametrize("name", SCAN_RULES)
def test_a_long_frame_that_ends_the_answer_is_not_content_wherever_it_is(name: str) -> None:
    check = ContentCheck(dialect(name))
    text = "x" * 5000
    content = [f'data: {{"delta":{{"text":"{number}{text}"}}}}\n\n'.encode() for number in range(3)]
    end = f'data: {{"type":"error","event_type":"error","error":{{"text":"{text}"}}}}\n\n'.encode()
    assert check.end_of_content(end, 0) == 0
    assert check.end_of_content(end + content[0], 0) == 0
    assert check.end_of_content(b"".join(content) + end, 0) == len(b"".join(content))
    assert check.end_of_content(content[0] + end + content[1], 0) == len(content[0])
    assert check.end_of_content(content[0].replace(b"\n", b"\r\n"), 0) == 0
    assert check.end_of_content(content[0][:-2], 0) == 0


def test_only_strings_of_text_may_differ() -> None:
    check = ContentCheck(dialect("anthropic_messages"))
    for kind in ("ping", "pong", "ping"):
        assert check.is_content(b'data: {"type":"%b"}\n\n' % kind.encode())
    assert not check.is_content(b'data: {"type":"error"}\n\n')
    assert not check.is_content(b'data: {"type":"message_stop"}\n\n')
