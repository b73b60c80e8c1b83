"""Sends one question to several providers at once, and compares what they answer.

A provider that fails has its reason as its result. A provider that is silent when all others have finished is
given up after a moment, so that it does not hold up the rest, if two others have answered: one answer is no
comparison.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Literal, Protocol, TypeAlias

from groundwire.compare.claims import group_claims
from groundwire.compare.comparison import Comparison, Contribution, Outcome
from groundwire.compare.sources import merge_sources
from groundwire.errors import GroundwireError
from groundwire.model import Assembler, Event, Failed, Request, SearchOptions, TextDelta
from groundwire.model.value import value
from groundwire.transport.threads import run_in_thread

Stream: TypeAlias = Callable[[Request, str], AsyncGenerator[Event, None]]
"""Sends a request to a provider."""
Progress: TypeAlias = Callable[[str, Literal["searching", "answering", "done"]], None]
"""Called when a provider begins to search, to answer, and when it is done."""

PATIENCE = 0.5
"""How much longer than the others a silent provider is waited for, as a share of their time."""
LEAST_PATIENCE = 2.0
"""Seconds."""
LATE = "was still silent when the others had finished"


@value
class ComparePolicy:
    """How long to wait."""

    seconds: float = 120.0
    """For the whole comparison."""
    patience: float | None = None
    """Seconds for a silent provider after the others have finished; None for half of their time, and only if
    two of them have answered."""


class _Asked:
    """One provider that was asked."""

    def __init__(self, provider: str, clock: Callable[[], float]) -> None:
        self.provider = provider
        self._clock = clock
        self._began = clock()
        self._assembler = Assembler()
        self._first: float | None = None
        self.last_event = self._began
        self.ended: float | None = None
        self._error: GroundwireError | None = None

    async def run(self, events: AsyncGenerator[Event, None], report: Progress) -> None:
        """Read the answer to its end."""
        report(self.provider, "searching")
        try:
            async with aclosing(events):
                async for event in events:
                    self._feed(event, report)
        except GroundwireError as error:
            self._error = error
        finally:
            self.ended = self._clock()
            report(self.provider, "done")

    def _feed(self, event: Event, report: Progress) -> None:
        self.last_event = self._clock()
        if isinstance(event, TextDelta) and self._first is None:
            self._first = self.last_event - self._began
            report(self.provider, "answering")
        if isinstance(event, Failed):
            self._error = event.error
        self._assembler.feed(event)

    def contribution(self, *, cut: str = "") -> Contribution:
        """The result; `cut` is why the provider was given up."""
        answer = self._assembler.answer()
        reason = cut or (self._error.message if self._error is not None else "")
        outcome: Outcome = "late" if cut else "failed" if reason else "answered"
        if outcome == "answered" and not answer.text.strip():
            outcome = "nothing"
        seconds = (self.ended or self._clock()) - self._began
        return Contribution(self.provider, answer, outcome, reason, round(seconds, 3), self._first)


class AnswerSource(Protocol):
    """A client that answers requests."""

    def stream(self, query: Request, *, provider: str = ..., model: str = ...) -> AsyncGenerator[Event, None]:
        """The events of an answer."""
        ...


async def compare_providers(
    client: AnswerSource,
    request: Request,
    providers: Sequence[str],
    policy: ComparePolicy | None = None,
    report: Progress | None = None,
) -> Comparison:
    """Ask providers of a client, each named `provider` or `provider/model`."""

    def ask(request: Request, name: str) -> AsyncGenerator[Event, None]:
        provider, _, model = name.partition("/")
        return client.stream(request, provider=provider, model=model)

    return await compare_answers(request, providers, ask, policy, report or (lambda _, __: None))


async def compare_answers(
    request: Request,
    providers: Sequence[str],
    stream: Stream,
    policy: ComparePolicy | None = None,
    report: Progress = lambda _, __: None,
) -> Comparison:
    """Ask all providers at once; the contributions are in the order of `providers`."""
    clock = asyncio.get_running_loop().time
    asked = [_Asked(provider, clock) for provider in dict.fromkeys(providers)]
    tasks = {asyncio.create_task(one.run(stream(request, one.provider), report)): one for one in asked}
    try:
        cut = await _wait(tasks, policy or ComparePolicy(), clock)
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
    contributions = [one.contribution(cut=cut.get(one.provider, "")) for one in asked]
    query = request.query
    return await run_in_thread(lambda: compared(query, contributions, request.search), "groundwire-compare")


async def _wait(
    tasks: dict[asyncio.Task[None], _Asked], policy: ComparePolicy, clock: Callable[[], float]
) -> dict[str, str]:
    """Wait for the answers; returns the providers that were given up, with the reason."""
    began = clock()
    ends = began + policy.seconds
    waiting = set(tasks)
    while waiting:
        until = ends
        if len(waiting) == 1 and _comparable(tasks, policy):
            # The last one may go on as long as it sends something.
            (last,) = waiting
            done_at = max(one.ended or began for task, one in tasks.items() if task is not last)
            until = min(ends, max(done_at, tasks[last].last_event) + _patience(policy, done_at - began))
        if clock() >= until:
            reason = LATE if until < ends else f"gave no answer within {policy.seconds:g} s"
            return {tasks[task].provider: reason for task in waiting}
        done, waiting = await asyncio.wait(
            waiting, timeout=until - clock(), return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            task.result()  # a defect is raised, not compared
    return {}


def _comparable(tasks: dict[asyncio.Task[None], _Asked], policy: ComparePolicy) -> bool:
    """Whether the answers so far are worth showing without the last one."""
    if policy.patience is not None:
        return len(tasks) > 1
    return sum(task.done() and one.contribution().outcome == "answered" for task, one in tasks.items()) >= 2


def _patience(policy: ComparePolicy, seconds: float) -> float:
    if policy.patience is not None:
        return policy.patience
    return max(LEAST_PATIENCE, PATIENCE * seconds)


def compared(query: str, contributions: Sequence[Contribution], options: SearchOptions | None) -> Comparison:
    """The comparison of answers that are there."""
    sources, removed = merge_sources(contributions, options)
    return Comparison(query, tuple(contributions), sources, group_claims(contributions), removed)
