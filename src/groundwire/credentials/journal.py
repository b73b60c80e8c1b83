"""Refresh journal: the state of a refresh token on disk, from before it is sent until the response is stored.

A refresh token is spent by sending it. The journal, `<store>.groundwire-pending`, covers the time in which
the store does not have the new tokens yet:

* before the token is sent, the journal is written at full size: if that fails, nothing has been spent, and it
cannot
  fail for lack of space when the response is there;
* when the response arrives, it is written to the journal first, into the space already reserved;
* when the store has the tokens, the journal is removed.

The next process with the lock finds no journal, or one about a token that is no longer in the store (it is
ignored), or tokens to put into the store, or a rejection to remember, or a request without a response. The
last case cannot be repaired: a process that is killed between the decision of the login service and our first
write takes the response with it. That is why a small worker process does it, which ignores the signals that
can be ignored and outlives its parent; a power cut, the OOM killer or `kill -9` can still hit those
milliseconds. The token is then tried once more, because that is the only way to learn whether it was spent;
if it was, the session is over and the user has to log in again. Tokens that wait in a journal are known to us
alone: OpenCode or Codex CLI, started before us, would try the spent one.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress

from groundwire.credentials.secret import NO_SECRET, Secret, Tokens, sendable
from groundwire.credentials.stores import json_object
from groundwire.dialects.json import dump_json
from groundwire.errors import ConfigError
from groundwire.files.text_file import PRIVATE, read_checked, sync_directory
from groundwire.model import Json, JsonObject
from groundwire.model.value import value

_RESERVED = 16 * 1024
_REMEMBER_REJECTION = 15 * 60.0


@value
class JournalEntry:
    """What the journal holds about one refresh token."""

    sent: bool = False
    tokens: Tokens | None = None
    refused: str = ""

    @property
    def is_unanswered(self) -> bool:
        """Was it sent by a process that ended before it could store the response?"""
        return self.sent and self.tokens is None


class Journal:
    """The journal of one store. The caller holds the store's lock."""

    def __init__(self, store: str) -> None:
        self._path = f"{store}.groundwire-pending"
        self._descriptor = -1

    def about(self, refresh: Secret, now: float) -> JournalEntry:
        """What an earlier process recorded about a token."""
        try:
            file = read_checked(self._path)
        except ConfigError:
            return JournalEntry()
        body = (file and json_object(file)) or {}
        if body.get("spent") != digest(refresh):
            return JournalEntry()
        until = body.get("refused_until")
        refused = isinstance(until, int | float) and now < until
        return JournalEntry(
            sent=True,
            tokens=_read_tokens(body),
            refused=str(body.get("refused", "")) if refused else "",
        )

    def begin(self, refresh: Secret) -> None:
        """Record that a token is about to be spent. Raises `ConfigError` when the journal cannot be
        written."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._descriptor = os.open(self._path, flags, PRIVATE)
            os.fchmod(self._descriptor, PRIVATE)
            self._write({"spent": digest(refresh)}, pad=True)
            sync_directory(self._path)
        except OSError as error:
            self.clear()
            raise ConfigError(
                f"{self._path} cannot be written ({error.strerror}), so the session is not refreshed: "
                "its new tokens would be lost; make room or make the directory writable"
            ) from None

    def save(self, refresh: Secret, tokens: Tokens) -> None:
        """Write the new tokens to disk if possible; an error shows when the store is written next."""
        secrets = {"access": tokens.access, "refresh": tokens.refresh, "id_token": tokens.id_token}
        texts: JsonObject = {name: secret.reveal() for name, secret in secrets.items()}
        body: JsonObject = {"spent": digest(refresh), **texts}
        with suppress(OSError):
            self._write({**body, "expires": tokens.expires, "account_id": tokens.account_id})

    def refuse(self, refresh: Secret, code: str, now: float) -> None:
        """Remember for some minutes that a token was rejected, so that it is not sent again."""
        until = now + _REMEMBER_REJECTION
        with suppress(OSError):
            self._write({"spent": digest(refresh), "refused": code, "refused_until": until})

    def clear(self) -> None:
        """Remove the journal."""
        self.close()
        with suppress(OSError):  # its token is no longer in the store, so it will be ignored
            os.unlink(self._path)

    def close(self) -> None:
        """Close the file and keep the journal for the next process."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _write(self, body: JsonObject, *, pad: bool = False) -> None:
        data = dump_json(body).encode("utf-8")
        os.pwrite(self._descriptor, data.ljust(_RESERVED) if pad else data, 0)
        os.ftruncate(self._descriptor, max(_RESERVED, len(data)) if pad else len(data))
        os.fsync(self._descriptor)


def digest(refresh: Secret) -> str:
    """The fingerprint of a token, which does not reveal it."""
    return hashlib.sha256(refresh.reveal().encode("utf-8")).hexdigest()


def _read_tokens(body: JsonObject) -> Tokens | None:
    access, expires, account = sendable(body.get("access")), body.get("expires"), body.get("account_id")
    if not access or not isinstance(expires, int | float):
        return None
    return Tokens(
        access,
        float(expires),
        _optional(body.get("refresh")),
        _optional(body.get("id_token")),
        account if isinstance(account, str) else "",
    )


def _optional(text: Json) -> Secret:
    return sendable(text) if isinstance(text, str) else NO_SECRET
