"""Our own credentials file: `credentials.toml` in the configuration directory.

    [providers.gemini]
    key = "…"

It is refused when it is a symbolic link or open to others: a key that others can read is no secret, and
the user should hear so from us first.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping

from groundwire.credentials.secret import Credential, Secret, sendable
from groundwire.credentials.stores import Places, Shelf
from groundwire.errors import ConfigError
from groundwire.files.text_file import Document, read_document, write_atomically

FILE_NAME = "credentials.toml"
ORIGIN = "groundwire's credentials file"
_PATIENCE = 10.0
_PAUSE = 0.1


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


async def store_key(config_dir: str, name: str, key: Secret | None) -> bool:
    """Write a provider's key into our own file, or with None remove it; was there one before?

    The file is replaced in one step, readable by its owner alone. Other entries and comments stay.
    """
    from groundwire.files.lock import locked  # noqa: PLC0415  only for who writes

    path = os.path.join(config_dir, FILE_NAME)
    try:
        os.makedirs(config_dir, mode=0o700, exist_ok=True)
        async with locked(path, _PATIENCE, _PAUSE):
            document = read_document(path)
            text = _trusted(document, path) if document else ""
            before = _keys(text, path)
            if key is None and name not in before:
                return False
            write_atomically(path, _edited(text, name, key, before))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}; make it writable") from None
    return name in before


def _edited(text: str, name: str, key: Secret | None, before: Mapping[str, tuple[Credential, ...]]) -> str:
    """The file with one table replaced, added or removed; written anew where its layout is not the usual."""
    wanted = {entry: found[0].secret for entry, found in before.items()}
    wanted.pop(name, None)
    if key is not None:
        wanted[name] = key
    table = re.compile(rf'^\[providers\.(?:{re.escape(name)}|"{re.escape(name)}")\][^\[]*', re.MULTILINE)
    block = "" if key is None else _table(name, key)
    edited = table.sub(lambda _: block, text)
    if block and not table.search(text):
        edited = f"{text.rstrip()}\n\n{block}".lstrip("\n")
    try:
        found = _keys(edited, FILE_NAME)
    except ConfigError:
        found = {}
    if {entry: credentials[0].secret for entry, credentials in found.items()} == wanted:
        return edited
    return "\n".join(_table(entry, secret) for entry, secret in wanted.items())


def _table(name: str, key: Secret) -> str:
    # Keys are printable ASCII without blanks, so that only these two need an escape.
    written = key.reveal().replace("\\", "\\\\").replace('"', '\\"')
    return f'[providers."{name}"]\nkey = "{written}"\n'
