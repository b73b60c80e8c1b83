"""Turns: a question and the answer to it, put on disk as they come.

A question is there before it is acknowledged, and so is the empty answer; while the answer grows it is stored
every second, which is the sign that somebody still writes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial
from uuid import uuid4

from groundwire.chat.history import request_for
from groundwire.chat.questions import Asked, controls_of, question
from groundwire.chat.states import lost, state_of, stopped
from groundwire.chat.targets import target_for
from groundwire.chat.telling import Ask, Batches, Telling, telling
from groundwire.client import Groundwire
from groundwire.errors import GroundwireError, RequestError, TurnedAway
from groundwire.model import Answer, Message, Warned
from groundwire.model.value import replace, value
from groundwire.store.base import Agent, Session, Store, StoredMessage, UsageRow
from groundwire.transport.threads import in_thread

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
class Leaves:
    """A session to be read from its beginning to its end, once. Reading blocks."""

    session: Session
    agent: Agent
    turns: Iterator[StoredMessage]


@value
class Turn:
    """A question and the answer to it, as far as it has come."""

    session: Session
    agent: Agent
    question: StoredMessage
    answer: StoredMessage
    searching: bool = False
    """Is the provider searching now?"""


class Turns:
    """Asks, and keeps what is answered."""

    def __init__(self, groundwire: Groundwire, store: Store, clock: Callable[[], float]) -> None:
        self._groundwire = groundwire
        self._store = store
        self._clock = clock

    async def run(
        self, asked: Asked, conversation: Conversation, ask: Ask | None
    ) -> AsyncGenerator[Turn, None]:
        """A turn as it grows. The first is told when the question is on disk, the last when the answer is."""
        turn, past = await self._begin(asked, conversation)
        began, answer = self._clock(), turn.answer
        call = partial(self._call, turn.agent, (*past, turn.question), asked.language, ask)
        try:
            yield turn
            async with telling(call) as told, aclosing(self._grow(turn.answer, told)) as growing:
                async for answer in growing:
                    yield replace(turn, answer=answer, searching=told.searching)
        finally:
            # Also when nobody listens any more, and whatever else is cancelled with them.
            answer = await asyncio.shield(self._end(turn, _closed(answer), began))
        yield replace(turn, answer=answer)

    def settled(self, session: Session, turns: list[StoredMessage]) -> list[StoredMessage]:
        """The same, with every answer that nobody writes any more marked as interrupted; blocks."""
        if self._clock() - _seconds(session.updated) < LEASE:
            return turns
        return [self._given_up(turn) if _is_running(turn) else turn for turn in turns]

    def _given_up(self, turn: StoredMessage) -> StoredMessage:
        ended = replace(turn, content=replace(turn.content, error=lost()))
        self._store.add_message(ended)
        return ended

    def _call(
        self, agent: Agent, turns: tuple[StoredMessage, ...], language: str, ask: Ask | None
    ) -> Batches:
        provider, model = target_for(agent, self._groundwire)
        request = request_for(agent, turns, language, self._groundwire.config.search)
        return (ask or self._groundwire.batches)(request, provider=provider, model=model)

    async def _begin(
        self, asked: Asked, conversation: Conversation
    ) -> tuple[Turn, tuple[StoredMessage, ...]]:
        """Put question and empty answer on disk."""
        past = conversation.turns
        if any(_is_running(turn) for turn in past):
            raise TurnedAway(status=409, message="this session is being answered; wait, or stop it")
        old = next((turn for turn in past if asked.replaces and turn.id == asked.replaces), None)
        if asked.replaces and (old is None or not isinstance(old.content, Message)):
            raise missing("question")
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

    def _now(self) -> str:
        return moment(self._clock())


def moment(now: float) -> str:
    """A time as it is stored."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="microseconds")


def _seconds(stored: str) -> float:
    """A stored time as seconds; 0 for one that is damaged."""
    try:
        return datetime.fromisoformat(stored).timestamp()
    except ValueError:
        return 0.0


def missing(what: str) -> TurnedAway:
    """There is none, or it is not yours."""
    return TurnedAway(status=404, message=f"there is no such {what}", code="NOT_FOUND")


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
