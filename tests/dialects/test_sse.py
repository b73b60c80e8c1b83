"""Server-sent events from bytes that are split anywhere."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.dialects import sse
from groundwire.dialects.json import dump_json
from groundwire.dialects.sse import (
    Frame,
    FrameReader,
    JsonReader,
    SseReader,
    encode_comment,
    encode_frame,
)
from groundwire.errors import UpstreamWireError
from groundwire.model import Json
from tests.model.strategies import cases, json_values, texts

BOM = b"\xef\xbb\xbf"


def read(data: bytes, *cuts: int) -> list[Frame]:
    reader = FrameReader()
    frames: list[Frame] = []
    offsets = [0, *sorted(cuts), len(data)]
    for start, end in pairwise(offsets):
        frames += reader.feed(data[start:end])
    return frames + reader.close()


def by_the_standard(data: bytes) -> list[Frame]:
    """The parser of the HTML standard, transcribed literally."""
    text = data.removeprefix(BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n") + b"\n\n"
    frames: list[Frame] = []
    event = b""
    lines: list[bytes] = []
    for line in text.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if lines:
                frames.append(Frame(event.decode(), b"\n".join(lines)))
            event, lines = b"", []
        elif field == b"data":
            lines.append(value)
        elif field == b"event":
            event = value
    return frames


STREAMS = {
    "plain": (b"event: a\ndata: 1\n\ndata: 2\n\n", [Frame("a", b"1"), Frame("", b"2")]),
    "crlf": (b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", [Frame("a", b"1"), Frame("", b"2")]),
    "cr": (b"event: a\rdata: 1\r\rdata: 2\r\r", [Frame("a", b"1"), Frame("", b"2")]),
    "mixed": (b"event: a\rdata: 1\n\r\ndata: 2\r\n\n", [Frame("a", b"1"), Frame("", b"2")]),
    "byte order mark": (BOM + b"data: 1\n\n", [Frame("", b"1")]),
    "blank lines first": (b"\n\r\n \n" + BOM[:0] + b"data: 1\n\n", [Frame("", b"1")]),
    "comments": (
        b": hello\n\n:\n: OPENROUTER PROCESSING\n\ndata: 1\n: in between\ndata: 2\n\n",
        [Frame("", b"1\n2")],
    ),
    "several lines": (b"data: {\ndata:  1\ndata:}\ndata\n\n", [Frame("", b"{\n 1\n}\n")]),
    "no blank": (b"data:1\n\n", [Frame("", b"1")]),
    "no blank line at the end": (b"event: a\ndata: 1\n", [Frame("a", b"1")]),
    "no line end at the end": (b"event: a\ndata: 1", [Frame("a", b"1")]),
    "a bare CR at the end": (b"data: 1\r", [Frame("", b"1")]),
    "separators inside": (
        "data: a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\n\n".encode(),
        [Frame("", "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg".encode())],
    ),
    "other fields": (b"id: 7\nretry: 10\nfoo: bar\ndata: 1\n\n", [Frame("", b"1")]),
    "an event without data": (b"event: a\n\ndata: 1\n\n", [Frame("", b"1")]),
    "empty data": (b"event: a\ndata:\n\n", [Frame("a", b"")]),
    "the last name counts": (b"event: a\nevent: b\ndata: 1\n\n", [Frame("b", b"1")]),
    "padded": (b"data: {}          \n\n", [Frame("", b"{}          ")]),
    "nothing": (b"", []),
    "only blanks": (b"\r\n  \n", []),
    "html": (b"<html>\n<body>Bad gateway</body>\n\n", []),
}


@pytest.mark.parametrize("name", STREAMS)
def test_server_sent_events_are_read_whole(name: str) -> None:
    data, frames = STREAMS[name]
    assert read(data) == frames


@pytest.mark.parametrize("name", STREAMS)
def test_server_sent_events_are_read_byte_by_byte(name: str) -> None:
    data, frames = STREAMS[name]
    assert read(data, *range(len(data))) == frames


@pytest.mark.parametrize("name", STREAMS)
def test_server_sent_events_are_parsed_with_a_split_at_every_offset(name: str) -> None:
    data, frames = STREAMS[name]
    for cut in range(len(data) + 1):
        assert read(data, cut) == frames


LINES = st.sampled_from(
    [
        *(b"data: 1", b"data:", b"data", b"data:  x", b"event: e", b"event:"),
        *(b": c", b":", b"id: 1", b"", b"", b"datax: 1", "data: é😀\u2028".encode()),
    ]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@cases(300)
@given(
    st.lists(st.tuples(LINES, ENDS), max_size=12), st.lists(st.integers(0, 120), max_size=8), st.booleans()
)
def test_any_lines_in_any_chunks_are_parsed_by_the_standard(
    lines: list[tuple[bytes, bytes]], cuts: list[int], marked: bool
) -> None:
    data = (BOM if marked else b"") + b"".join(line + end for line, end in lines)
    expected = by_the_standard(data)
    assert read(data, *(min(cut, len(data)) for cut in cuts)) == expected
    assert read(data, *range(len(data))) == expected


def test_an_event_is_emitted_as_soon_as_its_blank_line_arrives() -> None:
    reader = FrameReader()
    assert reader.feed(b"data: 1\n") == []
    assert reader.feed(b"\n") == [Frame("", b"1")]
    assert reader.close() == []


@pytest.mark.parametrize("name", ["", "message_start"])
@cases(100)
@given(value=json_values())
def test_what_is_written_is_read_again(name: str, value: Json) -> None:
    data = dump_json(value)
    assert read(encode_frame(name, data)) == [Frame(name, data.encode())]
    assert encode_frame(name, data).count(b"\n") == (3 if name else 2)


@cases(100)
@given(texts())
def test_readers_that_split_at_every_line_separator_see_one_line(text: str) -> None:
    frame = encode_frame("", dump_json([text])).decode()
    assert [line for line in frame.split("\n") if line] == frame.splitlines()[:1]
    for separator in ("\x85", "\u2028", "\u2029"):
        assert separator not in frame


def test_a_comment_is_not_an_event() -> None:
    assert read(encode_comment("keep-alive")) == []


ELEMENTS: list[Json] = [
    {"a": 1},
    {"text": 'brace } bracket ] quote " backslash \\ end\\'},
    {"nested": [{"x": [[]]}, {}], "empty": ""},
    {"unicode": "é😀\u2028", "escaped": "\\u007d"},
    [1, [2]],
]


def json_bodies() -> list[tuple[bytes, list[bytes]]]:
    single = [json.dumps(element, ensure_ascii=False).encode() for element in ELEMENTS]
    pretty = [json.dumps(element, indent=2).encode() for element in ELEMENTS]
    return [
        (b"[" + b",".join(single) + b"]", single),
        (b"[" + b"\r\n,\r\n".join(pretty) + b"\n]\n", pretty),
        (b" \r\n\n  " + BOM[:0] + single[0], single[:1]),
        (BOM + single[1], single[1:2]),
        (pretty[2] + b"\n", pretty[2:3]),
        (b"[]", []),
        (b"[ \n ]", []),
        (b'["{", {"a": "]"}]', [b'{"a": "]"}']),
    ]


@pytest.mark.parametrize("index", range(len(json_bodies())))
def test_elements_of_a_json_body_are_frames_wherever_it_is_cut(index: int) -> None:
    data, elements = json_bodies()[index]
    expected = [Frame("", element) for element in elements]
    assert read(data) == expected
    assert read(data, *range(len(data))) == expected
    for cut in range(len(data) + 1):
        assert read(data, cut) == expected


@cases(200)
@given(
    st.lists(st.dictionaries(texts(3), json_values(), max_size=3), max_size=4),
    st.lists(st.integers(0, 300), max_size=6),
)
def test_any_array_of_objects_is_read_in_any_pieces(elements: list[dict[str, Json]], cuts: list[int]) -> None:
    data = json.dumps(elements, ensure_ascii=False).encode()
    frames = read(data, *(min(cut, len(data)) for cut in cuts))
    assert [json.loads(frame.data) for frame in frames] == elements


def test_an_element_is_emitted_as_soon_as_it_is_complete() -> None:
    reader = FrameReader()
    assert reader.feed(b'[{"a": 1}') == [Frame("", b'{"a": 1}')]
    assert reader.feed(b'\r\n,\r\n{"b": ') == []
    assert reader.feed(b"2}]") == [Frame("", b'{"b": 2}')]
    assert reader.close() == []


@pytest.mark.parametrize("data", [b'{"a": 1', b'[{"a": "x', b'[{"a": 1}, {"b"', b"[1, 2]"])
def test_a_truncated_value_is_emitted_as_the_remaining_bytes(data: bytes) -> None:
    *_, last = read(data)
    assert last.data
    with pytest.raises(ValueError, match=r"."):
        json.loads(last.data)


@pytest.mark.parametrize(("data", "bare"), [(b"", False), (b" {", True), (b"[", True), (b"data: {}", False)])
def test_a_reader_knows_whether_it_reads_bare_json(data: bytes, bare: bool) -> None:
    reader = FrameReader()
    reader.feed(data)
    assert reader.is_json == bare


def test_closing_twice_emits_nothing_twice() -> None:
    for data in (b"data: 1", b'{"a": 1'):
        reader = FrameReader()
        reader.feed(data)
        assert len(reader.close()) == 1
        assert reader.close() == []


def test_a_line_or_event_or_value_without_an_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_PENDING", 1000)
    for start, more in ((b"data: ", b"x"), (b'{"a": "', b"x"), (b"data: 1\n", b"data: 1\n")):
        reader = FrameReader()
        reader.feed(start + more * (900 // len(more)))
        with pytest.raises(UpstreamWireError):
            reader.feed(more * 200)


def test_long_data_within_the_limit_is_accepted_on_any_number_of_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sse, "MAX_PENDING", 1000)
    assert len(read(b"data: 1\n\n" * 1000)) == 1000
    assert len(read(b"[" + b",".join([b'{"a": 1}'] * 1000) + b"]")) == 1000


@pytest.mark.parametrize("reader", [SseReader, JsonReader])
def test_one_long_line_in_small_pieces_is_copied_once_not_each_time(
    reader: type[SseReader] | type[JsonReader],
) -> None:
    # Quadratic reading would copy hundreds of gigabytes here: that the test ends is the test.
    feeder = reader()
    pieces = 200_000
    frames = feeder.feed(b'data: {"a": "' if reader is SseReader else b'{"a": "')
    for _ in range(pieces):
        frames += feeder.feed(b"0123456789")
    frames += feeder.feed(b'"}\n\n')
    assert [len(frame.data) for frame in frames] == [pieces * 10 + 9]


def test_random_bytes_are_parsed_the_same_wherever_they_are_split() -> None:
    chance = random.Random(3)
    tokens = [b"\r", b"\n", b":", b" ", b"data", b"event", b"{", b"}", b"[", b"]", b'"', b"\\", b"a"]
    alphabet = [*tokens, b"\xff", b"\xef", b"\xbb", b"\xbf"]
    for _ in range(3_000):
        data = b"".join(chance.choices(alphabet, k=chance.randrange(25)))
        whole = read(data)
        assert read(data, *range(len(data))) == whole
