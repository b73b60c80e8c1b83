"""OpenCode's `{env:NAME}` and `{file:path}`, replaced in the raw text before it is read.

Facts. A variable comes first, and is not escaped: a quote in it breaks the document, and it is replaced in
comments too; one that is not set is the empty string. Then files: content trimmed and escaped for a JSON
string, except in a line that begins with `//`. So a variable may hold, or be part of, a file's name.

Every offset of the result can be traced back, so that errors are told in the lines and columns of the file
as its author sees it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from groundwire.errors import ConfigError
from groundwire.files.jsonc import Malformed

MAX_SIZE = 4 * 1024 * 1024

Resolve: TypeAlias = Callable[[str], str | None]
"""What stands in a token's place; None leaves the token as it is."""

_VARIABLE = re.compile(r"\{env:([^}]+)\}")
_FILE = re.compile(r"\{file:([^}]+)\}")
_COMMENT = re.compile(r"[^\S\n]*//")


class Substituted(NamedTuple):
    """A text after substitution, and the way back."""

    text: str
    origin: Callable[[int], int]
    """The offset in the file that an offset in `text` comes from."""


def substitute(text: str, variable: Resolve, content: Resolve) -> Substituted:
    """Replace variables, then files. `content` raises `ConfigError` for a file that cannot be read."""

    def back(offset: int) -> Malformed:
        return Malformed("what is inserted here is too large", text, offset)

    first = _replace(text, ((match, variable(match[1])) for match in _all(_VARIABLE, text)), back)

    def files() -> Iterator[tuple[re.Match[str], str | None]]:
        for match in _outside_comments(first.text):
            try:
                found = content(match[1])
            except ConfigError as error:
                raise Malformed(error.message, text, first.origin(match.start())) from None
            yield match, None if found is None else _escaped(found.strip())

    second = _replace(first.text, files(), lambda offset: back(first.origin(offset)))
    return Substituted(second.text, lambda offset: first.origin(second.origin(offset)))


def _all(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    # Nothing can match behind the last brace; looking there would take quadratic time.
    return pattern.finditer(text, 0, text.rfind("}") + 1)


def _outside_comments(text: str) -> Iterator[re.Match[str]]:
    """The file tokens, but for those in lines that begin with a comment."""
    line = seen = 0
    for match in _all(_FILE, text):
        line = max(text.rfind("\n", seen, match.start()) + 1, line)
        seen = match.start()
        if not _COMMENT.match(text, line, match.start()):
            yield match


def _replace(
    text: str, tokens: Iterator[tuple[re.Match[str], str | None]], too_large: Callable[[int], Malformed]
) -> Substituted:
    pieces: list[str] = []
    starts, sources, ends = [0], [0], [len(text)]
    cursor = size = 0
    for match, replacement in tokens:
        if replacement is None:
            continue
        pieces += (text[cursor : match.start()], replacement)
        size += match.start() - cursor + len(replacement)
        if size > MAX_SIZE:
            raise too_large(match.start())
        cursor = match.end()
        # Everything inside a replacement comes from the start of its token.
        starts += (size - len(replacement), size)
        sources += (match.start(), cursor)
        ends += (match.start(), len(text))
    pieces.append(text[cursor:])

    def origin(offset: int) -> int:
        at = bisect_right(starts, offset) - 1
        return min(sources[at] + offset - starts[at], ends[at])

    return Substituted("".join(pieces), origin)


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
