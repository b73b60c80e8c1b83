"""Change single values inside a JSON text and leave every other byte of it alone.

The files belong to other programs: their order, their layout, and fields we have never heard of are theirs.
Members are located with the standard decoder, so what it accepts is what we can edit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from groundwire.errors import ConfigError
from groundwire.model.value import value

_BLANKS = re.compile(r"[ \t\n\r]*")
_read = json.JSONDecoder().raw_decode


@value
class Edit:
    """A member, by its path from the top, and the value it shall have."""

    path: tuple[str, ...]
    value: str | int


class _Place(NamedTuple):
    start: int
    end: int


def splice(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits made. Members that are missing come last, laid out like the first one."""
    try:
        for edit in edits:
            text = _put(text, edit)
    except (ValueError, KeyError, IndexError, RecursionError):
        raise ConfigError("the file is not the JSON object it was a moment ago; try again") from None
    return text


def _put(text: str, edit: Edit) -> str:
    *parents, name = edit.path
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    for parent in parents:
        at = _members(text, at)[parent].start
    members = _members(text, at)
    written = json.dumps(edit.value, ensure_ascii=False)
    if name in members:
        return text[: members[name].start] + written + text[members[name].end :]
    if not members:
        return f"{text[: at + 1]}{json.dumps(name)}: {written}{text[at + 1 :]}"
    first = _skip(text, at + 1)
    lead = text[at + 1 : first]
    _, name_end = _read(text, first)
    colon = text[name_end : _skip(text, _skip(text, name_end) + 1)]
    end = max(place.end for place in members.values())
    return f"{text[:end]},{lead}{json.dumps(name)}{colon}{written}{text[end:]}"


def _members(text: str, at: int) -> dict[str, _Place]:
    """Where the members of the object at a position are; of several with one name, the last."""
    if text[at] != "{":
        raise ValueError("not an object")
    found: dict[str, _Place] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, end = _read(text, at)
        start = _skip(text, _skip(text, end) + 1)
        _, end = _read(text, start)
        found[str(name)] = _Place(start, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def _skip(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at
