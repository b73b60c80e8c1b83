"""Text from elsewhere as it may be shown, and where its positions went.

What nobody sees, or what turns the direction of what follows, is left out: control characters, marks of
direction, tags, invisible operators. Joiners and variation selectors stay, as do the tags of flags: words
and emoji need them. Whoever keeps the text keeps all of it; only what is shown changes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from groundwire.text.markers import MarkerStripper

_FLAG = "\U0001f3f4[\U000e0020-\U000e007e]{1,16}\U000e007f"
_UNSEEN = re.compile(
    f"{_FLAG}|["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff"
    "\ud800-\udfff"
    "\U000e0000-\U000e0fff"
    "]"
)


def seen(text: str) -> str:
    """The text without what is invisible."""
    return _UNSEEN.sub(_kept, text)


def one_line(text: str) -> str:
    """The same on one line, for titles and names."""
    return " ".join(seen(text).split())


def shown(text: str) -> tuple[str, Callable[[int], int]]:
    """The text of an answer as it is shown, without the signs of others, and where a position of it went."""
    stripper = MarkerStripper()
    plain = stripper.feed(text) + stripper.close()
    ends: list[int] = []
    gone: list[int] = []
    for match in _UNSEEN.finditer(plain):
        if len(match[0]) == 1:
            ends.append(match.end())
            gone.append(len(ends))

    def place(offset: int) -> int:
        at = stripper.place(offset)
        index = bisect_right(ends, at)
        return at - (gone[index - 1] if index else 0)

    return seen(plain), place


def _kept(match: re.Match[str]) -> str:
    return match[0] if len(match[0]) > 1 else ""
