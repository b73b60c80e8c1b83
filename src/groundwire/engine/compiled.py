"""Compiled tables: what takes long to make from the data files is made once, and kept next to the index.

A table is some sections of lines. Its file has a mark that changes with the files it is made of, the number
of lines of each section, the lines, and an end; a file that is damaged or of other sources is replaced. Most
sections are sorted, and looked up by bisection: to make a dictionary of one would take longer than a question
has time.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import TypeAlias

from groundwire.errors import GroundwireError
from groundwire.files.lock import locked
from groundwire.files.text_file import write_private

Lines: TypeAlias = Sequence[str]
Sections: TypeAlias = Sequence[Lines]

_FOLDER = Path(__file__).parent
_DATA = (_FOLDER / "data", _FOLDER / "knowledge" / "data")
_CODE = (
    *("compiled.py", "words.py", "dense/texts.py", "knowledge/purposes.py"),
    *("retrieve/interpret.py", "retrieve/spelling.py"),
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
        # If another process writes tables now, it or the next question writes this one.
        with suppress(OSError, GroundwireError), locked(_KEPT_IN[0] / "tables.lock", 0.0):
            write_private(str(path), "\n".join(_encode(mark, found)), synced=False)
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


def _encode(mark: str, sections: Sections) -> Iterator[str]:
    yield mark
    yield " ".join(str(len(section)) for section in sections)
    yield from chain.from_iterable(sections)
    yield _END


def _read(path: Path, mark: str) -> Sections | None:
    """The sections in a file; None if there is none, or one that is not whole or has another mark."""
    try:
        found, counts, *lines, end = path.read_bytes().decode().split("\n")
        ends = list(accumulate(map(int, counts.split()), initial=0))
    except (OSError, ValueError):
        return None
    if (found, len(lines), end) != (mark, ends[-1], _END):
        return None
    return [lines[start:stop] for start, stop in pairwise(ends)]


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
