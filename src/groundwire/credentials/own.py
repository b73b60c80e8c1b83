"""Our own credentials file: `credentials.toml` in the configuration directory.

    [providers.gemini]
    key = "…"

It is refused when it is a symbolic link or open to others: a key that others can read is no secret, and
the user should hear so from us first.
"""

from __future__ import annotations

import os
import shlex

from groundwire.credentials.files import Document, read_document
from groundwire.credentials.secret import Credential, sendable
from groundwire.credentials.shelf import Places, Shelf
from groundwire.errors import ConfigError

FILE_NAME = "credentials.toml"
ORIGIN = "groundwire's credentials file"


def read_own(places: Places) -> Shelf:
    """What our own file holds."""
    path = os.path.join(places.config_dir, FILE_NAME)
    place = f"{ORIGIN} ({path})"
    try:
        document = read_document(path)
        if document is None:
            return Shelf(place, missing=True)
        return Shelf(place, _keys(_trusted(document, path), path))
    except ConfigError as error:
        return Shelf(place, problem=error.message)


def _trusted(document: Document, path: str) -> str:
    if document.loose:
        raise ConfigError(
            f"{path} {' and '.join(document.loose)}; "
            f"make it a file of its own, and run `chmod 600 {shlex.quote(path)}`"
        )
    return document.text


def _keys(text: str, path: str) -> dict[str, tuple[Credential, ...]]:
    import tomllib  # noqa: PLC0415  most users have no such file

    try:
        providers = tomllib.loads(text).get("providers", {})
    except tomllib.TOMLDecodeError as error:
        # The message names line and column; it never quotes more than one character.
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    if not isinstance(providers, dict):
        raise ConfigError(f"{path}: `providers` must be a table; write [providers.NAME] and a key below")
    return {name: (_key(name, row, path),) for name, row in providers.items()}


def _key(name: str, row: object, path: str) -> Credential:
    secret = sendable(row.get("key") if isinstance(row, dict) else None)
    if not secret:
        raise ConfigError(f'{path}: [providers.{name}] needs `key = "…"`, printable and without blanks')
    return Credential(secret, "api", ORIGIN, entry=name)
