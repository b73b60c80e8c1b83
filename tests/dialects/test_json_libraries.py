"""The standard library and msgspec read JSON alike: the same values, the same errors."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundwire.dialects.json import MAX_DEPTH, STANDARD, dump_json, load_json
from groundwire.errors import UpstreamWireError
from tests.dialects.json_libraries import MSGSPEC, library
from tests.model.strategies import cases, json_values


def outcome(data: bytes | str) -> str:
    """What reading gives, types and signs of zero included, or the error."""
    try:
        return repr(load_json(data, UpstreamWireError))
    except UpstreamWireError as error:
        return f"{error.path}: {error.message}"


def in_both(data: bytes) -> tuple[str, str]:
    with library(STANDARD):
        standard = outcome(data)
    with library(MSGSPEC):
        return standard, outcome(data)


_SCALARS = (
    *(
        b"0",
        b"-0",
        b"-0.0",
        b"1",
        b"1.0",
        b"1e5",
        b"1E-7",
        b"1e400",
        b"-1e400",
        b"0.1e-400",
        b"01",
        b"+1",
        b".5",
    ),
    *(b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616"),
    *(b"1.7976931348623157e308", b"4.9e-324", b"123456789012345678901234567890.5", b"9" * 400, b"9" * 4301),
    *(b"NaN", b"-Infinity", b"true", b"null", b"nul", b'""', b'"\\/"', b'"\\x"', b'"\\u00e9"', b'"\\u2028"'),
    *(
        rb'"\ud83d\ude00"',
        rb'"\ud800"',
        rb'"\ude00\ud83d"',
        b'"\x7f"',
        b'"\x1f"',
        b'"\xff"',
        b'"\xc3\xa9"',
        b'"a',
    ),
    *(b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xc0\x80"', b"'a'", b"\xef\xbb\xbf1", b"\x00", b"\x0c1"),
)


def documents() -> st.SearchStrategy[bytes]:
    """JSON and almost JSON: valid texts, awkward scalars inside lists and objects, and damaged texts."""
    scalars = st.sampled_from(_SCALARS) | json_values().map(lambda value: dump_json(value).encode())
    spaces = st.sampled_from([b"", b" ", b"\n\t\r", b"\xc2\xa0"])
    keys = st.sampled_from([b'"a"', b'"a"', b'"\\u0061"', b"1", rb'"\ud800"'])

    def nested(inner: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
        members = st.tuples(keys, spaces, inner).map(lambda member: b"%s%s:%s" % member)
        lists = st.lists(inner, max_size=4).map(lambda items: b"[%s]" % b",".join(items))
        return lists | st.lists(members, max_size=4).map(lambda items: b"{%s}" % b",".join(items))

    valid = st.tuples(spaces, st.recursive(scalars, nested, max_leaves=8), spaces).map(b"".join)
    cuts = st.tuples(valid, st.integers(0, 60), st.binary(max_size=2), st.integers(0, 3))
    return valid | cuts.map(lambda cut: cut[0][: cut[1]] + cut[2] + cut[0][cut[1] + cut[3] :])


@cases(600)
@given(documents())
@example(b"[" * 100_000)
@example(b'{"a":' * 500 + b"1" + b"}" * 500)
@example(b"[" * (MAX_DEPTH + 2) + b"]" * (MAX_DEPTH + 2) + b" x")
@example(b"")
def test_both_libraries_give_the_same_values_and_errors(data: bytes) -> None:
    standard, fast = in_both(data)
    assert fast == standard


@pytest.mark.parametrize("data", _SCALARS)
def test_both_libraries_agree_about_awkward_scalars(data: bytes) -> None:
    for text in (data, b"[%s]" % data, b'{"a": %s, "a": 1}' % data, b'{"a": 1, "a": %s}' % data):
        standard, fast = in_both(text)
        assert fast == standard
