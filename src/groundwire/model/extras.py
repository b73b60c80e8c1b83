"""Extras: dialect-specific data of canonical values, kept verbatim.

`extras["anthropic_messages"]["encrypted_content"]` is stored, compared and sent back to that dialect only.
Other dialects ignore it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = "dict[str, Json]"
Extras: TypeAlias = Mapping[str, JsonObject]


NO_EXTRAS: Extras = {}


def merge_extras(first: Extras, second: Extras) -> Extras:
    """Merge key by key; the second value wins."""
    if not first:
        return second
    if not second:
        return first
    names = [*first, *(name for name in second if name not in first)]
    return {name: {**first.get(name, {}), **second.get(name, {})} for name in names}


def frozen_extras(extras: Extras) -> Hashable:
    """A hashable form, equal for equal extras."""
    return frozenset((name, _frozen(held)) for name, held in extras.items()) if extras else None


def _frozen(value: Json) -> Hashable:
    if isinstance(value, dict):
        return frozenset((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return value
