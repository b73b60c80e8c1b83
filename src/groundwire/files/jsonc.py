"""JSON with comments and trailing commas, as OpenCode writes it.

One pass, one character never looked at twice, nesting bounded. What is refused is refused with its place,
and without a word of the text, which may hold keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

from groundwire.errors import ConfigError
from groundwire.files.text_file import position
from groundwire.model import Json

MAX_DEPTH = 128

_BLANK = re.compile(r"[ \t\r\n]*")
_COMMENT_LINE = re.compile(r"//[^\r\n]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z]+")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Malformed(ConfigError):
    """A text that is not JSON with comments. `offset` is where, `reason` why."""

    def __init__(self, reason: str, text: str, offset: int) -> None:
        line, column = position(text, offset)
        super().__init__(f"line {line}, column {column}: {reason}")
        self.reason = reason
        self.offset = offset


def parse_jsonc(text: str) -> Json:
    """The value of a text; raises `Malformed`."""
    return _Reader(text).document()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def document(self) -> Json:
        found = self._value()
        if self._next():
            self._fail("nothing may follow the value")
        return found

    def _fail(self, reason: str, offset: int | None = None) -> NoReturn:
        raise Malformed(reason, self._text, self._at if offset is None else offset)

    def _next(self) -> str:
        """The character that comes after blanks and comments; empty at the end."""
        text = self._text
        while True:
            self._at = _end(_BLANK, text, self._at)
            if text.startswith("//", self._at):
                self._at = _end(_COMMENT_LINE, text, self._at)
            elif text.startswith("/*", self._at):
                end = text.find("*/", self._at + 2)
                if end < 0:
                    self._fail("this comment is never closed")
                self._at = end + 2
            else:
                return text[self._at : self._at + 1]

    def _value(self) -> Json:
        sign = self._next()
        if sign == "{":
            return self._nested(self._object)
        if sign == "[":
            return self._nested(self._array)
        if sign == '"':
            return self._string()
        if sign == "-" or ("0" <= sign <= "9"):
            return self._number()
        word = _WORD.match(self._text, self._at)
        if word is None or word[0] not in _WORDS:
            self._fail("a value is expected here" if sign else "the text ends where a value is expected")
        self._at = word.end()
        return _WORDS[word[0]]

    def _nested(self, read: Callable[[], Json]) -> Json:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH} levels")
        self._at += 1
        found = read()
        self._depth -= 1
        return found

    def _object(self) -> Json:
        members: dict[str, Json] = {}
        while self._next() != "}":
            if self._next() != '"':
                self._fail('a name in double quotes, or "}", is expected here')
            name = self._string()
            if self._next() != ":":
                self._fail('":" is expected here')
            self._at += 1
            members[name] = self._value()
            self._separator("}")
        self._at += 1
        return members

    def _array(self) -> Json:
        items: list[Json] = []
        while self._next() != "]":
            items.append(self._value())
            self._separator("]")
        self._at += 1
        return items

    def _separator(self, end: str) -> None:
        sign = self._next()
        if sign == ",":
            self._at += 1
        elif sign != end:
            self._fail(f'"," or "{end}" is expected here')

    def _number(self) -> Json:
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            self._fail("this is not a number")
        start, self._at = self._at, match.end()
        try:
            return int(match[0]) if match[1] is None and match[2] is None else float(match[0])
        except ValueError:
            self._fail("this number is too long", start)

    def _string(self) -> str:
        start = self._at
        pieces: list[str] = []
        self._at += 1
        while True:
            plain = self._at
            self._at = _end(_PLAIN, self._text, plain)
            pieces.append(self._text[plain : self._at])
            sign = self._text[self._at : self._at + 1]
            if sign == "\\":
                pieces.append(self._escape())
            elif sign == '"':
                self._at += 1
                return _paired("".join(pieces))
            elif sign in ("", "\n", "\r"):
                self._fail("this text is never closed by a double quote", start)
            else:
                self._fail("a control character must be written as an escape")

    def _escape(self) -> str:
        start = self._at
        sign = self._text[start + 1 : start + 2]
        if sign == "u" and (digits := _HEX.match(self._text, start + 2)):
            self._at = digits.end()
            return chr(int(digits[0], 16))
        if sign not in _ESCAPES:
            self._fail("this is not an escape that JSON knows")
        self._at = start + 2
        return _ESCAPES[sign]


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where a pattern that always matches ends."""
    match = pattern.match(text, at)
    return match.end() if match else at


def _paired(text: str) -> str:
    """Two escapes may be one character; half of a pair could never be written again."""
    if not _LONE_SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
