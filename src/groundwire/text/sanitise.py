"""Sanitiser: removes invisible characters from text before it is displayed or sent to a model.

Control characters, tags (U+E0000 to U+E007F), bidirectional overrides and invisible operators hide text from
a reader and show it to a program. They are removed for display, never in the store: spans of citations count
them, so `sanitise_with_offsets` also maps offsets.

Characters that writing needs are kept: joiners and non-joiners, directional marks, one variation selector
after a character, and the tags of a flag (UTS 51: black flag, three to six letters or digits, cancel tag).
Control characters are removed one by one, never together with what follows them: an escape sequence becomes
harmless letters.

Standard library only: the command line imports this module before it knows its command.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundwire.model import Json

_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
_IDEOGRAPH = "[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff][\U000e0100-\U000e01ef]"
_INVISIBLE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u200b\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff"
)
_PATTERN = re.compile(f"(?:{_FLAG}|{_IDEOGRAPH})|((?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]|\r\n|[{_INVISIBLE}])")
_LINE_BREAKS = {"\r\n": "\n", "\x85": "\n", "\u2028": "\n", "\u2029": "\n"}


@cache
def _escaped() -> re.Pattern[str]:
    return re.compile(f"[{_INVISIBLE}]")


def sanitise(text: str) -> str:
    """The text without invisible characters, except line breaks and tabs."""
    if text.isascii() and text.isprintable():
        return text
    return _PATTERN.sub(_replacement, text)


def sanitise_with_offsets(text: str) -> tuple[str, Callable[[int], int]]:
    """The sanitised text, and a function that maps offsets of the original to it."""
    ends: list[int] = []
    removed: list[int] = []
    total = 0
    for match in _PATTERN.finditer(text):
        if match[1] is not None and (shorter := len(match[0]) - len(_replacement(match))):
            total += shorter
            ends.append(match.end())
            removed.append(total)

    def map_offset(offset: int) -> int:
        index = bisect_right(ends, offset)
        return offset - (removed[index - 1] if index else 0)

    return sanitise(text), map_offset


def one_line(text: str) -> str:
    """The sanitised text on one line, for titles, URLs and messages."""
    return " ".join(sanitise(text).split())


def sanitise_json(value: Json) -> Json:
    """A JSON value with every string in it sanitised; keys are kept as they are."""
    if isinstance(value, str):
        return sanitise(value)
    if isinstance(value, list):
        return [sanitise_json(item) for item in value]
    if isinstance(value, dict):
        return {key: sanitise_json(item) for key, item in value.items()}
    return value


def escape_invisible_json(text: str) -> str:
    """JSON text with every invisible character escaped; it decodes to the same value."""
    return _escaped().sub(_escape, text)


def _replacement(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    if "\ud800" <= match[1] <= "\udfff":
        return "\ufffd"
    return _LINE_BREAKS.get(match[1], "")


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in "\n\r\t":
        return character  # between values: JSON does not allow them inside strings
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
