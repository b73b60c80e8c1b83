"""The text of one of OpenCode's files, made an object.

In the user's own files every `{env:}` and `{file:}` is replaced. A project's file is given less, because
what it puts into the name of a model is sent to a provider and shown to people: variables whose names speak
of models, and files inside the project. Its other tokens stay as they are, and whoever reads a value can
see that it was not given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from groundwire.config.opencode_files import Place
from groundwire.config.paths import resolved
from groundwire.config.substitute import Resolve, substitute
from groundwire.credentials.lookup import Places, defined_variables
from groundwire.credentials.redact import redact_patterns
from groundwire.errors import ConfigError
from groundwire.files.jsonc import Malformed, parse_jsonc
from groundwire.files.text_file import position, read_text
from groundwire.model import JsonObject

_OF_A_MODEL = re.compile(r"(?!.*(?:KEY|TOKEN|SECRET|PASS|AUTH|CRED)).*MODEL.*", re.IGNORECASE)


def read_body(text: str, place: Place, env: Mapping[str, str], home: str) -> JsonObject:
    """The object in a text; `ConfigError` with the place, the line and the column where there is none."""
    try:
        return _parsed(text, place, env, home)
    except Malformed as error:
        line, column = position(text, error.offset)
        raise ConfigError(f"{place.origin}:{line}:{column}: {error.reason}") from None


def _parsed(text: str, place: Place, env: Mapping[str, str], home: str) -> JsonObject:
    variables = _few_variables(env) if place.project else _all_variables(env, home)
    done = substitute(text, variables, _files(place, home))
    try:
        body = parse_jsonc(done.text)
    except Malformed as error:
        raise Malformed(error.reason, text, done.origin(error.offset)) from None
    if not isinstance(body, dict):
        raise Malformed("an object is expected here", text, 0)
    return body


def _all_variables(env: Mapping[str, str], home: str) -> Resolve:
    """The environment, and the variables that OpenCode's logins define, read when first needed."""
    defined: dict[str, str] | None = None

    def resolve(name: str) -> str:
        nonlocal defined
        if name in env:
            return env[name]
        if defined is None:
            found = defined_variables(Places(env, home, ""))
            defined = {name: item.secret.reveal() for name, item in found.items()}
        return defined.get(name, "")

    return resolve


def _few_variables(env: Mapping[str, str]) -> Resolve:
    def resolve(name: str) -> str | None:
        text = env.get(name, "")
        return text if _OF_A_MODEL.fullmatch(name) and redact_patterns(text) == text else None

    return resolve


def _files(place: Place, home: str) -> Resolve:
    base = os.path.dirname(place.path) if place.text is None else place.path

    def content(path: str) -> str | None:
        if "\0" in path:
            raise ConfigError("no file has such a name")
        target = resolved(path, base, home)
        if place.project and not _is_inside(target, place.inside):
            return None
        text = read_text(target)
        if text is None:
            raise ConfigError(f"{target}, which is to be inserted here, does not exist")
        return text

    return content


def _is_inside(path: str, directory: str) -> bool:
    # Links are followed first: a link inside the project may lead anywhere.
    root = os.path.realpath(directory).rstrip(os.sep) + os.sep
    return os.path.realpath(path).startswith(root)
