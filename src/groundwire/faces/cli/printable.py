"""Text from the network, made safe for a terminal: every byte of it that is printed passes through here.

Control characters are dropped one by one, never together with what follows them: a sequence that was meant
to hide something is shown as harmless letters instead. Signs that turn the direction of writing are dropped
too, because they would let a title rewrite the address that is printed beside it.
"""

from __future__ import annotations

import re

_TURNS = "\u202a-\u202e\u2066-\u2069"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_TURNS}]")
_LINE_BREAKS = re.compile("\r\n|[\x85\u2028\u2029]")
_HALF_PAIRS = re.compile("[\ud800-\udfff]")
_UNSAFE_IN_JSON = re.compile(f"[\x7f-\x9f{_TURNS}]")


def printable(text: str) -> str:
    """The text with line breaks and tabs, and without any other control character."""
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_BREAKS.sub("\n", text)
    return _HALF_PAIRS.sub("\ufffd", _UNSAFE.sub("", text))


def one_line(text: str) -> str:
    """The text on one line, for titles, addresses and messages."""
    return " ".join(printable(text).split())


def printable_json(text: str) -> str:
    """JSON that means the same, with every control character escaped."""
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
