"""Heads and bodies are parsed however the bytes are split, and checked against llhttp."""

from __future__ import annotations

from itertools import pairwise

import httptools
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from groundwire.transport.http1.parser import (
    MAX_HEAD,
    ChunkedBody,
    ProtocolError,
    ResponseHead,
    SizedBody,
    UnsizedBody,
    body_parser,
    decode_response,
    encode_request,
    is_kept_alive,
    length_in,
)
from tests.transport.fake_transport import ParsedResponse, is_refused, oracle, parse_response

TOKENS = st.text("!#$%&'*+.^_`|~0123456789ABCXYZabcxyz-", min_size=1, max_size=12)
VISIBLE = st.characters(min_codepoint=0x21, max_codepoint=0x2FFF, exclude_characters="\x7f")
WORDS = st.lists(st.text(VISIBLE, min_size=1, max_size=8), max_size=4).map(" ".join)
TARGETS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=20).map(
    lambda end: f"/{end}"
)
ANYTHING = st.text(st.sampled_from("ab:;, \t\r\n\0\x0b\x0c\x1c\x85\u2028é"), max_size=8)
OK = b"HTTP/1.1 200 OK\r\n"


class LlhttpRequest:
    """A request as a server reads it."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: list[tuple[str, str]] = []

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, text: bytes) -> None:
        self.headers.append((name.decode(), text.decode()))


@given(TARGETS, st.lists(st.tuples(TOKENS, WORDS), max_size=6))
def test_a_server_reads_the_encoded_request(target: str, headers: list[tuple[str, str]]) -> None:
    sent = [(name, text) for name, text in headers if name.lower() not in ("content-length", "connection")]
    request = LlhttpRequest()
    parser = httptools.HttpRequestParser(request)
    parser.feed_data(encode_request("POST", target, sent))
    assert (parser.get_method(), request.url.decode(), request.headers) == (b"POST", target, sent)


@given(
    st.sampled_from(["GET", "PO ST", "GET\n"]), ANYTHING, st.lists(st.tuples(ANYTHING, ANYTHING), max_size=3)
)
def test_no_header_can_inject_a_line(method: str, target: str, headers: list[tuple[str, str]]) -> None:
    try:
        data = encode_request(method, target, headers)
    except ValueError:
        return
    lines = data.split(b"\r\n")
    assert len(lines) == len(headers) + 3
    assert lines[0].count(b" ") == 2
    assert not any(character in line for line in lines for character in (b"\r", b"\n", b"\0"))


def test_a_lone_surrogate_cannot_be_encoded() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        encode_request("GET", "/", [("x-key", "\ud800")])


REASONS = st.sampled_from(["", " ", " OK", " Not  at all", " é"])
BLANKS = st.text(" \t", max_size=3)
FIELDS = st.tuples(TOKENS, BLANKS, WORDS, BLANKS)


@given(st.integers(200, 599), REASONS, st.lists(FIELDS, max_size=8))
def test_a_head_is_parsed_as_llhttp_parses_it(
    status: int, reason: str, fields: list[tuple[str, str, str, str]]
) -> None:
    sent = [field for field in fields if field[0].lower() not in ("content-length", "connection", "upgrade")]
    lines = [f"HTTP/1.1 {status}{reason}", *(f"{name}:{a}{text}{b}" for name, a, text, b in sent)]
    head = "\r\n".join(lines).encode()
    ours = decode_response(head)
    theirs = oracle(head + b"\r\ncontent-length: 0\r\n\r\n")
    assert theirs is not None
    assert ours.status == theirs.status == status
    read = {name: text.encode("latin-1").decode() for name, text in theirs.headers.items()}
    assert {**ours.headers, "content-length": "0"} == read


def test_repeated_headers_are_joined_in_order() -> None:
    assert decode_response(OK + b"A: 1\r\nb: 2\r\na: 3").headers == {"a": "1, 3", "b": "2"}


def test_headers_that_are_not_utf8_are_decoded_as_latin1() -> None:
    assert decode_response(OK + b"a: \xe4\xff").headers == {"a": "äÿ"}
    assert decode_response(OK + "a: ä\u2028b\x85".encode()).headers == {"a": "ä\u2028b\x85"}


@pytest.mark.parametrize(
    ("head", "headers"),
    [
        (b"HTTP/1.1 200 OK\na: 1\nb: 2", {"a": "1", "b": "2"}),
        (OK + b"a: 1\nb: 2\r\nc: 3", {"a": "1", "b": "2", "c": "3"}),
        (OK + b"a: 1\r\n 2\r\n\t 3\r\nb: 4", {"a": "1 2 3", "b": "4"}),
        (OK + b"a:\r\n 1", {"a": "1"}),
        (OK + b"a: 1\r\n  \r\nb: 2", {"a": "1", "b": "2"}),
        (OK + b"a:", {"a": ""}),
    ],
)
def test_lines_may_end_in_a_bare_line_feed_and_be_folded(head: bytes, headers: dict[str, str]) -> None:
    assert decode_response(head).headers == headers


@pytest.mark.parametrize(
    "head",
    [
        *(
            b"",
            b"HTTP/1.1",
            b"HTTP/1.1 ",
            b"HTTP/1.1 20",
            b"HTTP/1.1 2000",
            b"HTTP/1.1 099 x",
            b"HTTP/1.1 two",
        ),
        *(
            b"HTTP/1.1  200 OK",
            b"HTTP/1.1 200OK",
            b"HTTP/1.1\t200 OK",
            b"HTTP/1.2 200 OK",
            b"HTTP/1.10 200 OK",
        ),
        *(b"HTTP/2.0 200 OK", b"HTTP/11 200 OK", b"http/1.1 200 OK", b"ICY 200 OK", b" HTTP/1.1 200 OK"),
        *("HTTP/1.1 ２００ OK".encode(), b"HTTP/1.1 +20 OK", b"HTTP/1.1 -20 OK", b"HTTP/1.1 2_0 OK"),
        *(
            OK + b"no colon",
            OK + b": no name",
            OK + b"a b: c",
            OK + b"a : b",
            OK + b"a\t: b",
            OK + b"\xe4: b",
        ),
        *(OK + b"a: 1\r\nb 2: 3", OK + b"a: b\rc: d", OK + b"a: b\r\r\nc: d", OK + b"a: b\r", OK + b"a: \0"),
        *(OK + b"a\0: b", OK + b"a\r: b", b"HTTP/1.1 200 O\rK", b"HTTP/1.1 200 O\0K", OK + b"\r\na: b"),
        *(OK + b" a: b", OK + b"\ta: b\r\nc: d", b"HTTP/1.1 200\r\n OK"),
    ],
)
def test_a_malformed_head_is_refused(head: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_response(head)


@pytest.mark.parametrize(
    ("header", "length"),
    [("0", 0), ("5", 5), ("05", 5), ("5, 5", 5), ("5,5,\t5", 5), ("9" * 18, 10**18 - 1)],
)
def test_a_repeated_content_length_must_be_one_number(header: str, length: int) -> None:
    assert length_in({"content-length": header}) == length


@pytest.mark.parametrize(
    "header",
    [
        *("", " ", "+5", "-5", "5.0", "5 5", "0x5", "5_0", "5;", "5,", ",5", "5, 6", "5, 05", "٥", "５", "a"),
        *("9" * 19, "\xa05", "5\x85", "5\x1c", "1e3", "5\x0b"),
    ],
)
def test_an_invalid_content_length_is_refused(header: str) -> None:
    with pytest.raises(ProtocolError):
        length_in({"content-length": header})


@pytest.mark.parametrize(
    ("first", "connection", "kept"),
    [
        (b"HTTP/1.1 200 OK", b"", True),
        (b"HTTP/1.1 200 OK", b"keep-alive", True),
        (b"HTTP/1.1 200 OK", b"close", False),
        (b"HTTP/1.1 200 OK", b"Keep-Alive, CLOSE", False),
        (b"HTTP/1.0 200 OK", b"", False),
        (b"HTTP/1.0 200 OK", b"keep-alive", False),
    ],
)
def test_a_connection_is_kept_alive_if_the_server_keeps_it(
    first: bytes, connection: bytes, kept: bool
) -> None:
    head = first + (b"\r\nconnection: " + connection if connection else b"")
    assert is_kept_alive(decode_response(head)) is kept
    assert parse_response([head + b"\r\ncontent-length: 0\r\n\r\n"]).end == ("kept" if kept else "closed")


def test_a_head_is_a_value() -> None:
    assert decode_response(OK + b"a: 1") == ResponseHead(200, {"a": "1"}, is_http11=True)


def test_a_head_may_be_large_but_not_too_large() -> None:
    fits = OK + b"a: " + b"x" * (MAX_HEAD - len(OK) - 3)
    for more, expected in ((b"", False), (b"x", True)):
        whole = fits + more + b"\r\n\r\n"
        assert is_refused([whole], "HEAD") is expected
        assert is_refused([whole[:40_000], whole[40_000:]], "HEAD") is expected


def test_a_head_without_an_end_is_refused_long_before_it_fills_the_memory() -> None:
    assert is_refused([OK, *([b"a: " + b"x" * 997] * 100)])
    assert is_refused([OK + b"a: b\r\n" * 50_000])


def test_another_protocol_is_refused_by_its_first_bytes() -> None:
    for greeting in (b"S", b"SSH-2.0-x\r\n", b"\x15\x03\x01", b"HTTP/2", b"HTTPS", b"* OK IMAP", b"<html>"):
        assert is_refused([greeting])


CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
HUGE = b"f" * 15

EXTENSIONS = st.sampled_from([b"", b"", b";a", b";a=b", b';a="b c"', b";a;b=1"])
TRAILERS = st.sampled_from([b"", b"x: y\r\n", b"a:\r\nb: c\r\n"])
SPELLINGS = st.sampled_from([b"%x", b"%X", b"%05x"])
LIKE_CHUNKS = st.sampled_from([b"a\r\n1\r\nb\r\n2\r\ncd", b"\r\n0\r\n\r\n", b"x" * 90, b"\r\n" * 9])
"""Content that looks like the framing around it, and more of it than a few bytes."""


@st.composite
def chunked(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A chunked body, and its decoded bytes."""
    pieces = draw(st.lists(st.binary(min_size=1, max_size=40) | LIKE_CHUNKS, max_size=6))
    wire = b"".join(
        draw(SPELLINGS) % len(piece) + draw(EXTENSIONS) + b"\r\n" + piece + b"\r\n" for piece in pieces
    )
    return wire + b"0" + draw(EXTENSIONS) + b"\r\n" + draw(TRAILERS) + b"\r\n", b"".join(pieces)


def split_at(data: bytes, offsets: list[int]) -> list[bytes]:
    """The bytes, split at offsets."""
    ends = [0, *sorted(offset % (len(data) + 1) for offset in offsets), len(data)]
    return [data[start:end] for start, end in pairwise(ends) if start < end]


OFFSETS = st.lists(st.integers(0, 10_000), max_size=12)


@given(chunked(), OFFSETS)
def test_chunks_are_parsed_however_they_are_split_and_as_llhttp_parses_them(
    body: tuple[bytes, bytes], offsets: list[int]
) -> None:
    wire, text = body
    theirs = oracle(CHUNKED + wire)
    assert theirs is not None
    assert theirs.body == text
    for pieces in (
        split_at(CHUNKED + wire, offsets),
        split_at(CHUNKED + wire, list(range(len(CHUNKED + wire)))),
    ):
        assert parse_response(pieces) == ParsedResponse(200, {"transfer-encoding": "chunked"}, text, "kept")


@given(st.binary(max_size=60), st.binary(max_size=9), OFFSETS)
def test_the_content_length_is_obeyed_however_the_bytes_are_split(
    body: bytes, extra: bytes, offsets: list[int]
) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body)
    parsed = parse_response(split_at(head + body + extra, offsets))
    assert parsed.body == body
    assert parsed.end == ("closed" if extra else "kept"), "bytes after the response close the connection"


@given(st.binary(max_size=60), OFFSETS)
def test_a_body_without_a_length_ends_with_its_connection(body: bytes, offsets: list[int]) -> None:
    assert parse_response(split_at(b"HTTP/1.1 200 OK\r\n\r\n" + body, offsets)) == ParsedResponse(
        200, {}, body, "closed"
    )


@given(chunked(), st.integers(0, 10_000))
def test_truncated_chunks_are_never_complete(body: tuple[bytes, bytes], offset: int) -> None:
    wire, text = body
    parsed = parse_response([CHUNKED + wire[: offset % len(wire)]])
    assert parsed.end == "IncompleteBody"
    assert text.startswith(parsed.body)


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
    for offset, removed, scrap in changes:
        at = offset % (len(data) + 1)
        data = data[:at] + (SCRAPS[scrap] if isinstance(scrap, int) else b"") + data[at + removed :]
    return data


@settings(max_examples=400)
@given(st.sampled_from(SEEDS), CHANGES, OFFSETS)
def test_both_parsers_agree_on_every_response_they_accept(
    seed: bytes, changes: list[tuple[int, int, int | str]], offsets: list[int]
) -> None:
    data = changed(seed, changes)
    ours = parse_response([data])
    assert parse_response(split_at(data, offsets)) == ours
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
        ("GET", 200, {}, UnsizedBody),
        ("GET", 200, {"content-length": "5"}, SizedBody),
        ("GET", 200, {"transfer-encoding": "Chunked"}, ChunkedBody),
        ("HEAD", 200, {"content-length": "5"}, SizedBody),
        ("HEAD", 200, {"transfer-encoding": "chunked"}, SizedBody),
        ("GET", 204, {"content-length": "5"}, SizedBody),
        ("GET", 304, {"transfer-encoding": "chunked"}, SizedBody),
        ("CONNECT", 200, {"content-length": "5"}, SizedBody),
        ("CONNECT", 407, {"transfer-encoding": "chunked"}, ChunkedBody),
    ],
)
def test_method_status_and_headers_decide_the_body(
    method: str, status: int, headers: dict[str, str], kind: type
) -> None:
    body = body_parser(ResponseHead(status, headers), method)
    assert type(body) is kind
    is_bodiless = method == "HEAD" or status in (204, 304) or (method, status) == ("CONNECT", 200)
    assert body.is_complete is is_bodiless


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
def test_an_ambiguous_body_length_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ProtocolError):
        body_parser(ResponseHead(200, headers), "GET")


@pytest.mark.parametrize(("status", "method"), [(204, "GET"), (304, "GET"), (200, "HEAD"), (200, "CONNECT")])
def test_an_invalid_content_length_is_refused_without_a_body_too(status: int, method: str) -> None:
    with pytest.raises(ProtocolError):
        body_parser(ResponseHead(status, {"content-length": "five"}), method)


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
def test_ambiguous_chunks_are_refused(wire: bytes) -> None:
    parsed = parse_response([CHUNKED, wire])
    assert (parsed.status, parsed.end) == (200, "ProtocolError")
    assert b"abc".startswith(parsed.body), "valid bytes before the error are still returned"
    assert oracle(CHUNKED + wire) is None
    assert parse_response(split_at(CHUNKED + wire, list(range(200)))) == parsed


def test_valid_bytes_are_returned_before_the_error() -> None:
    body = ChunkedBody()
    assert body.feed(b"3\r\nabc\r\n2\r\nde\r\nzz\r\n1\r\nf\r\n") == b"abcde"
    assert isinstance(body.error, ProtocolError)
    assert not body.is_complete


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
def test_lines_between_chunks_are_bounded_however_they_are_split(wire: bytes, refused: bool) -> None:
    for pieces in (
        [wire],
        split_at(wire, list(range(0, len(wire), 7))),
        split_at(wire, [4097, 4098, 4099, 4100]),
    ):
        assert is_refused([CHUNKED, *pieces]) is refused


def test_an_enormous_chunk_costs_nothing_until_it_arrives() -> None:
    parsed = parse_response([CHUNKED + HUGE + b"\r\nabc"])
    assert (parsed.body, parsed.end) == (b"abc", "IncompleteBody")
    parsed = parse_response([b"HTTP/1.1 200 OK\r\ncontent-length: %s\r\n\r\nabc" % (b"9" * 18)])
    assert (parsed.body, parsed.end) == (b"abc", "IncompleteBody")


@example(b"")
@given(st.binary(max_size=30))
def test_nothing_follows_a_response_without_a_body(extra: bytes) -> None:
    for first in (b"HTTP/1.1 204 No Content\r\n", b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n"):
        parsed = parse_response([first + b"\r\n" + extra])
        assert (parsed.body, parsed.end) == (b"", "closed" if extra else "kept")
