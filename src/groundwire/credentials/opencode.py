"""OpenCode's credentials: `auth.json` in its data directory, or `OPENCODE_AUTH_CONTENT` in its place.

An object keyed by provider id. Facts: `expires` is in milliseconds; records that do not fit are passed over
without a word (we count them); ids lose trailing slashes; a `wellknown` record, keyed by an address, gives
an environment variable its value; inline content that is not JSON is ignored, and the file read instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from groundwire.credentials.jwt import account_id
from groundwire.credentials.secret import Credential, Tokens, sendable
from groundwire.credentials.stores import Places, Shelf, json_object, loose_warnings
from groundwire.errors import ConfigError
from groundwire.files.json_edit import Edit
from groundwire.files.text_file import Document, read_document
from groundwire.model import JsonObject
from groundwire.model.value import replace

FILE = "OpenCode's auth.json"
INLINE = "OPENCODE_AUTH_CONTENT"

_Reader = Callable[[str, str, JsonObject], Credential | None]


def read_opencode(places: Places) -> Shelf:
    """What OpenCode has, inline or in its file."""
    warnings: tuple[str, ...] = ()
    if inline := places.env.get(INLINE, ""):
        shelf = parse_opencode(Document("", inline), f"environment {INLINE}")
        if not shelf.problem:
            return shelf
        warnings = (f"{INLINE} is not a JSON object; OpenCode's file is used instead",)
    data = places.env.get("XDG_DATA_HOME") or os.path.join(places.home, ".local", "share")
    shelf = read_opencode_file(os.path.join(data, "opencode", "auth.json"))
    return replace(shelf, warnings=warnings + shelf.warnings)


def read_opencode_file(path: str) -> Shelf:
    """What the file at a path holds."""
    try:
        document = read_document(path)
    except ConfigError as error:
        return Shelf(f"{FILE} ({path})", problem=error.message)
    if document is None:
        return Shelf(f"{FILE} ({path})", missing=True)
    return parse_opencode(document, FILE)


def parse_opencode(document: Document, name: str) -> Shelf:
    """What a document holds; `name` is how people know it."""
    place = f"{name} ({document.path})" if document.path else name
    body = json_object(document)
    if body is None:
        return Shelf(place, problem=f"{place} is not a JSON object; log in with OpenCode again")
    warnings = loose_warnings(name, document)
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
    return Shelf(place, known, variables, dropped=dropped, warnings=warnings)


def opencode_edits(credential: Credential, tokens: Tokens, _: float) -> list[Edit]:
    """What to change in the file when a session got new tokens."""
    fields: dict[str, str | int] = {"access": tokens.access.reveal()}
    if tokens.refresh:
        fields["refresh"] = tokens.refresh.reveal()
    fields["expires"] = int(tokens.expires * 1000)
    if tokens.account_id:
        fields["accountId"] = tokens.account_id
    return [Edit((credential.entry, name), item) for name, item in fields.items()]


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
