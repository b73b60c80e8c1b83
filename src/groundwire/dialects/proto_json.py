"""Proto-JSON fields: every name may be spelled `likeThis` or `like_this`, also mixed in one body.

Google's servers accept both, and its newest client sends both in one request. Whole numbers may be strings
(64-bit ones always are). Encoders always write lowerCamelCase, as Google does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import TypeVar

from groundwire.dialects.fields import MAX_COUNT, Fields, Key
from groundwire.errors import WireError
from groundwire.model import Json, JsonObject

_Value = TypeVar("_Value")

_WHOLE = re.compile(r"-?\d{1,15}")
_ANY_WHOLE = re.compile(r"-?\d{1,100}")
_DECIMAL = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")


@cache
def snake_case(key: str) -> str:
    """`startIndex` as `start_index`."""
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", key)


def either_spelling(table: Mapping[str, _Value]) -> dict[str, _Value]:
    """Extend a table of lowerCamelCase names with the snake_case spelling."""
    return {name: value for key, value in table.items() for name in (key, snake_case(key))}


class ProtoFields(Fields):
    """Fields that are read by their lowerCamelCase name and found in either spelling."""

    __slots__ = ()

    def __init__(
        self, raw: JsonObject, fault: type[WireError], parent: Fields | None = None, key: Key = ""
    ) -> None:
        super().__init__(raw, fault, parent, key)
        self.get = partial(_get_either, raw)  # a bound method would make a reference cycle

    def integer(self, key: str) -> int | None:
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, str) and _WHOLE.fullmatch(value):
            return int(value)
        return super().integer(key)

    def _whole(self, key: str) -> int | None:
        value = self.get(key)
        if isinstance(value, str) and _ANY_WHOLE.fullmatch(value):
            return int(value)
        return super()._whole(key)

    def number(self, key: str) -> float | None:
        value = self.get(key)
        if isinstance(value, str) and _DECIMAL.fullmatch(value):
            return float(value)
        return super().number(key)

    def rest(self, *known: str) -> JsonObject:
        names = {*known, *map(snake_case, known)}
        return {key: value for key, value in self.raw.items() if key not in names and value is not None}


def _get_either(raw: JsonObject, key: str) -> Json:
    value = raw.get(key)
    return raw.get(snake_case(key)) if value is None else value


def read_body(value: Json, fault: type[WireError]) -> Fields:
    """A reader of a whole proto-JSON document."""
    return ProtoFields.of(value, fault)


def many(fields: Fields, key: str) -> Iterator[Fields]:
    """The objects of a list; a single object counts as a list of one."""
    if isinstance(fields.get(key), dict):
        yield fields.obj(key)
    else:
        yield from fields.objs(key)


def integers(fields: Fields, key: str) -> tuple[int, ...]:
    """The whole numbers of a list."""
    found = []
    for index, value in enumerate(fields.items(key)):
        if type(value) is not int:
            raise fields.fault("expected a whole number", key, index)
        found.append(value if abs(value) <= MAX_COUNT else -1)
    return tuple(found)


def numbers(fields: Fields, key: str) -> tuple[float, ...]:
    """The numbers of a list."""
    found = []
    for index, value in enumerate(fields.items(key)):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise fields.fault("expected a number", key, index)
        found.append(float(value))
    return tuple(found)
