"""ChatGPT sessions in other programs' stores: read as they are now, replaced if they are still the same.

Both programs keep the session in a JSON file, each in its own words; a table says which. Codex CLI writes its
file in place, so a reader may see half of it, and looks again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import NamedTuple, TypeAlias, TypeVar

from groundwire.credentials.journal import Journal, digest
from groundwire.credentials.oauth import TOKEN_URL, read_refresh_answer, refresh_request
from groundwire.credentials.secret import NO_SECRET, Credential, Secret, Tokens
from groundwire.credentials.stores import (
    CODEX_ENTRY,
    OPENCODE_FILE,
    StoreContents,
    codex_edits,
    opencode_edits,
    parse_codex,
    parse_opencode,
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
from groundwire.files.json_edit import JsonEdit, set_values
from groundwire.files.lock import locked_async
from groundwire.files.text_file import TextFile, read_checked, write_private
from groundwire.model.value import replace, value

T = TypeVar("T")


class _Kind(NamedTuple):
    """How one program keeps the session, and how its user gets a new one."""

    parse: Callable[[TextFile], StoreContents]
    edits: Callable[[Credential, Tokens, float], list[JsonEdit]]
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


class StoredSession(NamedTuple):
    """What a store holds at one moment."""

    session: Credential | None = None
    text: str = ""
    problem: str = ""


def is_refreshable(credential: Credential) -> bool:
    """Is it a session that we know how to refresh?"""
    return credential.kind == "oauth" and credential.entry.rstrip("/") in _KINDS


def read_session(credential: Credential) -> StoredSession:
    """What the store of a session holds now."""
    document = read_checked(credential.store) if credential.store else None
    if document is None:
        return StoredSession()
    kind = _kind(credential)
    shelf = kind.parse(document)
    found = shelf.credentials.get(kind.name, ())
    session = next((item for item in found if item.kind == "oauth"), None)
    return StoredSession(session, document.text, shelf.problem)


async def wait_for_session(
    credential: Credential, done: Callable[[StoredSession], bool], patience: float, pause: float
) -> StoredSession:
    """What the store holds as soon as a condition is met, or when patience ends."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + patience
    while not done(reading := read_session(credential)) and loop.time() < ends:
        await asyncio.sleep(pause)
    return reading


def write_back(credential: Credential, text: str, tokens: Tokens, now: float) -> None:
    """Put new tokens in the place of a session's old ones; `text` is the store as just read."""
    edits = _kind(credential).edits(credential, tokens, now)
    write_private(credential.store, set_values(text, edits))


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


async def uninterrupted(work: Coroutine[object, object, T], grace: float) -> T:
    """Await some work. A cancelled caller leaves when the work is done, or when the grace period ends."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=grace)
        raise
    finally:
        if not task.done():
            task.cancel()
        elif not task.cancelled():
            task.exception()  # mark it as retrieved, even if nobody is left to raise it to


SendRefresh: TypeAlias = Callable[[str, Mapping[str, str], bytes], Awaitable[tuple[int, bytes]]]
"""POST a body with headers to an address; the status and the body of the answer."""


@value
class RefreshTimeouts:
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


PACE = RefreshTimeouts()


@value
class RefreshTask:
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
    pace: RefreshTimeouts = PACE


RefreshInWorker: TypeAlias = Callable[[RefreshTask, int], Awaitable[GroundwireError | None]]
"""Has an errand done by a process that inherits the descriptor of the lock; gives what went wrong."""


@value
class _Job:
    credential: Credential
    send: SendRefresh
    now: float
    until: float
    url: str
    pace: RefreshTimeouts
    refused: Secret = NO_SECRET
    apart: RefreshInWorker | None = None

    def usable(self, candidate: Credential) -> bool:
        return candidate.secret != self.refused and _works_until(candidate, self.until)


async def ensure_fresh(
    credential: Credential,
    send: SendRefresh,
    now: float,
    *,
    url: str = TOKEN_URL,
    pace: RefreshTimeouts = PACE,
    apart: RefreshInWorker | None = None,
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
    send: SendRefresh,
    now: float,
    *,
    url: str = TOKEN_URL,
    pace: RefreshTimeouts = PACE,
    apart: RefreshInWorker | None = None,
) -> Credential:
    """Another credential than one the provider has refused: what the store holds by now, or a fresh one."""
    if not is_refreshable(credential):
        raise AuthRejected(f"{credential.origin} was refused; check it or get a new one")
    return await _renew(_Job(credential, send, now, now, url, pace, credential.secret, apart))


async def run_refresh_task(errand: RefreshTask, send: SendRefresh) -> None:
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
    lock_path = f"{job.credential.store}.lock"
    async with locked_async(lock_path, job.pace.lock, job.pace.poll) as lock:
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
    """With the lock held: read_session again, take up what a killed process left, else have the token
    spent."""
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
    job: _Job, apart: RefreshInWorker, held: Credential, lock: int, *, cut: bool
) -> GroundwireError | None:
    spends = digest(held.refresh)
    errand = RefreshTask(
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


async def _look(job: _Job, done: Callable[[StoredSession], bool]) -> StoredSession:
    return await wait_for_session(job.credential, done, job.pace.rival, job.pace.poll)


def _warned(credential: Credential, warning: str) -> Credential:
    return replace(credential, warnings=(*credential.warnings, warning)) if warning else credential


class Refresher:
    """Gives every credential as it is now."""

    def __init__(
        self,
        send: SendRefresh,
        clock: Callable[[], float],
        *,
        url: str = TOKEN_URL,
        pace: RefreshTimeouts = PACE,
        apart: RefreshInWorker | None = None,
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
