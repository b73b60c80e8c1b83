"""Answers in progress. They go on without a reader, and several readers can follow one.

A reader gets the state of the turn, not the events of its stream: one that comes late or reads slowly gets
the newest state, and no log of events has to be kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from groundwire.chat.turns import Turn
from groundwire.errors import GroundwireError

MAX_UNATTENDED = 32
"""Answers of one process that may go on without a reader; a further one is stopped."""
UNATTENDED_SECONDS = 600.0
"""Longest time that an answer goes on without a reader."""
_CLOSE_SECONDS = 5.0
"""Longest wait for the store when the process ends."""


class RunningAnswer:
    """An answer that this process is writing: the last state of its turn, and who reads it."""

    def __init__(self, owner: RunningAnswers, session: str) -> None:
        self.session = session
        self.turn: Turn | None = None
        self.over = False
        self.readers = 0
        self._owner = owner
        self._error: GroundwireError | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def start(self, turns: AsyncGenerator[Turn, None]) -> asyncio.Task[None]:
        """Write the answer, in a task of its own."""
        self._task = asyncio.create_task(self._run(turns))
        self._attend(0)
        return self._task

    async def started(self) -> Turn:
        """The first state: the question is stored. Raises the error that prevented it."""
        while self.turn is None:
            if self.over:
                raise self._error or GroundwireError("the answer was stopped before it began")
            await self._changed.wait()
        return self.turn

    async def follow(self) -> AsyncGenerator[Turn, None]:
        """The states of the turn from now on, the present one first; raises the error that ended it."""
        shown: Turn | None = None
        self._attend(1)
        try:
            while True:
                changed = self._changed
                if self.turn is not shown and self.turn is not None:
                    shown = self.turn
                    yield shown
                elif self.over:
                    break
                else:
                    await changed.wait()
        finally:
            self._attend(-1)
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Cancel the request; what was received is stored."""
        if self._task is not None:
            self._task.cancel()

    def _attend(self, change: int) -> None:
        self.readers += change
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if self.readers or self.over:
            return
        if self._owner.unattended() > MAX_UNATTENDED:
            self.stop()
        else:
            loop = asyncio.get_running_loop()
            self._deadline = loop.call_later(UNATTENDED_SECONDS, self.stop)

    async def _run(self, turns: AsyncGenerator[Turn, None]) -> None:
        try:
            async with aclosing(turns):
                async for turn in turns:
                    self.turn = turn
                    self._owner.register(self)
                    self._publish()
        except GroundwireError as error:
            self._error = error
        finally:
            self.over = True
            if self._deadline is not None:
                self._deadline.cancel()
            self._publish()

    def _publish(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class RunningAnswers:
    """The answers that this process is writing, by session."""

    def __init__(self) -> None:
        self._by_session: dict[str, RunningAnswer] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, session: str, turns: AsyncGenerator[Turn, None]) -> RunningAnswer:
        """Write an answer; returns when the question is stored. Raises what prevents that."""
        running = RunningAnswer(self, session)
        task = running.start(turns)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._remove(running, done))
        await running.started()
        return running

    def register(self, running: RunningAnswer) -> None:
        """Make an answer known whose question is stored."""
        self._by_session[running.session] = running

    def get(self, session: str) -> RunningAnswer | None:
        """The answer of a session that this process is writing."""
        return self._by_session.get(session)

    def unattended(self) -> int:
        """How many answers have no reader."""
        return sum(not running.readers for running in self._by_session.values())

    async def aclose(self) -> None:
        """Stop all answers, and wait until they are stored."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CLOSE_SECONDS)

    def _remove(self, running: RunningAnswer, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._by_session.get(running.session) is running:
            del self._by_session[running.session]
