"""The store on any database that takes our statements."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import islice
from types import TracebackType
from typing import LiteralString, Protocol, Self

from groundwire.errors import RequestError
from groundwire.model.value import replace
from groundwire.store import statements as say
from groundwire.store.base import Agent, Session, StoredMessage, UsageRow, UsageTotal
from groundwire.store.rows import (
    Row,
    Values,
    agent_of,
    agent_values,
    folded,
    message_of,
    message_values,
    pattern_of,
    session_of,
    session_values,
    sound,
    usage_total_of,
    usage_values,
)

_SPARE = 20
"""How many turns with one of several words are looked at for each that is wanted."""


class Transaction(Protocol):
    """Where statements are carried out: all of them or none."""

    def rows(self, statement: LiteralString, values: Values) -> list[Row]:
        """What a statement answers; nothing where it has no answer."""
        ...


class Database(Protocol):
    """A database whose schema is up to date."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """What was done in it is on disk when it ends, and undone if something is raised."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


class SqlStore:
    """Implements `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

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

    def sessions(self, owner: str = "", limit: int = 50, before: Session | None = None) -> list[Session]:
        """The sessions of an owner, the last used first."""
        after = before or Session("", "")
        values = sound(owner=owner, id=after.id, updated=after.updated, limit=limit)
        return [session_of(row) for row in self._rows(say.SESSIONS, values)]

    def remove_session(self, id: str) -> bool:  # noqa: A002
        """Forget a session with its messages."""
        return bool(self._rows(say.REMOVE_SESSION, sound(id=id)))

    def add_message(self, message: StoredMessage) -> StoredMessage:
        """Append to a session, or renew; durable when this returns."""
        values = message_values(message)
        with self._database.transaction() as transaction:
            held = sound(id=message.session, updated=message.created)
            if not transaction.rows(say.TOUCH_SESSION, held):
                raise RequestError("there is no such session")
            added = transaction.rows(say.ADD_MESSAGE, values)
        if not added:
            raise RequestError("the message belongs to another session")
        number, created = added[0]
        return replace(message, number=number, created=created)

    def messages(self, session: str) -> list[StoredMessage]:
        """The turns of a session in order."""
        return [message_of(row) for row in self._rows(say.MESSAGES, sound(session=session))]

    def cut_messages(self, session: str, number: int) -> None:
        """Forget the turns of a session from this number on."""
        self._rows(say.CUT_MESSAGES, sound(session=session, number=number))

    def find_messages(self, words: Sequence[str], owner: str = "", limit: int = 50) -> list[StoredMessage]:
        """The turns in which all words stand: those with the longest, and among them those with the rest."""
        wanted = sorted(filter(None, map(folded, words)), key=len)
        if not wanted:
            return []
        values = sound(owner=owner, pattern=pattern_of(wanted[-1]), limit=limit * _SPARE)
        found = (message_of(row) for row in self._rows(say.FIND_MESSAGES, values))
        fitting = (message for message in found if _holds(message, wanted))
        return list(islice(fitting, limit))

    def add_usage(self, rows: Sequence[UsageRow]) -> None:
        """Record requests; those already recorded are passed over."""
        with self._database.transaction() as transaction:
            for row in rows:
                transaction.rows(say.ADD_USAGE, usage_values(row))

    def usage(self, since: str = "", until: str = "", owner: str = "") -> list[UsageTotal]:
        """Totals by day and model."""
        values = sound(since=since, until=until, owner=owner)
        return [usage_total_of(row) for row in self._rows(say.USAGE, values)]

    def _rows(self, statement: LiteralString, values: Values) -> list[Row]:
        with self._database.transaction() as transaction:
            return transaction.rows(statement, values)


def _holds(message: StoredMessage, words: Sequence[str]) -> bool:
    text = folded(message.content.text)
    return all(word in text for word in words)
