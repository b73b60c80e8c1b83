"""What became of a refresh token, on disk, from before it is sent until the answer is stored.

A refresh token is spent by sending it. The journal, `<store>.groundwire-pending`, bridges the moments in
which the store does not know yet:

* before sending, it is written at full size: if that fails, nothing has been spent, and it will not fail
  for want of room when the answer is there;
* when the answer is there, it is written first of all, over the space that is already reserved;
* when the store has the tokens, it is removed.

Whoever holds the lock next finds either no journal, or one whose token is not the store's any more (then
it means nothing), or tokens to put into the store, or a refusal to remember, or an unanswered question.
The last is what cannot be mended: a process that is killed between the login service's decision and
our first write takes the answer with it. That is why a small process apart does it, which ignores the signals
that can be ignored and outlives whoever started it; a power cut, the kernel's want of memory or `kill -9`
aimed at it can still hit those milliseconds. The token is then tried once more, since only so can be learnt
whether it was spent; if it was, the session is over and the user is told to log in again. And tokens that
wait in a journal are known to us alone: OpenCode or Codex CLI, started before us, would try the spent one.
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
_REMEMBER_REFUSAL = 15 * 60.0


@value
class JournalEntry:
    """What the journal says about one refresh token."""

    asked: bool = False
    tokens: Tokens | None = None
    refused: str = ""

    @property
    def is_unanswered(self) -> bool:
        """Was it sent by somebody who did not live to store the answer?"""
        return self.asked and self.tokens is None


class Journal:
    """The journal of one store. Only who holds the store's lock may use it."""

    def __init__(self, store: str) -> None:
        self._path = f"{store}.groundwire-pending"
        self._descriptor = -1

    def about(self, refresh: Secret, now: float) -> JournalEntry:
        """What an earlier process left about a token."""
        try:
            document = read_checked(self._path)
        except ConfigError:
            return JournalEntry()
        body = (document and json_object(document)) or {}
        if body.get("spent") != digest(refresh):
            return JournalEntry()
        until = body.get("refused_until")
        refused = isinstance(until, int | float) and now < until
        return JournalEntry(
            asked=True,
            tokens=_read_tokens(body),
            refused=str(body.get("refused", "")) if refused else "",
        )

    def ask(self, refresh: Secret) -> None:
        """Note that a token is about to be spent. Raises `ConfigError` when nothing can be written."""
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

    def keep(self, refresh: Secret, tokens: Tokens) -> None:
        """Put the answer on disk, if the disk still takes it: the store is next, and will tell if not."""
        secrets = {"access": tokens.access, "refresh": tokens.refresh, "id_token": tokens.id_token}
        texts: JsonObject = {name: secret.reveal() for name, secret in secrets.items()}
        body: JsonObject = {"spent": digest(refresh), **texts}
        with suppress(OSError):
            self._write({**body, "expires": tokens.expires, "account_id": tokens.account_id})

    def refuse(self, refresh: Secret, code: str, now: float) -> None:
        """Remember for a while that a token was refused, so that nobody asks again in vain."""
        until = now + _REMEMBER_REFUSAL
        with suppress(OSError):
            self._write({"spent": digest(refresh), "refused": code, "refused_until": until})

    def clear(self) -> None:
        """Forget everything."""
        self.close()
        with suppress(OSError):  # what it says is about a token that is gone, so it means nothing
            os.unlink(self._path)

    def close(self) -> None:
        """Leave the journal for whoever comes next."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _write(self, body: JsonObject, *, pad: bool = False) -> None:
        data = dump_json(body).encode("utf-8")
        os.pwrite(self._descriptor, data.ljust(_RESERVED) if pad else data, 0)
        os.ftruncate(self._descriptor, max(_RESERVED, len(data)) if pad else len(data))
        os.fsync(self._descriptor)


def digest(refresh: Secret) -> str:
    """By what a token is known without being told."""
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
