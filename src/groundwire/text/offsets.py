"""Converts offsets between code points, UTF-8 bytes and UTF-16 units, many at a time, in one pass.

Gemini counts bytes, OpenAI code points, JavaScript clients UTF-16 units; the canonical unit is the code
point. Offsets outside the text are clamped to it, offsets inside a character move to its beginning.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Unit: TypeAlias = Literal["point", "utf8", "utf16"]


def to_points(text: str, offsets: Iterable[int], unit: Unit) -> list[int]:
    """Offsets in `unit` as code points, in the order given."""
    wanted = list(offsets)
    if unit == "point" or text.isascii():
        return [_clamp(offset, len(text)) for offset in wanted]
    data = text.encode(_CODECS[unit], "surrogatepass")
    boundary, width = _BOUNDARIES[unit]
    snapped = [boundary(data, _clamp(offset, len(data) // width)) for offset in wanted]

    def points(start: int, end: int) -> int:
        return len(data[start * width : end * width].decode(_CODECS[unit], "surrogatepass"))

    return _accumulate(snapped, points)


def from_points(text: str, offsets: Iterable[int], unit: Unit) -> list[int]:
    """Offsets in code points as `unit`, in the order given."""
    wanted = [_clamp(offset, len(text)) for offset in offsets]
    if unit == "point" or text.isascii():
        return wanted
    width = _BOUNDARIES[unit][1]

    def units(start: int, end: int) -> int:
        return len(text[start:end].encode(_CODECS[unit], "surrogatepass")) // width

    return _accumulate(wanted, units)


class Utf16Offsets:
    """Converts single UTF-16 offsets of one text to code points; the text is scanned once."""

    __slots__ = ("_text", "_wide")

    def __init__(self, text: str) -> None:
        self._text = text
        self._wide: list[int] | None = None

    def to_point(self, offset: int) -> int:
        """The code point at an offset, clamped like those of `to_points`."""
        if self._wide is None:
            # Offsets, in units, of the characters that take two units.
            wide = _WIDE.finditer(self._text)
            self._wide = [match.start() + before for before, match in enumerate(wide)]
        if offset <= 0:
            return 0
        before = bisect_left(self._wide, offset)
        if before and self._wide[before - 1] + 1 == offset:
            before -= 1  # inside a character
            offset -= 1
        return min(offset - before, len(self._text))


_WIDE = re.compile("[\U00010000-\U0010ffff]")


def _accumulate(offsets: list[int], measure: Callable[[int, int], int]) -> list[int]:
    """Measure the text between neighbouring offsets once; the order of the offsets does not matter."""
    known: dict[int, int] = {}
    previous = total = 0
    for offset in sorted(set(offsets)):
        total += measure(previous, offset)
        known[offset] = total
        previous = offset
    return [known[offset] for offset in offsets]


def _clamp(offset: int, length: int) -> int:
    return max(0, min(offset, length))


def _utf8_boundary(data: bytes, offset: int) -> int:
    while 0 < offset < len(data) and data[offset] & 0xC0 == 0x80:
        offset -= 1
    return offset


def _utf16_boundary(data: bytes, offset: int) -> int:
    # The high byte of a low surrogate, little endian, is the second of its two.
    inside = 0 < offset < len(data) // 2 and 0xDC <= data[2 * offset + 1] <= 0xDF
    return offset - 1 if inside and 0xD8 <= data[2 * offset - 1] <= 0xDB else offset


_CODECS: dict[Unit, str] = {"utf8": "utf-8", "utf16": "utf-16-le"}
_BOUNDARIES: dict[Unit, tuple[Callable[[bytes, int], int], int]] = {
    "utf8": (_utf8_boundary, 1),
    "utf16": (_utf16_boundary, 2),
}
