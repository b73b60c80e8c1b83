"""Failover: runs a plan, one target after the other, until one begins to answer.

An error before the first visible event is handled here: retry the target, or try the next one. After it
nothing is repeated: an answer that breaks off ends with an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from groundwire.errors import AllTargetsFailed, GroundwireError, Overloaded, UpstreamError
from groundwire.model import Request, Warned
from groundwire.model.value import replace
from groundwire.providers.spec import Batches, Provider
from groundwire.routing.attempt import Attempt
from groundwire.routing.error_policy import reaction
from groundwire.routing.health import Health
from groundwire.routing.observe import AttemptObserver
from groundwire.routing.resolve import Plan, ResolvedTarget
from groundwire.routing.retry import RetryBudget, RetryPolicy, delay


class Router:
    """Runs plans over live providers. Sleep and randomness are injected."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        *,
        health: Health,
        sleep: Callable[[float], Awaitable[None]],
        random: Callable[[], float],
        policy: RetryPolicy = RetryPolicy(),
    ) -> None:
        self._sleep = sleep
        self._random = random
        self.providers = providers
        self.health = health
        self.policy = policy
        self.observe: AttemptObserver | None = None
        self._budget = RetryBudget()

    async def batches(self, request: Request, plan: Plan) -> Batches:
        """The answer of the first target that gives one, within the plan's time limit."""
        self._budget.request()
        clock = asyncio.get_running_loop().time
        ends = clock() + plan.seconds
        progress = _PlanProgress(self, plan)
        while (attempt := progress.next()) is not None:
            model = progress.model
            sent = request if request.model == model else replace(request, model=model)
            batches = attempt.batches(sent, ends, progress.warnings())
            try:
                async for batch in batches:
                    yield batch
            except GroundwireError as error:
                self.health.of(attempt.provider.name).note_error(
                    error.code, error.retry_after if isinstance(error, UpstreamError) else None
                )
                left = ends - clock()
                wait = self.wait(attempt, progress.tries, error)
                retry = wait is not None and wait < left
                progress.failed(error, retry=retry, late=left <= 0)
                if wait is not None and retry:
                    await self._sleep(wait)
            else:
                return
            finally:
                await batches.aclose()
        raise progress.error()

    def wait(self, attempt: Attempt, tries: int, error: GroundwireError) -> float | None:
        """Seconds until the same target is retried; None if it is not."""
        if tries >= self.policy.attempts or reaction(error) != "retry" or attempt.is_circuit_open:
            return None
        wait = delay(error, tries - 1, self.policy, self._random)
        if wait is None or (wait > self.policy.detour and not attempt.last):
            return None
        return wait if self._budget.take() else None


class _PlanProgress:
    """Progress of a plan: the current attempt, how often it was tried, and the targets that failed."""

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
        """The current attempt; None if all targets have failed, or an error ended the plan."""
        while self._attempt is None and self._left:
            self._attempt = self._admitted(self._left.pop())
            self.tries = 0
        self.tries += 1
        return self._attempt

    def _admitted(self, target: ResolvedTarget) -> Attempt | None:
        breaker = self._router.health.of(target.provider)
        admitted, last = breaker.admits(), not self._left
        if not admitted and not last:
            skipped = Overloaded("has been failing and is left alone for a moment")
            self._failures.append((target.provider, skipped))
            return None
        self.model = target.model
        provider = self._router.providers[target.provider]
        probes = admitted and breaker.is_open
        return Attempt(provider, breaker, last=last, probes=probes, observe=self._router.observe)

    def failed(self, error: GroundwireError, *, retry: bool, late: bool) -> None:
        """Record a failed attempt. Unless it is retried, the next target follows; if `late`, none does."""
        if retry or self._attempt is None:
            return
        self._failures.append((self._attempt.provider.name, error))
        self._attempt = None
        if late or reaction(error) == "stop":
            self._left.clear()

    def warnings(self) -> tuple[Warned, ...]:
        """The warnings that precede the answer of the current target."""
        if self._attempt is None or not self._failures:
            return self._warnings
        name = self._attempt.provider.name
        failures = (
            Warned("failed_over", f"{failed}: {error.message}; {name} was used instead")
            for failed, error in self._failures
        )
        return (*self._warnings, *failures)

    def error(self) -> GroundwireError:
        """The error of a plan without an answer."""
        if len(self._failures) == 1:
            return self._failures[0][1]
        return AllTargetsFailed(tuple(self._failures))
