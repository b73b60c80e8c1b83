"""Lines on a terminal, broken between words, written as they come, counted so that they can be taken back.

A line is broken by us and never by the terminal: so its number of lines is known whatever it does with wide
or unusual signs, whose width is rather taken for too large than for too small.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

from groundwire.faces.cli.console import linked, styled
from groundwire.faces.cli.ink import Run

_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_PIECES = re.compile(r"\n|[ \t]+|[^\s]+|\s")
_LONGEST_INDENT = 12


class LineWriter:
    """Takes runs and writes lines."""

    def __init__(self, width: int, write: Callable[[str], None]) -> None:
        self._width = width
        self._write = write
        self._out: list[str] = []
        self._word: list[Run] = []
        self._word_width = 0
        self._space = ""
        self._column = 0
        self._empty_lines = 1
        self._head = ""
        self.rows = 0
        """Lines above the one that is being written."""

    @property
    def at_line_start(self) -> bool:
        """Does the next word begin a line?"""
        return not (self._column or self._word or self._space)

    def feed(self, runs: Iterable[Run]) -> None:
        """Write runs; the last word waits for what may follow it."""
        for run in runs:
            for piece in _PIECES.findall(run.text):
                if piece == "\n":
                    self._end_line()
                elif piece.isspace():
                    self._end_word()
                    self._space += piece.replace("\t", "    ")
                else:
                    self._extend(run._replace(text=piece))
        self._flush()

    def close(self) -> None:
        """Write what waits."""
        self._end_word()
        self._space = ""
        self._flush()

    def end_line(self) -> None:
        """Go on at the beginning of a line."""
        if not self.at_line_start:
            self._end_line()
            self._flush()

    def blank(self) -> None:
        """Leave exactly one empty line before what comes; none at the top."""
        self._end_line()
        self._end_line()
        self._flush()

    def _extend(self, run: Run) -> None:
        """Add to the word; around signs as wide as two it may be broken."""
        if run.text.isascii():
            self._hold(run)
            return
        start, wide = 0, False
        for place, sign in enumerate(run.text):
            width = width_of(sign)
            if start < place and width and (wide or width > 1):
                self._hold(run._replace(text=run.text[start:place]))
                self._end_word()
                start = place
            wide = width > 1 if width else wide
        self._hold(run._replace(text=run.text[start:]))

    def _hold(self, run: Run) -> None:
        self._word.append(run)
        self._word_width += text_width(run.text)

    def _end_word(self) -> None:
        if not self._word:
            return
        word, self._word = self._word, []
        width, self._word_width = self._word_width, 0
        space, self._space = self._space, ""
        indent = self._indent()
        if self._column > indent and self._column + len(space) + width > self._width:
            self._wrap(indent)
        elif space:
            # Deep indents on narrow screens give way: at least one column is left for the word.
            self._put(Run(space[: max(0, self._width - self._column - 1)]))
        for run in word:
            self._head += run.text if len(self._head) < _LONGEST_INDENT else ""
            if self._column + text_width(run.text) <= self._width:
                self._put(run)
            else:
                self._put_broken(run, indent)

    def _put_broken(self, run: Run, indent: int) -> None:
        for sign in run.text:
            if self._column + width_of(sign) > self._width:
                self._wrap(indent)
            self._put(run._replace(text=sign))

    def _put(self, run: Run) -> None:
        text = linked(run.text, run.url) if run.url else run.text
        self._out.append(styled(text, run.style))
        self._column += text_width(run.text)
        if run.text.isspace():
            self._head += run.text if len(self._head) < _LONGEST_INDENT else ""

    def _wrap(self, indent: int) -> None:
        self._out.append("\n" + " " * indent)
        self._column = indent
        self.rows += 1

    def _indent(self) -> int:
        """How far the lines of a list's item stand in."""
        item = _ITEM.match(self._head)
        return min(len(item[0]), _LONGEST_INDENT) if item else 0

    def _end_line(self) -> None:
        self._end_word()
        self._space = ""
        if self._column:
            self._empty_lines = 0
        elif self._empty_lines:
            return
        else:
            self._empty_lines += 1
        self._out.append("\n")
        self._column = 0
        self._head = ""
        self.rows += 1

    def _flush(self) -> None:
        if self._out:
            self._write("".join(self._out))
            self._out.clear()


def text_width(text: str) -> int:
    """Columns that a text takes, at most."""
    return len(text) if text.isascii() else sum(map(width_of, text))


@lru_cache(maxsize=4096)
def width_of(sign: str) -> int:
    """Columns that a sign takes, at most."""
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        # Asks for the coloured form of the sign before it, which takes one column more.
        return 1 if sign == "\ufe0f" else 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def shortened(text: str, width: int) -> str:
    """The text, cut to so many columns if it takes more."""
    if text_width(text) <= width:
        return text
    end = taken = 0
    while taken + width_of(text[end]) < width:
        taken += width_of(text[end])
        end += 1
    return text[:end].rstrip() + "…"
