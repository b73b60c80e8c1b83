"""JSONC is read like JSON, and malformed text is refused with its position."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.files.jsonc import Malformed, parse_jsonc
from groundwire.model import Json
from tests.growth import LINEAR, growth

TEXTS = st.text()
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=30,
)
BLANKS = st.sampled_from(["", " ", "\t", "\r\n", '// , } ] " x\n', '/* { [ " // */', "/***/", "//\n"])


@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2]))
def test_json_is_decoded_as_the_json_module_decodes_it(item: Json, plain: bool, indent: int | None) -> None:
    text = json.dumps(item, ensure_ascii=plain, indent=indent)
    found = parse_jsonc(text)
    assert found == json.loads(text)
    assert json.dumps(found) == json.dumps(json.loads(text))


def _written(item: Json, blanks: list[str]) -> str:
    """The value with comments everywhere and commas at every end."""

    def gap() -> str:
        blanks.append(blanks.pop(0))
        return blanks[0]

    if isinstance(item, dict):
        members = (
            f"{gap()}{json.dumps(name)}{gap()}:{_written(inner, blanks)}" for name, inner in item.items()
        )
        return f"{gap()}{{{''.join(member + ',' for member in members)}{gap()}}}{gap()}"
    if isinstance(item, list):
        return f"{gap()}[{''.join(_written(inner, blanks) + ',' for inner in item)}{gap()}]{gap()}"
    return f"{gap()}{json.dumps(item)}{gap()}"


@given(VALUES, st.lists(BLANKS, min_size=1, max_size=7))
def test_comments_and_trailing_commas_change_nothing(item: Json, blanks: list[str]) -> None:
    assert parse_jsonc(_written(item, blanks)) == item


def _strictly(text: str) -> Json:
    def refuse(name: str) -> NoReturn:
        raise ValueError(name)

    found: Json = json.loads(text, parse_constant=refuse)
    return found


@given(st.text(max_size=40) | st.text('{}[]",:/* \\n\\u0041\n-+.eE1truefalsn', max_size=60))
def test_any_text_is_decoded_like_json_or_refused_with_a_position_inside_it(text: str) -> None:
    expected: Json = None
    found: Json = None
    offset = 0
    is_json = is_read = False
    with suppress(ValueError):
        expected, is_json = _strictly(text), True
    try:
        found, is_read = parse_jsonc(text), True
    except Malformed as error:
        offset = error.offset
    assert 0 <= offset <= len(text)
    assert is_read or not is_json
    assert found == expected or not is_json


REFUSED = {
    "": (1, 1, "the text ends where a value is expected"),
    "  \n ": (2, 2, "the text ends where a value is expected"),
    "{": (1, 2, 'a name in double quotes, or "}", is expected here'),
    "{a: 1}": (1, 2, 'a name in double quotes, or "}", is expected here'),
    "{,}": (1, 2, 'a name in double quotes, or "}", is expected here'),
    '{"a" 1}': (1, 6, '":" is expected here'),
    '{"a": }': (1, 7, "a value is expected here"),
    '{"a": 1 "b": 2}': (1, 9, '"," or "}" is expected here'),
    '{"a": 1,, "b": 2}': (1, 9, 'a name in double quotes, or "}", is expected here'),
    "[1 2]": (1, 4, '"," or "]" is expected here'),
    "[,]": (1, 2, "a value is expected here"),
    "[1,,2]": (1, 4, "a value is expected here"),
    "[1": (1, 3, '"," or "]" is expected here'),
    "[1}": (1, 3, '"," or "]" is expected here'),
    "{}\n  x": (2, 3, "nothing may follow the value"),
    '"abc': (1, 1, "this text is never closed by a double quote"),
    '["ab\ncd"]': (1, 2, "this text is never closed by a double quote"),
    '"a\tb"': (1, 3, "a control character must be written as an escape"),
    '"\\x"': (1, 2, "this is not an escape that JSON knows"),
    '"\\u12g4"': (1, 2, "this is not an escape that JSON knows"),
    "'a'": (1, 1, "a value is expected here"),
    "NaN": (1, 1, "a value is expected here"),
    "-Infinity": (1, 1, "this is not a number"),
    "nul": (1, 1, "a value is expected here"),
    "01": (1, 2, "nothing may follow the value"),
    "1.": (1, 2, "nothing may follow the value"),
    "+1": (1, 1, "a value is expected here"),
    "１": (1, 1, "a value is expected here"),
    "[\n/* x": (2, 1, "this comment is never closed"),
    "[1]/": (1, 4, "nothing may follow the value"),
    "[" * 129: (1, 129, "nested deeper than 128 levels"),
    "1" * 5000: (1, 1, "this number is too long"),
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_malformed_text_is_reported_with_line_and_column(text: str) -> None:
    line, column, reason = REFUSED[text]
    with pytest.raises(Malformed) as caught:
        parse_jsonc(text)
    assert caught.value.message == f"line {line}, column {column}: {reason}"


def test_nesting_of_128_is_read() -> None:
    assert parse_jsonc("[" * 128 + "]" * 128) == json.loads("[" * 128 + "]" * 128)


def test_escaped_surrogate_pairs_become_one_character_and_lone_ones_are_replaced() -> None:
    assert parse_jsonc(r'"\ud83d\ude00"') == "😀"
    assert parse_jsonc(r'"a\ud83db"') == "a\ufffdb"
    assert parse_jsonc(r'"\ude00"') == "\ufffd"


@pytest.mark.parametrize(
    "unit", ["/**/", "// x\n", "[],", '"\\n",', '"aaaa\\u0041",', "1.5e3,", '{"a":1},', "/", '"', "["]
)
def test_decoding_takes_linear_time(unit: str) -> None:
    def parse(size: int) -> None:
        with suppress(Malformed):
            parse_jsonc("[" + unit * (size // len(unit)) + "]")

    assert growth(parse, 10_000) < LINEAR
