"""Text in a normal form for comparing, with a map back to the offsets of the original.

Compatibility forms and composed letters are unified (NFKC), invisible characters are removed, every run of
white space is one space, and the many quotation marks and dashes are one of each. Case is kept.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right

from groundwire.model.value import value

# Plain ASCII is copied in runs; everything else is looked at one character at a time, with the marks on it.
_MARKS = "\u0300-\u036f\ufe00-\ufe0f"
_PIECE = re.compile(f"[!-~]+(?![{_MARKS}])|\\s+(?![{_MARKS}])|[\\s\\S][{_MARKS}]*")
_QUOTES = "\u00ab\u00bb\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2032\u2033\u2039\u203a\u0060\u00b4"
_SINGLE = "\u2018\u2019\u201a\u201b\u2032\u2039\u203a\u0060\u00b4"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043"
_REMOVED = "\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
_TABLE: dict[str, str] = {
    **{mark: "'" if mark in _SINGLE else '"' for mark in _QUOTES},
    **dict.fromkeys(_DASHES, "-"),
    **dict.fromkeys(_REMOVED, ""),
}


@value
class NormalText:
    """A text in normal form. Pieces of it map to pieces of the original."""

    text: str
    _begins: tuple[int, ...]
    """Where each piece begins in the normal text."""
    _pieces: tuple[tuple[int, int], ...]
    """Where each piece begins and ends in the original."""

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The range of the original that a range of the normal text stands for."""
        if start >= end or not self._begins:
            at = self._offset(start)
            return at, at
        return self._offset(start), self._offset(end - 1, is_last=True)

    def _offset(self, at: int, *, is_last: bool = False) -> int:
        index = bisect_right(self._begins, at) - 1
        if index < 0:
            return 0
        begin, end = self._pieces[index]
        following = self._begins[index + 1] if index + 1 < len(self._begins) else len(self.text)
        if following - self._begins[index] == end - begin:
            return min(begin + at - self._begins[index] + is_last, end)
        return end if is_last or at >= following else begin


def normal_text(text: str) -> NormalText:
    """The normal form of a text."""
    written: list[str] = []
    begins: list[int] = []
    pieces: list[tuple[int, int]] = []
    length = 0
    for match in _PIECE.finditer(text):
        piece = _normal_piece(match[0])
        if piece == " " and (not written or written[-1] == " "):
            piece = ""
        if piece:
            begins.append(length)
            pieces.append(match.span())
            written.append(piece)
            length += len(piece)
    return NormalText("".join(written), tuple(begins), tuple(pieces))


def _normal_piece(piece: str) -> str:
    if "!" <= piece[0] <= "~" and piece.isascii():
        return piece.replace("`", "'")
    if piece.isspace():
        return " "
    if piece in _TABLE:
        return _TABLE[piece]
    composed = unicodedata.normalize("NFKC", piece)
    replaced = "".join(_TABLE.get(char, char) for char in composed)
    return "".join(char for char in replaced if char == " " or not char.isspace())
