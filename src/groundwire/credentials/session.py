"""ChatGPT sessions: kept fresh in the stores of OpenCode and Codex CLI, which several processes share.

A process that finds a session close to its end takes the store's lock and reads the store again: another
process may have been faster, then its tokens are used. Otherwise the refresh token is spent (once), the
response is written to the journal before anything else, and then to the store, if the store still holds the
token that was spent: a slower process never overwrites newer tokens.

* OpenCode and Codex CLI do not take our lock. When they were faster, the login service rejects our token;
their
  tokens appear in the store soon after, and are used.
* Cancelling does not interrupt a refresh that has begun: the caller returns when the response is stored.
* While the old access token works, a refresh that fails temporarily is a warning, not an error.
* A rejection is remembered in the journal: a dead session costs one request, not one for each search.
* A worker process spends the token and holds the lock meanwhile: it does not die with the process that needs
it.

`journal` explains what a kill at the wrong moment can still cost. A program that does not take the lock can
still write the store between our last read and our rename, microseconds later.
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
    StoreEdits,
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
from groundwire.files.lock import locked_async
from groundwire.files.text_file import TextFile, read_checked, write_private
from groundwire.model.value import replace, value

T = TypeVar("T")

SendRefresh: TypeAlias = Callable[[str, Mapping[str, str], bytes], Awaitable[tuple[int, bytes]]]
"""POST a body with headers to a URL; returns status and body of the response."""

_IN_PROGRESS = "the session is being refreshed and no answer has come; try again"
_WORKER_ENDED = "the process that refreshes the session was ended; try again"


class _SessionFormat(NamedTuple):
    """How one program stores its session, and how its user logs in again."""

    parse: Callable[[TextFile], StoreContents]
    edits: Callable[[Credential, Tokens, float], StoreEdits]
    name: str
    """The key of the session in the contents of the store."""
    login: str


_FORMATS: Mapping[str, _SessionFormat] = {
    "openai": _SessionFormat(
        lambda file: parse_opencode(file, OPENCODE_FILE), opencode_edits, "openai", "opencode auth login"
    ),
    CODEX_ENTRY: _SessionFormat(parse_codex, codex_edits, "", "codex login"),
}
"""By the entry in the store. Sessions of other providers are never sent to OpenAI's login service."""


@value
class RefreshTimeouts:
    """Time limits of a refresh, in seconds."""

    margin: float = 300.0
    """How long before its end a session is refreshed."""
    lock: float = 30.0
    answer: float = 25.0
    rival: float = 2.0
    """For another program to store the tokens that it got, or to finish writing."""
    grace: float = 10.0
    """For a refresh whose caller was cancelled."""
    poll: float = 0.05


TIMEOUTS = RefreshTimeouts()


@value
class RefreshTask:
    """What a worker process needs to refresh a session. It reads the token from the store, so no secret is
    passed to it."""

    store: str
    entry: str
    origin: str
    spends: str
    """The digest of the token to spend; if the store holds another one by now, nothing is sent."""
    url: str
    now: float
    until: float
    cut: bool
    """Was an earlier refresh cut off before its response arrived?"""
    timeouts: RefreshTimeouts = TIMEOUTS


RefreshInWorker: TypeAlias = Callable[[RefreshTask, int], Awaitable[GroundwireError | None]]
"""Runs a task in a process that inherits the descriptor of the lock; returns its error, if any."""


class StoredSession(NamedTuple):
    """The session in a store, the text of the store, and why it could not be read."""

    session: Credential | None = None
    text: str = ""
    problem: str = ""


def is_refreshable(credential: Credential) -> bool:
    """Is it a session that we know how to refresh?"""
    return credential.kind == "oauth" and credential.entry.rstrip("/") in _FORMATS


def read_session(credential: Credential) -> StoredSession:
    """Read the session from its store."""
    file = read_checked(credential.store) if credential.store else None
    if file is None:
        return StoredSession()
    format_ = _format_of(credential)
    contents = format_.parse(file)
    found = contents.credentials.get(format_.name, ())
    session = next((item for item in found if item.kind == "oauth"), None)
    return StoredSession(session, file.text, contents.problem)


async def wait_for_session(
    credential: Credential, done: Callable[[StoredSession], bool], timeout: float, pause: float
) -> StoredSession:
    """Read the store until a condition is met or the time is up; returns the last result.

    Codex CLI writes its file in place, so a reader may see half of it and has to read again.
    """
    loop = asyncio.get_running_loop()
    ends = loop.time() + timeout
    while not done(stored := read_session(credential)) and loop.time() < ends:
        await asyncio.sleep(pause)
    return stored


def write_back(credential: Credential, text: str, tokens: Tokens, now: float) -> None:
    """Replace the tokens of a session in its store; `text` is the store as just read."""
    from groundwire.files.json_edit import set_values  # noqa: PLC0415  few processes refresh a session

    edits = _format_of(credential).edits(credential, tokens, now)
    write_private(credential.store, set_values(text, edits))


def with_tokens(session: Credential, tokens: Tokens) -> Credential:
    """A session with its new tokens."""
    return replace(
        session,
        secret=tokens.access,
        expires=tokens.expires,
        refresh=tokens.refresh or session.refresh,
        account_id=tokens.account_id or session.account_id,
    )


def session_over(
    credential: Credential, code: str, status: int | None = None, detail: str = ""
) -> AuthRejected:
    """The error after which the user has to log in again."""
    return AuthRejected(
        f"the ChatGPT session of {credential.origin} is over ({code}{detail}); "
        f"log in again with `{_format_of(credential).login}`",
        status=status,
        upstream_code=code,
    )


def _format_of(credential: Credential) -> _SessionFormat:
    return _FORMATS[credential.entry.rstrip("/")]


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
            task.exception()  # mark it as retrieved: the caller may be gone


@value
class _Refresh:
    """One attempt to get a usable session."""

    credential: Credential
    send: SendRefresh
    now: float
    until: float
    url: str
    timeouts: RefreshTimeouts
    refused: Secret = NO_SECRET
    """The access token that the provider has refused."""
    in_worker: RefreshInWorker | None = None

    def is_usable(self, candidate: Credential) -> bool:
        return candidate.secret != self.refused and _works_until(candidate, self.until)


async def ensure_fresh(
    credential: Credential,
    send: SendRefresh,
    now: float,
    *,
    url: str = TOKEN_URL,
    timeouts: RefreshTimeouts = TIMEOUTS,
    in_worker: RefreshInWorker | None = None,
) -> Credential:
    """The credential, or its successor if it ends within the margin.

    Raises `AuthRejected` when the user has to log in again, and other errors when the session has ended and
    could not be refreshed for now.
    """
    refresh = _Refresh(credential, send, now, now + timeouts.margin, url, timeouts, in_worker=in_worker)
    if refresh.is_usable(credential) or not is_refreshable(credential):
        return credential
    try:
        return await _renew(refresh)
    except (UpstreamError, UpstreamWireError, ConfigError) as error:
        if isinstance(error, AuthRejected) or not _works_until(credential, now):
            raise
        return _with_warning(credential, f"{credential.origin} is about to end: {error.message}")


async def renew_refused(
    credential: Credential,
    send: SendRefresh,
    now: float,
    *,
    url: str = TOKEN_URL,
    timeouts: RefreshTimeouts = TIMEOUTS,
    in_worker: RefreshInWorker | None = None,
) -> Credential:
    """A replacement for a credential that the provider has refused: from the store, or refreshed."""
    if not is_refreshable(credential):
        raise AuthRejected(f"{credential.origin} was refused; check it or get a new one")
    return await _renew(_Refresh(credential, send, now, now, url, timeouts, credential.secret, in_worker))


async def run_refresh_task(task: RefreshTask, send: SendRefresh) -> None:
    """Refresh a session in the worker process, which has inherited the lock. Raises the error."""
    credential = Credential(NO_SECRET, "oauth", task.origin, store=task.store, entry=task.entry)
    refresh = _Refresh(credential, send, task.now, task.until, task.url, task.timeouts)
    session = await _current(refresh)
    if digest(session.refresh) == task.spends:
        # The caller cannot use this access token, whatever its expiry says.
        refresh = replace(refresh, refused=session.secret)
        await _spend_and_store(refresh, session, Journal(task.store), cut=task.cut)


def _works_until(credential: Credential, until: float) -> bool:
    return bool(credential.secret) and (credential.expires is None or credential.expires > until)


async def _renew(refresh: _Refresh) -> Credential:
    store = refresh.credential.store
    if not store:
        return await _renew_in_memory(refresh)
    session = await _current(refresh)
    if refresh.is_usable(session):
        return session
    async with locked_async(f"{store}.lock", refresh.timeouts.lock, refresh.timeouts.poll) as lock:
        return await uninterrupted(_renew_in_store(refresh, lock), refresh.timeouts.grace)


async def _renew_in_memory(refresh: _Refresh) -> Credential:
    session = refresh.credential
    try:
        tokens = await _spend(refresh, session)
    except AuthRejected as error:
        raise session_over(session, error.upstream_code or "refused", error.status) from None
    return _with_warning(
        with_tokens(session, tokens),
        f"{session.origin} cannot be written back: the new session ends with this process, "
        "the old one is spent",
    )


async def _renew_in_store(refresh: _Refresh, lock: int) -> Credential:
    """With the lock held: read again, use what a killed process left in the journal, else spend the token."""
    journal = Journal(refresh.credential.store)
    session = await _current(refresh)
    ready = await _ready(refresh, session, journal)
    if ready is not None:
        return ready
    session = await _current(refresh)  # tokens from the journal may be there now, and about to end as well
    cut = journal.about(session.refresh, refresh.now).is_unanswered
    if refresh.in_worker is None:
        return await _spend_and_store(refresh, session, journal, cut=cut)
    error = await _run_in_worker(refresh, refresh.in_worker, session, lock, cut=cut)
    if isinstance(error, AuthRejected):
        raise error
    ready = await _ready(refresh, await _current(refresh), journal)
    if ready is None:
        raise error or Interrupted(_WORKER_ENDED)
    return ready


async def _ready(refresh: _Refresh, session: Credential, journal: Journal) -> Credential | None:
    """What can be used without spending a token: the session in the store, or tokens in the journal."""
    if refresh.is_usable(session):
        return session
    left = journal.about(session.refresh, refresh.now)
    if left.refused:
        raise session_over(session, left.refused, 401)
    if left.tokens is None:
        return None
    found, problem = await _store(refresh, session, left.tokens, journal)
    if refresh.is_usable(found):
        return _with_warning(found, problem)
    if problem:  # do not get more tokens while one response could not be stored
        raise ConfigError(problem)
    return None


async def _run_in_worker(
    refresh: _Refresh, in_worker: RefreshInWorker, session: Credential, lock: int, *, cut: bool
) -> GroundwireError | None:
    task = RefreshTask(
        session.store,
        session.entry,
        session.origin,
        digest(session.refresh),
        refresh.url,
        refresh.now,
        refresh.until,
        cut=cut,
        timeouts=refresh.timeouts,
    )
    try:
        async with asyncio.timeout(refresh.timeouts.answer + refresh.timeouts.lock):
            return await in_worker(task, lock)
    except TimeoutError:
        return TimedOut(_IN_PROGRESS)


async def _spend_and_store(
    refresh: _Refresh, session: Credential, journal: Journal, *, cut: bool
) -> Credential:
    """Spend the refresh token and store the response."""
    journal.begin(session.refresh)
    try:
        return await _spend_with_journal(refresh, session, journal, cut=cut)
    finally:
        journal.close()


async def _spend_with_journal(
    refresh: _Refresh, session: Credential, journal: Journal, *, cut: bool
) -> Credential:
    try:
        tokens = await _spend(refresh, session)
    except AuthRejected as error:
        newer = await _stored_by_another(refresh, session.refresh)
        if newer is not None:
            journal.clear()
            return newer
        code = error.upstream_code or "refused"
        journal.refuse(session.refresh, code, refresh.now)
        detail = ", and an earlier refresh was cut off before its answer came" if cut else ""
        raise session_over(session, code, error.status, detail) from None
    except (UpstreamError, UpstreamWireError):
        journal.clear()
        raise
    journal.save(session.refresh, tokens)
    fresh, problem = await _store(refresh, session, tokens, journal)
    return _with_warning(fresh, problem)


async def _spend(refresh: _Refresh, session: Credential) -> Tokens:
    if not session.refresh:
        raise session_over(session, "no_refresh_token")
    try:
        async with asyncio.timeout(refresh.timeouts.answer):
            status, body = await refresh.send(*refresh_request(session.refresh, url=refresh.url))
    except TimeoutError:
        raise TimedOut("the login service did not answer in time; try again") from None
    return read_refresh_answer(status, body, refresh.now)


async def _store(
    refresh: _Refresh, session: Credential, tokens: Tokens, journal: Journal
) -> tuple[Credential, str]:
    """Write new tokens back, unless the store holds another session by now; with the problem, if any."""
    fresh = with_tokens(session, tokens)
    try:
        stored = await _wait(refresh, lambda stored: not stored.problem)
        if stored.problem:
            return fresh, stored.problem
        found = stored.session
        if found is None or found.refresh != session.refresh:
            journal.clear()
            return (found if found is not None and refresh.is_usable(found) else fresh), ""
        write_back(session, stored.text, tokens, refresh.now)
    except OSError as error:
        return fresh, f"{session.store} cannot be written ({error.strerror}); make it writable"
    except ConfigError as error:
        return fresh, error.message
    journal.clear()
    return fresh, ""


async def _stored_by_another(refresh: _Refresh, spent: Secret) -> Credential | None:
    """The session of another program that has spent the same token just before us."""
    stored = await _wait(
        refresh, lambda stored: stored.session is not None and stored.session.refresh != spent
    )
    found = stored.session
    return found if found is not None and found.refresh != spent and refresh.is_usable(found) else None


async def _current(refresh: _Refresh) -> Credential:
    stored = await _wait(refresh, lambda stored: stored.session is not None)
    if stored.session is not None:
        return stored.session
    if stored.problem:
        raise ConfigError(stored.problem)
    raise session_over(refresh.credential, "logged_out")


async def _wait(refresh: _Refresh, done: Callable[[StoredSession], bool]) -> StoredSession:
    return await wait_for_session(refresh.credential, done, refresh.timeouts.rival, refresh.timeouts.poll)


def _with_warning(credential: Credential, warning: str) -> Credential:
    return replace(credential, warnings=(*credential.warnings, warning)) if warning else credential


class Refresher:
    """Gives the current form of every credential, for the lifetime of a process.

    `ensure_fresh` keeps no state, which is right for a session in a file. A session in an environment
    variable has no file, so its successor is kept here: spending its refresh token a second time would end
    the session.
    """

    def __init__(
        self,
        send: SendRefresh,
        clock: Callable[[], float],
        *,
        url: str = TOKEN_URL,
        timeouts: RefreshTimeouts = TIMEOUTS,
        in_worker: RefreshInWorker | None = None,
    ) -> None:
        self._send = send
        self._clock = clock
        self._url = url
        self._pace = timeouts
        self._in_worker = in_worker
        self._successors: dict[Secret, Credential] = {}
        # Not an asyncio lock: one process may run several event loops, in turn or in threads.
        self._busy = threading.Lock()

    async def fresh(self, credential: Credential) -> Credential:
        """The credential, or its successor when it is close to its end."""

        async def renew(latest: Credential) -> Credential:
            return await ensure_fresh(
                latest,
                self._send,
                self._clock(),
                url=self._url,
                timeouts=self._pace,
                in_worker=self._in_worker,
            )

        return await self._renewed(credential, renew)

    async def after_refusal(self, credential: Credential) -> Credential:
        """A replacement for a credential that the provider has just refused."""

        async def renew(latest: Credential) -> Credential:
            if latest.secret != credential.secret:
                return latest
            return await renew_refused(
                latest,
                self._send,
                self._clock(),
                url=self._url,
                timeouts=self._pace,
                in_worker=self._in_worker,
            )

        return await self._renewed(credential, renew)

    async def _renewed(
        self, credential: Credential, renew: Callable[[Credential], Awaitable[Credential]]
    ) -> Credential:
        if credential.store or not credential.refresh:
            return await renew(credential)
        await self._acquire()
        try:
            return await uninterrupted(self._renew_latest(credential, renew), self._pace.grace)
        finally:
            self._busy.release()

    async def _renew_latest(
        self, credential: Credential, renew: Callable[[Credential], Awaitable[Credential]]
    ) -> Credential:
        latest = self._latest(credential)
        found = await renew(latest)
        if found is not latest:
            self._successors[latest.refresh] = found
        return found

    def _latest(self, credential: Credential) -> Credential:
        while (successor := self._successors.get(credential.refresh)) is not None:
            if successor.refresh == credential.refresh:
                return successor
            credential = successor
        return credential

    async def _acquire(self) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._pace.lock
        while not self._busy.acquire(blocking=False):
            if loop.time() >= ends:
                raise TimedOut(_IN_PROGRESS)
            await asyncio.sleep(self._pace.poll)
