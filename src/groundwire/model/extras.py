"""What only one dialect understands, carried verbatim beside the canonical values.

`extras["anthropic_messages"]["encrypted_content"]` is stored, compared and given back to that dialect
only. For any other dialect it does not exist.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = "dict[str, Json]"
Extras: TypeAlias = Mapping[str, JsonObject]


NO_EXTRAS: Extras = {}


def merge_extras(first: Extras, second: Extras) -> Extras:
    """Both, key by key; where both speak, the second wins."""
    if not first:
        return second
    if not second:
        return first
    names = [*first, *(name for name in second if name not in first)]
    return {name: {**first.get(name, {}), **second.get(name, {})} for name in names}


def frozen_extras(extras: Extras) -> Hashable:
    """Hashable, and equal for equal extras."""
    return frozenset((name, _frozen(held)) for name, held in extras.items()) if extras else None


def _frozen(value: Json) -> Hashable:
    if isinstance(value, dict):
        return frozenset((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return value
