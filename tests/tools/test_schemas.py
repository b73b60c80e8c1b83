"""JSON schemas adapted to each API."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.tools.schemas import is_strictable, limited, localized, pick, strict

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1},
        "size": {"type": "string", "enum": ["low", "high"], "default": "low"},
        "place": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": ["string", "null"]}},
            "required": ["city"],
        },
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "many": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "number"}}}},
    },
    "required": ["query"],
}


def test_the_strict_form_closes_every_object_and_requires_everything() -> None:
    found: Any = strict(SCHEMA)
    assert found["required"] == ["query", "size", "place", "either", "many"]
    assert found["additionalProperties"] is False
    assert found["properties"]["query"]["type"] == "string"
    assert found["properties"]["size"]["type"] == ["string", "null"]
    assert found["properties"]["size"]["enum"] == ["low", "high", None]
    place = found["properties"]["place"]
    assert place["type"] == ["object", "null"]
    assert (place["required"], place["additionalProperties"]) == (["city", "zip"], False)
    assert place["properties"] == {"city": {"type": "string"}, "zip": {"type": ["string", "null"]}}
    assert found["properties"]["either"] == {
        "anyOf": [{"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "null"}]
    }
    item = found["properties"]["many"]["items"]
    assert item == {
        "type": "object",
        "properties": {"a": {"type": ["number", "null"]}},
        "required": ["a"],
        "additionalProperties": False,
    }


def test_the_strict_form_does_not_change_the_original_schema() -> None:
    before = repr(SCHEMA)
    strict(SCHEMA)
    assert repr(SCHEMA) == before


def test_the_strict_form_is_stable() -> None:
    assert strict(strict(SCHEMA)) == strict(SCHEMA)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {
            "type": "object",
            "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}},
        },
        {"type": "object", "properties": {"a": {"allOf": [{"type": "string"}]}}},
        {"type": "object", "properties": {}, "patternProperties": {}},
    ],
)
def test_a_schema_of_arbitrary_keys_has_no_strict_form(schema: dict[str, Any]) -> None:
    assert not is_strictable(schema)
    assert is_strictable(SCHEMA)


def test_unsupported_keywords_are_removed_at_every_depth() -> None:
    found: Any = limited(SCHEMA, frozenset({"type", "properties", "items"}))
    assert found["properties"]["query"] == {"type": "string"}
    assert found["properties"]["many"]["items"]["properties"] == {"a": {"type": "number"}}
    assert "required" not in found


def test_properties_may_have_the_names_of_schema_keywords() -> None:
    schema: Any = {
        "type": "object",
        "properties": {"default": {"type": "string"}, "items": {"type": "string"}},
    }
    assert limited(schema, frozenset({"type", "properties"})) == schema


def test_a_const_becomes_an_enum_of_one_if_const_is_unsupported() -> None:
    assert limited({"const": 1}, frozenset({"enum"})) == {"enum": [1]}


def test_descriptions_are_in_one_language() -> None:
    schema: Any = {"properties": {"a": {"description": {"en": "yes", "de": "ja"}}}, "description": "plain"}
    assert localized(schema, "de") == {"properties": {"a": {"description": "ja"}}, "description": "plain"}


def test_a_missing_language_falls_back() -> None:
    assert pick({"en": "yes"}, "de") == "yes"
    assert pick({"fr": "oui"}, "de") == "oui"
    assert pick("yes", "de") == "yes"
    assert pick(None, "de") == ""
