"""The audit log of keys, logins and agents, in the store.

An entry says who did what and when. It contains ids, names and limits, and never a key. If the store does not
respond, the entry is written to the server's log instead: a key must be revocable while the store is down.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from threading import Thread
from time import time

from groundwire.chat.turns import timestamp
from groundwire.errors import GroundwireError
from groundwire.store.base import AuditEntry, Store

log = logging.getLogger("groundwire.audit")

COMMAND_LINE = "cli"
LOCAL = "local"
"""The actor where no key is needed."""
_LONGEST = 300


class AuditLog:
    """Appends to the audit log of a store; without one, to the log of the process."""

    def __init__(self, store: Store | None = None, clock: Callable[[], float] = time) -> None:
        self._store = store
        self._clock = clock

    def add(self, action: str, actor: str, subject: str = "", *, owner: str = "", detail: str = "") -> None:
        """Append an entry. Blocks."""
        entry = AuditEntry(
            secrets.token_hex(8),
            timestamp(self._clock()),
            actor,
            action,
            subject[:_LONGEST],
            owner,
            detail[:_LONGEST],
        )
        try:
            if self._store is not None:
                self._store.add_audit(entry)
                return
            reason = "there is no store"
        except GroundwireError as error:
            reason = error.message
        log.warning("%s by %s: %s %s (not in the audit log: %s)", action, actor, subject, detail, reason)

    def add_in_background(self, action: str, actor: str) -> None:
        """Append an entry without waiting for the store."""
        Thread(target=self.add, args=(action, actor), name="groundwire-audit").start()

    def last(self, limit: int = 100, owner: str | None = None) -> Sequence[AuditEntry]:
        """The last entries, the newest first; those of one owner if one is named. Blocks."""
        return self._store.audit(limit, owner) if self._store is not None else ()
