"""Reading the numbers with which a model cites: `[1]`, `[1][3]`, `[2, 4]`, `【5】`.

They are taken out of a text that comes in pieces, wherever they can be citations: not in code, not as the
label of a link, not at the beginning of a line, and only if the number is one that the model was given.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

_LIST = r"\^?\d{1,4}(?:\s*[,;–-]\s*\^?\d{1,4}){0,19}"
_ONE = rf"\[{_LIST}\]|【{_LIST}(?:†[^】\n]{{0,40}})?】"
# What calculates, calls or lists is no citation: `x = [1]`, `f([1])`, `[[1], [2]]`.
_MARKS = re.compile(rf"(?<![ \t=(\[{{+*/<>])[ \t]*(?:{_ONE})(?:[ \t]?(?:{_ONE})){{0,39}}(?!\()")
_UNFINISHED = re.compile(
    rf"(?<![ \t])[ \t]*(?:(?:{_ONE})[ \t]?){{0,40}}(?:\[[\d\s,;–^-]{{0,40}}|【[^】\n]{{0,50}})?$"
)
_NUMBER = re.compile(r"(\d{1,4})(?:\s*[–-]\s*\^?(\d{1,4}))?")
_LABEL = re.compile(r"†[^】\n]*")
_LONGEST_RANGE = 20
_FENCES = ("```", "~~~")


class Numbers(NamedTuple):
    """Citations that stood here."""

    known: tuple[int, ...]


class NumberReader:
    """Gives the text without its citations, and the citations where they stood."""

    __slots__ = (
        *("_ends", "_fenced", "_gone", "_is_known", "_last", "_line", "_raw", "_rest", "_ticks"),
        "unknown",
    )

    def __init__(self, is_known: Callable[[int], bool]) -> None:
        self._is_known = is_known
        self._rest = ""
        self._last = ""
        self._line = ""
        self._ticks = 0
        self._fenced = False
        self._raw = 0
        self._ends: list[int] = []
        self._gone: list[int] = []
        self.unknown = 0
        """How many numbers nobody gave the model; they stay in the text."""

    def feed(self, text: str) -> list[str | Numbers]:
        """What is certain by now."""
        if not self._rest and not _may_cite(text):
            return [self._take(text)] if text else []
        text = self._rest + text
        match = _UNFINISHED.search(text)
        cut = match.start() if match else len(text)
        self._rest = text[cut:]
        return list(self._read(text[:cut]))

    def close(self) -> list[str | Numbers]:
        """What was held back."""
        rest, self._rest = self._rest, ""
        return list(self._read(rest))

    def place(self, offset: int) -> int:
        """Where a position of the text as it came is in the text as it went."""
        index = bisect_right(self._ends, offset)
        return offset - self._gone[index - 1] if index else offset

    def _read(self, text: str) -> Iterator[str | Numbers]:
        position = len(self._last)
        text = self._last + text  # what stands before a number tells whether it cites
        for match in _MARKS.finditer(text, position):
            if match.start() > position:
                yield self._take(text[position : match.start()])
                position = match.start()
            if self._is_code or not self._line.strip(" \t>*-+#"):
                continue
            known, others = self._sorted(match[0])
            if not known:
                continue
            yield Numbers(known)
            self._raw += len(match[0])
            self._ends.append(self._raw)
            self._gone.append((self._gone[-1] if self._gone else 0) + len(match[0]))
            self._last = "]"
            if others:
                kept = "".join(f"[{number}]" for number in others)
                self._gone[-1] -= len(kept)
                yield kept
            position = match.end()
        if position < len(text):
            yield self._take(text[position:])

    @property
    def _is_code(self) -> bool:
        return self._fenced or self._ticks % 2 == 1

    def _sorted(self, mark: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        numbers = tuple(dict.fromkeys(_numbers(_LABEL.sub("", mark))))
        known = tuple(number for number in numbers if self._is_known(number))
        others = tuple(number for number in numbers if number not in known)
        self.unknown += sum(number < 100 for number in others)  # larger ones are years and the like
        return known, others

    def _take(self, text: str) -> str:
        """Remember whether the text has come to code."""
        self._raw += len(text)
        self._last = text[-1:] or self._last
        head, *others = text.split("\n")
        self._go_on(head)
        for line in others:
            self._fenced ^= self._line.lstrip().startswith(_FENCES)
            self._line, self._ticks = "", 0
            self._go_on(line)
        return text

    def _go_on(self, text: str) -> None:
        if len(self._line.lstrip()) < 8:
            self._line = (self._line + text)[:200]
        self._ticks += text.count("`")


def _may_cite(text: str) -> bool:
    return "[" in text or "【" in text or text.endswith((" ", "\t"))


def _numbers(mark: str) -> Iterator[int]:
    for first, last in _NUMBER.findall(mark):
        start, end = int(first), int(last or first)
        yield from range(start, end + 1) if 0 <= end - start <= _LONGEST_RANGE else (start,)
