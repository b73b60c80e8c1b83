"""Reads protobuf messages, as far as files with weights need it: the numbered fields of a message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_VARINT, _LONG, _BYTES, _SHORT = 0, 1, 2, 5
"""How a field is stored: a number of any length, 8 bytes, a length and so many bytes, 4 bytes."""
_SIZES = {_LONG: 8, _SHORT: 4}


class Field(NamedTuple):
    """A field of a message."""

    number: int
    value: int
    """0 if it has content."""
    content: memoryview


def read_fields(message: memoryview) -> Iterator[Field]:
    """The fields of a message. Raises `ValueError` or `IndexError` if it is not one."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield Field(number, value, message[:0])
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            raise ValueError(f"protobuf has no wire type {kind}")
        yield Field(number, 0, message[at : at + size])
        at += size


def read_varints(message: memoryview) -> Iterator[int]:
    """The numbers of a packed list."""
    at = 0
    while at < len(message):
        number, at = _varint(message, at)
        yield number


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """A number, and the position after it."""
    number = shift = 0
    while message[at] & 0x80:
        number |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | message[at] << shift, at + 1
