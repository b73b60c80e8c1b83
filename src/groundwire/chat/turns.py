"""Turns: a question and its answer, stored while the answer is streamed.

The question and an empty answer are stored before the question is acknowledged; the growing answer is stored
every second. The lease of the session shows that a process, this one or another, is still writing the answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import TypeAlias
from uuid import uuid4

from groundwire.chat.agents import named_target, target_for
from groundwire.chat.answers import is_finished, lost, state_of, stopped
from groundwire.chat.follow_ups import with_topics
from groundwire.chat.indexed import cited_pages, is_indexed
from groundwire.chat.questions import ChatQuestion, Controls, controls_of, question_message, request_for
from groundwire.chat.storage import LeaseLost, SessionLease, StoreThreads, busy, renew
from groundwire.client_protocol import ResolvedTarget, SearchClient
from groundwire.errors import GroundwireError, RequestError, TurnedAway
from groundwire.model import (
    Answer,
    Assembler,
    Event,
    Failed,
    Finished,
    Message,
    Request,
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
StreamBatches: TypeAlias = Callable[[Request, ResolvedTarget], Batches]
"""Streams the batches of events of a request; called with the request, `provider=` and `model=`."""

log = logging.getLogger("groundwire.chat")

_SEARCHING = (SearchStarted, SearchCalled)
_SEARCH_OVER = (SearchReturned, TextDelta)


async def with_warning(batches: Batches, warning: Warned) -> Batches:
    """The same events, with a warning added to the first batch."""
    async with aclosing(batches) as rest:
        async for batch in rest:
            yield (*batch, warning) if warning not in batch else batch
            break
        async for batch in rest:
            yield batch


class LiveAnswer:
    """An answer that is being streamed. Its events are folded as they arrive; a slow reader does not delay
    them."""

    def __init__(self) -> None:
        self.provider = ""
        self.over = False
        self.searching = False
        self._assembler = Assembler()
        self._changed = asyncio.Event()

    def answer(self) -> Answer:
        """The answer so far."""
        return self._assembler.answer()

    async def change(self, within: float) -> bool:
        """Wait for new events; False if none arrived in time."""
        try:
            async with asyncio.timeout(within):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        return True

    async def follow(self, stream: Callable[[], Batches]) -> None:
        """Read all events; an error ends the answer."""
        try:
            async with aclosing(stream()) as batches:
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
        elif isinstance(event, _SEARCH_OVER):
            self.searching = False
        self._assembler.feed(event)


@asynccontextmanager
async def follow_answer(stream: Callable[[], Batches]) -> AsyncGenerator[LiveAnswer, None]:
    """Stream an answer for the duration of the block; leaving it cancels the request."""
    answer = LiveAnswer()
    following = asyncio.create_task(answer.follow(stream))
    try:
        yield answer
        await following
    finally:
        following.cancel()
        await asyncio.wait([following])


STORE_INTERVAL = 0.8
"""Longest time in seconds between two updates of an answer, and between two writes to the store."""
UPDATE_INTERVAL = 0.05
"""Shortest time in seconds between two updates of an answer."""


@value
class SessionTurns:
    """A session with its agent and all its turns."""

    session: Session
    agent: Agent
    turns: tuple[StoredMessage, ...] = ()


@value
class SessionReader:
    """A session whose turns are read one after the other, once. Reading blocks."""

    session: Session
    agent: Agent
    turns: Iterator[StoredMessage]


@value
class Turn:
    """A question and its answer so far."""

    session: Session
    agent: Agent
    question: StoredMessage
    answer: StoredMessage
    searching: bool = False
    """Is the provider searching now?"""


StoredTurn: TypeAlias = tuple[Turn, tuple[StoredMessage, ...]]
"""A stored turn, and the turns before it."""


class Turns:
    """Runs turns: sends questions, and stores the answers."""

    def __init__(
        self, groundwire: SearchClient, store: Store, threads: StoreThreads, clock: Callable[[], float]
    ) -> None:
        self._groundwire = groundwire
        self._store = store
        self._threads = threads
        self._clock = clock
        self._abandoned: set[asyncio.Task[None]] = set()
        self.closing = False
        """The process ends: answers that are cancelled were interrupted, not stopped by their user."""

    async def run(
        self,
        question: ChatQuestion,
        conversation: SessionTurns,
        stream: StreamBatches | None,
        client: SearchClient | None = None,
    ) -> AsyncGenerator[Turn, None]:
        """A turn as it grows: the first state when the question is stored, the last when the answer is.
        `client` is the one that the user may use.

        Raises `TurnedAway` (409) while another answer is being written in the session.
        """
        lease = SessionLease(self._store, conversation.session.id)
        beginning = asyncio.ensure_future(
            self._threads.run(partial(self._begin, question, conversation, lease))
        )
        try:
            turn, past = await asyncio.shield(beginning)
        except asyncio.CancelledError:
            abandoning = asyncio.create_task(self._abandon(beginning, lease, question.key))
            self._abandoned.add(abandoning)
            abandoning.add_done_callback(self._abandoned.discard)
            raise
        renewing = asyncio.create_task(renew(lease, self._threads))
        began, answer = self._clock(), turn.answer
        turns = (*past, turn.question)
        call = partial(self._call, turn.agent, turns, question.language, stream, client or self._groundwire)
        try:
            yield turn
            with suppress(LeaseLost):  # another process has stopped it
                async with (
                    follow_answer(call) as live,
                    aclosing(self._grow(turn.answer, live, lease)) as growing,
                ):
                    async for answer in growing:
                        yield replace(turn, answer=answer, searching=live.searching)
        finally:
            # Also when the client has disconnected and this task is cancelled.
            ending = self._end(turn, self._closed(answer), began, lease, question.key, client)
            answer = await asyncio.shield(self._released(ending, lease, renewing))
        yield replace(turn, answer=answer)

    async def _abandon(self, beginning: asyncio.Future[StoredTurn], lease: SessionLease, key: str) -> None:
        """End a turn whose client has disconnected, as soon as it is stored."""
        try:
            turn, _ = await beginning
        except GroundwireError:
            return
        ending = self._end(turn, self._closed(turn.answer), self._clock(), lease, key)
        await self._released(ending, lease, None)

    async def _released(
        self,
        ending: Coroutine[None, None, StoredMessage],
        lease: SessionLease,
        renewing: asyncio.Task[None] | None,
    ) -> StoredMessage:
        """Release the lease when the end of an answer is stored."""
        try:
            return await ending
        finally:
            if renewing is not None:
                renewing.cancel()
            with suppress(GroundwireError):  # it expires
                await self._threads.run(lease.release)

    def settled(self, session: Session, turns: list[StoredMessage]) -> list[StoredMessage]:
        """The turns, with every answer whose process died marked as interrupted; blocks."""
        lease = SessionLease(self._store, session.id)
        if not any(map(_is_running, turns)) or not lease.take():
            return turns
        try:
            return [self._interrupted(turn) if _is_running(turn) else turn for turn in turns]
        finally:
            lease.release()

    def _interrupted(self, turn: StoredMessage) -> StoredMessage:
        """Mark an answer as interrupted, unless it was completed just before the lease was taken."""
        for kept in self._store.messages(turn.session, turn.number + 1, 1):
            if kept.id == turn.id and not _is_running(kept):
                return kept
        ended = replace(turn, content=replace(turn.content, error=lost()))
        self._store.add_message(ended)
        return ended

    def stop(self, session: Session) -> None:
        """Stop the answer that another process is writing in a session: its lease is taken away, and that
        process ends as soon as it notices. Blocks."""
        lease = SessionLease(self._store, session.id)
        lease.seize()
        try:
            for turn in self._store.messages(session.id, 0, 1):
                if isinstance(turn.content, Answer) and _is_running(turn):
                    self._store.add_message(replace(turn, content=replace(turn.content, error=stopped())))
        finally:
            lease.release()

    def replace_answer(self, answer: StoredMessage) -> bool:
        """Store a changed answer in place; False if a turn of its session is being written, or if it was
        removed or replaced meanwhile. Blocks."""
        lease = SessionLease(self._store, answer.session)
        if not lease.take():
            return False
        try:
            kept = self._store.messages(answer.session, answer.number + 1, 1)
            if not kept or kept[-1].id != answer.id:
                return False
            self._store.add_message(answer)
        finally:
            lease.release()
        return True

    def _call(
        self,
        agent: Agent,
        turns: tuple[StoredMessage, ...],
        language: str,
        stream: StreamBatches | None,
        client: SearchClient,
    ) -> Batches:
        agent = _for_question(agent, turns[-1])
        target = target_for(agent, client)
        named, warning = named_target(agent, target, client)
        resolved = ResolvedTarget(*named)
        request = request_for(agent, turns, language, client.config.search)
        batches = client.batches(request, target=resolved) if stream is None else stream(request, resolved)
        return with_warning(batches, warning) if warning else batches

    def _begin(self, question: ChatQuestion, conversation: SessionTurns, lease: SessionLease) -> StoredTurn:
        """Take the lease, and store the question and an empty answer; blocks."""
        store, session = self._store, conversation.session
        if not question.session:
            store.put_session(session)
        if not lease.take():
            raise busy()
        with ExitStack() as undo:
            undo.callback(lease.release)
            # Read under the lease: another turn may just have been added.
            stored = self._put(question, conversation, store.messages(session.id))
            undo.pop_all()
        return stored

    def _put(
        self, question: ChatQuestion, conversation: SessionTurns, turns: list[StoredMessage]
    ) -> StoredTurn:
        store, session, now = self._store, conversation.session, self._now()
        past = tuple(self._interrupted(turn) if _is_running(turn) else turn for turn in turns)
        old = next((turn for turn in past if question.replaces and turn.id == question.replaces), None)
        if question.replaces and (old is None or not isinstance(old.content, Message)):
            raise missing("question")
        if old is not None:
            question = _repeat_question(question, old)
            past = tuple(turn for turn in past if turn.number < old.number)
        message = question_message(question)
        store.put_session(replace(session, updated=now))
        if old is not None:
            store.cut_messages(session.id, old.number)
        name = old.id if old is not None else uuid4().hex
        put = store.add_message(StoredMessage(name, session.id, message, created=now))
        answer = store.add_message(StoredMessage(uuid4().hex, session.id, Answer(), created=now))
        return Turn(session, conversation.agent, put, answer), past

    async def _grow(
        self, empty: StoredMessage, live: LiveAnswer, lease: SessionLease
    ) -> AsyncGenerator[StoredMessage, None]:
        """The answer whenever it has grown, stored at intervals."""
        stored = self._clock()
        while not live.over:
            changed = await live.change(STORE_INTERVAL)
            answer = replace(empty, content=live.answer(), provider=live.provider)
            if self._clock() - stored >= STORE_INTERVAL or not changed:
                stored = self._clock()
                try:
                    await self._threads.run(partial(self._keep, answer, self._now(), lease))
                except LeaseLost:
                    raise
                except GroundwireError as error:
                    # A full disk does not end the answer; it is reported at the end.
                    log.warning("an answer was not stored: %s", error.message)
            yield answer
            await asyncio.sleep(UPDATE_INTERVAL)
        yield replace(empty, content=live.answer(), provider=live.provider)

    def _keep(self, answer: StoredMessage, now: str, lease: SessionLease) -> None:
        """Store the answer, unless the lease was lost: then another process has marked it as interrupted."""
        with lease.write(ends=not _is_running(answer)) as is_due:
            if not is_due:
                return
            if not lease.renew():
                if self._store.session(answer.session) is None:
                    raise RequestError("the session was removed")
                raise LeaseLost
            self._store.add_message(replace(answer, created=now))

    async def _end(
        self,
        turn: Turn,
        answer: StoredMessage,
        began: float,
        lease: SessionLease,
        key: str,
        client: SearchClient | None = None,
    ) -> StoredMessage:
        """Store the complete answer, its topics and its usage."""
        content = answer.content
        if not isinstance(content, Answer):
            return answer
        if is_finished(content):
            pages = await cited_pages(content, client or self._groundwire) if is_indexed(answer) else []
            content = with_topics(content, turn.question.content.text, pages)
            answer = replace(answer, content=content)
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
            key,
        )
        try:
            try:
                await self._threads.run(lambda: self._keep(answer, self._now(), lease))
            finally:
                await self._threads.run(lambda: self._store.add_usage([row]))
        except RequestError:
            return answer  # the session was removed while it was answered
        except LeaseLost as error:
            kept = await self._threads.run(partial(self._stored, answer))
            if not is_finished(content) and not _is_running(kept):
                return kept  # another process has stopped it
            return _not_stored(answer, content, error)
        except GroundwireError as error:
            return _not_stored(answer, content, error)
        return answer

    def _stored(self, answer: StoredMessage) -> StoredMessage:
        """The answer as it is stored; blocks."""
        kept = self._store.messages(answer.session, answer.number + 1, 1)
        return kept[-1] if kept and kept[-1].id == answer.id else answer

    def _closed(self, answer: StoredMessage) -> StoredMessage:
        """The answer, marked as stopped or interrupted if it is not complete."""
        content = answer.content
        if not isinstance(content, Answer):
            return answer
        if content.error is not None and content.error.code == "CLOSING":
            return replace(answer, content=replace(content, error=lost()))
        if state_of(content) == "running":
            return replace(answer, content=replace(content, error=lost() if self.closing else stopped()))
        return answer

    def _now(self) -> str:
        return timestamp(self._clock())


def timestamp(now: float) -> str:
    """A time in the format of the store."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="microseconds")


def missing(what: str) -> TurnedAway:
    """The error for something that does not exist or belongs to another owner."""
    return TurnedAway(status=404, message=f"there is no such {what}", code="NOT_FOUND")


def _is_running(turn: StoredMessage) -> bool:
    return isinstance(turn.content, Answer) and state_of(turn.content) == "running"


def _not_stored(answer: StoredMessage, content: Answer, error: GroundwireError) -> StoredMessage:
    note = Warned("not_stored", f"the answer could not be stored: {error.message}")
    return replace(answer, content=replace(content, warnings=(*content.warnings, note)))


def _for_question(agent: Agent, question: StoredMessage) -> Agent:
    """The agent, with the provider, the model and the search that were chosen for this question."""
    content = question.content
    chosen = controls_of(content) if isinstance(content, Message) else Controls()
    if chosen.search:
        agent = replace(agent, web_search=chosen.search == "on")
    if not chosen.provider and not chosen.model:
        return agent
    return replace(agent, provider=chosen.provider, model=chosen.model)


def _repeat_question(question: ChatQuestion, old: StoredMessage) -> ChatQuestion:
    """The old question once more, unless a new text is given."""
    if question.text.strip() or not isinstance(old.content, Message):
        return question
    controls = controls_of(old.content)
    chosen = question.controls
    if chosen.provider or chosen.model:
        controls = replace(controls, provider=chosen.provider, model=chosen.model)
    if chosen.search:
        controls = replace(controls, search=chosen.search)
    return replace(question, text=old.content.text, controls=controls)
