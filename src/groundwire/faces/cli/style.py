"""Styled text for a terminal: Markdown and citation numbers become runs of one style each.

Only what the terminal supports is used: without colours Markdown is shown as it was written, without
hyperlinks URLs are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from groundwire.faces.cli.console import BOLD, CYAN, DIM, linked, styled, wrap_words
from groundwire.model.value import value
from groundwire.text.annotate import Placeholders
from groundwire.text.lazy_pattern import lazy_pattern
from groundwire.text.sanitise import sanitise
from groundwire.text.urls import safe_url

_BOLD = r"(?<![\w*])\*\*(?=[^\s*])(?P<bold>[^\n]+?)(?<=[^\s*])\*\*(?!\*)"
_CODE = r"`(?P<code>[^`\n]+)`"
_LINK = r"\[(?P<label>[^\[\]\n]{1,400})\]\((?P<url>https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\)"
_MARKUP = f"{_CODE}|{_LINK}|{_BOLD}"
_HEADING = lazy_pattern(r"(?m)^#{1,6} +([^\n]*)$")


class Run(NamedTuple):
    """Text of one style, optionally a hyperlink."""

    text: str
    style: str = ""
    url: str = ""


@value
class Styler:
    """Styles text with what the terminal supports."""

    colored: bool = False
    linked: bool = False
    is_plain: bool = False
    """The text is plain text, not Markdown: only citation numbers are styled."""

    def runs(
        self,
        text: str,
        urls: Mapping[int, str],
        *,
        at_line_start: bool = True,
        placeholders: Placeholders | None = None,
    ) -> list[Run]:
        """The runs of a text; `urls` has the URL of each citation number, written as a placeholder."""
        return list(_Styling(self, urls, placeholders).lines(sanitise(text), at_line_start=at_line_start))


class _Styling:
    """Styles one text."""

    def __init__(self, styler: Styler, urls: Mapping[int, str], placeholders: Placeholders | None) -> None:
        self._styler = styler
        self._urls = urls
        number = f"(?P<number>{placeholders.pattern.pattern})" if placeholders else "(?P<number>(?!)())"
        # Plain text has no markup: the other groups exist, and never match.
        markup = f"(?!)(?:{_MARKUP})" if styler.is_plain else _MARKUP
        self._token = re.compile(f"{number}|{markup}")

    def lines(self, text: str, *, at_line_start: bool) -> Iterator[Run]:
        position = 0
        for match in _HEADING.finditer(text) if self._styler.colored and not self._styler.is_plain else ():
            if match.start() or at_line_start:
                yield from self._tokens(text[position : match.start()], "")
                yield from self._tokens(match[1].replace("**", ""), BOLD)
                position = match.end()
        yield from self._tokens(text[position:], "")

    def _tokens(self, text: str, style: str) -> Iterator[Run]:
        position = 0
        for match in self._token.finditer(text):
            if match.start() > position:
                yield Run(text[position : match.start()], style)
            yield from self._runs_of(match, style)
            position = match.end()
        if position < len(text):
            yield Run(text[position:], style)

    def _runs_of(self, match: re.Match[str], style: str) -> Iterator[Run]:
        colored, linked = self._styler.colored, self._styler.linked
        if match["number"] is not None:
            number = int(match[2])
            url = safe_url(self._urls.get(number, "")) if linked else ""
            yield Run(f"[{number}]", DIM if colored else "", url)
        elif match["url"] is not None and linked:
            yield Run(match["label"], style, safe_url(match["url"]))
        elif match["code"] is not None and colored:
            yield Run(match["code"], CYAN)
        elif match["bold"] is not None and colored:
            yield from self._tokens(match["bold"], BOLD)
        elif match["bold"] is not None:
            yield Run("**", style)
            yield from self._tokens(match["bold"], style)
            yield Run("**", style)
        else:
            yield Run(match[0], style)


_ITEM = lazy_pattern(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_PIECES = lazy_pattern(r"\n|[ \t]+|[^\s]+|\s")
_LONGEST_INDENT = 12


class LineWriter:
    """Writes runs as lines of limited width, broken between words, and counts them.

    Lines are broken here and never by the terminal, so that the number of lines is known and they can be
    overwritten. The width of unusual characters is overestimated rather than underestimated.
    """

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
        """Number of lines above the current one."""

    @property
    def at_line_start(self) -> bool:
        """Does the next word begin a line?"""
        return not (self._column or self._word or self._space)

    def feed(self, runs: Iterable[Run]) -> None:
        """Write runs; the last word is held back, because more of it may follow."""
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
        """Write the word that is held back."""
        self._end_word()
        self._space = ""
        self._flush()

    def end_line(self) -> None:
        """End the current line, unless it is empty."""
        if not self.at_line_start:
            self._end_line()
            self._flush()

    def blank(self) -> None:
        """Leave exactly one empty line before the next text; none at the top."""
        self._end_line()
        self._end_line()
        self._flush()

    def _extend(self, run: Run) -> None:
        """Add to the word; it may be broken around characters of two columns."""
        if run.text.isascii():
            self._hold(run)
            return
        start, wide = 0, False
        for index, char in enumerate(run.text):
            width = width_of(char)
            if start < index and width and (wide or width > 1):
                self._hold(run._replace(text=run.text[start:index]))
                self._end_word()
                start = index
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
            # On narrow screens the indentation is cut: at least one column is left for the word.
            self._put(Run(space[: max(0, self._width - self._column - 1)]))
        for run in word:
            self._head += run.text if len(self._head) < _LONGEST_INDENT else ""
            if self._column + text_width(run.text) <= self._width:
                self._put(run)
            else:
                self._put_broken(run, indent)

    def _put_broken(self, run: Run, indent: int) -> None:
        for char in run.text:
            if self._column + width_of(char) > self._width:
                self._wrap(indent)
            self._put(run._replace(text=char))

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
        """Indentation of the lines of a list item."""
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
    """Number of columns of a text, at most."""
    return len(text) if text.isascii() else sum(map(width_of, text))


@lru_cache(maxsize=4096)
def width_of(char: str) -> int:
    """Number of columns of a character, at most."""
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        # Emoji presentation of the character before it, which takes one more column.
        return 1 if char == "\ufe0f" else 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def shorten(text: str, width: int) -> str:
    """The text, cut to a number of columns."""
    if text_width(text) <= width:
        return text
    end = taken = 0
    while taken + width_of(text[end]) < width:
        taken += width_of(text[end])
        end += 1
    return text[:end].rstrip() + "…"


_GAP = "  "


_NARROW = 24
"""Columns below which the last cell of a row is written under the others."""
_INDENT = "    "


def align_columns(rows: Sequence[Sequence[str]], columns: int = 10_000) -> Iterator[str]:
    """Rows of a table as lines; every column is as wide as its widest cell. A last cell for which the
    terminal is too narrow continues on further lines."""
    widths = _widths(rows)
    before = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    for row in rows:
        cells = [cell + " " * (width - text_width(cell)) for cell, width in zip(row, widths, strict=True)]
        line = _GAP.join(cells).rstrip()
        if text_width(line) <= columns:
            yield line
        elif columns - before >= _NARROW:
            first, *others = wrap_words(row[-1], columns - before)
            yield _GAP.join((*cells[:-1], first))
            yield from (" " * before + other for other in others)
        else:
            yield _GAP.join(cells[:-1]).rstrip()
            yield from (_INDENT + part for part in wrap_words(row[-1], columns - len(_INDENT)))


def split_columns(rows: Sequence[Sequence[str]], columns: int) -> Iterator[list[Sequence[str]]]:
    """The table as tables that fit a terminal, each with the first column."""
    first, *widths = _widths(rows)
    start = 0
    while start < len(widths):
        end, taken = start, first
        while end < len(widths) and (end == start or taken + len(_GAP) + widths[end] <= columns):
            taken += len(_GAP) + widths[end]
            end += 1
        yield [(row[0], *row[1 + start : 1 + end]) for row in rows]
        start = end


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(text_width(row[column]) for row in rows) for column in range(len(rows[0]))]
