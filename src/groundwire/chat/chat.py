"""Chat: the use cases of a person who talks, over one `Groundwire` and one `Store`.

The store blocks, so it is called in threads. A question is on disk before it is acknowledged, and so is the
empty answer to it; while the answer grows it is stored every second. Who finds one that nobody writes any
more marks it as interrupted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar
from uuid import uuid4

from groundwire.chat.agents import DEFAULT, id_for, title_of
from groundwire.chat.history import request_for
from groundwire.chat.questions import Asked, controls_of, question
from groundwire.chat.states import lost, state_of, stopped
from groundwire.chat.targets import target_for
from groundwire.chat.telling import Ask, Batches, Telling, telling
from groundwire.client import Groundwire
from groundwire.errors import ClientWireError, GroundwireError, RequestError, TurnedAway
from groundwire.model import Answer, Message, Warned
from groundwire.model.value import replace, value
from groundwire.store.base import Agent, Session, Store, StoredMessage, UsageRow, UsageTotal
from groundwire.transport.threads import in_thread

T = TypeVar("T")

BEAT = 0.8
"""Seconds between two looks at an answer, however quiet it is; each leaves a sign of life."""
PACE = 0.05
"""Seconds between two tellings of an answer that grows."""
LEASE = 5.0
"""Seconds after which an answer without a sign of life is given up."""


@value
class Conversation:
    """A session with everything said in it."""

    session: Session
    agent: Agent
    turns: tuple[StoredMessage, ...] = ()


@value
class Turn:
    """A question and the answer to it, as far as it has come."""

    session: Session
    agent: Agent
    question: StoredMessage
    answer: StoredMessage
    searching: bool = False
    """Is the provider searching now?"""


class Chat:
    """What can be done with agents and sessions. Whoever is not the owner of a session does not see it."""

    def __init__(
        self, groundwire: Groundwire, store: Store, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.groundwire = groundwire
        self._store = store
        self._clock = clock

    async def agents(self) -> list[Agent]:
        """All agents; there is always one."""
        return await in_thread(self._store.agents) or [DEFAULT]

    async def agent(self, name: str) -> Agent:
        """An agent by its id; raises `TurnedAway` where there is none."""
        found = await in_thread(lambda: self._store.agent(name))
        if found is None and name != DEFAULT.id:
            raise _missing("agent")
        return found or DEFAULT

    async def save_agent(self, agent: Agent) -> Agent:
        """Keep an agent; one without an id is new, and gets it."""
        if not any(text.strip() for text in agent.name.values()):
            raise ClientWireError("an agent needs a name", "$.name")
        now = self._now()
        known = {one.id: one for one in await in_thread(self._store.agents)}
        created = known[agent.id].created if agent.id in known else now
        name = agent.id or id_for(agent, {*known, DEFAULT.id})
        kept = replace(agent, id=name, created=created, updated=now)
        await in_thread(lambda: self._store.put_agent(kept))
        return kept

    async def remove_agent(self, name: str) -> None:
        """Forget an agent; its sessions go on with the default one."""
        if not await in_thread(lambda: self._store.remove_agent(name)):
            raise _missing("agent")

    async def sessions(self, owner: str, limit: int = 50, before: Session | None = None) -> list[Session]:
        """The sessions of an owner, the last used first."""
        return await in_thread(lambda: self._store.sessions(owner, limit, before))

    async def session(self, owner: str, name: str) -> Session:
        """A session of the owner's; raises `TurnedAway` for those of others as for those that are not."""
        found = await in_thread(lambda: self._store.session(name))
        if found is None or found.owner != owner:
            raise _missing("session")
        return found

    async def open(self, owner: str, name: str) -> Conversation:
        """A session with its turns. Answers that nobody writes any more become interrupted."""
        session = await self.session(owner, name)
        turns = await in_thread(lambda: self._store.messages(name))
        if not self._is_alive(session):
            turns = [await self._settled(turn) for turn in turns]
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
        """A turn as it grows. The first is told when the question is on disk, the last when the answer is.

        Leaving the loop stops the provider, and the answer is kept as stopped.
        """
        turn, past = await self._begin(asked)
        yield turn
        began = self._clock()
        call = partial(self._call, turn.agent, (*past, turn.question), asked.language, ask)
        answer = turn.answer
        try:
            async with telling(call) as told, aclosing(self._grow(turn.answer, told)) as growing:
                async for answer in growing:
                    yield replace(turn, answer=answer, searching=told.searching)
        except BaseException:
            await asyncio.shield(self._end(turn, _closed(answer), began))
            raise
        yield replace(turn, answer=await asyncio.shield(self._end(turn, _closed(answer), began)))

    def _call(
        self, agent: Agent, turns: tuple[StoredMessage, ...], language: str, ask: Ask | None
    ) -> Batches:
        provider, model = target_for(agent, self.groundwire)
        request = request_for(agent, turns, language, self.groundwire.config.search)
        return (ask or self.groundwire.batches)(request, provider=provider, model=model)

    async def _begin(self, asked: Asked) -> tuple[Turn, tuple[StoredMessage, ...]]:
        """Put question and empty answer on disk."""
        conversation = await self._conversation(asked)
        past = conversation.turns
        if any(_is_running(turn) for turn in past):
            raise TurnedAway(status=409, message="this session is being answered; wait, or stop it")
        old = next((turn for turn in past if asked.replaces and turn.id == asked.replaces), None)
        if asked.replaces and (old is None or not isinstance(old.content, Message)):
            raise _missing("question")
        return await in_thread(partial(self._put, asked, conversation, old))

    def _put(
        self, asked: Asked, conversation: Conversation, old: StoredMessage | None
    ) -> tuple[Turn, tuple[StoredMessage, ...]]:
        store, session, now = self._store, conversation.session, self._now()
        past = conversation.turns
        if old is not None:
            asked = _again(asked, old)
            past = tuple(turn for turn in past if turn.number < old.number)
        said = question(asked)
        store.put_session(replace(session, updated=now))
        if old is not None:
            store.cut_messages(session.id, old.number)
        name = old.id if old is not None else uuid4().hex
        put = store.add_message(StoredMessage(name, session.id, said, created=now))
        answer = store.add_message(StoredMessage(uuid4().hex, session.id, Answer(), created=now))
        return Turn(session, conversation.agent, put, answer), past

    async def _conversation(self, asked: Asked) -> Conversation:
        if not asked.session:
            question(asked)  # a session is not made for nothing
            agent = await self.agent(asked.agent or (await self.agents())[0].id)
            now = self._now()
            session = Session(uuid4().hex, agent.id, asked.owner, title_of(asked.text), now, now)
            return Conversation(session, agent)
        found = await self.open(asked.owner, asked.session)
        if not asked.agent or asked.agent == found.agent.id:
            return found
        agent = await self.agent(asked.agent)
        return Conversation(replace(found.session, agent=agent.id), agent, found.turns)

    async def _grow(self, empty: StoredMessage, told: Telling) -> AsyncGenerator[StoredMessage, None]:
        """The answer whenever there is more of it, stored as it grows."""
        stored = self._clock()
        while not told.over:
            changed = await told.change(BEAT)
            answer = replace(empty, content=told.answer(), provider=told.provider)
            if self._clock() - stored >= BEAT or not changed:
                stored = self._clock()
                with suppress(GroundwireError):  # a full disk silences nobody; it is told at the end
                    await in_thread(partial(self._keep, answer, self._now()))
            yield answer
            await asyncio.sleep(PACE)
        yield replace(empty, content=told.answer(), provider=told.provider)

    def _keep(self, answer: StoredMessage, now: str) -> None:
        """The session is touched by it: the sign of life."""
        self._store.add_message(replace(answer, created=now))

    async def _end(self, turn: Turn, answer: StoredMessage, began: float) -> StoredMessage:
        """Put the end of an answer on disk, and what it cost."""
        content = answer.content
        if not isinstance(content, Answer):
            return answer
        row = UsageRow(
            uuid4().hex,
            self._now(),
            answer.provider,
            content.model,
            content.usage,
            turn.session.owner,
            "chat",
            content.error.code if content.error else "",
            self._clock() - began,
        )
        try:
            await in_thread(lambda: self._keep(answer, self._now()))
            await in_thread(lambda: self._store.add_usage([row]))
        except RequestError:
            return answer  # the session was removed while it was answered
        except GroundwireError as error:
            note = Warned("not_stored", f"the answer could not be stored: {error.message}")
            return replace(answer, content=replace(content, warnings=(*content.warnings, note)))
        return answer

    async def _settled(self, turn: StoredMessage) -> StoredMessage:
        if not _is_running(turn):
            return turn
        ended = replace(turn, content=replace(turn.content, error=lost()))
        await in_thread(lambda: self._store.add_message(ended))
        return ended

    async def _agent_of(self, session: Session) -> Agent:
        return await in_thread(lambda: self._store.agent(session.agent)) or DEFAULT

    def _is_alive(self, session: Session) -> bool:
        last = datetime.fromisoformat(session.updated).timestamp() if session.updated else 0.0
        return self._clock() - last < LEASE

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="microseconds")


def chat_for(groundwire: Groundwire, store: Store) -> Chat:
    """The chat of one installation."""
    return Chat(groundwire, store)


def _is_running(turn: StoredMessage) -> bool:
    return isinstance(turn.content, Answer) and state_of(turn.content) == "running"


def _closed(answer: StoredMessage) -> StoredMessage:
    """An answer that nobody goes on with."""
    return (
        replace(answer, content=replace(answer.content, error=stopped())) if _is_running(answer) else answer
    )


def _again(asked: Asked, old: StoredMessage) -> Asked:
    """The same question once more, where no other is given in its place."""
    if asked.text.strip() or not isinstance(old.content, Message):
        return asked
    return replace(asked, text=old.content.text, controls=controls_of(old.content))


def _missing(what: str) -> TurnedAway:
    return TurnedAway(status=404, message=f"there is no such {what}", code="NOT_FOUND")
