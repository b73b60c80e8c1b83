"""Compiled tables: what takes long to make from the data files is made once, and kept next to the index.

A table is some sections of lines. Its file has a mark that changes with the files it is made of, the number
of lines of each section, where each line ends, the lines, and an end; a file that is damaged or of other
sources is replaced. It is mapped into memory, and a line is decoded when it is looked up: a question needs
few of them. Most sections are sorted, and looked up by bisection.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import TypeAlias, overload

from groundwire.errors import GroundwireError
from groundwire.files.lock import locked
from groundwire.files.text_file import write_private

Lines: TypeAlias = Sequence[str]
Sections: TypeAlias = Sequence[Lines]

_FOLDER = Path(__file__).parent
_DATA = (_FOLDER / "data", _FOLDER / "knowledge" / "data")
_CODE = (
    *("compiled.py", "words.py", "dense/texts.py", "knowledge/opposites.py", "knowledge/purposes.py"),
    *("retrieve/interpret.py", "retrieve/spelling.py", "retrieve/translate.py"),
)
"""The files that the tables are made of and by."""
_END = "end"
_KEPT_IN: list[Path] = []


def keep_tables(folder: Path) -> None:
    """From now on, tables are read from files in this folder, and written if there is none."""
    _KEPT_IN[:] = [folder]


def table_path(folder: Path, name: str) -> Path:
    """The file of a table in the folder of an index."""
    return folder / f"table-{name}.txt"


def compiled_table(name: str, make: Callable[[], Sections]) -> Sections:
    """The sections of a table: those of its file, or newly made ones, which are kept if that is possible."""
    mark = _mark() if _KEPT_IN else ""
    if not mark:
        return make()
    path = table_path(_KEPT_IN[0], name)
    found = _read(path, mark)
    if found is None:
        found = make()
        # If another process writes tables now, it or the next question writes this one. The file is on disk
        # before it has its name: only its beginning and its end are checked when it is read.
        with suppress(OSError, GroundwireError), locked(_KEPT_IN[0] / "tables.lock", 0.0):
            write_private(str(path), _encode(mark, found))
    return found


def find_value(lines: Lines, key: str) -> str | None:
    """The value of a key in sorted lines of keys and values, separated by tabs."""
    wanted = f"{key}\t"
    at = bisect_left(lines, wanted)
    return lines[at][len(wanted) :] if at < len(lines) and lines[at].startswith(wanted) else None


def has_line(lines: Lines, line: str) -> bool:
    """Is it one of the sorted lines?"""
    at = bisect_left(lines, line)
    return at < len(lines) and lines[at] == line


def lines_with_initial(lines: Lines, initial: str) -> Lines:
    """The sorted lines that begin with a character."""
    start = bisect_left(lines, initial)
    return lines[start : bisect_right(lines, initial, start, key=lambda line: line[:1])]


_DIGITS = 9
"""Of the position where a line ends. All have as many, so that each can be read alone."""


class _StoredLines(Sequence[str]):
    """The lines of a section in a file."""

    __slots__ = ("_content", "_ends", "_first", "_length", "_start")

    def __init__(self, content: mmap.mmap, ends: int, start: int, lines: range) -> None:
        self._content = content
        self._ends = ends
        """Where the positions of all sections begin, of which the first is 0."""
        self._start = start
        """Where the lines of all sections begin."""
        self._first = lines.start
        self._length = len(lines)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(self._length))]
        if not -self._length <= at < self._length:
            raise IndexError(at)
        position = self._ends + _DIGITS * (self._first + at % self._length)
        content, start = self._content, self._start
        begin, end = divmod(int(content[position : position + 2 * _DIGITS]), 10**_DIGITS)
        return content[start + begin : start + end - 1].decode()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def _encode(mark: str, sections: Sections) -> str:
    lines = [*chain.from_iterable(sections)]
    ends = accumulate((len(line.encode()) + 1 for line in lines), initial=0)
    return "\n".join(
        (
            mark,
            " ".join(str(len(section)) for section in sections),
            "".join(f"{end:0{_DIGITS}}" for end in ends),
            *lines,
            _END,
        )
    )


def _read(path: Path, mark: str) -> Sections | None:
    """The sections in a file; None if there is none, or one that is not whole or has another mark."""
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if content.readline() != f"{mark}\n".encode():
            return None
        cuts = [*accumulate(map(int, content.readline().split()), initial=0)]
        ends = content.tell()
        start = ends + _DIGITS * (cuts[-1] + 1) + 1
        last = start + int(content[start - 1 - _DIGITS : start - 1])
    except (OSError, ValueError):
        return None
    if content[start - 1 : start] != b"\n" or content[last - 1 :] != f"\n{_END}".encode():
        return None
    return [_StoredLines(content, ends, start, range(*cut)) for cut in pairwise(cuts)]


@cache
def _mark() -> str:
    """Changes with the sources; empty if they are not files of their own."""
    try:
        names = [_FOLDER / name for name in _CODE]
        data = [
            entry for folder in _DATA for entry in sorted(os.scandir(folder), key=lambda entry: entry.name)
        ]
        found = [*map(os.stat, names), *(entry.stat() for entry in data if entry.name.endswith(".txt"))]
    except OSError:
        return ""
    return " ".join(f"{about.st_size}-{about.st_mtime_ns}" for about in found)
