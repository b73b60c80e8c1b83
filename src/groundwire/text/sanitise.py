"""Text of strangers on its way to a terminal, a file or a model: without what nobody sees.

Control characters, tags (U+E0000 to U+E007F), bidirectional overrides and invisible operators hide text from
a reader and show it to a program. They are removed when text is shown, never when it is stored: offsets of
citations count them, so `shown` says where each place went.

Kept is what writing needs: joiners and non-joiners, directional marks, one variation selector after a
character, and the tags of a flag (UTS 51: black flag, three to six letters or digits, cancel tag). Control
characters are removed one by one, never with what follows them: an escape sequence becomes harmless letters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundwire.model import Json

_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
_IDEOGRAPH = "[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff][\U000e0100-\U000e01ef]"
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u200b\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff"
)
_PATTERN = re.compile(f"(?:{_FLAG}|{_IDEOGRAPH})|((?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]|\r\n|[{_UNSEEN}])")
_ESCAPED = re.compile(f"[{_UNSEEN}]")
_INSTEAD = {"\r\n": "\n", "\x85": "\n", "\u2028": "\n", "\u2029": "\n"}


def visible(text: str) -> str:
    """The text with line breaks and tabs, and without anything else that is invisible."""
    if text.isascii() and text.isprintable():
        return text
    return _PATTERN.sub(_replaced, text)


def shown(text: str) -> tuple[str, Callable[[int], int]]:
    """The same, and where a position of the text went."""
    ends: list[int] = []
    removed: list[int] = []
    total = 0
    for match in _PATTERN.finditer(text):
        if match[1] is not None and (gone := len(match[0]) - len(_replaced(match))):
            total += gone
            ends.append(match.end())
            removed.append(total)

    def place(offset: int) -> int:
        index = bisect_right(ends, offset)
        return offset - (removed[index - 1] if index else 0)

    return visible(text), place


def visible_json(value: Json) -> Json:
    """Every text in a JSON value, made visible; names of fields are ours and stay."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [visible_json(item) for item in value]
    if isinstance(value, dict):
        return {key: visible_json(item) for key, item in value.items()}
    return value


def escaped_json(text: str) -> str:
    """JSON that means the same, with everything invisible escaped."""
    return _ESCAPED.sub(_escape, text)


def _replaced(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    if "\ud800" <= match[1] <= "\udfff":
        return "\ufffd"
    return _INSTEAD.get(match[1], "")


def _escape(match: re.Match[str]) -> str:
    sign = match[0]
    if sign in "\n\r\t":
        return sign  # between values: inside of texts JSON does not have them
    units = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
