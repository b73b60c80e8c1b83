"""Keeping a ChatGPT session fresh, among several processes that share one file.

Strategy. Whoever finds a session close to its end takes the store's lock, and reads the store again: another
process may have been quicker, then its tokens are used. Else the refresh token is spent (once), the answer
is journalled before anything else happens, and put into the store if the store still holds the token that
was spent: a loser never overwrites a winner.

* OpenCode and Codex CLI do not take our lock. When they were quicker, the login service refuses our token;
  then their tokens appear in the store within a moment, and are used.
* Cancelling does not interrupt a refresh that has begun: the caller leaves when the answer is stored.
* While the old access token still works, a refresh that fails for the moment is a warning, not an error.
* A refusal is remembered with the journal: a dead session costs one request, not one for each search.

* A process apart spends the token, and holds the lock meanwhile: it does not end with whoever needed it.

What a kill at the wrong moment can still cost is told in `journal`. What a program without our lock can
still do is write the store between our last look and our rename, microseconds later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from groundwire.credentials.journal import Journal, digest
from groundwire.credentials.oauth import TOKEN_URL, read_refresh_answer, refresh_request
from groundwire.credentials.secret import NO_SECRET, Credential, Secret, Tokens
from groundwire.credentials.sessions import (
    Reading,
    is_refreshable,
    look_until,
    renewed,
    session_over,
    write_back,
)
from groundwire.errors import (
    AuthRejected,
    ConfigError,
    GroundwireError,
    Interrupted,
    TimedOut,
    UpstreamError,
    UpstreamWireError,
)
from groundwire.files.lock import locked, uninterrupted
from groundwire.model.value import replace, value

Send: TypeAlias = Callable[[str, Mapping[str, str], bytes], Awaitable[tuple[int, bytes]]]
"""POST a body with headers to an address; the status and the body of the answer."""


@value
class Pace:
    """How long to wait for what, in seconds."""

    margin: float = 300.0
    """So long before its end a session is refreshed."""
    lock: float = 30.0
    answer: float = 25.0
    rival: float = 2.0
    """For another program to store the tokens it got, or to finish writing."""
    grace: float = 10.0
    """For a refresh whose caller was cancelled."""
    poll: float = 0.05


PACE = Pace()


@value
class Errand:
    """What a process apart must know to refresh a session. It finds the token where the session is kept, so
    that no secret is handed over."""

    store: str
    entry: str
    origin: str
    spends: str
    """The digest of the token that is to be spent; if the store holds another one by now, none is."""
    url: str
    now: float
    until: float
    cut: bool
    pace: Pace = PACE


Apart: TypeAlias = Callable[[Errand, int], Awaitable[GroundwireError | None]]
"""Has an errand done by a process that inherits the descriptor of the lock; gives what went wrong."""


@value
class _Job:
    credential: Credential
    send: Send
    now: float
    until: float
    url: str
    pace: Pace
    refused: Secret = NO_SECRET
    apart: Apart | None = None

    def usable(self, candidate: Credential) -> bool:
        return candidate.secret != self.refused and _works_until(candidate, self.until)


async def ensure_fresh(
    credential: Credential,
    send: Send,
    now: float,
    *,
    url: str = TOKEN_URL,
    pace: Pace = PACE,
    apart: Apart | None = None,
) -> Credential:
    """The credential, or its successor when it ends within the margin.

    Raises `AuthRejected` when only a new login helps, and other errors when the session has ended and could
    not be refreshed for the moment.
    """
    job = _Job(credential, send, now, now + pace.margin, url, pace, apart=apart)
    if job.usable(credential) or not is_refreshable(credential):
        return credential
    try:
        return await _renew(job)
    except (UpstreamError, UpstreamWireError, ConfigError) as error:
        if isinstance(error, AuthRejected) or not _works_until(credential, now):
            raise
        return _warned(credential, f"{credential.origin} is about to end: {error.message}")


async def renew_refused(
    credential: Credential,
    send: Send,
    now: float,
    *,
    url: str = TOKEN_URL,
    pace: Pace = PACE,
    apart: Apart | None = None,
) -> Credential:
    """Another credential than one the provider has refused: what the store holds by now, or a fresh one."""
    if not is_refreshable(credential):
        raise AuthRejected(f"{credential.origin} was refused; check it or get a new one")
    return await _renew(_Job(credential, send, now, now, url, pace, credential.secret, apart))


async def run_errand(errand: Errand, send: Send) -> None:
    """Refresh a session for a process that has left us its lock. Raises what went wrong."""
    asked = Credential(NO_SECRET, "oauth", errand.origin, store=errand.store, entry=errand.entry)
    job = _Job(asked, send, errand.now, errand.until, errand.url, errand.pace)
    held = await _held(job)
    if digest(held.refresh) == errand.spends:
        # Who sent us has no use for this access token, whatever its reasons.
        await _exchange(replace(job, refused=held.secret), held, Journal(errand.store), cut=errand.cut)


def _works_until(credential: Credential, until: float) -> bool:
    return bool(credential.secret) and (credential.expires is None or credential.expires > until)


async def _renew(job: _Job) -> Credential:
    if not job.credential.store:
        return await _renew_in_memory(job)
    held = await _held(job)
    if job.usable(held):
        return held
    async with locked(job.credential.store, job.pace.lock, job.pace.poll) as lock:
        return await uninterrupted(_renew_in_store(job, lock), job.pace.grace)


async def _renew_in_memory(job: _Job) -> Credential:
    held = job.credential
    try:
        tokens = await _spend(job, held)
    except AuthRejected as refusal:
        raise session_over(held, refusal.upstream_code or "refused", refusal.status) from None
    return _warned(
        renewed(held, tokens),
        f"{held.origin} cannot be written back: the new session ends with this process, the old one is spent",
    )


async def _renew_in_store(job: _Job, lock: int) -> Credential:
    """With the lock held: look again, take up what a killed process left, else have the token spent."""
    journal = Journal(job.credential.store)
    held = await _held(job)
    ready = await _ready(job, held, journal)
    if ready is not None:
        return ready
    held = await _held(job)  # tokens out of the journal may be there now, and at their end again
    cut = journal.about(held.refresh, job.now).is_unanswered
    if job.apart is None:
        return await _exchange(job, held, journal, cut=cut)
    trouble = await _sent_apart(job, job.apart, held, lock, cut=cut)
    if isinstance(trouble, AuthRejected):
        raise trouble
    ready = await _ready(job, await _held(job), journal)
    if ready is None:
        raise trouble or Interrupted("the process that refreshes the session was ended; try again")
    return ready


async def _ready(job: _Job, held: Credential, journal: Journal) -> Credential | None:
    """What can be used without spending a token: the store's session, or tokens that wait in the journal."""
    if job.usable(held):
        return held
    left = journal.about(held.refresh, job.now)
    if left.refused:
        raise session_over(held, left.refused, 401)
    if left.tokens is None:
        return None
    found, problem = await _store(job, held, left.tokens, journal)
    if job.usable(found):
        return _warned(found, problem)
    if problem:  # one answer that could not be stored is enough
        raise ConfigError(problem)
    return None


async def _sent_apart(
    job: _Job, apart: Apart, held: Credential, lock: int, *, cut: bool
) -> GroundwireError | None:
    spends = digest(held.refresh)
    errand = Errand(
        held.store, held.entry, held.origin, spends, job.url, job.now, job.until, cut=cut, pace=job.pace
    )
    try:
        async with asyncio.timeout(job.pace.answer + job.pace.lock):
            return await apart(errand, lock)
    except TimeoutError:
        return TimedOut("the session is being refreshed and no answer has come; try again")


async def _exchange(job: _Job, held: Credential, journal: Journal, *, cut: bool) -> Credential:
    """Spend the token and store the answer; `cut` when an earlier answer never arrived."""
    journal.ask(held.refresh)
    try:
        return await _answered(job, held, journal, cut=cut)
    finally:
        journal.close()


async def _answered(job: _Job, held: Credential, journal: Journal, *, cut: bool) -> Credential:
    try:
        tokens = await _spend(job, held)
    except AuthRejected as refusal:
        rival = await _rival(job, held.refresh)
        if rival is not None:
            journal.clear()
            return rival
        code = refusal.upstream_code or "refused"
        journal.refuse(held.refresh, code, job.now)
        more = ", and an earlier refresh was cut off before its answer came" if cut else ""
        raise session_over(held, code, refusal.status, more) from None
    except (UpstreamError, UpstreamWireError):
        journal.clear()
        raise
    journal.keep(held.refresh, tokens)
    fresh, problem = await _store(job, held, tokens, journal)
    return _warned(fresh, problem)


async def _spend(job: _Job, held: Credential) -> Tokens:
    if not held.refresh:
        raise session_over(held, "no_refresh_token")
    try:
        async with asyncio.timeout(job.pace.answer):
            status, body = await job.send(*refresh_request(held.refresh, url=job.url))
    except TimeoutError:
        raise TimedOut("the login service did not answer in time; try again") from None
    return read_refresh_answer(status, body, job.now)


async def _store(job: _Job, held: Credential, tokens: Tokens, journal: Journal) -> tuple[Credential, str]:
    """Write new tokens back, unless the store holds another session by now; and what was in the way."""
    fresh = renewed(held, tokens)
    try:
        reading = await _look(job, lambda reading: not reading.problem)
        if reading.problem:
            return fresh, reading.problem
        found = reading.session
        if found is None or found.refresh != held.refresh:
            journal.clear()
            return (found if found is not None and job.usable(found) else fresh), ""
        write_back(held, reading.text, tokens, job.now)
    except OSError as error:
        return fresh, f"{held.store} cannot be written ({error.strerror}); make it writable"
    except ConfigError as error:
        return fresh, error.message
    journal.clear()
    return fresh, ""


async def _rival(job: _Job, spent: Secret) -> Credential | None:
    """What somebody stored who spent the token a moment before us."""
    reading = await _look(
        job, lambda reading: reading.session is not None and reading.session.refresh != spent
    )
    found = reading.session
    return found if found is not None and found.refresh != spent and job.usable(found) else None


async def _held(job: _Job) -> Credential:
    reading = await _look(job, lambda reading: reading.session is not None)
    if reading.session is not None:
        return reading.session
    if reading.problem:
        raise ConfigError(reading.problem)
    raise session_over(job.credential, "logged_out")


async def _look(job: _Job, done: Callable[[Reading], bool]) -> Reading:
    return await look_until(job.credential, done, job.pace.rival, job.pace.poll)


def _warned(credential: Credential, warning: str) -> Credential:
    return replace(credential, warnings=(*credential.warnings, warning)) if warning else credential
