"""JSON Schemas of functions, adapted to the API that reads them.

The strict form that OpenAI demands: every object closed, every property required, and optional properties
nullable. An object with arbitrary keys and a schema that combines others have no strict form; such a schema
stays as it is, and its function is not strict. Keywords that an API refuses are removed: they only narrow
what a model may write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from groundwire.model import Json, JsonObject

Change: TypeAlias = Callable[[JsonObject], JsonObject]

_SHAPE = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf"})
_NAMES = frozenset({"$ref", "$defs", "title", "description", "format"})
_BOUNDS = frozenset({"minimum", "maximum", "minItems", "maxItems"})
_STRICT = (
    _SHAPE | _NAMES | _BOUNDS | {"const", "pattern", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"}
)
_COMBINING = frozenset({"allOf", "oneOf", "not", "if", "then", "else", "patternProperties", "prefixItems"})

KEYWORDS: Mapping[str, frozenset[str]] = {
    "openai_responses": _STRICT,
    "openai_chat": _STRICT,
    "gemini": _SHAPE | _NAMES | _BOUNDS | {"oneOf", "prefixItems", "$id", "$anchor"},
    "gemini_interactions": _SHAPE | _NAMES | _BOUNDS | {"oneOf", "prefixItems", "$id", "$anchor"},
}
"""Keywords that a dialect allows; a dialect that is not listed allows all."""

EMPTY: JsonObject = {"type": "object", "properties": {}}


def localized(schema: JsonObject, language: str) -> JsonObject:
    """The schema with each description in one language."""
    found = _mapped(schema, lambda inner: localized(inner, language))
    if isinstance(found.get("description"), dict):
        found["description"] = pick(found["description"], language)
    return found


def pick(text: Json, language: str) -> str:
    """A text that may be given by language; English, or the first, where the language is missing."""
    if isinstance(text, dict):
        text = text.get(language) or text.get("en") or next(iter(text.values()), "")
    return text if isinstance(text, str) else ""


def is_strictable(schema: JsonObject) -> bool:
    """Has the schema a strict form?"""
    if not _COMBINING.isdisjoint(schema):
        return False
    if _is_object(schema) and (
        not isinstance(schema.get("properties"), dict)
        or schema.get("additionalProperties") not in (None, False)
    ):
        return False
    return all(is_strictable(inner) for inner in _inner(schema))


def strict(schema: JsonObject) -> JsonObject:
    """The strict form of a schema that has one."""
    found = _mapped(schema, strict)
    properties = found.get("properties")
    if _is_object(found) and isinstance(properties, dict):
        required = found.get("required")
        needed = required if isinstance(required, list) else []
        found["properties"] = {
            name: inner if name in needed or not isinstance(inner, dict) else _nullable(inner)
            for name, inner in properties.items()
        }
        found["required"] = list(properties)
        found["additionalProperties"] = False
    return found


def limited(schema: JsonObject, keywords: frozenset[str] | None) -> JsonObject:
    """The schema in words that its reader knows; without a list, all of them."""
    if keywords is None:
        return schema
    found = _mapped(schema, lambda inner: limited(inner, keywords))
    if "const" in found and "const" not in keywords:
        found["enum"] = [found["const"]]
    return {name: item for name, item in found.items() if name in keywords}


def _nullable(schema: JsonObject) -> JsonObject:
    kind = schema.get("type")
    if isinstance(kind, str):
        kind = [kind]
    if not isinstance(kind, list):
        return {"anyOf": [schema, {"type": "null"}]}
    found: JsonObject = {**schema, "type": [*kind, *([] if "null" in kind else ["null"])]}
    choices = schema.get("enum")
    if isinstance(choices, list) and None not in choices:
        found["enum"] = [*choices, None]
    return found


def _is_object(schema: JsonObject) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in schema


_ONE = ("items", "additionalProperties", "not")
_SEVERAL = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "$defs")


def _inner(schema: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = []

    def note(inner: JsonObject) -> JsonObject:
        found.append(inner)
        return inner

    _mapped(schema, note)
    return found


def _mapped(schema: JsonObject, change: Change) -> JsonObject:
    """The schema with every schema directly inside it changed."""
    found: JsonObject = {}
    for name, item in schema.items():
        if name in _NAMED and isinstance(item, dict):
            found[name] = {key: _changed(inner, change) for key, inner in item.items()}
        elif name in _SEVERAL and isinstance(item, list):
            found[name] = [_changed(inner, change) for inner in item]
        elif name in _ONE:
            found[name] = _changed(item, change)
        else:
            found[name] = item
    return found


def _changed(item: Json, change: Change) -> Json:
    return change(item) if isinstance(item, dict) else item
