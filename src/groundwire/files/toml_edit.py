"""Put a table into a TOML text, or take it out, and leave every other byte alone.

A table is added at the end under a header of its own. One that is there under such a header is replaced; one
that is written otherwise (inline, or with dotted keys) is left to its owner.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, cast

from groundwire.errors import ConfigError
from groundwire.files.toml import parse_toml
from groundwire.model import Json

_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:\'{0,2})|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\''
    r"|\#[^\n]*|\n|[][{}]|[^][{}\#\"'\n]+",
    re.DOTALL,
)
_TRAILING = re.compile(r"(?:[ \t\r]*(?:\#[^\n]*)?\n)*[ \t]*(?:\#[^\n]*)?$")


class Section(NamedTuple):
    """A table under a header, up to the next one."""

    path: tuple[str, ...]
    start: int
    end: int


def table_at(text: str, path: Sequence[str], file: str) -> Json:
    """What stands at a path; None if nothing does."""
    found: object = parse_toml(text, file)
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return cast("Json", found)


def put(text: str, path: Sequence[str], table: Mapping[str, Json], file: str) -> str:
    """The text with the table at the path."""
    newline = "\r\n" if "\r\n" in text else "\n"
    written = _written(path, table, newline)
    if table_at(text, path, file) is None:
        if not text.strip():
            return text + written
        gap = newline if text.endswith("\n") else newline * 2
        return _readable(text + gap + written, path, file)
    start, end = _range(text, path, file)
    return text[:start] + written + text[end:]


def remove(text: str, path: Sequence[str], file: str) -> str:
    """The text without the table at the path."""
    if table_at(text, path, file) is None:
        return text
    start, end = _range(text, path, file)
    head = text[:start]
    blank = re.search(r"(?<=\n)\r?\n\Z", head)
    return (head[: blank.start()] if blank else head) + text[end:]


def _written(path: Sequence[str], table: Mapping[str, Json], newline: str) -> str:
    lines = [f"[{'.'.join(path)}]", *(f"{name} = {_value(item)}" for name, item in table.items())]
    return newline.join(lines) + newline


def _value(item: Json) -> str:
    if isinstance(item, list):
        return f"[{', '.join(map(_value, item))}]"
    # Basic strings, numbers and booleans are spelt as JSON spells them.
    return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")


def _range(text: str, path: Sequence[str], file: str) -> tuple[int, int]:
    """From the header of a table to the end of it and of the tables in it."""
    wanted = tuple(path)
    own = [section for section in _sections(text) if section.path[: len(wanted)] == wanted]
    joined = all(one.end == other.start for one, other in pairwise(own))
    if not own or own[0].path != wanted or not joined:
        raise _by_hand(path, file)
    start, end = own[0].start, own[-1].end
    # Blank lines and comments at its end are about what follows.
    trailing = _TRAILING.search(text, start, end)
    return start, _line_end(text, trailing.start()) if trailing else end


def _readable(text: str, path: Sequence[str], file: str) -> str:
    """The text, unless nothing may be added to what it holds: an inline table is closed for ever."""
    try:
        parse_toml(text, file)
    except ConfigError:
        raise _by_hand(path, file) from None
    return text


def _by_hand(path: Sequence[str], file: str) -> ConfigError:
    name = ".".join(path)
    return ConfigError(f"{file}: {name} is written in a form that is not edited here; change it by hand")


def _line_end(text: str, at: int) -> int:
    """Where the next line begins, if this is not the beginning of one."""
    if at == 0 or text[at - 1] == "\n":
        return at
    return text.find("\n", at) + 1 or len(text)


def _sections(text: str) -> Iterator[Section]:
    headers = list(_headers(text))
    starts = [*(start for _, start in headers), len(text)]
    for (path, start), end in zip(headers, starts[1:], strict=True):
        yield Section(path, start, end)


def _headers(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    depth, fresh = 0, True
    for match in _TOKEN.finditer(text):
        word = match[0]
        if word == "[" and fresh and depth == 0:
            line = text[match.start() :].partition("\n")[0].rstrip("\r")
            yield _path(line), match.start()
        depth += (word in ("[", "{")) - (word in ("]", "}"))
        fresh = word == "\n" or (fresh and not word.strip())


def _path(header: str) -> tuple[str, ...]:
    found: object = tomllib.loads(header)
    names: list[str] = []
    while isinstance(found, list | dict) and found:
        if isinstance(found, list):
            found = found[0]
        else:
            name, found = next(iter(found.items()))
            names.append(name)
    return tuple(names)
