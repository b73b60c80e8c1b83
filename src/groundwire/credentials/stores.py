"""Credential stores: our own file, OpenCode's and Codex CLI's, read into one form.

Our own file is `credentials.toml` in the configuration directory:

    [providers.gemini]
    key = "…"

It is refused when it is a symbolic link or open to other users.

OpenCode keeps `auth.json` in its data directory; `OPENCODE_AUTH_CONTENT` replaces it. It is an object keyed
by provider id. Facts: `expires` is in milliseconds; invalid records are skipped silently (we count them); ids
lose trailing slashes; a `wellknown` record, keyed by a URL, defines an environment variable; inline content
that is not JSON is ignored, and the file is read instead.

Codex CLI keeps `auth.json` in `$CODEX_HOME`, by default `~/.codex`. Facts: the session is under `tokens`, an
API key under `OPENAI_API_KEY`, and either may be null; there is no field for the end of the session, so it is
read from the token; `last_refresh` is an ISO timestamp. A login in the system's keyring is not in the file,
and is not found.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Mapping
from typing import TypeAlias

from groundwire.credentials.oauth import account_id, expiry
from groundwire.credentials.secret import Credential, Secret, Tokens, sendable
from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError, ConfigError, WireError
from groundwire.files.text_file import TextFile, read_checked, write_private
from groundwire.model import JsonObject
from groundwire.model.value import replace, value

StoreEdits: TypeAlias = dict[tuple[str, ...], str | int]
"""New values for members of a JSON file, by their paths."""


@value
class LookupContext:
    """The environment, the home directory, and our configuration directory."""

    env: Mapping[str, str]
    home: str
    config_dir: str


@value
class StoreContents:
    """The credentials of one store by name, with warnings and problems."""

    place: str
    """The store, for display, with its path."""
    credentials: Mapping[str, tuple[Credential, ...]] = {}
    variables: Mapping[str, Credential] = {}
    """Environment variables that the store defines."""
    missing: bool = False
    dropped: int = 0
    """How many invalid records were skipped."""
    problem: str = ""
    """Why the store could not be read at all."""
    warnings: tuple[str, ...] = ()


def json_object(file: TextFile) -> JsonObject | None:
    """The JSON object in a file; None when it holds something else, or a part of one."""
    try:
        found = load_json(file.text, ClientWireError)
    except WireError:
        return None
    return found if isinstance(found, dict) else None


def permission_warnings(name: str, file: TextFile) -> tuple[str, ...]:
    """Warnings about unsafe permissions of another program's file."""
    should = "it should be a file of its own that only you can read"
    return tuple(f"{name} ({file.path}) {unsafe}; {should}" for unsafe in file.unsafe)


OWN_FILE_NAME = "credentials.toml"
OWN_FILE = "groundwire's credentials file"
_LOCK_SECONDS = 10.0
_LOCK_PAUSE = 0.1


def read_own(context: LookupContext) -> StoreContents:
    """Read our own file."""
    path = os.path.join(context.config_dir, OWN_FILE_NAME)
    place = f"{OWN_FILE} ({path})"
    try:
        file = read_checked(path)
        if file is None:
            return StoreContents(place, missing=True)
        return StoreContents(place, _own_keys(_trusted(file, path), path))
    except ConfigError as error:
        return StoreContents(place, problem=error.message)


def _trusted(file: TextFile, path: str) -> str:
    if file.unsafe:
        raise ConfigError(
            f"{path} {' and '.join(file.unsafe)}; "
            f"make it a file of its own, and run `chmod 600 {shlex.quote(path)}`"
        )
    return file.text


def _own_keys(text: str, path: str) -> dict[str, tuple[Credential, ...]]:
    import tomllib  # noqa: PLC0415  most users have no such file

    try:
        providers = tomllib.loads(text).get("providers", {})
    except tomllib.TOMLDecodeError as error:
        # The message names line and column; it never quotes more than one character.
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    if not isinstance(providers, dict):
        raise ConfigError(f"{path}: `providers` must be a table; write [providers.NAME] and a key below")
    return {name: (_own_key(name, row, path),) for name, row in providers.items()}


def _own_key(name: str, row: object, path: str) -> Credential:
    secret = sendable(row.get("key") if isinstance(row, dict) else None)
    if not secret:
        raise ConfigError(f'{path}: [providers.{name}] needs `key = "…"`, printable and without blanks')
    return Credential(secret, "api", OWN_FILE, entry=name)


async def store_key(config_dir: str, name: str, key: Secret | None) -> bool:
    """Write a provider's key into our own file, or with None remove it; was there one before?

    The file is replaced in one step, readable by its owner alone. Other entries and comments stay.
    """
    from groundwire.files.lock import locked_async  # noqa: PLC0415  only for commands that write

    path = os.path.join(config_dir, OWN_FILE_NAME)
    try:
        os.makedirs(config_dir, mode=0o700, exist_ok=True)
        async with locked_async(f"{path}.lock", _LOCK_SECONDS, _LOCK_PAUSE):
            file = read_checked(path)
            text = _trusted(file, path) if file else ""
            before = _own_keys(text, path)
            if key is None and name not in before:
                return False
            write_private(path, _edited(text, name, key, before))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}; make it writable") from None
    return name in before


def _edited(text: str, name: str, key: Secret | None, before: Mapping[str, tuple[Credential, ...]]) -> str:
    """The file with one table replaced, added or removed; rewritten if its layout cannot be edited in
    place."""
    from groundwire.files import toml_edit  # noqa: PLC0415  only for commands that write

    table = ("providers", name)
    try:
        if key is None:
            return toml_edit.remove(text, table, OWN_FILE_NAME)
        return toml_edit.put(text, table, {"key": key.reveal()}, OWN_FILE_NAME)
    except ConfigError:
        keys = {entry: found[0].secret for entry, found in before.items() if entry != name}
        keys |= {} if key is None else {name: key}
        rewritten = ""
        for entry, secret in keys.items():
            table = ("providers", entry)
            rewritten = toml_edit.put(rewritten, table, {"key": secret.reveal()}, OWN_FILE_NAME)
        return rewritten


OPENCODE_FILE = "OpenCode's auth.json"
OPENCODE_INLINE = "OPENCODE_AUTH_CONTENT"

_Reader = Callable[[str, str, JsonObject], Credential | None]


def read_opencode(context: LookupContext) -> StoreContents:
    """Read OpenCode's credentials, inline or from its file."""
    warnings: tuple[str, ...] = ()
    if inline := context.env.get(OPENCODE_INLINE, ""):
        contents = parse_opencode(TextFile("", inline), f"environment {OPENCODE_INLINE}")
        if not contents.problem:
            return contents
        warnings = (f"{OPENCODE_INLINE} is not a JSON object; OpenCode's file is used instead",)
    data = context.env.get("XDG_DATA_HOME") or os.path.join(context.home, ".local", "share")
    contents = read_opencode_file(os.path.join(data, "opencode", "auth.json"))
    return replace(contents, warnings=warnings + contents.warnings)


def read_opencode_file(path: str) -> StoreContents:
    """Read OpenCode's file at a path."""
    try:
        file = read_checked(path)
    except ConfigError as error:
        return StoreContents(f"{OPENCODE_FILE} ({path})", problem=error.message)
    if file is None:
        return StoreContents(f"{OPENCODE_FILE} ({path})", missing=True)
    return parse_opencode(file, OPENCODE_FILE)


def parse_opencode(file: TextFile, name: str) -> StoreContents:
    """Parse OpenCode's file; `name` is its name for display."""
    place = f"{name} ({file.path})" if file.path else name
    body = json_object(file)
    if body is None:
        return StoreContents(place, problem=f"{place} is not a JSON object; log in with OpenCode again")
    warnings = permission_warnings(name, file)
    known: dict[str, tuple[Credential, ...]] = {}
    variables: dict[str, Credential] = {}
    dropped = 0
    for key, item in body.items():
        record = item if isinstance(item, dict) else {}
        read = _READERS.get(str(record.get("type")))
        found = read(name, key, record) if read else None
        if found is None:
            dropped += 1
            continue
        found = replace(found, store=file.path, warnings=warnings)
        if read is _well_known:
            variables[str(record["key"])] = found
        else:
            known[key.rstrip("/")] = (found,)
    return StoreContents(place, known, variables, dropped=dropped, warnings=warnings)


def opencode_edits(credential: Credential, tokens: Tokens, _: float) -> StoreEdits:
    """The edits of OpenCode's file for new tokens."""
    fields: dict[str, str | int] = {"access": tokens.access.reveal()}
    if tokens.refresh:
        fields["refresh"] = tokens.refresh.reveal()
    fields["expires"] = int(tokens.expires * 1000)
    if tokens.account_id:
        fields["accountId"] = tokens.account_id
    return {(credential.entry, name): item for name, item in fields.items()}


def _api(name: str, key: str, record: JsonObject) -> Credential | None:
    metadata = record.get("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(item, str) for item in metadata.values()):
        return None
    secret = sendable(record.get("key"))
    return Credential(secret, "api", f"{name} ({key})", entry=key) if secret else None


def _oauth(name: str, key: str, record: JsonObject) -> Credential | None:
    expires = record.get("expires")
    if not isinstance(expires, int) or isinstance(expires, bool) or expires < 0:
        return None
    if not all(isinstance(record.get(field, ""), str) for field in ("accountId", "enterpriseUrl")):
        return None
    access, refresh = sendable(record.get("access")), sendable(record.get("refresh"))
    if not access and not refresh:
        return None
    account = str(record.get("accountId", "")) or account_id(access.reveal())
    return Credential(access, "oauth", f"{name} ({key})", account, expires / 1000, refresh, entry=key)


def _well_known(name: str, key: str, record: JsonObject) -> Credential | None:
    variable, secret = record.get("key"), sendable(record.get("token"))
    if not isinstance(variable, str) or not variable or not secret:
        return None
    return Credential(secret, "api", f"{name} ({key}, as {variable})", entry=key)


_READERS: Mapping[str, _Reader] = {"api": _api, "oauth": _oauth, "wellknown": _well_known}


CODEX_FILE = "Codex CLI's auth.json"
CODEX_ENTRY = "tokens"
CODEX_KEY_ENTRY = "OPENAI_API_KEY"


def read_codex(context: LookupContext) -> StoreContents:
    """Read Codex CLI's login."""
    home = context.env.get("CODEX_HOME") or os.path.join(context.home, ".codex")
    return read_codex_file(os.path.join(home, "auth.json"))


def read_codex_file(path: str) -> StoreContents:
    """Read Codex CLI's file at a path; its credentials have the empty name, the session comes first."""
    place = f"{CODEX_FILE} ({path})"
    try:
        file = read_checked(path)
    except ConfigError as error:
        return StoreContents(place, problem=error.message)
    if file is None:
        return StoreContents(place, missing=True)
    return parse_codex(file)


def parse_codex(file: TextFile) -> StoreContents:
    """Parse Codex CLI's file."""
    place = f"{CODEX_FILE} ({file.path})"
    body = json_object(file)
    if body is None:
        return StoreContents(place, problem=f"{place} is not a JSON object; run `codex login` again")
    warnings = permission_warnings(CODEX_FILE, file)
    found = tuple(
        replace(item, store=file.path, warnings=warnings)
        for item in (_codex_session(body), _codex_key(body))
        if item is not None
    )
    return StoreContents(place, {"": found}, warnings=warnings)


def codex_edits(_: Credential, tokens: Tokens, now: float) -> StoreEdits:
    """The edits of Codex CLI's file for new tokens."""
    fields = {
        "id_token": tokens.id_token,
        "access_token": tokens.access,
        "refresh_token": tokens.refresh,
    }
    edits: StoreEdits = {(CODEX_ENTRY, name): secret.reveal() for name, secret in fields.items() if secret}
    edits["last_refresh",] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    return edits


def _codex_session(body: JsonObject) -> Credential | None:
    tokens = body.get(CODEX_ENTRY)
    if not isinstance(tokens, dict):
        return None
    access, refresh = sendable(tokens.get("access_token")), sendable(tokens.get("refresh_token"))
    if not access:
        return None
    listed, id_token = tokens.get("account_id"), tokens.get("id_token")
    account = listed if isinstance(listed, str) and listed else ""
    account = account or account_id(access.reveal(), id_token if isinstance(id_token, str) else "")
    return Credential(
        access, "oauth", CODEX_FILE, account, expiry(access.reveal()), refresh, entry=CODEX_ENTRY
    )


def _codex_key(body: JsonObject) -> Credential | None:
    secret = sendable(body.get(CODEX_KEY_ENTRY))
    return Credential(secret, "api", CODEX_FILE, entry=CODEX_KEY_ENTRY) if secret else None
