"""Shares: links that show a session to anybody who has them, read-only, until they expire or are revoked.

The token of a link is random and is not stored, only its digest. A share ends with the message that was the
last one when it was made, so what is asked later stays private.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from hashlib import sha256
from uuid import uuid4

from groundwire.chat.storage import StoreThreads
from groundwire.chat.turns import missing, timestamp
from groundwire.model.value import value
from groundwire.store.base import Session, SessionShare, Store

DAY = 24 * 3600
LIFETIMES: Mapping[str, int] = {"1d": DAY, "7d": 7 * DAY, "30d": 30 * DAY, "90d": 90 * DAY}
"""How long a share is valid, in seconds."""
_TOKEN_BYTES = 24


@value
class SharedSession:
    """A share, and the session that it shows."""

    share: SessionShare
    session: Session


class SessionShares:
    """The shares of all sessions of a store."""

    def __init__(self, store: Store, threads: StoreThreads, clock: Callable[[], float]) -> None:
        self._store = store
        self._threads = threads
        self._clock = clock

    async def create(self, session: Session, lifetime: str) -> str:
        """Share what a session contains now; returns the token of the link, which is not stored."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        now = self._clock()
        last = await self._threads.run(lambda: self._store.messages(session.id, 0, 1))
        share = SessionShare(
            uuid4().hex,
            digest_of(token),
            session.id,
            session.owner,
            last[-1].number if last else 0,
            timestamp(now),
            timestamp(now + LIFETIMES.get(lifetime, LIFETIMES["7d"])),
        )
        await self._threads.run(lambda: self._store.add_share(share))
        return token

    async def find(self, token: str) -> SharedSession:
        """The share of a token; raises `TurnedAway` if it does not exist, was revoked or has expired."""
        share = await self._threads.run(lambda: self._store.share(digest_of(token)))
        if share is None or share.expires <= timestamp(self._clock()):
            raise missing("share")
        session = await self._threads.run(lambda: self._store.session(share.session))
        if session is None or session.owner != share.owner:
            raise missing("share")
        return SharedSession(share, session)

    async def all(self, owner: str) -> list[SharedSession]:
        """The shares of an owner that are valid, the newest first."""
        now = timestamp(self._clock())
        shares = [
            one for one in await self._threads.run(lambda: self._store.shares(owner)) if one.expires > now
        ]
        names = {share.session for share in shares}
        sessions = await self._threads.run(lambda: {name: self._store.session(name) for name in names})
        return [SharedSession(share, found) for share in shares if (found := sessions[share.session])]

    async def revoke(self, owner: str, share: str) -> None:
        """Revoke a share; raises `TurnedAway` if the owner has none of this id."""
        if not await self._threads.run(lambda: self._store.remove_share(share, owner)):
            raise missing("share")


def digest_of(token: str) -> str:
    """What is stored of a token. It is random, so a plain hash is enough."""
    return sha256(token.encode("utf-8", "replace")).hexdigest()
