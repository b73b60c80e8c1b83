"""ChatGPT sessions in other programs' stores: read as they are now, replaced if they are still the same.

Both programs keep the session in a JSON file, each in its own words; a table says which. Codex CLI writes its
file in place, so a reader may see half of it, and looks again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

from groundwire.credentials.codex import ENTRY as CODEX_ENTRY
from groundwire.credentials.codex import codex_edits, parse_codex
from groundwire.credentials.opencode import FILE as OPENCODE_FILE
from groundwire.credentials.opencode import opencode_edits, parse_opencode
from groundwire.credentials.secret import Credential, Tokens
from groundwire.credentials.stores import Shelf
from groundwire.errors import AuthRejected
from groundwire.files.json_edit import Edit, splice
from groundwire.files.text_file import Document, read_document, write_atomically
from groundwire.model.value import replace


class _Kind(NamedTuple):
    """How one program keeps the session, and how its user gets a new one."""

    parse: Callable[[Document], Shelf]
    edits: Callable[[Credential, Tokens, float], list[Edit]]
    name: str
    """Under which name the session is on the shelf."""
    login: str


_KINDS: Mapping[str, _Kind] = {
    "openai": _Kind(
        lambda document: parse_opencode(document, OPENCODE_FILE),
        opencode_edits,
        "openai",
        "opencode auth login",
    ),
    CODEX_ENTRY: _Kind(parse_codex, codex_edits, "", "codex login"),
}
"""By the entry in the store. A session of anybody else's is never sent to OpenAI's login service."""


class Reading(NamedTuple):
    """What a store holds at one moment."""

    session: Credential | None = None
    text: str = ""
    problem: str = ""


def is_refreshable(credential: Credential) -> bool:
    """Is it a session that we know how to refresh?"""
    return credential.kind == "oauth" and credential.entry.rstrip("/") in _KINDS


def look(credential: Credential) -> Reading:
    """What the store of a session holds now."""
    document = read_document(credential.store) if credential.store else None
    if document is None:
        return Reading()
    kind = _kind(credential)
    shelf = kind.parse(document)
    found = shelf.credentials.get(kind.name, ())
    session = next((item for item in found if item.kind == "oauth"), None)
    return Reading(session, document.text, shelf.problem)


async def look_until(
    credential: Credential, done: Callable[[Reading], bool], patience: float, pause: float
) -> Reading:
    """What the store holds as soon as a condition is met, or when patience ends."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + patience
    while not done(reading := look(credential)) and loop.time() < ends:
        await asyncio.sleep(pause)
    return reading


def write_back(credential: Credential, text: str, tokens: Tokens, now: float) -> None:
    """Put new tokens in the place of a session's old ones; `text` is the store as just read."""
    edits = _kind(credential).edits(credential, tokens, now)
    write_atomically(credential.store, splice(text, edits))


def renewed(held: Credential, tokens: Tokens) -> Credential:
    """A session with its new tokens."""
    return replace(
        held,
        secret=tokens.access,
        expires=tokens.expires,
        refresh=tokens.refresh or held.refresh,
        account_id=tokens.account_id or held.account_id,
    )


def session_over(
    credential: Credential, code: str, status: int | None = None, more: str = ""
) -> AuthRejected:
    """The error that only a new login mends."""
    return AuthRejected(
        f"the ChatGPT session of {credential.origin} is over ({code}{more}); "
        f"log in again with `{_kind(credential).login}`",
        status=status,
        upstream_code=code,
    )


def _kind(credential: Credential) -> _Kind:
    return _KINDS[credential.entry.rstrip("/")]
