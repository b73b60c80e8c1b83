"""API keys and ended logins in the store that several gateways share.

Requests are checked against a snapshot in memory. A thread asks the store twice a second whether something
has changed, so a key that is created or revoked on one gateway is known to the others within a second; with
Redis, a message makes it ask at once. While the store does not respond, the last snapshot stays valid:
existing keys keep working, and changes, which need the store too, wait for it.

The same thread reads the clock of the store, by which keys and logins expire on every gateway.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from threading import Event, Lock, Thread
from time import time

from groundwire.errors import ConfigError, GroundwireError
from groundwire.model.access import MEMBER_RIGHTS, KeyRights
from groundwire.server.auth import AccessKeys
from groundwire.server.keys import access_keys, new_key, timestamp
from groundwire.store.base import ApiKey, Store
from groundwire.store.clock import StoreClock

log = logging.getLogger("groundwire.gateway")

POLL_SECONDS = 0.5
MAX_CLOCK_DIFFERENCE = 5.0
"""Seconds by which the clock of this machine may differ from the store's without a warning."""

ACCESS_TOPIC = "access"
"""The messages of gateways that keys or logins have changed."""


class StoredKeys:
    """The API keys in a store. `on_change` is called after every change."""

    def __init__(self, store: Store, on_change: Callable[[], object] = lambda: None) -> None:
        self._store = store
        self._on_change = on_change

    def entries(self) -> Sequence[ApiKey]:
        """All keys, also the revoked ones."""
        return self._store.api_keys()

    def create(
        self, name: str, now: float, rights: KeyRights = MEMBER_RIGHTS, parent: str = ""
    ) -> tuple[str, ApiKey]:
        """Create a key; returns the key itself and its record."""
        key, record = new_key(name, now, self.entries(), rights, parent)
        self._store.put_key(record)
        self._on_change()
        return key, record

    def change(self, id: str, change: Callable[[ApiKey], ApiKey]) -> ApiKey | None:  # noqa: A002
        """Replace a record; returns it, None if there is no such key."""
        changed = self._store.change_key(id, change)
        self._on_change()
        return changed

    def revoke(self, which: str, now: float) -> Sequence[ApiKey]:
        """Revoke the key with this id, or all keys of this name; returns those that were revoked."""
        revoked = self._store.revoke_keys(which, timestamp(now))
        self._on_change()
        return revoked

    def add(self, keys: Iterable[ApiKey]) -> int:
        """Add keys of another installation, revoked ones included; returns how many are new."""
        known = {key.fingerprint for key in self.entries()}
        new = [key for key in keys if key.fingerprint not in known]
        for key in new:
            self._store.put_key(key)
        self._on_change()
        return len(new)

    def reset_hint(self) -> str:
        """What to do to use the gateway without keys again."""
        return "Create a new one with `groundwire keys create`."


class SharedAccess:
    """A snapshot of the keys and ended logins of a store, which a thread keeps up to date. `on_change` is
    called after a login was ended here."""

    def __init__(
        self,
        store: Store,
        *,
        machine_clock: Callable[[], float] = time,
        interval: float = POLL_SECONDS,
        on_change: Callable[[], object] = lambda: None,
    ) -> None:
        self._store = store
        self._on_change = on_change
        self._interval = interval
        self.clock = StoreClock(store)
        self._revision = -1
        self._keys = AccessKeys()
        self._ended: frozenset[str] = frozenset()
        self._changing = Lock()
        self._woken = Event()
        self._is_closing = False
        self.refresh()
        _check_clock(machine_clock() - self.clock())
        self._thread = Thread(target=self._follow, name="groundwire-access", daemon=True)
        self._thread.start()

    def __call__(self) -> AccessKeys:
        """The keys that are accepted."""
        return self._keys

    def __contains__(self, login: str) -> bool:
        """Has this login been ended?"""
        return login in self._ended

    def add(self, login: str, expires: int) -> None:
        """End a login, here at once and on the other gateways within a second. Blocks."""
        with self._changing:
            self._store.end_login(login, expires, self.clock())
            self._ended |= {login}
        self._on_change()

    def wake(self) -> None:
        """Ask the store now, in the background."""
        self._woken.set()

    def close(self) -> None:
        """Stop following the store."""
        self._is_closing = True
        self._woken.set()
        self._thread.join()

    def _follow(self) -> None:
        failing = False
        while True:
            self._woken.wait(self._interval)
            if self._is_closing:
                return
            self._woken.clear()
            try:
                self.refresh()
                failing = False
            except GroundwireError as error:
                if not failing:
                    log.warning("the keys cannot be read again, the known ones stay: %s", error.message)
                failing = True

    def refresh(self) -> None:
        """Read the keys and ended logins again, if they have changed. Blocks."""
        with self._changing:
            self.clock.read()
            revision = self._store.access_revision()
            if revision != self._revision:
                self._keys = access_keys(self._store.api_keys())
                self._ended = self._store.ended_logins()
                self._revision = revision


def _check_clock(difference: float) -> None:
    if abs(difference) > MAX_CLOCK_DIFFERENCE:
        log.warning(
            "the clock of this machine is %.0f seconds %s the store's: keys, logins and links expire by the "
            "store's, and logs have the time of this machine",
            abs(difference),
            "ahead of" if difference > 0 else "behind",
        )


def check_own_keys(stored: Sequence[ApiKey], own: Sequence[ApiKey], path: str) -> None:
    """Refuse to start with keys that only this gateway knows: others would answer without a key."""
    if own and not stored:
        raise ConfigError(
            f"the store is shared and has no keys, but {path} has some, which other gateways do not know: "
            "copy them with `groundwire keys import`, or delete that file"
        )
