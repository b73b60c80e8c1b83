"""Edits of JSON and JSONC change the member, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.errors import ConfigError
from groundwire.files.json_edit import put, remove, set_values, value_at
from groundwire.model import Json
from tests.faces.connect.parsers import read_json

PATH = ("mcpServers", "groundwire")
ENTRY: Json = {"command": "/bin/groundwire", "args": ["mcp"]}
OTHER: Json = {"url": "http://127.0.0.1:8484/mcp"}

COMMENTED = """\
// settings of mine
{
  "theme": "dark", // at night
  /* servers */
  "mcpServers": {
    // the first one
    "other": { "command": "x" } // keep me
    // nothing after this
  },
  "list": [1, {"a": "}"}, "// no comment"],
}
"""
TEXTS = {
    "empty": "",
    "blank": "\n\n",
    "comment alone": "// nothing yet",
    "empty object": "{}",
    "empty object on lines": "{\n}\n",
    "empty object with a comment": "{ // soon\n}\n",
    "empty parent": '{\n    "mcpServers": {}\n}\n',
    "no parent": '{\n\t"theme": "dark"\n}\n',
    "no parent, trailing comma": '{\n  "theme": "dark", // night\n}\n',
    "one line": '{"theme": "dark", "mcpServers": {"other": {"command": "x"}}}',
    "windows lines": '{\r\n  "theme": "dark"\r\n}\r\n',
    "comments": COMMENTED,
    "escapes": '{"a\\u0022}": "\\\\", "mcpServers": {"gr\\u00f6sse": 1}}',
    "twice": '{"mcpServers": {"a": 1}, "mcpServers": {"b": 2}}',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_entry_is_added_and_everything_else_is_unchanged(text: str) -> None:
    edited = put(text, PATH, ENTRY)
    expected = read_json(text) if text.strip().endswith("}") else {}
    expected.setdefault("mcpServers", {})["groundwire"] = ENTRY
    assert read_json(edited) == expected


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_character_of_the_text_is_lost_or_moved(text: str) -> None:
    """The original text remains if the inserted characters are removed."""
    remaining = iter(put(text, PATH, ENTRY))
    assert all(character in remaining for character in text)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_changing_an_entry_equals_adding_the_new_one(text: str) -> None:
    assert put(put(text, PATH, ENTRY), PATH, OTHER) == put(text, PATH, OTHER)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_removing_an_entry_restores_the_original_values(text: str) -> None:
    before = read_json(text) if text.strip().endswith("}") else {}
    kept = 1 if "mcpServers" in before else 0
    assert read_json(remove(put(text, PATH, ENTRY), PATH, kept)) == before


def test_comments_and_layout_stay_where_they_are() -> None:
    assert put(COMMENTED, PATH, ENTRY) == COMMENTED.replace(
        '    "other": { "command": "x" } // keep me\n',
        '    "other": { "command": "x" }, // keep me\n'
        '    "groundwire": {\n      "command": "/bin/groundwire",\n      "args": ["mcp"]\n    }\n',
    )


def test_a_file_of_tabs_gets_tabs() -> None:
    assert put('{\n\t"a": 1\n}\n', ("b", "c"), 2) == '{\n\t"a": 1,\n\t"b": {\n\t\t"c": 2\n\t}\n}\n'


def test_windows_lines_stay_windows_lines() -> None:
    edited = put(TEXTS["windows lines"], PATH, ENTRY)
    assert edited.count("\n") == edited.count("\r\n") > 3


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"),
        ('{"a": }', "line 1, column 7"),
        ('{\n "mcpServers": [1]\n}', "line 2, column 16"),
        ("[]", "line 1, column 1"),
        ('{"a": 1', "line 1, column 8"),
        ('{"a": 1} x', "line 1, column 10"),
    ],
)
def test_a_broken_text_is_refused_with_its_position(text: str, position: str) -> None:
    with pytest.raises(ConfigError, match=position):
        put(text, PATH, ENTRY)


NAMES = st.sampled_from(["mcpServers", "groundwire", "a", 'b"}', "c\\", "//", "ü"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "x // y", '"{', "\\", "/* */"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(NAMES, VALUES, max_size=4), st.sampled_from([None, 0, 1, 2, "\t"]), st.booleans())
def test_an_entry_can_be_added_to_and_removed_from_any_document(
    document: dict[str, object], indent: int | str | None, ascii_only: bool
) -> None:
    document["mcpServers"] = {"other": document.get("a")}
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    edited = put(text, PATH, ENTRY)
    assert json.loads(edited) == {
        **document,
        "mcpServers": {"other": document.get("a"), "groundwire": ENTRY},
    }
    assert value_at(edited, PATH) == ENTRY
    assert json.loads(remove(edited, PATH, 1)) == document


ODD = (
    '\ufeff{\r\n\t"other" : { "n" : 1.50e3 ,"u":"\\u00e4\\/", "deep":[{ }, [ ] ] },\n'
    '   "openai":{"access":"old" , "unknown":null,"expires": 12}\n , "last" : [1,  2]\n}\n\n'
)


def test_only_the_value_changes() -> None:
    edited = set_values(ODD, {("openai", "access"): 'n"ew', ("openai", "expires"): 34})
    assert edited == ODD.replace('"old"', '"n\\"ew"').replace("12}", "34}")


def test_a_new_member_is_laid_out_like_the_others() -> None:
    text = '{\n  "a": {\n    "b": 1\n  }\n}\n'
    assert (
        set_values(text, {("a", "c"): "x", ("d",): 2})
        == '{\n  "a": {\n    "b": 1,\n    "c": "x"\n  },\n  "d": 2\n}\n'
    )
    assert set_values('{"a":{"b":1}}', {("a", "c"): 2}) == '{"a":{"b":1,"c":2}}'
    assert set_values('{"a": { }}', {("a", "c"): 2}) == '{"a": {"c": 2 }}'


def test_of_members_with_one_name_the_last_counts_as_for_readers() -> None:
    edited = set_values('{"a":1,"b":2,"a":3}', {("a",): 4, ("c",): 5})
    assert edited == '{"a":1,"b":2,"a":4,"c":5}'


@pytest.mark.parametrize("text", ["", "[]", "null", '{"a"', '{"a":[]}', '{"b":{}}', '{"a":{"x":1'])
def test_a_text_that_does_not_fit_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="try again"):
        set_values(text, {("a", "x"): 1})


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
def test_the_edited_text_decodes_like_the_assigned_value(
    body: dict[str, object], parent: str, name: str, item: str | int, indent: int | str | None, plain: bool
) -> None:
    inner = {"kept": [1, {"x": None}]}
    body[parent] = inner
    text = json.dumps(body, indent=indent, ensure_ascii=plain)
    edited = set_values(text, {(parent, name): item})
    inner[name] = item  # type: ignore[assignment]
    assert json.loads(edited) == body
    assert list(json.loads(edited)) == list(body)
