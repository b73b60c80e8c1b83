"""Entries of YAML texts are read, put and removed as PyYAML sees them, and nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from groundwire.errors import ConfigError
from groundwire.files.yaml_edit import put, remove, value_at
from groundwire.model import Json

PATH = ("extensions", "groundwire")
ENTRY: Json = {
    "type": "stdio",
    "cmd": "/opt/a b/gw",
    "args": ["mcp", "--lang=de"],
    "envs": {},
    "n": 3,
    "on": True,
}
TEXTS = {
    "empty": "",
    "comment only": "# mine\n",
    "no section": "a: 1\nb:\n- x\n- y\n",
    "empty section": "extensions:\nb: 2\n",
    "braces": "extensions: {} # none\nb: 2\n",
    "children": "extensions:\n    one:\n        cmd: x # why\n\n    # two\n    two: {a: 1}\n\n# b\nb: 2\n",
    "block scalar": "note: |\n  extensions:\n    no\nextensions:\n  one:\n    text: >\n      more: here\n",
    "document start": "---\nextensions:\n  one: 1\n",
    "quoted names": '"a b": 1\n\'extensions\':\n  "o:ne": 2\n',
    "carriage returns": "a: 1\r\nextensions:\r\n  one: 1\r\n",
}
_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12)
_SCALAR = st.one_of(_TEXT, st.integers(-9999, 9999), st.booleans())
_ENTRY = st.dictionaries(
    _TEXT.filter(bool), st.one_of(_SCALAR, st.lists(_SCALAR, max_size=3)), min_size=1, max_size=4
)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_entry_is_put_read_replaced_and_removed(text: str) -> None:
    before: dict[str, Any] = yaml.safe_load(text) or {}
    edited = put(text, PATH, ENTRY)
    section = before.get("extensions") or {}
    assert yaml.safe_load(edited) == {**before, "extensions": {**section, "groundwire": ENTRY}}
    assert value_at(edited, PATH) == ENTRY
    assert yaml.safe_load(put(edited, PATH, {"x": "y: z"}))["extensions"]["groundwire"] == {"x": "y: z"}
    assert [line for line in text.splitlines() if line not in edited.splitlines()] in (
        [],
        ["extensions: {} # none"],
    )
    kept = len(PATH) - 1 if "extensions" in before else 0
    after = yaml.safe_load(remove(edited, PATH, kept)) or {}
    assert {**after, "extensions": after.get("extensions") or {}} == {**before, "extensions": section}


@example({"a\u2028 b": "\ufeff", "\ufffe": "\uffff", "\x7f": "\x85"})
@given(_ENTRY)
def test_any_entry_is_read_as_other_parsers_read_it(entry: dict[str, Json]) -> None:
    text = put("", PATH, entry)
    assert yaml.safe_load(text) == {"extensions": {"groundwire": entry}}
    assert value_at(text, PATH) == entry


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: 1\nb 2\n", "line 2"),
        ("a:\n\tb: 1\n", "line 2"),
        ("extensions: {one: 1}\n", "line 1"),
        ("extensions:\n- one\n", "line 1"),
        ("extensions: &anchor\n  one: 1\n", "line 1"),
        ("a: 1\n---\nb: 2\n", "line 2"),
    ],
)
def test_another_form_is_refused_with_its_place(text: str, place: str) -> None:
    with pytest.raises(ConfigError, match=place):
        put(text, PATH, ENTRY)
