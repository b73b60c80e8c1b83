"""An answer under way: its events are folded as they come, and whoever reads it may be slower."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import TypeAlias
from uuid import uuid4

from groundwire.chat.agents import named_target, target_for
from groundwire.chat.answers import lost, state_of, stopped
from groundwire.chat.questions import ChatQuestion, controls_of, question_message, request_for
from groundwire.chat.storage import SessionLease, StoreThreads, busy, renew
from groundwire.client import Groundwire
from groundwire.errors import GroundwireError, RequestError, TurnedAway
from groundwire.model import (
    Answer,
    Assembler,
    Event,
    Failed,
    Finished,
    Message,
    SearchCalled,
    SearchReturned,
    SearchStarted,
    Started,
    TextDelta,
    Warned,
)
from groundwire.model.value import replace, value
from groundwire.store.base import Agent, Session, Store, StoredMessage, UsageRow

Batches: TypeAlias = AsyncGenerator[Sequence[Event], None]
StreamBatches: TypeAlias = Callable[..., Batches]
"""Called with a request, `provider=` and `model=`."""

_SEARCHING = (SearchStarted, SearchCalled)
_GOING_ON = (SearchReturned, TextDelta)


async def with_warning(batches: Batches, warning: Warned) -> Batches:
    """The same events, with a warning that was known before them."""
    async with aclosing(batches) as rest:
        async for batch in rest:
            yield (*batch, warning) if warning not in batch else batch
            break
        async for batch in rest:
            yield batch


class LiveAnswer:
    """The answer so far."""

    def __init__(self) -> None:
        self.provider = ""
        self.over = False
        self.searching = False
        self._assembler = Assembler()
        self._changed = asyncio.Event()

    def answer(self) -> Answer:
        """What has been told until now."""
        return self._assembler.answer()

    async def change(self, within: float) -> bool:
        """Wait for something new; says whether there is."""
        try:
            async with asyncio.timeout(within):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        return True

    async def follow(self, ask: Callable[[], Batches]) -> None:
        """Take in everything; what goes wrong is the end of the answer."""
        try:
            async with aclosing(ask()) as batches:
                async for batch in batches:
                    for event in batch:
                        self._take(event)
                    self._changed.set()
        except GroundwireError as error:
            self._take(Failed(error))
        finally:
            self.over = True
            self._changed.set()

    def _take(self, event: Event) -> None:
        if isinstance(event, Started):
            self.provider = event.provider or self.provider
        elif isinstance(event, Finished | Failed):
            self.over = True
        elif isinstance(event, _SEARCHING):
            self.searching = True
        elif isinstance(event, _GOING_ON):
            self.searching = False
        self._assembler.feed(event)


@asynccontextmanager
async def follow_answer(ask: Callable[[], Batches]) -> AsyncGenerator[LiveAnswer, None]:
    """An answer that is asked for as long as the block lasts; leaving it stops the provider."""
    told = LiveAnswer()
    following = asyncio.create_task(told.follow(ask))
    try:
        yield told
        await following
    finally:
        following.cancel()
        await asyncio.wait([following])


BEAT = 0.8
"""Seconds between two looks at an answer, however quiet it is, and between two times that it is stored."""
PACE = 0.05
"""Seconds between two tellings of an answer that grows."""


@value
class SessionTurns:
    """A session with everything said in it."""

    session: Session
    agent: Agent
    turns: tuple[StoredMessage, ...] = ()


@value
class SessionReader:
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


StoredTurn: TypeAlias = tuple[Turn, tuple[StoredMessage, ...]]
"""A turn on disk, and what was said before it."""


class Turns:
    """Asks, and keeps what is answered."""

    def __init__(
        self, groundwire: Groundwire, store: Store, threads: StoreThreads, clock: Callable[[], float]
    ) -> None:
        self._groundwire = groundwire
        self._store = store
        self._threads = threads
        self._clock = clock
        self._abandoned: set[asyncio.Task[None]] = set()

    async def run(
        self, asked: ChatQuestion, conversation: SessionTurns, ask: StreamBatches | None
    ) -> AsyncGenerator[Turn, None]:
        """A turn as it grows. The first is told when the question is on disk, the last when the answer is.

        Raises `TurnedAway` (409) while another answer is being written in the session.
        """
        lease = SessionLease(self._store, conversation.session.id)
        beginning = asyncio.ensure_future(self._threads.run(partial(self._begin, asked, conversation, lease)))
        try:
            turn, past = await asyncio.shield(beginning)
        except asyncio.CancelledError:
            abandoning = asyncio.create_task(self._abandon(beginning, lease))
            self._abandoned.add(abandoning)
            abandoning.add_done_callback(self._abandoned.discard)
            raise
        renewing = asyncio.create_task(renew(lease, self._threads))
        began, answer = self._clock(), turn.answer
        call = partial(self._call, turn.agent, (*past, turn.question), asked.language, ask)
        try:
            yield turn
            async with follow_answer(call) as told, aclosing(self._grow(turn.answer, told, lease)) as growing:
                async for answer in growing:
                    yield replace(turn, answer=answer, searching=told.searching)
        finally:
            # Also when nobody listens any more, and whatever else is cancelled with them.
            ending = self._end(turn, _closed(answer), began, lease)
            answer = await asyncio.shield(self._released(ending, lease, renewing))
        yield replace(turn, answer=answer)

    async def _abandon(self, beginning: asyncio.Future[StoredTurn], lease: SessionLease) -> None:
        """End a turn that nobody waits for any more, as soon as it is on disk."""
        try:
            turn, _ = await beginning
        except GroundwireError:
            return
        ending = self._end(turn, _closed(turn.answer), self._clock(), lease)
        await self._released(ending, lease, None)

    async def _released(
        self,
        ending: Coroutine[None, None, StoredMessage],
        lease: SessionLease,
        renewing: asyncio.Task[None] | None,
    ) -> StoredMessage:
        """Let others ask when the end of an answer is on disk."""
        try:
            return await ending
        finally:
            if renewing is not None:
                renewing.cancel()
            with suppress(GroundwireError):  # it expires
                await self._threads.run(lease.release)

    def settled(self, session: Session, turns: list[StoredMessage]) -> list[StoredMessage]:
        """The same, with every answer whose writer died marked as interrupted; blocks."""
        lease = SessionLease(self._store, session.id)
        if not any(map(_is_running, turns)) or not lease.take():
            return turns
        try:
            return [self._given_up(turn) if _is_running(turn) else turn for turn in turns]
        finally:
            lease.release()

    def _given_up(self, turn: StoredMessage) -> StoredMessage:
        """The answer as it is now: it may have been completed just before the lease was taken."""
        for kept in self._store.messages(turn.session, turn.number + 1, 1):
            if kept.id == turn.id and not _is_running(kept):
                return kept
        ended = replace(turn, content=replace(turn.content, error=lost()))
        self._store.add_message(ended)
        return ended

    def _call(
        self, agent: Agent, turns: tuple[StoredMessage, ...], language: str, ask: StreamBatches | None
    ) -> Batches:
        target = target_for(agent, self._groundwire)
        (provider, model), warning = named_target(agent, target, self._groundwire)
        request = request_for(agent, turns, language, self._groundwire.config.search)
        batches = (ask or self._groundwire.batches)(request, provider=provider, model=model)
        return with_warning(batches, warning) if warning else batches

    def _begin(self, asked: ChatQuestion, conversation: SessionTurns, lease: SessionLease) -> StoredTurn:
        """Take the lease, and put question and empty answer on disk; blocks."""
        store, session = self._store, conversation.session
        if not asked.session:
            store.put_session(session)
        if not lease.take():
            raise busy()
        with ExitStack() as undo:
            undo.callback(lease.release)
            # Read under the lease: what another turn just added belongs to the past of this one.
            begun = self._put(asked, conversation, store.messages(session.id))
            undo.pop_all()
        return begun

    def _put(self, asked: ChatQuestion, conversation: SessionTurns, turns: list[StoredMessage]) -> StoredTurn:
        store, session, now = self._store, conversation.session, self._now()
        past = tuple(self._given_up(turn) if _is_running(turn) else turn for turn in turns)
        old = next((turn for turn in past if asked.replaces and turn.id == asked.replaces), None)
        if asked.replaces and (old is None or not isinstance(old.content, Message)):
            raise missing("question")
        if old is not None:
            asked = _again(asked, old)
            past = tuple(turn for turn in past if turn.number < old.number)
        said = question_message(asked)
        store.put_session(replace(session, updated=now))
        if old is not None:
            store.cut_messages(session.id, old.number)
        name = old.id if old is not None else uuid4().hex
        put = store.add_message(StoredMessage(name, session.id, said, created=now))
        answer = store.add_message(StoredMessage(uuid4().hex, session.id, Answer(), created=now))
        return Turn(session, conversation.agent, put, answer), past

    async def _grow(
        self, empty: StoredMessage, told: LiveAnswer, lease: SessionLease
    ) -> AsyncGenerator[StoredMessage, None]:
        """The answer whenever there is more of it, stored as it grows."""
        stored = self._clock()
        while not told.over:
            changed = await told.change(BEAT)
            answer = replace(empty, content=told.answer(), provider=told.provider)
            if self._clock() - stored >= BEAT or not changed:
                stored = self._clock()
                with suppress(GroundwireError):  # a full disk silences nobody; it is told at the end
                    await self._threads.run(partial(self._keep, answer, self._now(), lease))
            yield answer
            await asyncio.sleep(PACE)
        yield replace(empty, content=told.answer(), provider=told.provider)

    def _keep(self, answer: StoredMessage, now: str, lease: SessionLease) -> None:
        """Store the answer, unless the lease was lost: then others have marked it as interrupted."""
        if not lease.renew():
            if self._store.session(answer.session) is None:
                raise RequestError("the session was removed")
            raise GroundwireError("another process took over the session")
        self._store.add_message(replace(answer, created=now))

    async def _end(
        self, turn: Turn, answer: StoredMessage, began: float, lease: SessionLease
    ) -> StoredMessage:
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
            await self._threads.run(lambda: self._keep(answer, self._now(), lease))
            await self._threads.run(lambda: self._store.add_usage([row]))
        except RequestError:
            return answer  # the session was removed while it was answered
        except GroundwireError as error:
            note = Warned("not_stored", f"the answer could not be stored: {error.message}")
            return replace(answer, content=replace(content, warnings=(*content.warnings, note)))
        return answer

    def _now(self) -> str:
        return timestamp(self._clock())


def timestamp(now: float) -> str:
    """A time as it is stored."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="microseconds")


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


def _again(asked: ChatQuestion, old: StoredMessage) -> ChatQuestion:
    """The same question once more, where no other is given in its place."""
    if asked.text.strip() or not isinstance(old.content, Message):
        return asked
    return replace(asked, text=old.content.text, controls=controls_of(old.content))
