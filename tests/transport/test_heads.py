"""Heads: what is written cannot be misread, and what is read is read as others read it."""

from __future__ import annotations

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.transport.http1.parser import (
    MAX_HEAD,
    ProtocolError,
    ResponseHead,
    decode_response,
    encode_request,
    is_kept_alive,
    length_in,
)
from tests.transport.wires import heard, is_refused, oracle

TOKENS = st.text("!#$%&'*+.^_`|~0123456789ABCXYZabcxyz-", min_size=1, max_size=12)
VISIBLE = st.characters(min_codepoint=0x21, max_codepoint=0x2FFF, exclude_characters="\x7f")
WORDS = st.lists(st.text(VISIBLE, min_size=1, max_size=8), max_size=4).map(" ".join)
TARGETS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=20).map(
    lambda end: f"/{end}"
)
ANYTHING = st.text(st.sampled_from("ab:;, \t\r\n\0\x0b\x0c\x1c\x85\u2028é"), max_size=8)
OK = b"HTTP/1.1 200 OK\r\n"


class Asked:
    """A request as a server reads it."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: list[tuple[str, str]] = []

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, text: bytes) -> None:
        self.headers.append((name.decode(), text.decode()))


@given(TARGETS, st.lists(st.tuples(TOKENS, WORDS), max_size=6))
def test_a_server_reads_what_was_written(target: str, headers: list[tuple[str, str]]) -> None:
    told = [(name, text) for name, text in headers if name.lower() not in ("content-length", "connection")]
    asked = Asked()
    parser = httptools.HttpRequestParser(asked)
    parser.feed_data(encode_request("POST", target, told))
    assert (parser.get_method(), asked.url.decode(), asked.headers) == (b"POST", target, told)


@given(
    st.sampled_from(["GET", "PO ST", "GET\n"]), ANYTHING, st.lists(st.tuples(ANYTHING, ANYTHING), max_size=3)
)
def test_nothing_that_is_written_ends_a_line_by_itself(
    method: str, target: str, headers: list[tuple[str, str]]
) -> None:
    try:
        data = encode_request(method, target, headers)
    except ValueError:
        return
    lines = data.split(b"\r\n")
    assert len(lines) == len(headers) + 3
    assert lines[0].count(b" ") == 2
    assert not any(sign in line for line in lines for sign in (b"\r", b"\n", b"\0"))


def test_half_a_character_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        encode_request("GET", "/", [("x-key", "\ud800")])


REASONS = st.sampled_from(["", " ", " OK", " Not  at all", " é"])
BLANKS = st.text(" \t", max_size=3)
FIELDS = st.tuples(TOKENS, BLANKS, WORDS, BLANKS)


@given(st.integers(200, 599), REASONS, st.lists(FIELDS, max_size=8))
def test_a_head_is_read_as_others_read_it(
    status: int, reason: str, fields: list[tuple[str, str, str, str]]
) -> None:
    told = [field for field in fields if field[0].lower() not in ("content-length", "connection", "upgrade")]
    lines = [f"HTTP/1.1 {status}{reason}", *(f"{name}:{a}{text}{b}" for name, a, text, b in told)]
    head = "\r\n".join(lines).encode()
    ours = decode_response(head)
    theirs = oracle(head + b"\r\ncontent-length: 0\r\n\r\n")
    assert theirs is not None
    assert ours.status == theirs.status == status
    read = {name: text.encode("latin-1").decode() for name, text in theirs.headers.items()}
    assert {**ours.headers, "content-length": "0"} == read


def test_texts_of_one_name_are_joined_in_their_order() -> None:
    assert decode_response(OK + b"A: 1\r\nb: 2\r\na: 3").headers == {"a": "1, 3", "b": "2"}


def test_what_is_no_utf8_is_read_byte_for_byte() -> None:
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
def test_what_is_not_by_the_book_is_refused(head: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_response(head)


@pytest.mark.parametrize(
    ("told", "length"),
    [("0", 0), ("5", 5), ("05", 5), ("5, 5", 5), ("5,5,\t5", 5), ("9" * 18, 10**18 - 1)],
)
def test_a_length_is_a_number_however_often_it_is_told(told: str, length: int) -> None:
    assert length_in({"content-length": told}) == length


@pytest.mark.parametrize(
    "told",
    [
        *("", " ", "+5", "-5", "5.0", "5 5", "0x5", "5_0", "5;", "5,", ",5", "5, 6", "5, 05", "٥", "５", "a"),
        *("9" * 19, "\xa05", "5\x85", "5\x1c", "1e3", "5\x0b"),
    ],
)
def test_a_length_that_is_none_is_refused(told: str) -> None:
    with pytest.raises(ProtocolError):
        length_in({"content-length": told})


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
def test_a_connection_is_kept_where_the_other_side_keeps_it(
    first: bytes, connection: bytes, kept: bool
) -> None:
    head = first + (b"\r\nconnection: " + connection if connection else b"")
    assert is_kept_alive(decode_response(head)) is kept
    assert heard([head + b"\r\ncontent-length: 0\r\n\r\n"]).end == ("kept" if kept else "closed")


def test_a_head_is_a_value() -> None:
    assert decode_response(OK + b"a: 1") == ResponseHead(200, {"a": "1"}, newest=True)


def test_a_head_may_be_large_but_not_too_large() -> None:
    fits = OK + b"a: " + b"x" * (MAX_HEAD - len(OK) - 3)
    for more, expected in ((b"", False), (b"x", True)):
        whole = fits + more + b"\r\n\r\n"
        assert is_refused([whole], "HEAD") is expected
        assert is_refused([whole[:40_000], whole[40_000:]], "HEAD") is expected


def test_a_head_without_an_end_is_refused_long_before_it_fills_the_memory() -> None:
    assert is_refused([OK, *([b"a: " + b"x" * 997] * 100)])
    assert is_refused([OK + b"a: b\r\n" * 50_000])


def test_another_protocol_is_refused_with_its_first_word() -> None:
    for greeting in (b"S", b"SSH-2.0-x\r\n", b"\x15\x03\x01", b"HTTP/2", b"HTTPS", b"* OK IMAP", b"<html>"):
        assert is_refused([greeting])
