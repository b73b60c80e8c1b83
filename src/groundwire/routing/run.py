"""Running a plan: one target after the other, until one begins to answer.

Whatever goes wrong before the first visible event is nobody's business but ours: try again, or ask the
next. After it, nothing is repeated: a broken answer is told as broken.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing

from groundwire.errors import AllTargetsFailed, GroundwireError, Interrupted, Overloaded
from groundwire.model import Event, Failed, Finished, Request, Started, UsageSeen, Verbatim, Warned
from groundwire.model.value import replace, value
from groundwire.providers.base import Batches, Provider
from groundwire.routing.continuation import continued
from groundwire.routing.health import Breaker, Health
from groundwire.routing.reactions import is_unhealthy, reaction
from groundwire.routing.retry import RetryBudget, RetryPolicy, delay


@value
class Target:
    """A provider, and which of its models; empty for its default."""

    provider: str
    model: str = ""


@value
class Plan:
    """Whom to ask, in order."""

    targets: tuple[Target, ...]


class Router:
    """Runs plans over live providers. Time and chance are passed in."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        *,
        health: Health,
        sleep: Callable[[float], Awaitable[None]],
        chance: Callable[[], float],
        policy: RetryPolicy = RetryPolicy(),
    ) -> None:
        self._providers = providers
        self._health = health
        self._sleep = sleep
        self._chance = chance
        self._policy = policy
        self._budget = RetryBudget()

    async def batches(self, request: Request, plan: Plan) -> Batches:
        """The answer of the first target that gives one."""
        self._budget.request()
        failures: list[tuple[str, GroundwireError]] = []
        for number, target in enumerate(plan.targets):
            last = number == len(plan.targets) - 1
            breaker = self._health.of(target.provider)
            admitted = breaker.admits()
            if not admitted and not last:
                failures.append(
                    (target.provider, Overloaded("has been failing and is left alone for a moment"))
                )
                continue
            attempt = _Attempt(
                self._providers[target.provider], breaker, last=last, probes=admitted and breaker.is_open
            )
            async with aclosing(
                self._target(attempt, replace(request, model=target.model), failures)
            ) as batches:
                async for batch in batches:
                    yield batch
            if attempt.visible:
                return
            if failures and reaction(failures[-1][1]) == "stop":
                break
        raise failures[0][1] if len(failures) == 1 else AllTargetsFailed(tuple(failures))

    async def _target(
        self, attempt: _Attempt, request: Request, failures: list[tuple[str, GroundwireError]]
    ) -> Batches:
        """One target, with its retries; ends without a visible event if it failed."""
        for number in range(self._policy.attempts):
            try:
                async with aclosing(attempt.batches(request)) as batches:
                    async for batch in batches:
                        if failures:
                            yield tuple(_detour(attempt.provider.name, failures))
                            failures = []
                        yield batch
            except GroundwireError as error:
                wait = self._wait(attempt, number, error)
                if wait is None:
                    failures.append((attempt.provider.name, error))
                    return
                await self._sleep(wait)
            else:
                return

    def _wait(self, attempt: _Attempt, number: int, error: GroundwireError) -> float | None:
        """Seconds until the same target is asked again; None if it is not."""
        if number + 1 >= self._policy.attempts or reaction(error) != "retry" or attempt.is_hopeless:
            return None
        wait = delay(error, number, self._policy, self._chance)
        if wait is None or (wait > self._policy.detour and not attempt.last):
            return None
        return wait if self._budget.take() else None


class _Attempt:
    """A provider being asked; remembers whether anything was shown."""

    def __init__(self, provider: Provider, breaker: Breaker, *, last: bool, probes: bool) -> None:
        self.provider = provider
        self.last = last
        """Is there nobody to ask after this one?"""
        self.visible = False
        self._breaker = breaker
        self._probes = probes
        self._ended = False
        self._waited = 0.0
        """Seconds until something was shown, or until the end if nothing was."""

    @property
    def is_hopeless(self) -> bool:
        """Has it failed so often that it is not asked twice?"""
        return self._breaker.is_open

    async def batches(self, request: Request) -> Batches:
        """Events from the first visible one on; errors before it are raised, later ones are told."""
        held: list[Event] = []
        began = self._breaker.now()
        self._ended = False
        try:
            async with aclosing(continued(self.provider, request)) as batches:
                while batch := await self._next(batches):
                    if self.visible:
                        self._judge(batch)
                        yield batch
                        continue
                    self._waited = self._breaker.now() - began
                    self._judge(batch)
                    shown = next((event for event in batch if not isinstance(event, _INVISIBLE)), None)
                    if isinstance(shown, Failed):
                        raise shown.error
                    held += batch
                    self.visible = shown is not None
                    if self.visible:
                        yield held
        finally:
            if self._probes:
                self._breaker.release()

    async def _next(self, batches: Batches) -> Sequence[Event]:
        """The provider's next events, with exactly one end, whatever the provider does; then nothing."""
        error: GroundwireError | None = None
        try:
            while (batch := await anext(batches, None)) is not None:
                if told := self._to_the_end(batch):
                    return told
        except GroundwireError as failure:
            error = failure
        if self._ended:
            return ()
        self._ended = True
        return (Failed(error or Interrupted(f"{self.provider.name} stopped without an end")),)

    def _to_the_end(self, batch: Sequence[Event]) -> Sequence[Event]:
        if self._ended:  # the provider may still have to tidy up
            return [event for event in batch if isinstance(event, Verbatim)]
        end = _end_of(batch)
        if end is None:
            return batch
        self._ended = True
        return batch[: end + 1]

    def _judge(self, batch: Sequence[Event]) -> None:
        """Note how it ended, where it did."""
        last = batch[-1]
        if isinstance(last, Finished | Failed):
            error = last.error if isinstance(last, Failed) else None
            if error is None or is_unhealthy(error):
                self._breaker.record(ok=error is None, seconds=self._waited)


_INVISIBLE = (Started, Verbatim, Warned, UsageSeen)


def _end_of(batch: Sequence[Event]) -> int | None:
    """Where the terminal event stands."""
    if batch and isinstance(batch[-1], Finished | Failed):
        return len(batch) - 1  # nearly always, where there is one
    return next((at for at, event in enumerate(batch) if isinstance(event, Finished | Failed)), None)


def _detour(name: str, failures: Sequence[tuple[str, GroundwireError]]) -> Iterator[Warned]:
    for failed, error in failures:
        yield Warned("failed_over", f"{failed}: {error.message}; {name} was asked instead")
