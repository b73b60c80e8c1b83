"""The store on any database that takes our statements."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import LiteralString, Protocol, Self, cast

from groundwire.errors import RequestError
from groundwire.model.value import replace
from groundwire.store import statements as say
from groundwire.store.base import Agent, RowRefused, Session, StoredMessage, UsageRow, UsageTotal
from groundwire.store.finding import FullText, mark_of
from groundwire.store.leases import RELEASE, LeaseStatements
from groundwire.store.rows import (
    Row,
    Values,
    agent_of,
    agent_values,
    message_of,
    message_values,
    session_of,
    session_values,
    sound,
    usage_total_of,
    usage_values,
)
from groundwire.store.words import VERSION, kept_words, wanted_in

log = logging.getLogger("groundwire.store")

_ALL = 2**62
"""More than there are."""
_SESSIONS = 100
"""Whose words are filled in at a time: others take their turns between."""


class Transaction(Protocol):
    """Where statements are carried out: all of them or none."""

    def rows(self, statement: LiteralString, values: Values) -> list[Row]:
        """What a statement answers; nothing where it has no answer."""
        ...

    def many(self, statement: LiteralString, values: Sequence[Values]) -> None:
        """Carry out a statement for each of them."""
        ...


class Database(Protocol):
    """A database whose schema is up to date."""

    def transaction(self, *, limited: bool = True) -> AbstractContextManager[Transaction]:
        """What was done in it is on disk when it ends, and undone if something is raised.

        Statements that take too long are given up, unless it is not limited.
        """
        ...

    def check(self) -> None:
        """Raise `GroundwireError` if it does not answer in time."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


class SqlStore:
    """Implements `Store`."""

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
        """Let go of files and connections."""
        self._database.close()

    def put_agent(self, agent: Agent) -> None:
        """Add an agent, or renew it."""
        self._rows(say.PUT_AGENT, agent_values(agent))

    def agent(self, id: str) -> Agent | None:  # noqa: A002
        """An agent by its id."""
        return next(map(agent_of, self._rows(say.AGENT, sound(id=id))), None)

    def agents(self) -> list[Agent]:
        """All of them, the oldest first."""
        return [agent_of(row) for row in self._rows(say.AGENTS, {})]

    def remove_agent(self, id: str) -> bool:  # noqa: A002
        """Forget an agent; its sessions stay."""
        return bool(self._rows(say.REMOVE_AGENT, sound(id=id)))

    def put_session(self, session: Session) -> None:
        """Add a session, or renew its title, agent and time."""
        self._rows(say.PUT_SESSION, session_values(session))

    def session(self, id: str) -> Session | None:  # noqa: A002
        """A session by its id."""
        return next(map(session_of, self._rows(say.SESSION, sound(id=id))), None)

    def sessions(self, owner: str, limit: int = 50, before: Session | None = None) -> list[Session]:
        """The sessions of an owner, the last used first."""
        after = before or Session("", "", owner)
        values = sound(owner=owner, id=after.id, updated=after.updated, limit=limit)
        return [session_of(row) for row in self._rows(say.SESSIONS, values)]

    def remove_session(self, id: str) -> bool:  # noqa: A002
        """Forget a session with its messages."""
        with self._database.transaction() as transaction:
            self._forget(transaction, id, 0)
            return bool(transaction.rows(say.REMOVE_SESSION, sound(id=id)))

    def take_lease(self, session: str, holder: str, seconds: float) -> bool:
        """Take the lease of a session, unless another holder has it."""
        values = sound(session=session, holder=holder, seconds=seconds)
        with self._database.transaction() as transaction:
            if not transaction.rows(say.SESSION, sound(id=session)):
                raise RequestError("there is no such session")
            return bool(transaction.rows(self._leases.take, values))

    def renew_lease(self, session: str, holder: str, seconds: float) -> bool:
        """Keep a lease for longer, if the holder still has it."""
        return bool(self._rows(self._leases.renew, sound(session=session, holder=holder, seconds=seconds)))

    def release_lease(self, session: str, holder: str) -> None:
        """Let go of a lease, if the holder has it."""
        self._rows(RELEASE, sound(session=session, holder=holder))

    def check(self) -> None:
        """Ask the database for a sign of life."""
        self._database.check()

    def add_message(self, message: StoredMessage) -> StoredMessage:
        """Append to a session, or renew; durable when this returns."""
        values = message_values(message)
        with self._database.transaction() as transaction:
            held = sound(id=message.session, updated=message.created)
            owners = transaction.rows(say.TOUCH_SESSION, held)
            if not owners:
                raise RequestError("there is no such session")
            added = transaction.rows(say.ADD_MESSAGE, values)
            if not added:
                raise RequestError("the message belongs to another session")
            self._keep_words(transaction, [message], str(owners[0][0]))
        number, created = added[0]
        return replace(message, number=number, created=created)

    def messages(self, session: str, until: int = 0, limit: int = 0) -> list[StoredMessage]:
        """The turns of a session in order."""
        values = sound(session=session, until=until or _ALL, limit=limit or _ALL)
        return [message_of(row) for row in reversed(self._rows(say.MESSAGES, values))]

    def cut_messages(self, session: str, number: int) -> None:
        """Forget the turns of a session from this number on."""
        with self._database.transaction() as transaction:
            self._forget(transaction, session, number)
            transaction.rows(say.CUT_MESSAGES, sound(session=session, number=number))

    def find_messages(self, wanted: str, owner: str, limit: int = 50) -> list[StoredMessage]:
        """The turns in which all words stand; what must stand together is looked at besides."""
        asked = wanted_in(wanted)
        if not asked:
            return []
        mark, phrase = mark_of(owner), next(iter(asked.phrases), "")
        values = sound(
            query=self._words.query(asked, mark), mark=mark, owner=owner, phrase=phrase, limit=limit
        )
        found: list[StoredMessage] = []
        place = _ALL
        while len(found) < limit:
            rows = self._rows(self._words.find, {**values, "place": place})
            found += (message_of(row[:6]) for row in rows if asked.holds(str(row[6])))
            if len(rows) < limit:
                break
            place = cast("int", rows[-1][7])
        return found[:limit]

    def fill_words(self) -> None:
        """Keep the words of what was said before words were kept. Several may do it at once, or again."""
        if self._rows(say.WORDS_KEPT, {}) == [(VERSION,)]:
            return
        sessions = self._rows(say.ALL_SESSIONS, {})
        for some in (sessions[at : at + _SESSIONS] for at in range(0, len(sessions), _SESSIONS)):
            with self._database.transaction(limited=False) as transaction:
                for name, owner in some:
                    rows = transaction.rows(say.WORDLESS, {"session": str(name)})
                    self._keep_words(transaction, map(message_of, rows), str(owner))
        with self._database.transaction(limited=False) as transaction:
            for statement in (*self._words.filled, say.KEPT_WORDS):
                transaction.rows(statement, {"version": VERSION})

    def add_usage(self, rows: Sequence[UsageRow]) -> None:
        """Record requests; those already recorded are passed over, and those refused are dropped."""
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
            transaction.many(say.ADD_USAGE, list(map(usage_values, rows)))

    def usage(self, owner: str, since: str = "", until: str = "") -> list[UsageTotal]:
        """Totals by day and model."""
        values = sound(since=since, until=until, owner=owner)
        return [usage_total_of(row) for row in self._rows(say.USAGE, values)]

    def _rows(self, statement: LiteralString, values: Values) -> list[Row]:
        with self._database.transaction() as transaction:
            return transaction.rows(statement, values)

    def _keep_words(self, transaction: Transaction, messages: Iterable[StoredMessage], owner: str) -> None:
        mark = mark_of(owner)
        values = [
            sound(message=message.id, owner=mark, words=kept_words(message.content.text))
            for message in messages
        ]
        for statement in self._words.put:
            transaction.many(statement, values)

    def _forget(self, transaction: Transaction, session: str, number: int) -> None:
        for statement in self._words.forget:
            transaction.rows(statement, sound(session=session, number=number))
