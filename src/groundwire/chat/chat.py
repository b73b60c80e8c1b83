"""Chat: the use cases of a person who talks, over one `Groundwire` and one `Store`.

The store blocks, so it is called in threads. Whoever is not the owner of a session does not see it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from uuid import uuid4

from groundwire.chat.agents import DEFAULT, id_for, is_kept_by, is_open_to, title_of
from groundwire.chat.questions import ChatQuestion, question_message
from groundwire.chat.storage import StoreThreads, generic_errors
from groundwire.chat.turns import SessionReader, SessionTurns, StreamBatches, Turn, Turns, missing, timestamp
from groundwire.client import Groundwire
from groundwire.errors import ClientWireError
from groundwire.model.value import replace
from groundwire.store.base import Agent, Session, Store, StoredMessage, UsageTotal

_AT_ONCE = 20
"""Turns that are read together where all are wanted one after the other."""


class Chat:
    """What can be done with agents and sessions."""

    def __init__(
        self, groundwire: Groundwire, store: Store, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.groundwire = groundwire
        self._store = store
        self._clock = clock
        self._threads = StoreThreads()
        self._turns = Turns(groundwire, store, self._threads, clock)

    async def agents(self, owner: str) -> list[Agent]:
        """The agents of an owner, and those of everybody; there is always one."""
        found = await self._threads.run(self._store.agents)
        return [agent for agent in found if agent.is_readable and is_open_to(agent, owner)] or [DEFAULT]

    async def unreadable_agents(self, owner: str) -> list[Agent]:
        """Placeholders for the agents of an owner whose stored rows are damaged."""
        found = await self._threads.run(self._store.agents)
        return [agent for agent in found if not agent.is_readable and is_open_to(agent, owner)]

    async def agent(self, name: str, owner: str) -> Agent:
        """An agent that somebody may talk to; raises `TurnedAway` for those of others as for none."""
        found = await self._threads.run(lambda: self._store.agent(name))
        if found is not None and found.is_readable and is_open_to(found, owner):
            return found
        if name != DEFAULT.id:
            raise missing("agent")
        return DEFAULT

    async def save_agent(self, agent: Agent, owner: str) -> Agent:
        """Keep an agent of the owner's. One without an id is new; a change of another's makes a new one."""
        if not any(text.strip() for text in agent.name.values()):
            raise ClientWireError("an agent needs a name", "$.name")
        now = timestamp(self._clock())
        known = {one.id: one for one in await self._threads.run(self._store.agents)}
        old = known.get(agent.id)
        name = agent.id
        if not name or (old is not None and old.owner != owner) or (owner and name == DEFAULT.id):
            old, name = None, id_for(agent, {*known, DEFAULT.id})
        kept = replace(agent, id=name, owner=owner, created=old.created if old else now, updated=now)
        await self._threads.run(lambda: self._store.put_agent(kept))
        return kept

    async def remove_agent(self, name: str, owner: str) -> None:
        """Forget an agent of the owner's; its sessions go on with the default one."""
        found = await self._threads.run(lambda: self._store.agent(name))
        if (
            found is None
            or not is_kept_by(found, owner)
            or not await self._threads.run(lambda: self._store.remove_agent(name))
        ):
            raise missing("agent")

    async def sessions(self, owner: str, limit: int = 50, before: Session | None = None) -> list[Session]:
        """The sessions of an owner, the last used first."""
        return await self._threads.run(lambda: self._store.sessions(owner, limit, before))

    async def session(self, owner: str, name: str) -> Session:
        """A session of the owner's; raises `TurnedAway` for those of others as for those that are not."""
        found = await self._threads.run(lambda: self._store.session(name))
        if found is None or found.owner != owner:
            raise missing("session")
        return found

    async def open(self, owner: str, name: str, until: int = 0, limit: int = 0) -> SessionTurns:
        """A session with its turns, or the last of them before a number. Answers whose writer died become
        interrupted."""
        session = await self.session(owner, name)
        turns = await self._threads.run(
            lambda: self._turns.settled(session, self._store.messages(name, until, limit))
        )
        return SessionTurns(session, await self._agent_of(session), tuple(turns))

    async def leaves(self, owner: str, name: str) -> SessionReader:
        """A session whose turns are read as somebody wants them: however long it is, few are held at once."""
        session = await self.session(owner, name)
        return SessionReader(session, await self._agent_of(session), self._leaves(session))

    def _leaves(self, session: Session) -> Iterator[StoredMessage]:
        after = 0
        while True:
            with generic_errors():
                some = self._store.messages(session.id, after + _AT_ONCE + 1, _AT_ONCE)
                fresh = self._turns.settled(session, [turn for turn in some if turn.number > after])
            if not fresh:
                return
            yield from fresh
            after = fresh[-1].number

    async def rename(self, owner: str, name: str, title: str) -> Session:
        """Give a session another title."""
        session = replace(await self.session(owner, name), title=title_of(title, 200))
        await self._threads.run(lambda: self._store.put_session(session))
        return session

    async def give_agent(self, owner: str, name: str, agent: str) -> Session:
        """Let another agent of the owner's answer in a session from now on."""
        found = await self.agent(agent, owner)
        session = replace(await self.session(owner, name), agent=found.id)
        await self._threads.run(lambda: self._store.put_session(session))
        return session

    async def remove(self, owner: str, name: str) -> None:
        """Forget a session."""
        await self.session(owner, name)
        await self._threads.run(lambda: self._store.remove_session(name))

    async def find(self, owner: str, text: str, limit: int = 50) -> list[tuple[Session, StoredMessage]]:
        """The turns in which all these words and "phrases" stand, the last first, with their sessions."""
        found = await self._threads.run(lambda: self._store.find_messages(text[:200], owner, limit))
        names = {message.session for message in found}
        sessions = await self._threads.run(lambda: {name: self._store.session(name) for name in names})
        return [(session, turn) for turn in found if (session := sessions[turn.session]) is not None]

    async def usage(self, owner: str, since: str = "") -> list[UsageTotal]:
        """What the requests of an owner cost, by day and model."""
        return await self._threads.run(lambda: self._store.usage(owner, since))

    async def ask(self, asked: ChatQuestion, ask: StreamBatches | None = None) -> AsyncGenerator[Turn, None]:
        """A turn as it grows. Leaving the loop stops the provider, and the answer is kept as stopped."""
        conversation = await self._conversation(asked)
        async with aclosing(self._turns.run(asked, conversation, ask)) as turns:
            async for turn in turns:
                yield turn

    async def _conversation(self, asked: ChatQuestion) -> SessionTurns:
        """The session a question belongs to, with its agent; the turns are read when nobody else adds any."""
        if not asked.replaces:
            question_message(asked)  # a session is not made for nothing
        if not asked.session:
            if asked.replaces:
                raise missing("question")
            agent = await self.agent(asked.agent or (await self.agents(asked.owner))[0].id, asked.owner)
            now = timestamp(self._clock())
            session = Session(uuid4().hex, agent.id, asked.owner, title_of(asked.text), now, now)
            return SessionTurns(session, agent)
        session = await self.session(asked.owner, asked.session)
        agent = await self._agent_of(session)
        if asked.agent and asked.agent != agent.id:
            agent = await self.agent(asked.agent, asked.owner)
        return SessionTurns(replace(session, agent=agent.id), agent)

    async def _agent_of(self, session: Session) -> Agent:
        found = await self._threads.run(lambda: self._store.agent(session.agent))
        readable = found is not None and found.is_readable and is_open_to(found, session.owner)
        return found if found is not None and readable else DEFAULT


def chat_for(groundwire: Groundwire, store: Store) -> Chat:
    """The chat of one installation."""
    return Chat(groundwire, store)
