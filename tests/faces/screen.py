"""A terminal, as far as the command line uses one: what stands on it after a stream of bytes."""

from __future__ import annotations

import re
import unicodedata

_SEQUENCE = re.compile(
    r"\x1b\[(?P<numbers>[\d;]*)(?P<letter>[A-Za-z])|\x1b\]8;;(?P<url>[^\x07\x1b]*)(?:\x07|\x1b\\)"
)


class Screen:
    """Lines that scroll away at the top stay in `lines`, as in a terminal's history."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns = columns
        self.rows = rows
        self.lines: list[list[str]] = [[]]
        self.row = 0
        self.column = 0
        self.links: list[tuple[str, str]] = []
        """Text and address of every link that was written."""
        self.unknown: list[str] = []
        """Control characters that are none of ours."""
        self._url = ""

    @property
    def text(self) -> str:
        """Everything that stands there."""
        return "\n".join("".join(line).rstrip() for line in self.lines).rstrip()

    def feed(self, text: str) -> None:
        """Write a text."""
        position = 0
        while position < len(text):
            match = _SEQUENCE.match(text, position)
            if match:
                self._obey(match)
                position = match.end()
            else:
                self._write(text[position])
                position += 1

    def _obey(self, match: re.Match[str]) -> None:
        if match["url"] is not None:
            self._url = match["url"]
            if self._url:
                self.links.append(("", self._url))
            return
        letter = match["letter"]
        if letter == "A":
            top = max(len(self.lines) - self.rows, 0)
            self.row = max(self.row - int(match["numbers"] or 1), top)
        elif letter == "J":
            del self.lines[self.row + 1 :]
            del self.lines[self.row][self.column :]
        elif letter == "K":
            self.lines[self.row] = []
        elif letter != "m":
            self.unknown.append(match[0])

    def _write(self, sign: str) -> None:
        if sign == "\n":
            self._down()
        elif sign == "\r":
            self.column = 0
        elif not sign.isprintable() and unicodedata.category(sign) in ("Cc", "Cs"):
            self.unknown.append(sign)
        else:
            self._put(sign)

    def _put(self, sign: str) -> None:
        if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Cf"):
            return
        width = 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        if self.column + width > self.columns:
            self._down()
            self.column = 0
        line = self.lines[self.row]
        line.extend(" " * (self.column - len(line)))
        line[self.column : self.column + width] = [sign, *[""] * (width - 1)]
        self.column += width
        if self._url:
            label, url = self.links[-1]
            self.links[-1] = (label + sign, url)

    def _down(self) -> None:
        self.row += 1
        self.column = min(self.column, self.columns)
        if self.row == len(self.lines):
            self.lines.append([])
