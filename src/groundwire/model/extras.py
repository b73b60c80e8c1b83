"""What only one dialect understands, carried verbatim beside the canonical values.

`extras["anthropic_messages"]["encrypted_content"]` is stored, compared and given back to that dialect
only. For any other dialect it does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
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
