"""JSON as the wire has it, strict where Python's own module is lax.

Reading: malformed text, NaN and infinities, nesting beyond reason and integers of thousands of digits
are wire errors; half a surrogate pair becomes U+FFFD, because it could never be written again.
Writing: never NaN, never half a pair, and no character at which careless readers break a line
(U+0085, U+2028, U+2029: many SSE clients split there).
"""

from __future__ import annotations

import json
import re
from array import array
from itertools import accumulate
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, NoReturn

from groundwire.errors import WireError

if TYPE_CHECKING:
    from groundwire.model import Json

MAX_DEPTH = 128

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_BLANKS = " \t\r\n"
_MEMBERS = b",[{"
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # as signed bytes: one deeper, one less deep
_LINE_BREAKERS = re.compile("[\x85\u2028\u2029]")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number - number:  # 0.0 for every finite number, NaN for an infinite one
        raise ValueError("number out of range")
    return number


_decode = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite).raw_decode
_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)


def load_json(data: bytes | str, fault: type[WireError]) -> Json:
    """The value of a JSON text; `fault` is raised where it is none."""
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    try:
        value = _read(data.decode("utf-8", "replace"))
    except RecursionError:
        raise fault("nested too deeply") from None
    except ValueError as error:
        # The message of a JSONDecodeError is about positions; its text never holds the document.
        raise fault(f"malformed JSON ({error})") from None
    if (
        len(data) > 2 * MAX_DEPTH
        and data.count(b"[") + data.count(b"{") > MAX_DEPTH
        and JsonScan().feed(data).deepest > MAX_DEPTH
    ):
        raise fault("nested too deeply")
    if b"\\u" in data and _ESCAPED_SURROGATE.search(data):
        value = _mend(value)
    return value


def _read(text: str) -> Json:
    """The one value in a text. The module has a way of its own, too slow for the short texts of streams."""
    text = text.removeprefix("\ufeff").strip(_BLANKS)
    value: Json
    value, end = _decode(text)
    if end != len(text):
        raise ValueError(f"expected nothing more at character {end}")
    return value


class JsonScan:
    """How deep a JSON text is nested and how many members it has, found before it is parsed.

    Fed piece by piece, each in a few passes over its bytes in C, so that a text can be refused at the first
    excess. Text that is not JSON gives figures without a meaning; the parser refuses it.
    """

    __slots__ = ("_carry", "_depth", "_in_string", "deepest", "members", "strings")

    def __init__(self) -> None:
        self.deepest = 0
        self.members = 0
        """Commas, and opening brackets: about what parsing costs."""
        self.strings = 0
        self._depth = 0
        self._in_string = False
        self._carry = b""

    def feed(self, data: bytes) -> JsonScan:
        """Read the next piece."""
        if self._carry:
            data, self._carry = self._carry + data, b""
        if b"\\" in data:
            data = self._unescape(data)
        parts = data.split(b'"')
        outside = b"".join(parts[1 if self._in_string else 0 :: 2])
        quotes = len(parts) - 1
        self.strings += (quotes + 1) // 2
        self._in_string ^= bool(quotes % 2)
        self.members += len(outside) - len(outside.translate(None, _MEMBERS))
        if brackets := outside.translate(_STEPS, _NOT_BRACKETS):
            depths = list(accumulate(array("b", brackets), initial=self._depth))
            self._depth, deepest = depths[-1], max(depths)
            self.deepest = max(self.deepest, deepest)
        return self

    def _unescape(self, data: bytes) -> bytes:
        """The piece without escaped quotes, which follow a backslash that is not escaped itself."""
        if data.endswith(b"\\") and (len(data) - len(data.rstrip(b"\\"))) % 2:
            data, self._carry = data[:-1], b"\\"
        return data.replace(rb"\\", b"").replace(rb"\"", b"")


def dump_json(value: Json) -> str:
    """The JSON text of a value, on one line in everybody's eyes."""
    text = encode_basestring(value) if type(value) is str else _write.encode(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _LONE_SURROGATE.sub("\ufffd", text)
    if "\u2028" in text or "\u2029" in text or "\x85" in text:
        text = _LINE_BREAKERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text


def _mend(value: Json) -> Json:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_mend(item) for item in value]
    if isinstance(value, dict):
        return {_LONE_SURROGATE.sub("\ufffd", key): _mend(item) for key, item in value.items()}
    return value
