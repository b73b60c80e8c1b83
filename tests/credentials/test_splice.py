"""Changing single values in a JSON text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.credentials.splice import Edit, splice
from groundwire.errors import ConfigError

ODD = (
    '\ufeff{\r\n\t"other" : { "n" : 1.50e3 ,"u":"\\u00e4\\/", "deep":[{ }, [ ] ] },\n'
    '   "openai":{"access":"old" , "unknown":null,"expires": 12}\n , "last" : [1,  2]\n}\n\n'
)


def test_only_the_value_changes() -> None:
    edited = splice(ODD, [Edit(("openai", "access"), 'n"ew'), Edit(("openai", "expires"), 34)])
    assert edited == ODD.replace('"old"', '"n\\"ew"').replace("12}", "34}")


def test_a_new_member_is_laid_out_like_the_others() -> None:
    text = '{\n  "a": {\n    "b": 1\n  }\n}\n'
    assert (
        splice(text, [Edit(("a", "c"), "x"), Edit(("d",), 2)])
        == '{\n  "a": {\n    "b": 1,\n    "c": "x"\n  },\n  "d": 2\n}\n'
    )
    assert splice('{"a":{"b":1}}', [Edit(("a", "c"), 2)]) == '{"a":{"b":1,"c":2}}'
    assert splice('{"a": { }}', [Edit(("a", "c"), 2)]) == '{"a": {"c": 2 }}'


def test_of_members_with_one_name_the_last_counts_as_for_readers() -> None:
    edited = splice('{"a":1,"b":2,"a":3}', [Edit(("a",), 4), Edit(("c",), 5)])
    assert edited == '{"a":1,"b":2,"a":4,"c":5}'


@pytest.mark.parametrize("text", ["", "[]", "null", '{"a"', '{"a":[]}', '{"b":{}}', '{"a":{"x":1'])
def test_a_text_that_does_not_fit_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="try again"):
        splice(text, [Edit(("a", "x"), 1)])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.dictionaries(st.text(max_size=3), JSON, max_size=4),
    st.text(max_size=3),
    st.text(max_size=3),
    st.text(max_size=5) | st.integers(),
    st.sampled_from([None, 0, 2, "\t"]),
    st.booleans(),
)
def test_the_result_is_what_a_reader_would_get_by_assigning(
    body: dict[str, object], parent: str, name: str, item: str | int, indent: int | str | None, plain: bool
) -> None:
    inner = {"kept": [1, {"x": None}]}
    body[parent] = inner
    text = json.dumps(body, indent=indent, ensure_ascii=plain)
    edited = splice(text, [Edit((parent, name), item)])
    inner[name] = item  # type: ignore[assignment]
    assert json.loads(edited) == body
    assert list(json.loads(edited)) == list(body)
