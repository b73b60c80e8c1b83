"""Fresh sessions for as long as a process lives.

`ensure_fresh` keeps nothing, which is right for a session in a file. A session in an environment variable has
no file, so somebody must remember its successor: who asked with the old one again would spend a spent token,
and the login service would end the whole session.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

from groundwire.credentials.oauth import TOKEN_URL
from groundwire.credentials.refresh import PACE, Apart, Pace, Send, ensure_fresh, renew_refused
from groundwire.credentials.secret import Credential, Secret
from groundwire.errors import TimedOut
from groundwire.files.lock import uninterrupted


class Refresher:
    """Gives every credential as it is now."""

    def __init__(
        self,
        send: Send,
        clock: Callable[[], float],
        *,
        url: str = TOKEN_URL,
        pace: Pace = PACE,
        apart: Apart | None = None,
    ) -> None:
        self._send = send
        self._clock = clock
        self._url = url
        self._pace = pace
        self._apart = apart
        self._successors: dict[Secret, Credential] = {}
        # Not asyncio's: one process may run several event loops, in turn or in threads.
        self._busy = threading.Lock()

    async def fresh(self, credential: Credential) -> Credential:
        """The credential, or its successor when it is close to its end."""

        async def renew(now: Credential) -> Credential:
            return await ensure_fresh(
                now, self._send, self._clock(), url=self._url, pace=self._pace, apart=self._apart
            )

        return await self._latest(credential, renew)

    async def after_refusal(self, credential: Credential) -> Credential:
        """Another credential than this one, which the provider has just refused."""

        async def renew(now: Credential) -> Credential:
            if now.secret != credential.secret:
                return now
            return await renew_refused(
                now, self._send, self._clock(), url=self._url, pace=self._pace, apart=self._apart
            )

        return await self._latest(credential, renew)

    async def _latest(
        self, credential: Credential, renew: Callable[[Credential], Awaitable[Credential]]
    ) -> Credential:
        if credential.store or not credential.refresh:
            return await renew(credential)
        await self._acquire()
        try:
            return await uninterrupted(self._succeed(credential, renew), self._pace.grace)
        finally:
            self._busy.release()

    async def _succeed(
        self, credential: Credential, renew: Callable[[Credential], Awaitable[Credential]]
    ) -> Credential:
        held = self._successor(credential)
        found = await renew(held)
        if found is not held:
            self._successors[held.refresh] = found
        return found

    def _successor(self, credential: Credential) -> Credential:
        while (later := self._successors.get(credential.refresh)) is not None:
            if later.refresh == credential.refresh:
                return later
            credential = later
        return credential

    async def _acquire(self) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._pace.lock
        while not self._busy.acquire(blocking=False):
            if loop.time() >= ends:
                raise TimedOut("the session is being refreshed and no answer has come; try again")
            await asyncio.sleep(self._pace.poll)
