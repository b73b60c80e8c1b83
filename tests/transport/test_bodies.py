"""Bodies: where they end is told once, read however the bytes are cut, and never guessed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from groundwire.transport.http1.parser import (
    MAX_HEAD,
    Chunked,
    Endless,
    ProtocolError,
    ResponseHead,
    Sized,
    body_after,
)
from tests.transport.wires import Heard, heard, is_refused, oracle

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
HUGE = b"f" * 15

EXTENSIONS = st.sampled_from([b"", b"", b";a", b";a=b", b';a="b c"', b";a;b=1"])
TRAILERS = st.sampled_from([b"", b"x: y\r\n", b"a:\r\nb: c\r\n"])
SPELLINGS = st.sampled_from([b"%x", b"%X", b"%05x"])


@st.composite
def chunked(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A body in chunks, and what it says."""
    pieces = draw(st.lists(st.binary(min_size=1, max_size=40), max_size=6))
    wire = b"".join(
        draw(SPELLINGS) % len(piece) + draw(EXTENSIONS) + b"\r\n" + piece + b"\r\n" for piece in pieces
    )
    return wire + b"0" + draw(EXTENSIONS) + b"\r\n" + draw(TRAILERS) + b"\r\n", b"".join(pieces)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The bytes in pieces."""
    ends = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(ends) if start < end]


PLACES = st.lists(st.integers(0, 10_000), max_size=12)


@given(chunked(), PLACES)
def test_chunks_are_read_however_they_are_cut_and_as_others_read_them(
    body: tuple[bytes, bytes], places: list[int]
) -> None:
    wire, text = body
    theirs = oracle(CHUNKED + wire)
    assert theirs is not None
    assert theirs.body == text
    for pieces in (cut(CHUNKED + wire, places), cut(CHUNKED + wire, list(range(len(CHUNKED + wire))))):
        assert heard(pieces) == Heard(200, {"transfer-encoding": "chunked"}, text, "kept")


@given(st.binary(max_size=60), st.binary(max_size=9), PLACES)
def test_a_length_is_kept_to_however_the_bytes_are_cut(body: bytes, behind: bytes, places: list[int]) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body)
    told = heard(cut(head + body + behind, places))
    assert told.body == body
    assert told.end == ("closed" if behind else "kept"), "what nobody asked for belongs to nobody"


@given(st.binary(max_size=60), PLACES)
def test_a_body_without_a_length_ends_with_its_connection(body: bytes, places: list[int]) -> None:
    assert heard(cut(b"HTTP/1.1 200 OK\r\n\r\n" + body, places)) == Heard(200, {}, body, "closed")


@given(chunked(), st.integers(0, 10_000))
def test_chunks_that_break_off_are_never_whole(body: tuple[bytes, bytes], place: int) -> None:
    wire, text = body
    told = heard([CHUNKED + wire[: place % len(wire)]])
    assert told.end == "IncompleteBody"
    assert text.startswith(told.body)


SEEDS = [
    b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nx: y\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 3\r\n\r\nabc",
    b"HTTP/1.1 200 OK\nx: a\n b\ncontent-length: 3\n\nabc",
    CHUNKED + b"3\r\nabc\r\n10;x=y\r\n0123456789abcdef\r\n0\r\nx: y\r\n\r\n",
    CHUNKED + b"3 \r\nabc\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nlink: x\r\n\r\nHTTP/1.1 204 N\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 3\r\n\r\nabc",
]
SCRAPS = [
    *(b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b";", b",", b"0", b"3", b"x", b"+", b"-", b"0x", b"_", b"\0"),
    *(b"\xff", b'"', b"content-length: 3\r\n", b"transfer-encoding: chunked\r\n", b"\r\n\r\n", b"HTTP/1.1 "),
]
CHANGES = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 2), st.sampled_from(["", *range(len(SCRAPS))])),
    min_size=1,
    max_size=3,
)


def changed(data: bytes, changes: list[tuple[int, int, int | str]]) -> bytes:
    for place, gone, scrap in changes:
        at = place % (len(data) + 1)
        data = data[:at] + (SCRAPS[scrap] if isinstance(scrap, int) else b"") + data[at + gone :]
    return data


@settings(max_examples=400)
@given(st.sampled_from(SEEDS), CHANGES, PLACES)
def test_what_two_parsers_take_for_an_answer_is_the_same_answer(
    seed: bytes, changes: list[tuple[int, int, int | str]], places: list[int]
) -> None:
    data = changed(seed, changes)
    ours = heard([data])
    assert heard(cut(data, places)) == ours
    if ours.end not in ("kept", "closed"):
        return
    theirs = oracle(data) or oracle(data, lenient=True)
    if theirs is not None:
        assert (ours.status, ours.body) == (theirs.status, theirs.body)
        assert {name: text.split() for name, text in ours.headers.items()} == {
            name: text.split() for name, text in theirs.headers.items()
        }


@pytest.mark.parametrize(
    ("method", "status", "headers", "kind"),
    [
        ("GET", 200, {}, Endless),
        ("GET", 200, {"content-length": "5"}, Sized),
        ("GET", 200, {"transfer-encoding": "Chunked"}, Chunked),
        ("HEAD", 200, {"content-length": "5"}, Sized),
        ("HEAD", 200, {"transfer-encoding": "chunked"}, Sized),
        ("GET", 204, {"content-length": "5"}, Sized),
        ("GET", 304, {"transfer-encoding": "chunked"}, Sized),
        ("CONNECT", 200, {"content-length": "5"}, Sized),
        ("CONNECT", 407, {"transfer-encoding": "chunked"}, Chunked),
    ],
)
def test_method_status_and_headers_tell_what_follows(
    method: str, status: int, headers: dict[str, str], kind: type
) -> None:
    body = body_after(ResponseHead(status, headers), method)
    assert type(body) is kind
    is_bodiless = method == "HEAD" or status in (204, 304) or (method, status) == ("CONNECT", 200)
    assert body.is_over is is_bodiless


@pytest.mark.parametrize(
    "headers",
    [
        {"transfer-encoding": "chunked", "content-length": "5"},
        {"transfer-encoding": "chunked", "content-length": "five"},
        {"transfer-encoding": "chunked, chunked"},
        {"transfer-encoding": "gzip, chunked"},
        {"transfer-encoding": "chunked, identity"},
        {"transfer-encoding": "identity"},
        {"transfer-encoding": "chunked;q=1"},
        {"transfer-encoding": "xchunked"},
        {"transfer-encoding": "chun\u212aed"},
        {"transfer-encoding": "chunked\x0b"},
        {"transfer-encoding": '"chunked"'},
        {"transfer-encoding": ""},
        {"content-length": "5, 6"},
    ],
)
def test_an_end_that_is_told_twice_or_oddly_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ProtocolError):
        body_after(ResponseHead(200, headers), "GET")


@pytest.mark.parametrize(("status", "method"), [(204, "GET"), (304, "GET"), (200, "HEAD"), (200, "CONNECT")])
def test_a_length_that_is_none_is_refused_where_there_is_no_body_too(status: int, method: str) -> None:
    with pytest.raises(ProtocolError):
        body_after(ResponseHead(status, {"content-length": "five"}), method)


@pytest.mark.parametrize(
    "wire",
    [
        *(
            b"0x3\r\nabc\r\n",
            b"+3\r\nabc\r\n",
            b"-3\r\nabc\r\n",
            b"3_0\r\nabc\r\n",
            b" 3\r\nabc\r\n",
            b"\r\n",
        ),
        *(
            b"3,\r\nabc\r\n",
            b"g\r\n",
            b";a\r\n",
            b"3.0\r\n",
            "３\r\n".encode(),
            b"3\0\r\nabc\r\n",
            b"f" * 16 + b"\r\n",
        ),
        *(b"3\nabc\r\n", b"3\rabc\r\n", b"3\r\r\nabc\r\n", b"3;a\nb\r\nabc\r\n", b"3;a\rb\r\nabc\r\n"),
        *(b"3\r\nabcd\r\n", b"3\r\nabc\n0\r\n\r\n", b"3\r\nabc0\r\n\r\n", b"3\r\nabc\r0\r\n\r\n"),
        *(b"0\r\n\nHTTP", b"0\r\n\rHTTP", b"0\n\n", b"0\r\nno trailer\r\n\r\n", b"0\r\n a: b\r\n\r\n"),
        *(b"0\r\na: b\r\n c\r\n\r\n", b"0\r\na : b\r\n\r\n", b"0\r\n: b\r\n\r\n", b"0\r\na: b\nc: d\r\n\r\n"),
    ],
)
def test_chunks_that_others_might_read_otherwise_are_refused(wire: bytes) -> None:
    told = heard([CHUNKED, wire])
    assert (told.status, told.end) == (200, "ProtocolError")
    assert b"abc".startswith(told.body), "what was right before it is still told"
    assert oracle(CHUNKED + wire) is None
    assert heard(cut(CHUNKED + wire, list(range(200)))) == told


def test_what_was_right_is_told_before_what_was_wrong() -> None:
    body = Chunked()
    assert body.feed(b"3\r\nabc\r\n2\r\nde\r\nzz\r\n1\r\nf\r\n") == b"abcde"
    assert isinstance(body.fault, ProtocolError)
    assert not body.is_over


@pytest.mark.parametrize(
    ("wire", "refused"),
    [
        (b"3;" + b"x" * 4094 + b"\r\nabc\r\n0\r\n\r\n", False),
        (b"3;" + b"x" * 4095 + b"\r\nabc\r\n0\r\n\r\n", True),
        (b"0\r\na: " + b"x" * 4093 + b"\r\n\r\n", False),
        (b"0\r\na: " + b"x" * 4094 + b"\r\n\r\n", True),
        (b"0\r\n" + b"a: b\r\n" * (MAX_HEAD // 4) + b"\r\n", False),
        (b"0\r\n" + b"a: b\r\n" * (MAX_HEAD // 4 + 1) + b"\r\n", True),
        (b"1" * 5000, True),
    ],
    ids=["extension", "longer", "trailer", "longer trailer", "trailers", "more trailers", "size without end"],
)
def test_what_stands_between_chunks_is_bounded_however_it_is_cut(wire: bytes, refused: bool) -> None:
    for pieces in ([wire], cut(wire, list(range(0, len(wire), 7))), cut(wire, [4097, 4098, 4099, 4100])):
        assert is_refused([CHUNKED, *pieces]) is refused


def test_an_enormous_chunk_costs_nothing_until_it_comes() -> None:
    told = heard([CHUNKED + HUGE + b"\r\nabc"])
    assert (told.body, told.end) == (b"abc", "IncompleteBody")
    told = heard([b"HTTP/1.1 200 OK\r\ncontent-length: %s\r\n\r\nabc" % (b"9" * 18)])
    assert (told.body, told.end) == (b"abc", "IncompleteBody")


@example(b"")
@given(st.binary(max_size=30))
def test_nothing_follows_an_answer_without_a_body(behind: bytes) -> None:
    for first in (b"HTTP/1.1 204 No Content\r\n", b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n"):
        told = heard([first + b"\r\n" + behind])
        assert (told.body, told.end) == (b"", "closed" if behind else "kept")
