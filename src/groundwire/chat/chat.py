"""Chat: agents, sessions and turns of users, over one client and one `Store`.

The store blocks, so it is called in threads. A session is visible only to its owner.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from uuid import uuid4

from groundwire.chat.agents import BUILT_IN, DEFAULT, id_for, is_kept_by, is_open_to, title_of
from groundwire.chat.questions import ChatQuestion, question_message
from groundwire.chat.storage import StoreThreads, generic_errors
from groundwire.chat.turns import SessionReader, SessionTurns, StreamBatches, Turn, Turns, missing, timestamp
from groundwire.client_protocol import SearchClient
from groundwire.errors import ClientWireError
from groundwire.model import Answer
from groundwire.model.value import replace
from groundwire.store.base import Agent, KeyUsageTotal, Session, Store, StoredMessage, UsageTotal
from groundwire.verify.facts import VerifyReport

_READ_AT_ONCE = 20
"""Number of turns that are read at a time when a whole session is read."""


class Chat:
    """Operations on agents and sessions."""

    def __init__(
        self, groundwire: SearchClient, store: Store, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.groundwire = groundwire
        self._store = store
        self._clock = clock
        self._threads = StoreThreads()
        self._turns = Turns(groundwire, store, self._threads, clock)

    async def agents(self, owner: str) -> list[Agent]:
        """The agents of an owner, and the shared ones; there is always one."""
        found = await self._threads.run(self._store.agents)
        return [agent for agent in found if agent.is_readable and is_open_to(agent, owner)] or [DEFAULT]

    async def unreadable_agents(self, owner: str) -> list[Agent]:
        """Placeholders for the agents of an owner whose stored rows are damaged."""
        found = await self._threads.run(self._store.agents)
        return [agent for agent in found if not agent.is_readable and is_open_to(agent, owner)]

    async def agent(self, name: str, owner: str) -> Agent:
        """An agent that the owner may use; raises `TurnedAway` if it is missing or belongs to another
        owner."""
        found = await self._threads.run(lambda: self._store.agent(name))
        if found is not None and found.is_readable and is_open_to(found, owner):
            return found
        if name not in BUILT_IN:
            raise missing("agent")
        return BUILT_IN[name]

    async def save_agent(self, agent: Agent, owner: str) -> Agent:
        """Store an agent. One without an id is new; saving an agent of another owner makes a copy."""
        if not any(text.strip() for text in agent.name.values()):
            raise ClientWireError("an agent needs a name", "$.name")
        now = timestamp(self._clock())
        known = {one.id: one for one in await self._threads.run(self._store.agents)}
        old = known.get(agent.id)
        name = agent.id
        if not name or (old is not None and old.owner != owner) or (owner and name in BUILT_IN):
            old, name = None, id_for(agent, {*known, *BUILT_IN})
        kept = replace(agent, id=name, owner=owner, created=old.created if old else now, updated=now)
        await self._threads.run(lambda: self._store.put_agent(kept))
        return kept

    async def remove_agent(self, name: str, owner: str) -> None:
        """Delete an agent; its sessions continue with the default one."""
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
        """A session; raises `TurnedAway` if it is missing or belongs to another owner."""
        found = await self._threads.run(lambda: self._store.session(name))
        if found is None or found.owner != owner:
            raise missing("session")
        return found

    async def open(self, owner: str, name: str, until: int = 0, limit: int = 0) -> SessionTurns:
        """A session with its turns, or the last of them before a number. Answers whose process died become
        interrupted."""
        session = await self.session(owner, name)
        turns = await self._threads.run(
            lambda: self._turns.settled(session, self._store.messages(name, until, limit))
        )
        return SessionTurns(session, await self._agent_of(session), tuple(turns))

    async def read_session(self, owner: str, name: str) -> SessionReader:
        """A session whose turns are read as they are iterated, a few at a time."""
        session = await self.session(owner, name)
        return SessionReader(session, await self._agent_of(session), self._read_turns(session))

    def _read_turns(self, session: Session) -> Iterator[StoredMessage]:
        after = 0
        while True:
            with generic_errors():
                some = self._store.messages(session.id, after + _READ_AT_ONCE + 1, _READ_AT_ONCE)
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
        """Change the agent of a session."""
        found = await self.agent(agent, owner)
        session = replace(await self.session(owner, name), agent=found.id)
        await self._threads.run(lambda: self._store.put_session(session))
        return session

    async def remove(self, owner: str, name: str) -> None:
        """Delete a session."""
        await self.session(owner, name)
        await self._threads.run(lambda: self._store.remove_session(name))

    async def find(self, owner: str, text: str, limit: int = 50) -> list[tuple[Session, StoredMessage]]:
        """The turns that contain all these words and "phrases", the latest first, with their sessions."""
        found = await self._threads.run(lambda: self._store.find_messages(text[:200], owner, limit))
        names = {message.session for message in found}
        sessions = await self._threads.run(lambda: {name: self._store.session(name) for name in names})
        return [(session, turn) for turn in found if (session := sessions[turn.session]) is not None]

    async def verify(self, owner: str, session: str, number: int) -> VerifyReport:
        """Verify the citations of one answer of a session: the facts about each of them.

        Raises `TurnedAway` if there is no such answer, and contacts only the pages that it cites.
        """
        await self.session(owner, session)
        found = await self._threads.run(lambda: self._store.messages(session, number + 1, 1))
        content = found[-1].content if found and found[-1].number == number else None
        if not isinstance(content, Answer):
            raise missing("answer")
        return await self.groundwire.averify(content)

    async def usage(self, owner: str, since: str = "") -> list[UsageTotal]:
        """Usage of an owner, by day and model."""
        return await self._threads.run(lambda: self._store.usage(owner, since))

    async def usage_by_key(self, since: str = "") -> list[KeyUsageTotal]:
        """Usage of each API key, of all owners."""
        return await self._threads.run(lambda: self._store.usage_by_key(since))

    async def ask(
        self,
        question: ChatQuestion,
        stream: StreamBatches | None = None,
        client: SearchClient | None = None,
    ) -> AsyncGenerator[Turn, None]:
        """A turn as it grows. Leaving the loop cancels the request; the answer is stored as stopped.

        `client` is the one that the user may use; without it, the full one.
        """
        conversation = await self._conversation(question)
        async with aclosing(self._turns.run(question, conversation, stream, client)) as turns:
            async for turn in turns:
                yield turn

    async def _conversation(self, question: ChatQuestion) -> SessionTurns:
        """The session of a question and its agent; the turns are read later, under the lease."""
        if not question.replaces:
            question_message(question)  # an invalid question must not create a session
        if not question.session:
            if question.replaces:
                raise missing("question")
            agent = await self.agent(
                question.agent or (await self.agents(question.owner))[0].id, question.owner
            )
            now = timestamp(self._clock())
            session = Session(uuid4().hex, agent.id, question.owner, title_of(question.text), now, now)
            return SessionTurns(session, agent)
        session = await self.session(question.owner, question.session)
        agent = await self._agent_of(session)
        if question.agent and question.agent != agent.id:
            agent = await self.agent(question.agent, question.owner)
        return SessionTurns(replace(session, agent=agent.id), agent)

    async def _agent_of(self, session: Session) -> Agent:
        found = await self._threads.run(lambda: self._store.agent(session.agent))
        readable = found is not None and found.is_readable and is_open_to(found, session.owner)
        return found if found is not None and readable else BUILT_IN.get(session.agent, DEFAULT)


def chat_for(groundwire: SearchClient, store: Store) -> Chat:
    """The chat over a client and a store."""
    return Chat(groundwire, store)
