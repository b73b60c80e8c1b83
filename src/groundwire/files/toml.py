"""TOML with the lines of keys, for error messages.

Neither the standard parser nor tomlkit reports the positions of keys, so a small scanner finds them. It only
runs when something is wrong with a key, expects valid TOML, and scans its tokens once: table headers, keys,
and the keys of inline tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from groundwire.errors import ConfigError
from groundwire.files.text_file import position

KeyPath: TypeAlias = tuple[str, ...]
"""The names on the way to a key: `("providers", "gemini", "model")`."""

_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_TOKEN = re.compile(
    r'("""(?:[^\\]|\\.)*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:\'{0,2})|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\')'
    r"|(\#[^\n]*|[ \t\r]+)|\n|[][{}=,.]|[^][{}=,.\s\#\"']+",
    re.DOTALL,
)
_VALUE_ENDS = frozenset("\n,]}")


def parse_toml(text: str, path: str) -> dict[str, object]:
    """Parse a file; `ConfigError` with file, line and column where it is not valid TOML."""
    import tomllib  # noqa: PLC0415  most users have no such file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # The reasons name keys and single characters, never values.
        at = _AT.search(str(error))
        line, column = (int(at[1]), int(at[2])) if at and at[1] else position(text, len(text))
        reason = _AT.sub("", str(error))
        raise ConfigError(f"{path}:{line}:{column}: not valid TOML: {reason}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path}: a number is too long, or the nesting too deep; correct it") from None


def line_of(text: str, path: KeyPath) -> int:
    """The line of a key, or of the innermost table that contains it; 1 when there is none."""
    best, depth = 1, 0
    for found, line in _Scanner(text).positions():
        common = _common_length(found, path)
        if common > depth:
            best, depth = line, common
    return best


def _common_length(one: KeyPath, other: KeyPath) -> int:
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


class _Token(NamedTuple):
    word: str
    line: int
    quoted: bool


class _Scanner:
    """Finds the keys of a valid document."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    def positions(self) -> Iterator[tuple[KeyPath, int]]:
        """Every key and every table header, with its line, in order."""
        table: KeyPath = ()
        while token := self._peek():
            if token.word == "\n":
                self._at += 1
            elif token.word == "[":
                table = self._header()
                yield table, token.line
            else:
                yield from self._pair(table)

    def _peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _next_is(self, words: str) -> bool:
        token = self._peek()
        return token is not None and not token.quoted and token.word in words

    def _header(self) -> KeyPath:
        while self._next_is("["):
            self._at += 1
        path = self._key()
        while self._next_is("]"):
            self._at += 1
        return path

    def _key(self) -> KeyPath:
        parts: list[str] = []
        while (token := self._peek()) and (token.quoted or token.word not in "=]\n"):
            if token.quoted or token.word != ".":
                parts.append(_unquoted(token))
            self._at += 1
        return tuple(parts)

    def _pair(self, table: KeyPath) -> Iterator[tuple[KeyPath, int]]:
        line = self._tokens[self._at].line
        path = table + self._key()
        yield path, line
        self._at += 1
        yield from self._value(path)

    def _value(self, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
        if self._next_is("["):
            yield from self._group(path, "]", inline=False)
        elif self._next_is("{"):
            yield from self._group(path, "}", inline=True)
        else:
            while (token := self._peek()) and (token.quoted or token.word not in _VALUE_ENDS):
                self._at += 1

    def _group(self, path: KeyPath, end: str, *, inline: bool) -> Iterator[tuple[KeyPath, int]]:
        self._at += 1
        while self._peek() and not self._next_is(end):
            if self._next_is(",\n"):
                self._at += 1
            else:
                yield from self._pair(path) if inline else self._value(path)
        self._at += 1


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        if match[2] is None:
            yield _Token(match[0], line, match[1] is not None)
        line += match[0].count("\n")


def _unquoted(token: _Token) -> str:
    if not token.quoted:
        return token.word
    import tomllib  # noqa: PLC0415  see above

    return str(tomllib.loads(f"key = {token.word}")["key"])
