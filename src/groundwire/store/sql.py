"""The store on a SQL database: the statements for SQLite and PostgreSQL, and `SqlStore`.

Statements are the same for both databases where possible; values are named `:name`.

Leases decide which process answers in a session. The database decides by its own clock, so processes need no
common one. A lease has a holder (a random token of one turn) and an expiry. A holder that dies does not renew
it, and the session is free again after that time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import LiteralString, Protocol, Self, cast

from groundwire.errors import RequestError
from groundwire.model.value import replace, value
from groundwire.store import ledger, spool
from groundwire.store.base import (
    Agent,
    AnswerRating,
    ApiKey,
    AuditEntry,
    BackgroundResponse,
    BudgetState,
    KeyUsageTotal,
    ResponseEntry,
    RowRefused,
    Session,
    SessionShare,
    StoredMessage,
    UsageRow,
    UsageTotal,
)
from groundwire.store.full_text import TOKENIZER_VERSION, FullText, indexed_words, owner_token, parse_query
from groundwire.store.rows import (
    Row,
    Values,
    agent_of,
    agent_values,
    audit_of,
    audit_values,
    cells,
    key_of,
    key_usage_of,
    key_values,
    message_of,
    message_values,
    rating_of,
    rating_values,
    session_of,
    session_values,
    share_of,
    share_values,
    usage_total_of,
    usage_values,
)

PUT_AGENT: LiteralString = """
INSERT INTO groundwire_agents (id, body, created, updated) VALUES (:id, :body, :created, :updated)
ON CONFLICT (id) DO UPDATE SET body = excluded.body, updated = excluded.updated
"""
AGENT: LiteralString = "SELECT id, body, created, updated FROM groundwire_agents WHERE id = :id"
AGENTS: LiteralString = "SELECT id, body, created, updated FROM groundwire_agents ORDER BY created, id"
REMOVE_AGENT: LiteralString = "DELETE FROM groundwire_agents WHERE id = :id RETURNING id"

PUT_SESSION: LiteralString = """
INSERT INTO groundwire_sessions (id, agent, owner, title, created, updated)
VALUES (:id, :agent, :owner, :title, :created, :updated)
ON CONFLICT (id) DO UPDATE SET agent = excluded.agent, title = excluded.title, updated = excluded.updated
"""
SESSION: LiteralString = """
SELECT id, agent, owner, title, created, updated, pinned, folder FROM groundwire_sessions WHERE id = :id
"""
SESSIONS: LiteralString = """
SELECT id, agent, owner, title, created, updated, pinned, folder FROM groundwire_sessions
WHERE owner = :owner AND (:id = '' OR (updated, id) < (:updated, :id))
ORDER BY updated DESC, id DESC LIMIT :limit
"""
FILE_SESSION: LiteralString = """
UPDATE groundwire_sessions SET pinned = :pinned, folder = :folder WHERE id = :id
"""
FILED_SESSIONS: LiteralString = """
SELECT id, agent, owner, title, created, updated, pinned, folder FROM groundwire_sessions
WHERE owner = :owner AND (pinned <> 0 OR folder <> '')
ORDER BY updated DESC, id DESC LIMIT :limit
"""
REMOVE_SESSION: LiteralString = "DELETE FROM groundwire_sessions WHERE id = :id RETURNING id"
# Also locks the session against concurrent writers until the transaction ends.
TOUCH_SESSION: LiteralString = """
UPDATE groundwire_sessions SET updated = CASE WHEN updated < :updated THEN :updated ELSE updated END
WHERE id = :id RETURNING owner
"""

ADD_SHARE: LiteralString = """
INSERT INTO groundwire_shares (id, digest, session, owner, last, created, expires)
VALUES (:id, :digest, :session, :owner, :last, :created, :expires)
"""
EXPIRED_SHARES: LiteralString = "DELETE FROM groundwire_shares WHERE expires <= :now"
SHARE: LiteralString = """
SELECT id, digest, session, owner, last, created, expires FROM groundwire_shares WHERE digest = :digest
"""
SHARES: LiteralString = """
SELECT id, digest, session, owner, last, created, expires FROM groundwire_shares
WHERE owner = :owner ORDER BY created DESC, id
"""
REMOVE_SHARE: LiteralString = "DELETE FROM groundwire_shares WHERE id = :id AND owner = :owner RETURNING id"

# The rating of an answer that was removed meanwhile is dropped.
PUT_RATING: LiteralString = """
INSERT INTO groundwire_ratings (message, session, owner, rating, rated)
SELECT id, session, :owner, :rating, :rated FROM groundwire_messages
WHERE id = :message AND session = :session
ON CONFLICT (message) DO UPDATE SET rating = excluded.rating, rated = excluded.rated
"""
REMOVE_RATING: LiteralString = "DELETE FROM groundwire_ratings WHERE message = :message AND owner = :owner"
RATINGS: LiteralString = """
SELECT message, session, owner, rating, rated FROM groundwire_ratings
WHERE owner = :owner AND (:session = '' OR session = :session) ORDER BY rated, message
"""

ADD_MESSAGE: LiteralString = """
INSERT INTO groundwire_messages (id, session, number, body, provider, created)
SELECT :id, :session, coalesce(max(number), 0) + 1, :body, :provider, :created
FROM groundwire_messages WHERE session = :session
ON CONFLICT (id) DO UPDATE SET body = excluded.body, provider = excluded.provider
    WHERE groundwire_messages.session = excluded.session
RETURNING number, created
"""
MESSAGES: LiteralString = """
SELECT id, session, body, provider, created, number FROM groundwire_messages
WHERE session = :session AND number < :until ORDER BY number DESC LIMIT :limit
"""

CUT_MESSAGES: LiteralString = """
DELETE FROM groundwire_messages WHERE session = :session AND number >= :number
"""
ALL_SESSIONS: LiteralString = "SELECT id, owner FROM groundwire_sessions ORDER BY created, id"
# Another process may have indexed some of them meanwhile.
UNINDEXED_MESSAGES: LiteralString = """
SELECT msg.id, msg.session, msg.body, msg.provider, msg.created, msg.number
FROM groundwire_messages AS msg
WHERE msg.session = :session
    AND NOT EXISTS (SELECT 1 FROM groundwire_words AS idx WHERE idx.message = msg.id)
ORDER BY msg.number
"""
INDEXED_VERSION: LiteralString = """
SELECT coalesce(max(version), 0) FROM groundwire_migrations WHERE component = 'words'
"""
SET_INDEXED_VERSION: LiteralString = """
INSERT INTO groundwire_migrations (component, version) VALUES ('words', :version)
ON CONFLICT (component, version) DO NOTHING
"""

KEYS: LiteralString = """
SELECT id, fingerprint, body, created, rights FROM groundwire_keys ORDER BY created, id
"""
PUT_KEY: LiteralString = """
INSERT INTO groundwire_keys (id, fingerprint, body, created, rights)
VALUES (:id, :fingerprint, :body, :created, :rights)
ON CONFLICT DO NOTHING
"""
REPLACE_KEY: LiteralString = "UPDATE groundwire_keys SET body = :body, rights = :rights WHERE id = :id"
ADD_AUDIT: LiteralString = """
INSERT INTO groundwire_audit (id, at, actor, action, subject, owner, detail)
VALUES (:id, :at, :actor, :action, :subject, :owner, :detail)
"""
AUDIT: LiteralString = """
SELECT id, at, actor, action, subject, owner, detail FROM groundwire_audit
WHERE :every = 1 OR owner = :owner
ORDER BY at DESC, id DESC LIMIT :limit
"""
REVISION: LiteralString = "SELECT number FROM groundwire_revisions WHERE name = 'access'"
# Also makes concurrent writers wait, so that readers see revisions in the order of the changes.
NEXT_REVISION: LiteralString = """
INSERT INTO groundwire_revisions (name, number) VALUES ('access', 1)
ON CONFLICT (name) DO UPDATE SET number = groundwire_revisions.number + 1
"""
END_LOGIN: LiteralString = """
INSERT INTO groundwire_logouts (login, expires) VALUES (:login, :expires) ON CONFLICT (login) DO NOTHING
"""
EXPIRED_LOGOUTS: LiteralString = "DELETE FROM groundwire_logouts WHERE expires <= :now"
LOGOUTS: LiteralString = "SELECT login FROM groundwire_logouts"

ADD_USAGE: LiteralString = """
INSERT INTO groundwire_usage (id, at, owner, provider, model, face, outcome, seconds, input_tokens,
    output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, tool_tokens, searches, fetches, cost,
    api_key, nano_usd, cache_hit)
VALUES (:id, :at, :owner, :provider, :model, :face, :outcome, :seconds, :input_tokens, :output_tokens,
    :cached_tokens, :cache_write_tokens, :reasoning_tokens, :tool_tokens, :searches, :fetches, :cost,
    :key, :nano_usd, :cache_hit)
ON CONFLICT (id) DO NOTHING
"""
# Sums of integers have another type in PostgreSQL.
USAGE: LiteralString = """
SELECT substr(at, 1, 10), provider, model, count(*), sum(CASE WHEN outcome = '' THEN 0 ELSE 1 END),
    CAST(sum(input_tokens) AS bigint), CAST(sum(output_tokens) AS bigint), CAST(sum(cached_tokens) AS bigint),
    CAST(sum(cache_write_tokens) AS bigint), CAST(sum(reasoning_tokens) AS bigint),
    CAST(sum(tool_tokens) AS bigint), CAST(sum(searches) AS bigint), CAST(sum(fetches) AS bigint),
    CAST(sum(coalesce(nano_usd, CAST(round(cost * 1e9) AS bigint))) AS bigint),
    sum(CASE WHEN cache_hit = 0 THEN seconds ELSE 0 END), CAST(sum(cache_hit) AS bigint)
FROM groundwire_usage
WHERE (:since = '' OR at >= :since) AND (:until = '' OR at < :until) AND owner = :owner
GROUP BY substr(at, 1, 10), provider, model
ORDER BY 1, 2, 3
"""
# Rows of keys without an owner's name, and those of earlier versions, have the fingerprint as the owner.
USAGE_BY_KEY: LiteralString = """
SELECT CASE WHEN api_key = '' THEN owner ELSE api_key END, count(*),
    sum(CASE WHEN outcome = '' THEN 0 ELSE 1 END),
    CAST(sum(input_tokens) AS bigint), CAST(sum(output_tokens) AS bigint), CAST(sum(cached_tokens) AS bigint),
    CAST(sum(cache_write_tokens) AS bigint), CAST(sum(reasoning_tokens) AS bigint),
    CAST(sum(tool_tokens) AS bigint), CAST(sum(searches) AS bigint), CAST(sum(fetches) AS bigint), sum(cost)
FROM groundwire_usage
WHERE :since = '' OR at >= :since
GROUP BY CASE WHEN api_key = '' THEN owner ELSE api_key END
"""


@value
class LeaseStatements:
    """The lease statements of one database; they differ in how the clock is read."""

    take: LiteralString
    """Returns a row if `:holder` has the lease of `:session` now, for `:seconds`."""
    renew: LiteralString
    """Returns a row if `:holder` still has it."""
    clock: LiteralString
    """Returns the seconds since 1970."""


DROP_LEASE: LiteralString = "DELETE FROM groundwire_leases WHERE session = :session"
RELEASE_LEASE: LiteralString = "DELETE FROM groundwire_leases WHERE session = :session AND holder = :holder"

# `julianday` has milliseconds in every version of SQLite; `unixepoch('subsec')` came with 3.42.
SQLITE_LEASES = LeaseStatements(
    """
    INSERT INTO groundwire_leases (session, holder, expires)
    VALUES (:session, :holder, (julianday('now') - 2440587.5) * 86400.0 + :seconds)
    ON CONFLICT (session) DO UPDATE SET holder = excluded.holder, expires = excluded.expires
        WHERE groundwire_leases.expires <= (julianday('now') - 2440587.5) * 86400.0
            OR groundwire_leases.holder = excluded.holder
    RETURNING holder
    """,
    """
    UPDATE groundwire_leases SET expires = (julianday('now') - 2440587.5) * 86400.0 + :seconds
    WHERE session = :session AND holder = :holder RETURNING holder
    """,
    "SELECT (julianday('now') - 2440587.5) * 86400.0",
)
# `now()` would be the start of the transaction, which may have waited for a lock.
POSTGRES_LEASES = LeaseStatements(
    """
    INSERT INTO groundwire_leases (session, holder, expires)
    VALUES (:session, :holder, extract(epoch FROM clock_timestamp()) + :seconds)
    ON CONFLICT (session) DO UPDATE SET holder = excluded.holder, expires = excluded.expires
        WHERE groundwire_leases.expires <= extract(epoch FROM clock_timestamp())
            OR groundwire_leases.holder = excluded.holder
    RETURNING holder
    """,
    """
    UPDATE groundwire_leases SET expires = extract(epoch FROM clock_timestamp()) + :seconds
    WHERE session = :session AND holder = :holder RETURNING holder
    """,
    "SELECT CAST(extract(epoch FROM clock_timestamp()) AS double precision)",
)


log = logging.getLogger("groundwire.store")

_ALL = 2**62
"""No limit."""
_SESSIONS = 100
"""Sessions indexed in one transaction, so that other writers get their turn."""


class Transaction(Protocol):
    """Executes statements: all of them or none."""

    def rows(self, statement: LiteralString, values: Values) -> list[Row]:
        """The rows of a statement; empty if it returns none."""
        ...

    def many(self, statement: LiteralString, values: Sequence[Values]) -> None:
        """Execute a statement for each set of values."""
        ...


class Database(Protocol):
    """A database whose schema is up to date."""

    def transaction(self, *, limited: bool = True) -> AbstractContextManager[Transaction]:
        """A transaction: on disk when the block ends, rolled back if something is raised.

        Statements time out, unless `limited` is false.
        """
        ...

    def check(self) -> None:
        """Raise `GroundwireError` if the database does not respond in time."""
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


class SqlStore:
    """`Store` on a SQL database."""

    def __init__(self, database: Database, words: FullText, leases: LeaseStatements) -> None:
        self._database = database
        self._words = words
        self._leases = leases

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close files and connections."""
        self._database.close()

    def put_agent(self, agent: Agent) -> None:
        """Add or replace an agent."""
        self._rows(PUT_AGENT, agent_values(agent))

    def agent(self, id: str) -> Agent | None:  # noqa: A002
        """An agent by its id."""
        return next(map(agent_of, self._rows(AGENT, cells(id=id))), None)

    def agents(self) -> list[Agent]:
        """All agents, the oldest first."""
        return [agent_of(row) for row in self._rows(AGENTS, {})]

    def remove_agent(self, id: str) -> bool:  # noqa: A002
        """Delete an agent; its sessions stay."""
        return bool(self._rows(REMOVE_AGENT, cells(id=id)))

    def put_session(self, session: Session) -> None:
        """Add a session, or update its title, agent and time."""
        self._rows(PUT_SESSION, session_values(session))

    def session(self, id: str) -> Session | None:  # noqa: A002
        """A session by its id."""
        return next(map(session_of, self._rows(SESSION, cells(id=id))), None)

    def sessions(self, owner: str, limit: int = 50, before: Session | None = None) -> list[Session]:
        """The sessions of an owner, the last used first."""
        after = before or Session("", "", owner)
        values = cells(owner=owner, id=after.id, updated=after.updated, limit=limit)
        return [session_of(row) for row in self._rows(SESSIONS, values)]

    def file_session(self, id: str, *, pinned: bool, folder: str) -> None:  # noqa: A002
        """Pin a session or put it into a folder."""
        self._rows(FILE_SESSION, cells(id=id, pinned=int(pinned), folder=folder))

    def filed_sessions(self, owner: str, limit: int = 200) -> list[Session]:
        """The sessions of an owner that are pinned or in a folder."""
        return [session_of(row) for row in self._rows(FILED_SESSIONS, cells(owner=owner, limit=limit))]

    def add_share(self, share: SessionShare) -> None:
        """Store a share of a session."""
        with self._database.transaction() as transaction:
            transaction.rows(EXPIRED_SHARES, cells(now=share.created))
            transaction.rows(ADD_SHARE, share_values(share))

    def share(self, digest: str) -> SessionShare | None:
        """The share with this digest of its token."""
        return next(map(share_of, self._rows(SHARE, cells(digest=digest))), None)

    def shares(self, owner: str) -> list[SessionShare]:
        """All shares of an owner, the newest first."""
        return [share_of(row) for row in self._rows(SHARES, cells(owner=owner))]

    def remove_share(self, id: str, owner: str) -> bool:  # noqa: A002
        """Revoke a share of an owner."""
        return bool(self._rows(REMOVE_SHARE, cells(id=id, owner=owner)))

    def put_rating(self, rating: AnswerRating) -> None:
        """Store or remove the rating of an answer."""
        self._rows(PUT_RATING if rating.rating else REMOVE_RATING, rating_values(rating))

    def ratings(self, owner: str, session: str = "") -> list[AnswerRating]:
        """The ratings of an owner."""
        return [rating_of(row) for row in self._rows(RATINGS, cells(owner=owner, session=session))]

    def remove_session(self, id: str) -> bool:  # noqa: A002
        """Delete a session with its messages."""
        with self._database.transaction() as transaction:
            self._unindex(transaction, id, 0)
            return bool(transaction.rows(REMOVE_SESSION, cells(id=id)))

    def take_lease(self, session: str, holder: str, seconds: float, *, seize: bool = False) -> bool:
        """Take the lease of a session, unless another holder has it and it is not to be seized."""
        values = cells(session=session, holder=holder, seconds=seconds)
        with self._database.transaction() as transaction:
            if not transaction.rows(SESSION, cells(id=session)):
                raise RequestError("there is no such session")
            if seize:
                transaction.rows(DROP_LEASE, cells(session=session))
            return bool(transaction.rows(self._leases.take, values))

    def renew_lease(self, session: str, holder: str, seconds: float) -> bool:
        """Keep a lease for longer, if the holder still has it."""
        return bool(self._rows(self._leases.renew, cells(session=session, holder=holder, seconds=seconds)))

    def release_lease(self, session: str, holder: str) -> None:
        """Release a lease, if the holder has it."""
        self._rows(RELEASE_LEASE, cells(session=session, holder=holder))

    def check(self) -> None:
        """Check that the database responds."""
        self._database.check()

    def add_message(self, message: StoredMessage) -> StoredMessage:
        """Append to a session, or replace a message; durable when this returns."""
        values = message_values(message)
        with self._database.transaction() as transaction:
            session = cells(id=message.session, updated=message.created)
            owners = transaction.rows(TOUCH_SESSION, session)
            if not owners:
                raise RequestError("there is no such session")
            added = transaction.rows(ADD_MESSAGE, values)
            if not added:
                raise RequestError("the message belongs to another session")
            self._index_words(transaction, [message], str(owners[0][0]))
        number, created = added[0]
        return replace(message, number=number, created=created)

    def messages(self, session: str, until: int = 0, limit: int = 0) -> list[StoredMessage]:
        """The messages of a session in order."""
        values = cells(session=session, until=until or _ALL, limit=limit or _ALL)
        return [message_of(row) for row in reversed(self._rows(MESSAGES, values))]

    def cut_messages(self, session: str, number: int) -> None:
        """Delete the messages of a session from this number on."""
        with self._database.transaction() as transaction:
            self._unindex(transaction, session, number)
            transaction.rows(CUT_MESSAGES, cells(session=session, number=number))

    def find_messages(self, query: str, owner: str, limit: int = 50) -> list[StoredMessage]:
        """Search messages. The database finds the words and the first phrase; other phrases are checked
        here."""
        parsed = parse_query(query)
        if not parsed:
            return []
        mark, phrase = owner_token(owner), next(iter(parsed.phrases), "")
        values = cells(
            query=self._words.query(parsed, mark), mark=mark, owner=owner, phrase=phrase, limit=limit
        )
        found: list[StoredMessage] = []
        place = _ALL
        while len(found) < limit:
            rows = self._rows(self._words.find, {**values, "place": place})
            found += (message_of(row[:6]) for row in rows if parsed.holds(str(row[6])))
            if len(rows) < limit:
                break
            place = cast("int", rows[-1][7])
        return found[:limit]

    def fill_words(self) -> None:
        """Index messages from before the index existed. Several processes may do it at once, or again."""
        if self._rows(INDEXED_VERSION, {}) == [(TOKENIZER_VERSION,)]:
            return
        sessions = self._rows(ALL_SESSIONS, {})
        for some in (sessions[at : at + _SESSIONS] for at in range(0, len(sessions), _SESSIONS)):
            with self._database.transaction(limited=False) as transaction:
                for name, owner in some:
                    rows = transaction.rows(UNINDEXED_MESSAGES, {"session": str(name)})
                    self._index_words(transaction, map(message_of, rows), str(owner))
        with self._database.transaction(limited=False) as transaction:
            for statement in (*self._words.filled, SET_INDEXED_VERSION):
                transaction.rows(statement, {"version": TOKENIZER_VERSION})

    def now(self) -> float:
        """The time of the database's clock."""
        with self._database.transaction() as transaction:
            return self._now(transaction)

    def api_keys(self) -> list[ApiKey]:
        """All API keys, the oldest first."""
        return [key_of(row) for row in self._rows(KEYS, {})]

    def access_revision(self) -> int:
        """How often keys and ended logins have changed."""
        return next((cast("int", row[0]) for row in self._rows(REVISION, {})), 0)

    def put_key(self, key: ApiKey) -> None:
        """Add an API key, unless it exists."""
        with self._database.transaction() as transaction:
            transaction.rows(NEXT_REVISION, {})
            transaction.rows(PUT_KEY, key_values(key))

    def revoke_keys(self, which: str, at: str) -> list[ApiKey]:
        """Revoke the valid keys with this id or name."""
        with self._database.transaction() as transaction:
            transaction.rows(NEXT_REVISION, {})
            keys = map(key_of, transaction.rows(KEYS, {}))
            revoked = [
                replace(key, revoked=at) for key in keys if which in (key.id, key.name) and not key.revoked
            ]
            for key in revoked:
                self._replace_key(transaction, key)
        return revoked

    def change_key(self, id: str, change: Callable[[ApiKey], ApiKey]) -> ApiKey | None:  # noqa: A002
        """Replace an API key."""
        with self._database.transaction() as transaction:
            transaction.rows(NEXT_REVISION, {})
            keys = map(key_of, transaction.rows(KEYS, {}))
            changed = next((change(key) for key in keys if key.id == id), None)
            if changed is not None:
                self._replace_key(transaction, changed)
        return changed

    def _replace_key(self, transaction: Transaction, key: ApiKey) -> None:
        values = key_values(key)
        transaction.rows(REPLACE_KEY, {name: values[name] for name in ("id", "body", "rights")})

    def add_audit(self, entry: AuditEntry) -> None:
        """Append to the audit log."""
        self._rows(ADD_AUDIT, audit_values(entry))

    def audit(self, limit: int = 100, owner: str | None = None) -> list[AuditEntry]:
        """The last entries of the audit log."""
        values = cells(every=int(owner is None), owner=owner or "", limit=limit)
        return [audit_of(row) for row in self._rows(AUDIT, values)]

    def end_login(self, login: str, expires: float, now: float) -> None:
        """Record that a login ended."""
        with self._database.transaction() as transaction:
            transaction.rows(NEXT_REVISION, {})
            transaction.rows(EXPIRED_LOGOUTS, {"now": now})
            transaction.rows(END_LOGIN, cells(login=login, expires=expires))

    def ended_logins(self) -> frozenset[str]:
        """The logins that ended before they expired."""
        return frozenset(str(row[0]) for row in self._rows(LOGOUTS, {}))

    def reserve_budget(
        self,
        id: str,  # noqa: A002
        owner: str,
        amount: int,
        limits: tuple[int | None, int | None],
        seconds: float,
    ) -> BudgetState:
        """Reserve an amount, if neither limit is reached: one transaction."""
        with self._database.transaction() as transaction:
            now = self._now(transaction)
            wanted = ledger.Reservation(id, owner, amount, now + seconds)
            return ledger.reserve(transaction, now, wanted, limits)

    def settle_budget(self, id: str, amount: int) -> bool:  # noqa: A002
        """Replace a reservation by what was spent."""
        with self._database.transaction() as transaction:
            return ledger.settle(transaction, id, amount)

    def budget(self, owner: str) -> BudgetState:
        """What a key has spent and reserved in the current day and month."""
        with self._database.transaction() as transaction:
            return ledger.state(transaction, self._now(transaction), owner)

    def add_response(
        self, name: str, owner: str, body: str, make_room: Callable[[Sequence[ResponseEntry]], Sequence[str]]
    ) -> None:
        """Add a background response: one transaction."""
        with self._database.transaction() as transaction:
            spool.create(transaction, self._now(transaction), name, owner, body, make_room)

    def response(self, name: str, owner: str, offset: int | None = None) -> BackgroundResponse | None:
        """A background response of an owner."""
        with self._database.transaction() as transaction:
            return spool.read(transaction, self._now(transaction), name, owner, offset)

    def save_response(self, name: str, offset: int, events: bytes, state: tuple[str, bool] | None) -> bool:
        """Write events and state of a background response: one transaction."""
        with self._database.transaction() as transaction:
            return spool.save(transaction, self._now(transaction), name, offset, events, state)

    def stop_response(self, name: str) -> None:
        """Ask the process that runs a background response to stop it."""
        with self._database.transaction() as transaction:
            spool.stop(transaction, name)

    def remove_response(self, name: str) -> None:
        """Remove a background response."""
        with self._database.transaction() as transaction:
            spool.remove(transaction, name)

    def _now(self, transaction: Transaction) -> float:
        return float(cast("float", transaction.rows(self._leases.clock, {})[0][0]))

    def add_usage(self, rows: Sequence[UsageRow]) -> None:
        """Record requests; those already recorded are skipped, and rejected rows are dropped."""
        try:
            self._add_usage(rows)
        except RowRefused as error:
            if len(rows) == 1:
                log.warning("The usage of request %s was not stored: %s", rows[0].id, error.message)
                return
            middle = len(rows) // 2
            self.add_usage(rows[:middle])
            self.add_usage(rows[middle:])

    def _add_usage(self, rows: Sequence[UsageRow]) -> None:
        with self._database.transaction() as transaction:
            transaction.many(ADD_USAGE, list(map(usage_values, rows)))

    def usage(self, owner: str, since: str = "", until: str = "") -> list[UsageTotal]:
        """Usage by day and model."""
        values = cells(since=since, until=until, owner=owner)
        return [usage_total_of(row) for row in self._rows(USAGE, values)]

    def usage_by_key(self, since: str = "") -> list[KeyUsageTotal]:
        """Usage of each API key."""
        return [key_usage_of(row) for row in self._rows(USAGE_BY_KEY, cells(since=since))]

    def _rows(self, statement: LiteralString, values: Values) -> list[Row]:
        with self._database.transaction() as transaction:
            return transaction.rows(statement, values)

    def _index_words(self, transaction: Transaction, messages: Iterable[StoredMessage], owner: str) -> None:
        mark = owner_token(owner)
        values = [
            cells(message=message.id, owner=mark, words=indexed_words(message.content.text))
            for message in messages
        ]
        for statement in self._words.put:
            transaction.many(statement, values)

    def _unindex(self, transaction: Transaction, session: str, number: int) -> None:
        for statement in self._words.forget:
            transaction.rows(statement, cells(session=session, number=number))
