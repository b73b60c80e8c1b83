"""Strict JSON: stricter than Python's own module where the wire needs it.

Reading: malformed text, NaN and infinities, excessive nesting and integers of thousands of digits are wire
errors. A lone surrogate becomes U+FFFD, because it could never be encoded again.
Writing: never NaN, never a lone surrogate, and no raw U+0085, U+2028 or U+2029: many SSE clients break lines
there.
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
_WHITESPACE = " \t\r\n"
_MEMBERS = b",[{"
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # as signed bytes: one deeper, one less deep
_LINE_BREAKERS = re.compile("[\x85\u2028\u2029]")


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number - number:  # 0.0 for every finite number, NaN for an infinite one
        raise ValueError("number out of range")
    return number


_decode = json.JSONDecoder(parse_constant=_reject_constant, parse_float=_finite).raw_decode
_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)


def load_json(data: bytes | str, fault: type[WireError]) -> Json:
    """Parse a JSON text; raises `fault` if it is malformed."""
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
        value = _replace_surrogates(value)
    return value


def _read(text: str) -> Json:
    """Parse one value. `json.loads` does the same, but too slowly for the short texts of streams."""
    text = text.removeprefix("\ufeff").strip(_WHITESPACE)
    value: Json
    value, end = _decode(text)
    if end != len(text):
        raise ValueError(f"expected nothing more at character {end}")
    return value


class JsonScan:
    """Measures nesting depth and member count of a JSON text before it is parsed.

    Chunks are scanned with a few passes in C, so that a text can be rejected at the first excess. Text that
    is not JSON gives meaningless numbers; the parser rejects it.
    """

    __slots__ = ("_carry", "_depth", "_in_string", "deepest", "members", "strings")

    def __init__(self) -> None:
        self.deepest = 0
        self.members = 0
        """Commas and opening brackets: roughly the cost of parsing."""
        self.strings = 0
        self._depth = 0
        self._in_string = False
        self._carry = b""

    def feed(self, data: bytes) -> JsonScan:
        """Scan the next chunk."""
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
        """Remove escaped quotes, which follow a backslash that is not escaped itself."""
        if data.endswith(b"\\") and (len(data) - len(data.rstrip(b"\\"))) % 2:
            data, self._carry = data[:-1], b"\\"
        return data.replace(rb"\\", b"").replace(rb"\"", b"")


def dump_json(value: Json) -> str:
    """Serialise a value to JSON on one line, also for clients that break lines at U+2028."""
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


def _replace_surrogates(value: Json) -> Json:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_replace_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_LONE_SURROGATE.sub("\ufffd", key): _replace_surrogates(item) for key, item in value.items()}
    return value
