"""Running a plan: one target after the other, until one begins to answer.

Whatever goes wrong before the first visible event is nobody's business but ours: try again, or ask the
next. After it, nothing is repeated: a broken answer is told as broken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing

from groundwire.errors import AllTargetsFailed, GroundwireError, Overloaded
from groundwire.model import Request, Warned
from groundwire.model.value import replace, value
from groundwire.providers.spec import Batches, Provider
from groundwire.routing.attempt import Attempt
from groundwire.routing.error_policy import reaction
from groundwire.routing.health import Health
from groundwire.routing.retry import RetryBudget, RetryPolicy, delay
from groundwire.transport.http import Deadlines


@value
class Target:
    """A provider, and which of its models; empty for its default."""

    provider: str
    model: str = ""


@value
class Plan:
    """Whom to ask, in order, and how long all of it may take."""

    targets: tuple[Target, ...]
    seconds: float = Deadlines().total
    """For the whole request: all attempts, retries and search rounds together."""
    warnings: tuple[Warned, ...] = ()
    """What is to be said about the choice, whoever answers."""


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
        self._sleep = sleep
        self._chance = chance
        self.providers = providers
        self.health = health
        self.policy = policy
        self._budget = RetryBudget()

    async def batches(self, request: Request, plan: Plan) -> Batches:
        """The answer of the first target that gives one, within the time of the plan."""
        self._budget.request()
        clock = asyncio.get_running_loop().time
        ends = clock() + plan.seconds
        course = _Course(self, plan)
        while (attempt := course.next()) is not None:
            asked = replace(request, model=course.model)
            try:
                async with aclosing(attempt.batches(asked, ends, course.detour())) as batches:
                    async for batch in batches:
                        yield batch
            except GroundwireError as error:
                left = ends - clock()
                wait = self.wait(attempt, course.tries, error)
                again = wait is not None and wait < left
                course.failed(error, again=again, late=left <= 0)
                if wait is not None and again:
                    await self._sleep(wait)
            else:
                return
        raise course.error()

    def wait(self, attempt: Attempt, tries: int, error: GroundwireError) -> float | None:
        """Seconds until the same target is asked again; None if it is not."""
        if tries >= self.policy.attempts or reaction(error) != "retry" or attempt.is_hopeless:
            return None
        wait = delay(error, tries - 1, self.policy, self._chance)
        if wait is None or (wait > self.policy.detour and not attempt.last):
            return None
        return wait if self._budget.take() else None


class _Course:
    """How far a plan has come: who is asked now, how often that was tried, and who has failed."""

    __slots__ = ("_attempt", "_failures", "_left", "_router", "_warnings", "model", "tries")

    def __init__(self, router: Router, plan: Plan) -> None:
        self._router = router
        self._left = list(reversed(plan.targets))
        self._warnings = plan.warnings
        self._attempt: Attempt | None = None
        self._failures: list[tuple[str, GroundwireError]] = []
        self.model = ""
        self.tries = 0

    def next(self) -> Attempt | None:
        """Who is asked now; nobody if all have failed, or asking others would be of no use."""
        while self._attempt is None and self._left:
            self._attempt = self._admitted(self._left.pop())
            self.tries = 0
        self.tries += 1
        return self._attempt

    def _admitted(self, target: Target) -> Attempt | None:
        breaker = self._router.health.of(target.provider)
        admitted, last = breaker.admits(), not self._left
        if not admitted and not last:
            resting = Overloaded("has been failing and is left alone for a moment")
            self._failures.append((target.provider, resting))
            return None
        self.model = target.model
        provider = self._router.providers[target.provider]
        return Attempt(provider, breaker, last=last, probes=admitted and breaker.is_open)

    def failed(self, error: GroundwireError, *, again: bool, late: bool) -> None:
        """The attempt failed, and is made `again` or not; if it is too `late`, it was the last."""
        if again or self._attempt is None:
            return
        self._failures.append((self._attempt.provider.name, error))
        self._attempt = None
        if late or reaction(error) == "stop":
            self._left.clear()

    def detour(self) -> tuple[Warned, ...]:
        """What must be said if this one answers."""
        if self._attempt is None or not self._failures:
            return self._warnings
        name = self._attempt.provider.name
        failures = (
            Warned("failed_over", f"{failed}: {error.message}; {name} was asked instead")
            for failed, error in self._failures
        )
        return (*self._warnings, *failures)

    def error(self) -> GroundwireError:
        """Why there is no answer."""
        if len(self._failures) == 1:
            return self._failures[0][1]
        return AllTargetsFailed(tuple(self._failures))
