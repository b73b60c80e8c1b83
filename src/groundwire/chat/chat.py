"""Chat: the use cases of a person who talks, over one `Groundwire` and one `Store`.

The store blocks, so it is called in threads. Whoever is not the owner of a session does not see it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from uuid import uuid4

from groundwire.chat.agents import DEFAULT, id_for, title_of
from groundwire.chat.questions import Asked, question
from groundwire.chat.telling import Ask
from groundwire.chat.turns import Conversation, Turn, Turns, missing, moment
from groundwire.client import Groundwire
from groundwire.errors import ClientWireError
from groundwire.model.value import replace
from groundwire.store.base import Agent, Session, Store, StoredMessage, UsageTotal
from groundwire.transport.threads import in_thread


class Chat:
    """What can be done with agents and sessions."""

    def __init__(
        self, groundwire: Groundwire, store: Store, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.groundwire = groundwire
        self._store = store
        self._clock = clock
        self._turns = Turns(groundwire, store, clock)

    async def agents(self) -> list[Agent]:
        """All agents; there is always one."""
        return await in_thread(self._store.agents) or [DEFAULT]

    async def agent(self, name: str) -> Agent:
        """An agent by its id; raises `TurnedAway` where there is none."""
        found = await in_thread(lambda: self._store.agent(name))
        if found is None and name != DEFAULT.id:
            raise missing("agent")
        return found or DEFAULT

    async def save_agent(self, agent: Agent) -> Agent:
        """Keep an agent; one without an id is new, and gets it."""
        if not any(text.strip() for text in agent.name.values()):
            raise ClientWireError("an agent needs a name", "$.name")
        now = moment(self._clock())
        known = {one.id: one for one in await in_thread(self._store.agents)}
        created = known[agent.id].created if agent.id in known else now
        name = agent.id or id_for(agent, {*known, DEFAULT.id})
        kept = replace(agent, id=name, created=created, updated=now)
        await in_thread(lambda: self._store.put_agent(kept))
        return kept

    async def remove_agent(self, name: str) -> None:
        """Forget an agent; its sessions go on with the default one."""
        if not await in_thread(lambda: self._store.remove_agent(name)):
            raise missing("agent")

    async def sessions(self, owner: str, limit: int = 50, before: Session | None = None) -> list[Session]:
        """The sessions of an owner, the last used first."""
        return await in_thread(lambda: self._store.sessions(owner, limit, before))

    async def session(self, owner: str, name: str) -> Session:
        """A session of the owner's; raises `TurnedAway` for those of others as for those that are not."""
        found = await in_thread(lambda: self._store.session(name))
        if found is None or found.owner != owner:
            raise missing("session")
        return found

    async def open(self, owner: str, name: str) -> Conversation:
        """A session with its turns. Answers that nobody writes any more become interrupted."""
        session = await self.session(owner, name)
        turns = await in_thread(lambda: self._store.messages(name))
        turns = await self._turns.settled(session, turns)
        return Conversation(session, await self._agent_of(session), tuple(turns))

    async def rename(self, owner: str, name: str, title: str) -> Session:
        """Give a session another title."""
        session = replace(await self.session(owner, name), title=title_of(title, 200))
        await in_thread(lambda: self._store.put_session(session))
        return session

    async def remove(self, owner: str, name: str) -> None:
        """Forget a session."""
        await self.session(owner, name)
        await in_thread(lambda: self._store.remove_session(name))

    async def find(self, owner: str, text: str, limit: int = 50) -> list[tuple[Session, StoredMessage]]:
        """The turns in which all these words stand, the last said first, with their sessions."""
        words = text[:200].split()
        found = await in_thread(lambda: self._store.find_messages(words, owner, limit))
        names = {message.session for message in found}
        sessions = await in_thread(lambda: {name: self._store.session(name) for name in names})
        return [(session, turn) for turn in found if (session := sessions[turn.session]) is not None]

    async def usage(self, owner: str, since: str = "") -> list[UsageTotal]:
        """What the requests of an owner cost, by day and model."""
        return await in_thread(lambda: self._store.usage(since, "", owner))

    async def ask(self, asked: Asked, ask: Ask | None = None) -> AsyncGenerator[Turn, None]:
        """A turn as it grows. Leaving the loop stops the provider, and the answer is kept as stopped."""
        conversation = await self._conversation(asked)
        async with aclosing(self._turns.run(asked, conversation, ask)) as turns:
            async for turn in turns:
                yield turn

    async def _conversation(self, asked: Asked) -> Conversation:
        if not asked.session:
            question(asked)  # a session is not made for nothing
            agent = await self.agent(asked.agent or (await self.agents())[0].id)
            now = moment(self._clock())
            session = Session(uuid4().hex, agent.id, asked.owner, title_of(asked.text), now, now)
            return Conversation(session, agent)
        found = await self.open(asked.owner, asked.session)
        if not asked.agent or asked.agent == found.agent.id:
            return found
        agent = await self.agent(asked.agent)
        return Conversation(replace(found.session, agent=agent.id), agent, found.turns)

    async def _agent_of(self, session: Session) -> Agent:
        return await in_thread(lambda: self._store.agent(session.agent)) or DEFAULT


def chat_for(groundwire: Groundwire, store: Store) -> Chat:
    """The chat of one installation."""
    return Chat(groundwire, store)
