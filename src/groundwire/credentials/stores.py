"""What a store of credentials holds, in one shape for all stores."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Mapping

from groundwire.credentials.oauth import account_id, expiry
from groundwire.credentials.secret import Credential, Secret, Tokens, sendable
from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError, ConfigError, WireError
from groundwire.files.json_edit import JsonEdit
from groundwire.files.text_file import TextFile, read_checked, write_private
from groundwire.model import JsonObject
from groundwire.model.value import replace, value


@value
class LookupContext:
    """Where to look: the environment, the home directory, and the directory of our own configuration."""

    env: Mapping[str, str]
    home: str
    config_dir: str


@value
class StoreContents:
    """The credentials of one store by name, and what is to be said about the store."""

    place: str
    """For people, with the path."""
    credentials: Mapping[str, tuple[Credential, ...]] = {}
    variables: Mapping[str, Credential] = {}
    """Environment variables that the store defines."""
    missing: bool = False
    dropped: int = 0
    """How many records were invalid and passed over."""
    problem: str = ""
    """Why the store could not be read at all."""
    warnings: tuple[str, ...] = ()


def json_object(document: TextFile) -> JsonObject | None:
    """The JSON object in a document; None when it holds something else, or half of one."""
    try:
        found = load_json(document.text, ClientWireError)
    except WireError:
        return None
    return found if isinstance(found, dict) else None


def permission_warnings(name: str, document: TextFile) -> tuple[str, ...]:
    """What the user should know about how another program's file lies around."""
    should = "it should be a file of its own that only you can read"
    return tuple(f"{name} ({document.path}) {unsafe}; {should}" for unsafe in document.unsafe)


OWN_FILE_NAME = "credentials.toml"
OWN_FILE = "groundwire's credentials file"
_LOCK_SECONDS = 10.0
_LOCK_PAUSE = 0.1


def read_own(places: LookupContext) -> StoreContents:
    """What our own file holds."""
    path = os.path.join(places.config_dir, OWN_FILE_NAME)
    place = f"{OWN_FILE} ({path})"
    try:
        document = read_checked(path)
        if document is None:
            return StoreContents(place, missing=True)
        return StoreContents(place, _own_keys(_trusted(document, path), path))
    except ConfigError as error:
        return StoreContents(place, problem=error.message)


def _trusted(document: TextFile, path: str) -> str:
    if document.unsafe:
        raise ConfigError(
            f"{path} {' and '.join(document.unsafe)}; "
            f"make it a file of its own, and run `chmod 600 {shlex.quote(path)}`"
        )
    return document.text


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


def read_opencode(places: LookupContext) -> StoreContents:
    """What OpenCode has, inline or in its file."""
    warnings: tuple[str, ...] = ()
    if inline := places.env.get(OPENCODE_INLINE, ""):
        shelf = parse_opencode(TextFile("", inline), f"environment {OPENCODE_INLINE}")
        if not shelf.problem:
            return shelf
        warnings = (f"{OPENCODE_INLINE} is not a JSON object; OpenCode's file is used instead",)
    data = places.env.get("XDG_DATA_HOME") or os.path.join(places.home, ".local", "share")
    shelf = read_opencode_file(os.path.join(data, "opencode", "auth.json"))
    return replace(shelf, warnings=warnings + shelf.warnings)


def read_opencode_file(path: str) -> StoreContents:
    """What the file at a path holds."""
    try:
        document = read_checked(path)
    except ConfigError as error:
        return StoreContents(f"{OPENCODE_FILE} ({path})", problem=error.message)
    if document is None:
        return StoreContents(f"{OPENCODE_FILE} ({path})", missing=True)
    return parse_opencode(document, OPENCODE_FILE)


def parse_opencode(document: TextFile, name: str) -> StoreContents:
    """What a document holds; `name` is how people know it."""
    place = f"{name} ({document.path})" if document.path else name
    body = json_object(document)
    if body is None:
        return StoreContents(place, problem=f"{place} is not a JSON object; log in with OpenCode again")
    warnings = permission_warnings(name, document)
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
        found = replace(found, store=document.path, warnings=warnings)
        if read is _well_known:
            variables[str(record["key"])] = found
        else:
            known[key.rstrip("/")] = (found,)
    return StoreContents(place, known, variables, dropped=dropped, warnings=warnings)


def opencode_edits(credential: Credential, tokens: Tokens, _: float) -> list[JsonEdit]:
    """What to change in the file when a session got new tokens."""
    fields: dict[str, str | int] = {"access": tokens.access.reveal()}
    if tokens.refresh:
        fields["refresh"] = tokens.refresh.reveal()
    fields["expires"] = int(tokens.expires * 1000)
    if tokens.account_id:
        fields["accountId"] = tokens.account_id
    return [JsonEdit((credential.entry, name), item) for name, item in fields.items()]


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


def read_codex(places: LookupContext) -> StoreContents:
    """What Codex CLI has."""
    home = places.env.get("CODEX_HOME") or os.path.join(places.home, ".codex")
    return read_codex_file(os.path.join(home, "auth.json"))


def read_codex_file(path: str) -> StoreContents:
    """What the file at a path holds: under the empty name, session first."""
    place = f"{CODEX_FILE} ({path})"
    try:
        document = read_checked(path)
    except ConfigError as error:
        return StoreContents(place, problem=error.message)
    if document is None:
        return StoreContents(place, missing=True)
    return parse_codex(document)


def parse_codex(document: TextFile) -> StoreContents:
    """What a document holds."""
    place = f"{CODEX_FILE} ({document.path})"
    body = json_object(document)
    if body is None:
        return StoreContents(place, problem=f"{place} is not a JSON object; run `codex login` again")
    warnings = permission_warnings(CODEX_FILE, document)
    found = tuple(
        replace(item, store=document.path, warnings=warnings)
        for item in (_codex_session(body), _codex_key(body))
        if item is not None
    )
    return StoreContents(place, {"": found}, warnings=warnings)


def codex_edits(_: Credential, tokens: Tokens, now: float) -> list[JsonEdit]:
    """What to change in the file when the session got new tokens."""
    fields = {
        "id_token": tokens.id_token,
        "access_token": tokens.access,
        "refresh_token": tokens.refresh,
    }
    edits = [JsonEdit((CODEX_ENTRY, name), secret.reveal()) for name, secret in fields.items() if secret]
    return [*edits, JsonEdit(("last_refresh",), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)))]


def _codex_session(body: JsonObject) -> Credential | None:
    tokens = body.get(CODEX_ENTRY)
    if not isinstance(tokens, dict):
        return None
    access, refresh = sendable(tokens.get("access_token")), sendable(tokens.get("refresh_token"))
    if not access:
        return None
    told, id_token = tokens.get("account_id"), tokens.get("id_token")
    account = told if isinstance(told, str) and told else ""
    account = account or account_id(access.reveal(), id_token if isinstance(id_token, str) else "")
    return Credential(
        access, "oauth", CODEX_FILE, account, expiry(access.reveal()), refresh, entry=CODEX_ENTRY
    )


def _codex_key(body: JsonObject) -> Credential | None:
    secret = sendable(body.get(CODEX_KEY_ENTRY))
    return Credential(secret, "api", CODEX_FILE, entry=CODEX_KEY_ENTRY) if secret else None
