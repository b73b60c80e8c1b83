"""Parse OpenCode's files, which may contain `{env:NAME}` and `{file:path}`.

Tokens are replaced in the raw text before it is parsed. Facts: variables come first, and are not escaped: a
quote in one breaks the document, and they are replaced in comments too; an unset variable is the empty
string. Then files: their content is stripped and escaped for a JSON string, except in a line that begins with
`//`. So a variable may hold a file's name, or a part of it.

Every offset of the result can be mapped back, so that errors have lines and columns of the file itself.

In the user's own files all tokens are replaced. A project's file gets less, because what it puts into the
name of a model is sent to a provider and shown to the user: variables whose names mention models, and files
inside the project. Its other tokens stay as they are, so that it can be seen that they were not replaced.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from groundwire.config.opencode import ConfigFile
from groundwire.config.paths import resolved
from groundwire.credentials.lookup import LookupContext, defined_variables
from groundwire.credentials.redact import redact_patterns
from groundwire.errors import ConfigError
from groundwire.files.jsonc import Malformed, parse_jsonc
from groundwire.files.text_file import position, read_text
from groundwire.model import JsonObject

MAX_SIZE = 4 * 1024 * 1024

Resolve: TypeAlias = Callable[[str], str | None]
"""The replacement of a token; None leaves the token as it is."""

_VARIABLE = re.compile(r"\{env:([^}]+)\}")
_FILE = re.compile(r"\{file:([^}]+)\}")
_COMMENT = re.compile(r"[^\S\n]*//")


class Substituted(NamedTuple):
    """A text after substitution, with a mapping of its offsets to the original."""

    text: str
    origin: Callable[[int], int]
    """The offset in the original of an offset in `text`."""


def substitute(text: str, variable: Resolve, content: Resolve) -> Substituted:
    """Replace variables, then files. `content` raises `ConfigError` for a file that cannot be read."""

    def too_large(offset: int) -> Malformed:
        return Malformed("the inserted text is too large", text, offset)

    first = _replace(text, ((match, variable(match[1])) for match in _all(_VARIABLE, text)), too_large)

    def files() -> Iterator[tuple[re.Match[str], str | None]]:
        for match in _outside_comments(first.text):
            try:
                found = content(match[1])
            except ConfigError as error:
                raise Malformed(error.message, text, first.origin(match.start())) from None
            yield match, None if found is None else _escaped(found.strip())

    second = _replace(first.text, files(), lambda offset: too_large(first.origin(offset)))
    return Substituted(second.text, lambda offset: first.origin(second.origin(offset)))


def _all(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    # Nothing can match after the last brace; searching there would take quadratic time.
    return pattern.finditer(text, 0, text.rfind("}") + 1)


def _outside_comments(text: str) -> Iterator[re.Match[str]]:
    """The file tokens outside lines that begin with a comment."""
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


_MODEL_NAME = re.compile(r"(?!.*(?:KEY|TOKEN|SECRET|PASS|AUTH|CRED)).*MODEL.*", re.IGNORECASE)


def read_body(text: str, file: ConfigFile, env: Mapping[str, str], home: str) -> JsonObject:
    """Parse a file; raises `ConfigError` with file, line and column where it is not a JSON object."""
    try:
        return _parsed(text, file, env, home)
    except Malformed as error:
        line, column = position(text, error.offset)
        raise ConfigError(f"{file.origin}:{line}:{column}: {error.reason}") from None


def _parsed(text: str, file: ConfigFile, env: Mapping[str, str], home: str) -> JsonObject:
    variables = _model_variables(env) if file.project else _all_variables(env, home)
    done = substitute(text, variables, _files(file, home))
    try:
        body = parse_jsonc(done.text)
    except Malformed as error:
        raise Malformed(error.reason, text, done.origin(error.offset)) from None
    if not isinstance(body, dict):
        raise Malformed("an object is expected here", text, 0)
    return body


def _all_variables(env: Mapping[str, str], home: str) -> Resolve:
    """The environment, and the variables that OpenCode's logins define, which are read when first needed."""
    defined: dict[str, str] | None = None

    def resolve(name: str) -> str:
        nonlocal defined
        if name in env:
            return env[name]
        if defined is None:
            found = defined_variables(LookupContext(env, home, ""))
            defined = {name: item.secret.reveal() for name, item in found.items()}
        return defined.get(name, "")

    return resolve


def _model_variables(env: Mapping[str, str]) -> Resolve:
    def resolve(name: str) -> str | None:
        text = env.get(name, "")
        return text if _MODEL_NAME.fullmatch(name) and redact_patterns(text) == text else None

    return resolve


def _files(file: ConfigFile, home: str) -> Resolve:
    base = os.path.dirname(file.path) if file.text is None else file.path

    def content(path: str) -> str | None:
        if "\0" in path:
            raise ConfigError("a file name cannot have a NUL character")
        target = resolved(path, base, home)
        if file.project and not _is_inside(target, file.inside):
            return None
        text = read_text(target)
        if text is None:
            raise ConfigError(f"{target}, which should be inserted here, does not exist")
        return text

    return content


def _is_inside(path: str, directory: str) -> bool:
    # Links are followed first: a link inside the project may lead anywhere.
    root = os.path.realpath(directory).rstrip(os.sep) + os.sep
    return os.path.realpath(path).startswith(root)
