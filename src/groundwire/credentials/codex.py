"""Codex CLI's login: `auth.json` in `$CODEX_HOME`, by default `~/.codex`.

Facts: the session is under `tokens`, an API key under `OPENAI_API_KEY`, and either may be null; there is no
field for the end of the session, so the token itself is asked; `last_refresh` is a time in ISO form. A login
kept in the system's keyring is not in the file, and then not found.
"""

from __future__ import annotations

import os
import time

from groundwire.credentials.jwt import account_id, expiry
from groundwire.credentials.secret import Credential, Tokens, sendable
from groundwire.credentials.stores import Places, Shelf, json_object, loose_warnings
from groundwire.errors import ConfigError
from groundwire.files.json_edit import Edit
from groundwire.files.text_file import Document, read_document
from groundwire.model import JsonObject
from groundwire.model.value import replace

FILE = "Codex CLI's auth.json"
ENTRY = "tokens"
KEY_ENTRY = "OPENAI_API_KEY"


def read_codex(places: Places) -> Shelf:
    """What Codex CLI has."""
    home = places.env.get("CODEX_HOME") or os.path.join(places.home, ".codex")
    return read_codex_file(os.path.join(home, "auth.json"))


def read_codex_file(path: str) -> Shelf:
    """What the file at a path holds: under the empty name, session first."""
    place = f"{FILE} ({path})"
    try:
        document = read_document(path)
    except ConfigError as error:
        return Shelf(place, problem=error.message)
    if document is None:
        return Shelf(place, missing=True)
    return parse_codex(document)


def parse_codex(document: Document) -> Shelf:
    """What a document holds."""
    place = f"{FILE} ({document.path})"
    body = json_object(document)
    if body is None:
        return Shelf(place, problem=f"{place} is not a JSON object; run `codex login` again")
    warnings = loose_warnings(FILE, document)
    found = tuple(
        replace(item, store=document.path, warnings=warnings)
        for item in (_session(body), _key(body))
        if item is not None
    )
    return Shelf(place, {"": found}, warnings=warnings)


def codex_edits(_: Credential, tokens: Tokens, now: float) -> list[Edit]:
    """What to change in the file when the session got new tokens."""
    fields = {
        "id_token": tokens.id_token,
        "access_token": tokens.access,
        "refresh_token": tokens.refresh,
    }
    edits = [Edit((ENTRY, name), secret.reveal()) for name, secret in fields.items() if secret]
    return [*edits, Edit(("last_refresh",), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)))]


def _session(body: JsonObject) -> Credential | None:
    tokens = body.get(ENTRY)
    if not isinstance(tokens, dict):
        return None
    access, refresh = sendable(tokens.get("access_token")), sendable(tokens.get("refresh_token"))
    if not access:
        return None
    told, id_token = tokens.get("account_id"), tokens.get("id_token")
    account = told if isinstance(told, str) and told else ""
    account = account or account_id(access.reveal(), id_token if isinstance(id_token, str) else "")
    return Credential(access, "oauth", FILE, account, expiry(access.reveal()), refresh, entry=ENTRY)


def _key(body: JsonObject) -> Credential | None:
    secret = sendable(body.get(KEY_ENTRY))
    return Credential(secret, "api", FILE, entry=KEY_ENTRY) if secret else None
