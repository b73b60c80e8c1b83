"""Lookups in decoded JSON by path, where absent values are empty, and in canonical values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groundwire.model import Json, JsonObject
from groundwire.model.value import field_names, is_value

BLOBS = frozenset(
    {"encrypted_content", "encrypted_index", "encrypted_stdout", "signature", "thoughtSignature"}
)
"""Fields that mean something to their provider alone and must come back to it unchanged."""


def at(value: Json, *path: str | int) -> Json:
    """The value at a path, None if any step is missing."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def objects(value: Json, *path: str | int) -> list[JsonObject]:
    """The objects of the list at a path."""
    found = at(value, *path)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def strings(value: Json, *path: str | int) -> list[str]:
    """The strings of the list at a path, without empty ones."""
    found = at(value, *path)
    return [item for item in found if isinstance(item, str) and item] if isinstance(found, list) else []


def string(value: Json, *path: str | int) -> str:
    """The string at a path."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def count(value: Json, *path: str | int) -> int | None:
    """The whole number at a path."""
    found = at(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def number(value: Json, *path: str | int) -> float | None:
    """The number at a path."""
    found = at(value, *path)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def total(*counts: int | None) -> int | None:
    """The sum of the known counts, None if there are none."""
    known = [value for value in counts if value is not None]
    return sum(known) if known else None


def blobs(value: Json) -> set[str]:
    """Every non-empty opaque string in a document, however deep."""
    return {text for key, text in _leaves(value) if key in BLOBS and text}


def _leaves(value: Json, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, key)
    elif isinstance(value, str):
        yield key, value


def strings_in(value: object) -> Iterator[str]:
    """Every string in a value, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from strings_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings_in(item)
    elif is_value(value):
        for name in field_names(type(value)):
            yield from strings_in(getattr(value, name))
