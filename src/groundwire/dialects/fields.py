"""Typed reads of decoded JSON, with the path in the error.

Absent and `null` are the same and give the default. A value of the wrong type raises the error class the
reader was created with (`ClientWireError` for client data, `UpstreamWireError` for provider data) and names
its path. Fields that are not read are not checked.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeAlias

from groundwire.errors import WireError
from groundwire.model import Json, JsonObject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Key: TypeAlias = "str | int"

_LARGEST = 2**63
"""Larger whole numbers are rejected: databases and other languages cannot hold them."""

MAX_COUNT = 10**12
"""Larger counts of tokens, searches and characters are ignored; sums stay far below any limit."""

MAX_AMOUNT = 10.0**9
"""Larger amounts of money are ignored."""


class Fields:
    """Reader of one JSON object."""

    __slots__ = ("_fault", "_key", "_parent", "get", "raw")

    get: Callable[[str], Json]
    """The value verbatim, None when absent. An attribute, so that a read is one call and not two."""

    def __init__(
        self,
        raw: JsonObject,
        fault: type[WireError],
        parent: Fields | None = None,
        key: Key = "",
    ) -> None:
        self.raw = raw
        self.get = raw.get
        self._fault = fault
        self._parent = parent
        self._key = key

    @classmethod
    def of(cls, value: Json, fault: type[WireError]) -> Fields:
        """A reader of a whole document, which must be an object."""
        if not isinstance(value, dict):
            raise fault(f"expected an object, found {_kind(value)}")
        return cls(value, fault)

    def has(self, key: str) -> bool:
        """Whether the field is present and not null."""
        return self.get(key) is not None

    def text(self, key: str, default: str = "") -> str:
        """A string."""
        value = self.raw.get(key)
        if value.__class__ is str:
            return value  # fast path: most reads end here
        if value is None:
            value = self.get(key)
            if value is None:
                return default
        if isinstance(value, str):
            return value
        raise self.fault(f"expected a string, found {_kind(value)}", key)

    def integer(self, key: str) -> int | None:
        """A whole number; `5.0` counts as one, `true` does not."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is int:
            if abs(value) >= _LARGEST:
                raise self.fault("expected a whole number, found one too large", key)
            return value
        raise self.fault(f"expected a whole number, found {_kind(value)}", key)

    def number(self, key: str) -> float | None:
        """A number."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool):
            if abs(value) > sys.float_info.max:
                raise self.fault("expected a number, found one too large", key)
            return float(value)
        raise self.fault(f"expected a number, found {_kind(value)}", key)

    def count(self, key: str) -> int | None:
        """A count of something (tokens, searches); None if the number is implausible.

        Usage is not essential to an answer: an implausible count does not make it fail.
        """
        value = self.get(key)
        if value is None:
            return None
        whole = value if type(value) is int else self._whole(key)
        return whole if whole is not None and 0 <= whole <= MAX_COUNT else None

    def offset(self, key: str) -> int | None:
        """An offset in a text; None if it is implausibly large. Negative offsets are returned as they are."""
        value = self._whole(key)
        return value if value is None or -MAX_COUNT <= value <= MAX_COUNT else None

    def amount(self, key: str) -> float | None:
        """An amount of money; None if it is implausible."""
        value = self.number(key)
        return value if value is None or 0 <= value <= MAX_AMOUNT else None

    def _whole(self, key: str) -> int | None:
        """A whole number of any size."""
        value = self.get(key)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return value if type(value) is int else self.integer(key)

    def flag(self, key: str) -> bool | None:
        """True or false."""
        value = self.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise self.fault(f"expected true or false, found {_kind(value)}", key)

    def obj(self, key: str) -> Fields:
        """An object; an empty one when absent."""
        value = self.get(key)
        if isinstance(value, dict):
            return type(self)(value, self._fault, self, key)
        if value is None:
            return type(self)({}, self._fault, self, key)
        raise self.fault(f"expected an object, found {_kind(value)}", key)

    def items(self, key: str) -> list[Json]:
        """A list; an empty one when absent."""
        value = self.get(key)
        if isinstance(value, list):
            return value
        if value is None:
            return []
        raise self.fault(f"expected a list, found {_kind(value)}", key)

    def objs(self, key: str) -> Iterator[Fields]:
        """The objects of a list; nulls in it are skipped."""
        if self.get(key) is None:
            return _NO_FIELDS  # most lists are optional
        return self._objs(key, self.items(key))

    def _objs(self, key: str, values: list[Json]) -> Iterator[Fields]:
        list_path = _ListPath(self, key)
        for index, value in enumerate(values):
            if isinstance(value, dict):
                yield type(self)(value, self._fault, list_path, index)
            elif value is not None:
                raise self.fault(f"expected an object, found {_kind(value)}", key, index)

    def texts(self, key: str) -> tuple[str, ...]:
        """The strings of a list; nulls in it are skipped."""
        if self.get(key) is None:
            return ()
        found = []
        for index, value in enumerate(self.items(key)):
            if isinstance(value, str):
                found.append(value)
            elif value is not None:
                raise self.fault(f"expected a string, found {_kind(value)}", key, index)
        return tuple(found)

    def with_raw(self, raw: JsonObject) -> Fields:
        """A reader of another object at the same path."""
        return type(self)(raw, self._fault, self._parent, self._key)

    def rest(self, *known: str) -> JsonObject:
        """Every field that is not among the known ones, verbatim."""
        return {key: value for key, value in self.raw.items() if key not in known}

    def fault(self, message: str, *keys: Key) -> WireError:
        """The error to raise about a field of this object, with its path."""
        return self._fault(message, self.path(*keys))

    def path(self, *keys: Key) -> str:
        """`$.messages[2].content`"""
        steps: list[Key] = list(reversed(keys))
        node: Fields | None = self
        while node is not None and node._parent is not None:
            steps.append(node._key)
            node = node._parent
        return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in reversed(steps))


_NO_FIELDS: Iterator[Fields] = iter(())


class _ListPath(Fields):
    """A list inside its object: only an element of the path."""

    __slots__ = ()

    def __init__(self, holder: Fields, key: str) -> None:
        super().__init__({}, WireError, holder, key)


_KINDS: dict[type, str] = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def _kind(value: Json) -> str:
    return _KINDS[type(value)]


def as_object(value: Json) -> JsonObject:
    """The value if it is an object, else an empty one: for values that need no error."""
    return value if isinstance(value, dict) else {}
