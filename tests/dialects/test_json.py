"""Strict JSON, stricter than Python where the wire needs it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundwire.dialects.json import (
    LIBRARY_AFTER,
    MAX_DEPTH,
    STANDARD,
    dump_json,
    has_many_brackets,
    load_json,
    msgspec_library,
    quote_json,
)
from groundwire.errors import ClientWireError, UpstreamWireError, WireError
from groundwire.model import Json
from tests.dialects.json_libraries import MSGSPEC, library
from tests.model.strategies import cases, json_values, texts


@pytest.fixture(params=[STANDARD, MSGSPEC], ids=["standard library", "msgspec"], autouse=True, scope="module")
def both_libraries(request: pytest.FixtureRequest) -> Iterator[None]:
    with library(request.param):
        yield


def load(data: bytes | str) -> Json:
    return load_json(data, UpstreamWireError)


@cases(600)
@given(st.text(st.characters()) | texts())
@example("\u2028\u2029\x85")
@example("\ud800\u2028")
@example('"\\\b\f\n\r\t\x00\x1f\x7f/')
def test_a_quoted_string_is_the_dumped_string(text: str) -> None:
    assert quote_json(text) == dump_json(text).encode()


def test_the_standard_library_replaces_msgspec_if_it_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "msgspec", None)
    assert msgspec_library() is STANDARD


def test_msgspec_is_imported_when_many_texts_are_read_and_not_before() -> None:
    program = f"""
import sys
from groundwire.dialects.json import load_json
from groundwire.errors import UpstreamWireError
for _ in range({LIBRARY_AFTER - 1}):
    load_json(b"[1]", UpstreamWireError)
assert "msgspec" not in sys.modules
for _ in range(2):
    assert load_json(b"[1]", UpstreamWireError) == [1]
assert "msgspec" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)  # noqa: S603


@cases(300)
@given(json_values())
def test_what_is_written_is_read_again(value: Json) -> None:
    assert load(dump_json(value)) == value
    assert json.loads(dump_json(value)) == value


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"{",
        b"[1,]",
        b"{'a': 1}",
        b'{"a": 1} x',
        b"[DONE]",
        b"<html>",
        b"NaN",
        b"[NaN]",
        b"Infinity",
        b'{"a": -Infinity}',
        b"1e999",
        b"[-1e999]",
        b'{"a": 1.5e400}',
        b"1" * 5000,
        b'{"a": -' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"[" * (MAX_DEPTH + 2) + b"]" * (MAX_DEPTH + 2),
        b'"\x00"',
        b'"a\nb"',
    ],
)
def test_malformed_json_is_the_fault_of_the_sender(data: bytes) -> None:
    faults: tuple[type[WireError], ...] = (ClientWireError, UpstreamWireError)
    for fault in faults:
        with pytest.raises(fault) as caught:
            load_json(data, fault)
        assert caught.value.path == "$"
        assert len(caught.value.message) < 300


def test_reasonable_nesting_is_read() -> None:
    deep = b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1)
    assert load(deep) == json.loads(deep)
    wide = b"[" + b",".join([b"[{}]"] * 10_000) + b"]"
    assert load(wide) == json.loads(wide)


def test_brackets_in_strings_do_not_count_as_nesting() -> None:
    assert load(json.dumps(["[" * 1000])) == ["[" * 1000]


def test_large_numbers_within_reason_are_read() -> None:
    assert load(b"9" * 400) == int("9" * 400)
    assert load(b"1e308") == 1e308


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (rb'"\ud83d\ude00"', "😀"),
        (rb'"a\ud800b"', "a\ufffdb"),
        (rb'"\udc00"', "\ufffd"),
        (rb'"\ud83d"', "\ufffd"),
        (rb'"\ude00\ud83d"', "\ufffd\ufffd"),
        (rb'{"\ud800": ["\uDFFF", 1, null]}', {"\ufffd": ["\ufffd", 1, None]}),
        (rb'"\ud83d\u0041"', "\ufffdA"),
        (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),
        (b'"\xff"', "\ufffd"),
        (b'"\xf0\x9f\x98"', "\ufffd"),
        (b"\xef\xbb\xbf[1]", [1]),
        (b" \r\n\t[1] ", [1]),
        ('"\ud800"', "?"),
    ],
)
def test_lone_surrogates_are_replaced_and_pairs_kept(data: bytes | str, value: Json) -> None:
    assert load(data) == value


def test_everything_read_can_be_written_as_utf8() -> None:
    for high in ("d800", "dbff", "dc00", "dfff"):
        value = load(f'{{"k\\u{high}": ["x\\u{high}y"]}}')
        assert dump_json(value).encode().decode()


def test_output_has_no_character_that_any_reader_takes_for_a_line_break() -> None:
    text = dump_json({"a\u2028": "b\u2029c\x85d\ne\rf\x0bg\x0ch\x1ci"})
    assert len(text.splitlines()) == 1
    assert "\\u2028" in text
    assert "\\u2029" in text
    assert "\\u0085" in text


def test_output_is_compact_and_readable() -> None:
    assert dump_json({"a": [1, "é😀"], "b": None}) == '{"a":[1,"é😀"],"b":null}'


def test_output_never_contains_a_lone_surrogate() -> None:
    assert json.loads(dump_json(["\ud800", "a\udfffb"])) == ["\ufffd", "a\ufffdb"]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_output_never_contains_nan_or_infinity(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        dump_json([number])


@cases(300)
@given(st.binary(max_size=40) | texts().map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        value = load(data)
    except UpstreamWireError:
        return
    assert load(dump_json(value)) == value


@given(st.lists(st.sampled_from([b"[", b"{", b"]", b"}", b"x", b'"'])).map(b"".join), st.integers(0, 12))
def test_many_brackets_are_recognised_without_counting_all(data: bytes, limit: int) -> None:
    assert has_many_brackets(data, limit) == (data.count(b"[") + data.count(b"{") > limit)
