"""Looking for strings in canonical values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groundwire.model.value import field_names, is_value


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
