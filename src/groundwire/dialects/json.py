"""Strict JSON: stricter than Python's own module where the wire needs it.

Reading: malformed text, NaN and infinities, excessive nesting and integers of thousands of digits are wire
errors. A lone surrogate becomes U+FFFD, because it could never be encoded again.
Writing: never NaN, never a lone surrogate, and no raw U+0085, U+2028 or U+2029: many SSE clients break lines
there.

msgspec, if it is installed, reads texts and quotes strings; whatever it rejects is read again by the standard
library, which decides about values and errors. Importing it takes longer than reading a few texts, so the
first ones are left to the standard library. Objects are always written by the standard library: msgspec
writes NaN as null, and other digits for some floats.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable
from itertools import accumulate
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Generic, NamedTuple, NoReturn, Protocol, TypeVar

from groundwire.errors import WireError

if TYPE_CHECKING:
    from groundwire.model import Json

MAX_DEPTH = 128
LIBRARY_AFTER = 64
"""How many texts are read before msgspec is imported."""

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


T = TypeVar("T")


class ReadAs(Protocol):
    """Makes a function that parses texts of one form, or raises one of the library's errors."""

    def __call__(self, form: type[T], /) -> Callable[[bytes], T]: ...


class JsonLibrary(NamedTuple):
    """A JSON implementation."""

    read: Callable[[bytes], Json]
    """Parses a text, or raises one of `errors`."""
    write: Callable[[Json], bytes]
    """Writes a value, or raises one of `errors`. Only strings are written alike by all implementations."""
    errors: tuple[type[Exception], ...]
    read_as: ReadAs | None = None
    """None if the library cannot read texts of one form."""


def _read_text(data: bytes) -> Json:
    """Parse one value. `json.loads` does the same, but too slowly for the short texts of streams."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").strip(_WHITESPACE)
    value: Json
    value, end = _decode(text)
    if end != len(text):
        raise ValueError(f"expected nothing more at character {end}")
    if b"\\u" in data and _ESCAPED_SURROGATE.search(data):
        value = _replace_surrogates(value)
    return value


def _write_text(value: Json) -> bytes:
    return (encode_basestring(value) if type(value) is str else _write.encode(value)).encode()


STANDARD = JsonLibrary(_read_text, _write_text, (ValueError, RecursionError))


def msgspec_library() -> JsonLibrary:
    """msgspec, or the standard library if it is not installed."""
    try:
        # Imported late for the start-up time of commands that read few texts.
        from msgspec import MsgspecError  # noqa: PLC0415
        from msgspec.json import Decoder, Encoder  # noqa: PLC0415
    except ImportError:
        return STANDARD

    def read_as(form: type[T]) -> Callable[[bytes], T]:
        return Decoder(form).decode

    errors = (MsgspecError, ValueError, RecursionError)
    return JsonLibrary(Decoder().decode, Encoder().encode, errors, read_as)


class _Library:
    """The implementation in use."""

    __slots__ = ("_left", "errors", "read", "read_as", "write")

    def __init__(self) -> None:
        self.read: Callable[[bytes], Json] = self._read_first
        self.write = STANDARD.write
        self.errors = STANDARD.errors
        self.read_as = STANDARD.read_as
        self._left = LIBRARY_AFTER

    def use(self, library: JsonLibrary) -> None:
        self.read, self.write, self.errors, self.read_as = library

    def _read_first(self, data: bytes) -> Json:
        self._left -= 1
        if self._left <= 0:
            self.use(msgspec_library())
        return _read_text(data)


_library = _Library()


def use_library(library: JsonLibrary) -> None:
    """Choose the implementation: a server does so when it starts, and tests compare both."""
    _library.use(library)


def load_json(data: bytes | str, fault: type[WireError]) -> Json:
    """Parse a JSON text; raises `fault` if it is malformed."""
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    try:
        value = _library.read(data)
    except _library.errors:
        value = _read_again(data, fault)
    if len(data) > 2 * MAX_DEPTH and _is_too_deep(data):
        raise fault("nested too deeply")
    return value


def _is_too_deep(data: bytes) -> bool:
    return has_many_brackets(data, MAX_DEPTH) and JsonScan().feed(data).deepest > MAX_DEPTH


def has_many_brackets(data: bytes, limit: int) -> bool:
    """Are there more than `limit` opening brackets? Otherwise the text cannot be nested deeper."""
    # Removing a few single bytes costs a tenth of counting all: it looks for each with `memchr`.
    lists = len(data) - len(data.replace(b"[", b"", limit + 1))
    return lists + len(data) - len(data.replace(b"{", b"", limit + 1)) > limit


class FormReader(Generic[T]):
    """Reads JSON texts of one form, for which msgspec needs no more time than for one object.

    `load_form` returns the class of the form when it is needed: it may need msgspec.
    """

    __slots__ = ("_load_form", "_read")

    def __init__(self, load_form: Callable[[], type[T]]) -> None:
        self._load_form = load_form
        self._read: Callable[[bytes], T] | None = None

    def read(self, data: bytes) -> T | None:
        """The text in its form; None if it has another one, or the library cannot tell."""
        if _library.read_as is None:
            return None
        if self._read is None:
            self._read = _library.read_as(self._load_form())
        try:
            value = self._read(data)
        except _library.errors:
            return None
        return None if len(data) > 2 * MAX_DEPTH and _is_too_deep(data) else value


def _read_again(data: bytes, fault: type[WireError]) -> Json:
    """Parse a text that is malformed, or in which something has to be replaced."""
    try:
        return _read_text(data)
    except RecursionError:
        raise fault("nested too deeply") from None
    except ValueError as error:
        # The message of a JSONDecodeError is about positions; its text never holds the document.
        raise fault(f"malformed JSON ({error})") from None


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


def quote_json(text: str) -> bytes:
    """A string as JSON, in UTF-8: the fast form of `dump_json`."""
    if not text.isascii() and ("\u2028" in text or "\u2029" in text or "\x85" in text):
        return dump_json(text).encode()
    try:
        return _library.write(text)
    except _library.errors:
        return dump_json(text).encode()


def write_for_search(value: Json) -> bytes | None:
    """A value as JSON in which strings can be searched; None if it cannot be written. Never for the wire."""
    try:
        return _library.write(value)
    except _library.errors:
        return None


def _replace_surrogates(value: Json) -> Json:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_replace_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_LONE_SURROGATE.sub("\ufffd", key): _replace_surrogates(item) for key, item in value.items()}
    return value
