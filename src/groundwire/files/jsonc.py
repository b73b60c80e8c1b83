"""JSON with comments and trailing commas (JSONC), read in one pass, with the span of every member.

The reader never looks at a character twice and bounds the nesting. An error names line and column and never
quotes the text, which may hold keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn, TypeVar

from groundwire.errors import ConfigError
from groundwire.files.text_file import position
from groundwire.model import Json

T = TypeVar("T")

MAX_DEPTH = 128

_WHITESPACE = re.compile(r"[ \t\r\n]*")
_LINE_COMMENT = re.compile(r"//[^\r\n]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z]+")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Malformed(ConfigError):
    """The text is not valid JSONC. `offset` is the position of the error, `reason` its description."""

    def __init__(self, reason: str, text: str, offset: int) -> None:
        line, column = position(text, offset)
        super().__init__(f"line {line}, column {column}: {reason}")
        self.reason = reason
        self.offset = offset


class Node(NamedTuple):
    """A value with its span in the text. `members` is None unless the value is an object."""

    value: Json
    start: int
    end: int
    members: tuple[Member, ...] | None = None


class Member(NamedTuple):
    """A member of an object with the spans of its parts."""

    name: str
    start: int
    """Offset of the name's opening quote."""
    name_end: int
    node: Node
    comma: int
    """Offset of the comma that follows; -1 if there is none."""


def parse_jsonc(text: str) -> Json:
    """The value of a text; raises `Malformed`."""
    return read_jsonc(text).value


def read_jsonc(text: str) -> Node:
    """The value of a text with the spans of all object members outside arrays; raises `Malformed`."""
    return _JsoncReader(text).document()


class _JsoncReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def document(self) -> Node:
        node = self._node()
        if self._next():
            self._fail("nothing may follow the value")
        return node

    def _fail(self, reason: str, offset: int | None = None) -> NoReturn:
        raise Malformed(reason, self._text, self._at if offset is None else offset)

    def _next(self) -> str:
        """Skip whitespace and comments; the next character, or an empty string at the end."""
        text = self._text
        while True:
            self._at = _match_end(_WHITESPACE, text, self._at)
            if text.startswith("//", self._at):
                self._at = _match_end(_LINE_COMMENT, text, self._at)
            elif text.startswith("/*", self._at):
                end = text.find("*/", self._at + 2)
                if end < 0:
                    self._fail("this comment is never closed")
                self._at = end + 2
            else:
                return text[self._at : self._at + 1]

    def _node(self) -> Node:
        char = self._next()
        start = self._at
        if char == "{":
            members = self._nested(self._object)
            value: Json = {member.name: member.node.value for member in members}
            return Node(value, start, self._at, members)
        return Node(self._value(char), start, self._at)

    def _value(self, char: str) -> Json:
        if char == "[":
            return self._nested(self._array)
        if char == '"':
            return self._string()
        if char == "-" or ("0" <= char <= "9"):
            return self._number()
        word = _WORD.match(self._text, self._at)
        if word is None or word[0] not in _WORDS:
            self._fail("a value is expected here" if char else "the text ends where a value is expected")
        self._at = word.end()
        return _WORDS[word[0]]

    def _nested(self, read: Callable[[], T]) -> T:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH} levels")
        self._at += 1
        found = read()
        self._depth -= 1
        return found

    def _object(self) -> tuple[Member, ...]:
        members: list[Member] = []
        while (char := self._next()) != "}":
            if char != '"':
                self._fail('a name in double quotes, or "}", is expected here')
            start = self._at
            name = self._string()
            name_end = self._at
            if self._next() != ":":
                self._fail('":" is expected here')
            self._at += 1
            members.append(Member(name, start, name_end, self._node(), self._separator("}")))
        self._at += 1
        return tuple(members)

    def _array(self) -> Json:
        items: list[Json] = []
        while self._next() != "]":
            items.append(self._node().value)
            self._separator("]")
        self._at += 1
        return items

    def _separator(self, end: str) -> int:
        """Skip a comma; its offset, or -1 where the object or array ends."""
        char = self._next()
        if char == ",":
            self._at += 1
            return self._at - 1
        if char != end:
            self._fail(f'"," or "{end}" is expected here')
        return -1

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
            self._at = _match_end(_PLAIN, self._text, plain)
            pieces.append(self._text[plain : self._at])
            char = self._text[self._at : self._at + 1]
            if char == "\\":
                pieces.append(self._escape())
            elif char == '"':
                self._at += 1
                return _join_surrogates("".join(pieces))
            elif char in ("", "\n", "\r"):
                self._fail("this text is never closed by a double quote", start)
            else:
                self._fail("a control character must be written as an escape")

    def _escape(self) -> str:
        start = self._at
        char = self._text[start + 1 : start + 2]
        if char == "u" and (digits := _HEX.match(self._text, start + 2)):
            self._at = digits.end()
            return chr(int(digits[0], 16))
        if char not in _ESCAPES:
            self._fail("this is not an escape that JSON knows")
        self._at = start + 2
        return _ESCAPES[char]


def _match_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The end of a pattern that also matches the empty string."""
    match = pattern.match(text, at)
    return match.end() if match else at


def _join_surrogates(text: str) -> str:
    """Join surrogate pairs written as two escapes; a lone surrogate, which cannot be encoded, is replaced."""
    if not _LONE_SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
