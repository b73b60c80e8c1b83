"""Chat: agents, sessions and turns of users, over one client and one `Store`.

The store blocks, so it is called in threads. A session is visible only to its owner.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from uuid import uuid4

from groundwire.chat.agents import BUILT_IN, DEFAULT, built_in, id_for, is_kept_by, is_open_to, title_of
from groundwire.chat.answers import state_of
from groundwire.chat.indexed import is_indexed
from groundwire.chat.questions import ChatQuestion, question_message
from groundwire.chat.ratings import AnswerRatings
from groundwire.chat.running import RunningAnswer, RunningAnswers
from groundwire.chat.shares import SessionShares
from groundwire.chat.storage import StoreThreads, generic_errors
from groundwire.chat.turns import (
    STORE_INTERVAL,
    SessionReader,
    SessionTurns,
    StreamBatches,
    Turn,
    Turns,
    missing,
    timestamp,
)
from groundwire.chat.verification import with_verification
from groundwire.client_protocol import SearchClient
from groundwire.errors import ClientWireError
from groundwire.model import Answer, Message, Reasoning, SearchCall
from groundwire.model.value import replace
from groundwire.store.base import (
    Agent,
    BudgetState,
    KeyUsageTotal,
    Session,
    Store,
    StoredMessage,
    UsageRow,
    UsageTotal,
)
from groundwire.verify.facts import VerifyReport
from groundwire.verify.policy import VerifyPolicy

LONGEST_FOLDER = 60
"""Characters of the name of a folder."""
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
        self._running = RunningAnswers()
        self.shares = SessionShares(store, self._threads, clock)
        self.ratings = AnswerRatings(store, self._threads, clock)

    async def aclose(self) -> None:
        """Interrupt the answers in progress, and wait until they are stored."""
        self._turns.closing = True
        await self._running.aclose()

    async def agents(self, owner: str, client: SearchClient | None = None) -> list[Agent]:
        """The agents of an owner, and the shared ones; there is always one. `client` is the one that the
        owner may use."""
        found = await self._threads.run(self._store.agents)
        return [agent for agent in found if agent.is_readable and is_open_to(agent, owner)] or [
            built_in(DEFAULT.id, client or self.groundwire)
        ]

    async def unreadable_agents(self, owner: str) -> list[Agent]:
        """Placeholders for the agents of an owner whose stored rows are damaged."""
        found = await self._threads.run(self._store.agents)
        return [agent for agent in found if not agent.is_readable and is_open_to(agent, owner)]

    async def agent(self, name: str, owner: str, client: SearchClient | None = None) -> Agent:
        """An agent that the owner may use; raises `TurnedAway` if it is missing or belongs to another
        owner."""
        found = await self._threads.run(lambda: self._store.agent(name))
        if found is not None and found.is_readable and is_open_to(found, owner):
            return found
        if name not in BUILT_IN:
            raise missing("agent")
        return built_in(name, client or self.groundwire)

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

    async def open(
        self, owner: str, name: str, until: int = 0, limit: int = 0, client: SearchClient | None = None
    ) -> SessionTurns:
        """A session with its turns, or the last of them before a number. Answers whose process died become
        interrupted."""
        session = await self.session(owner, name)
        turns = await self._threads.run(
            lambda: self._turns.settled(session, self._store.messages(name, until, limit))
        )
        return SessionTurns(session, await self._agent_of(session, client), tuple(turns))

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

    async def file(
        self, owner: str, name: str, *, pinned: bool | None = None, folder: str | None = None
    ) -> Session:
        """Pin a session, or put it into a folder; None changes nothing, an empty name takes it out."""
        session = await self.session(owner, name)
        filed = replace(
            session,
            pinned=session.pinned if pinned is None else pinned,
            folder=session.folder if folder is None else title_of(folder, LONGEST_FOLDER),
        )
        await self._threads.run(
            lambda: self._store.file_session(name, pinned=filed.pinned, folder=filed.folder)
        )
        return filed

    async def filed_sessions(self, owner: str) -> list[Session]:
        """The sessions of an owner that are pinned or in a folder, the last used first."""
        return await self._threads.run(lambda: self._store.filed_sessions(owner))

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

    async def answer(self, owner: str, session: str, number: int) -> StoredMessage:
        """One answer of a session; raises `TurnedAway` if there is none."""
        await self.session(owner, session)
        found = await self._threads.run(lambda: self._store.messages(session, number + 1, 1))
        if not found or found[-1].number != number or not isinstance(found[-1].content, Answer):
            raise missing("answer")
        return found[-1]

    async def verify(
        self, owner: str, session: str, number: int, client: SearchClient | None = None
    ) -> VerifyReport:
        """Verify the citations of one answer of a session: the facts about each of them.

        Raises `TurnedAway` if there is no such answer, and contacts only the pages that it cites. An answer
        of the embedded index is compared with the stored pages, and nothing is contacted. `client` is the one
        that the user may use.
        """
        message = await self.answer(owner, session, number)
        if not isinstance(message.content, Answer):
            raise missing("answer")
        client = client or self.groundwire
        policy = VerifyPolicy(offline=True, seconds=client.config.verify.timeout)
        return await client.averify(message.content, policy=policy if is_indexed(message) else None)

    async def store_report(
        self, owner: str, session: str, number: int, report: VerifyReport
    ) -> tuple[StoredMessage, bool]:
        """The answer with a report about its citations, and whether that could be stored: not while another
        answer of the session is being written."""
        message = await self.answer(owner, session, number)
        if not isinstance(message.content, Answer):
            raise missing("answer")
        content = with_verification(message.content, report, timestamp(self._clock()))
        changed = replace(message, content=content)
        return changed, await self._threads.run(lambda: self._turns.replace_answer(changed))

    async def budget(self, key: str) -> BudgetState:
        """What the API key with this fingerprint has spent and reserved."""
        return await self._threads.run(lambda: self._store.budget(key))

    async def record_usage(self, rows: Sequence[UsageRow]) -> None:
        """Record requests that are not turns of a session."""
        await self._threads.run(lambda: self._store.add_usage(rows))

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
        conversation = await self._conversation(question, client)
        async with aclosing(self._turns.run(question, conversation, stream, client)) as turns:
            async for turn in turns:
                yield turn

    async def start(
        self,
        question: ChatQuestion,
        stream: StreamBatches | None = None,
        client: SearchClient | None = None,
    ) -> RunningAnswer:
        """Ask a question whose answer goes on without its readers, until it is complete or `stop` is called;
        returns when the question is stored."""
        conversation = await self._conversation(question, client)
        turns = self._turns.run(question, conversation, stream, client)
        return await self._running.start(conversation.session.id, turns)

    async def follow(self, owner: str, name: str) -> AsyncGenerator[Turn, None]:
        """The last turn of a session: as it is, and while its answer grows, also if another process writes
        it."""
        await self.session(owner, name)
        running = self._running.get(name)
        async with aclosing(self.states(running) if running else self._poll(owner, name)) as turns:
            async for turn in turns:
                yield turn

    async def states(self, running: RunningAnswer) -> AsyncGenerator[Turn, None]:
        """The turn of an answer that this process is writing, until it is complete or stopped."""
        turn = await running.started()
        async with aclosing(running.follow()) as turns:
            async for turn in turns:
                yield turn
        if _is_growing(turn):  # it was cancelled; the store has its end
            async with aclosing(self._poll(turn.session.owner, turn.session.id)) as turns:
                async for turn in turns:
                    yield turn

    async def _poll(self, owner: str, name: str) -> AsyncGenerator[Turn, None]:
        """The last turn of a session, read from the store until its answer is complete."""
        last: Turn | None = None
        while last is None or _is_growing(last):
            conversation = await self.open(owner, name, 0, 2)
            turn = last_turn(conversation)
            if turn is None:
                return
            if turn != last:
                yield turn
            last = turn
            if _is_growing(turn):
                await asyncio.sleep(STORE_INTERVAL)

    async def stop(self, owner: str, name: str) -> None:
        """Stop the answer of a session that is in progress, in this process or in another one."""
        session = await self.session(owner, name)
        if (running := self._running.get(name)) is not None:
            running.stop()
            return
        turns = await self._threads.run(lambda: self._store.messages(name, 0, 1))
        if any(isinstance(turn.content, Answer) and state_of(turn.content) == "running" for turn in turns):
            await self._threads.run(lambda: self._turns.stop(session))

    async def _conversation(self, question: ChatQuestion, client: SearchClient | None) -> SessionTurns:
        """The session of a question and its agent; the turns are read later, under the lease."""
        if not question.replaces:
            question_message(question)  # an invalid question must not create a session
        if not question.session:
            if question.replaces:
                raise missing("question")
            agents = await self.agents(question.owner, client)
            agent = await self.agent(question.agent or agents[0].id, question.owner, client)
            now = timestamp(self._clock())
            session = Session(uuid4().hex, agent.id, question.owner, title_of(question.text), now, now)
            return SessionTurns(session, agent)
        session = await self.session(question.owner, question.session)
        agent = await self._agent_of(session, client)
        if question.agent and question.agent != agent.id:
            agent = await self.agent(question.agent, question.owner, client)
        return SessionTurns(replace(session, agent=agent.id), agent)

    async def _agent_of(self, session: Session, client: SearchClient | None = None) -> Agent:
        found = await self._threads.run(lambda: self._store.agent(session.agent))
        if found is not None and found.is_readable and is_open_to(found, session.owner):
            return found
        return built_in(session.agent, client or self.groundwire)


def last_turn(conversation: SessionTurns) -> Turn | None:
    """The last question of a session with its answer; None if there is none."""
    if len(conversation.turns) < 2:
        return None
    question, answer = conversation.turns[-2:]
    if not isinstance(question.content, Message) or not isinstance(answer.content, Answer):
        return None
    parts = [part for part in answer.content.parts if not isinstance(part, Reasoning)]
    searching = bool(parts) and isinstance(parts[-1], SearchCall)
    return Turn(conversation.session, conversation.agent, question, answer, searching)


def _is_growing(turn: Turn) -> bool:
    return isinstance(turn.answer.content, Answer) and state_of(turn.answer.content) == "running"


def chat_for(groundwire: SearchClient, store: Store) -> Chat:
    """The chat over a client and a store."""
    return Chat(groundwire, store)
