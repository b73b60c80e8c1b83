"""Schemas: the wire's own kind, with upper-case types and `nullable`, as JSON Schema.

Clients write upper-case types under either name (`parameters`, `parametersJsonSchema`), so both are read
alike.
"""

from __future__ import annotations

from collections.abc import Callable

from groundwire.dialects.proto_json import snake_case
from groundwire.model import Json, JsonObject

_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})


def decode_schema(schema: JsonObject) -> JsonObject:
    """A schema as JSON Schema."""
    found: JsonObject = {}
    for key, value in schema.items():
        name = _CAMEL.get(key, key)
        found[name] = _READERS[name](value) if name in _READERS else value
    nullable = found.pop("nullable", None)
    found.pop("propertyOrdering", None)
    kind = found.get("type")
    if nullable is True and isinstance(kind, str):
        found["type"] = [kind, "null"]
    return found


def _lower(value: Json) -> Json:
    if isinstance(value, list):
        return [_lower(item) for item in value]
    return value.lower() if isinstance(value, str) and value in _TYPES else value


def _nested(value: Json) -> Json:
    if isinstance(value, list):
        return [_nested(item) for item in value]
    return decode_schema(value) if isinstance(value, dict) else value


def _named(value: Json) -> Json:
    return {name: _nested(item) for name, item in value.items()} if isinstance(value, dict) else value


def _counted(value: Json) -> Json:
    # 64-bit numbers are strings on this wire.
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 16 else value


_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_READERS: dict[str, Callable[[Json], Json]] = {
    "type": _lower,
    "properties": _named,
    "$defs": _named,
    "items": _nested,
    "prefixItems": _nested,
    "anyOf": _nested,
    "oneOf": _nested,
    "allOf": _nested,
    "additionalProperties": _nested,
    **dict.fromkeys(_COUNTS, _counted),
}
_CAMEL = {
    snake_case(name): name
    for name in (*_COUNTS, "prefixItems", "anyOf", "additionalProperties", "propertyOrdering")
}
