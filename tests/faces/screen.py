"""A terminal emulator for the escape sequences that the command line uses."""

from __future__ import annotations

import re
import unicodedata

_SEQUENCE = re.compile(
    r"\x1b\[(?P<numbers>[\d;]*)(?P<letter>[A-Za-z])|\x1b\]8;;(?P<url>[^\x07\x1b]*)(?:\x07|\x1b\\)"
)


class Screen:
    """The text on a screen; `lines` keeps lines that scrolled off the top, as the history of a terminal."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns = columns
        self.rows = rows
        self.lines: list[list[str]] = [[]]
        self.row = 0
        self.column = 0
        self.links: list[tuple[str, str]] = []
        """Text and URL of every link that was written."""
        self.unknown: list[str] = []
        """Control characters that the command line must not write."""
        self._url = ""

    @property
    def text(self) -> str:
        """All text on the screen and in the history."""
        return "\n".join("".join(line).rstrip() for line in self.lines).rstrip()

    def feed(self, text: str) -> None:
        """Write a text."""
        position = 0
        while position < len(text):
            match = _SEQUENCE.match(text, position)
            if match:
                self._apply(match)
                position = match.end()
            else:
                self._write(text[position])
                position += 1

    def _apply(self, match: re.Match[str]) -> None:
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

    def _write(self, char: str) -> None:
        if char == "\n":
            self._down()
        elif char == "\r":
            self.column = 0
        elif not char.isprintable() and unicodedata.category(char) in ("Cc", "Cs"):
            self.unknown.append(char)
        else:
            self._put(char)

    def _put(self, char: str) -> None:
        if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Cf"):
            return
        width = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if self.column + width > self.columns:
            self._down()
            self.column = 0
        line = self.lines[self.row]
        line.extend(" " * (self.column - len(line)))
        line[self.column : self.column + width] = [char, *[""] * (width - 1)]
        self.column += width
        if self._url:
            label, url = self.links[-1]
            self.links[-1] = (label + char, url)

    def _down(self) -> None:
        self.row += 1
        self.column = min(self.column, self.columns)
        if self.row == len(self.lines):
            self.lines.append([])
