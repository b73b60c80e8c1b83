"""Running a plan: retries, failover, and what is never repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from groundwire.errors import (
    AllTargetsFailed,
    AuthRejected,
    GroundwireError,
    Interrupted,
    Overloaded,
    RateLimited,
    Refused,
    Unreachable,
)
from groundwire.model import (
    Event,
    Failed,
    Finished,
    Message,
    Request,
    SearchStarted,
    Started,
    Text,
    TextDelta,
    Warned,
)
from groundwire.model.value import replace
from groundwire.providers.policy import Capabilities, engine_capabilities
from groundwire.providers.spec import Batches, flatten
from groundwire.routing.failover import Router
from groundwire.routing.health import Health
from groundwire.routing.resolve import Plan, ResolvedTarget

QUESTION = Request((Message("user", (Text("why?"),)),))
GOOD: list[Event] = [Started("1", "m"), TextDelta(0, "because"), Finished("stop")]


class ScriptedProvider:
    """A provider that plays one script after the other; an exception in a script is raised."""

    model = "m"
    capabilities = Capabilities(pauses=True)

    def __init__(self, name: str, *scripts: list[Event | GroundwireError], engine: bool = False) -> None:
        self.name = name
        if engine:
            self.capabilities = engine_capabilities(frozenset())
        self.calls: list[Request] = []
        self.closed = 0
        self._scripts = list(scripts)

    async def batches(self, request: Request) -> Batches:
        self.calls.append(request)
        script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
        try:
            for step in script:
                if isinstance(step, GroundwireError):
                    raise step
                yield (step,)
        finally:
            self.closed += 1


class RouterWorld:
    """A router with a fake clock that advances only during waits."""

    def __init__(self, *providers: ScriptedProvider, chance: float = 1.0) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self.failover_warnings: list[Event] = []
        self.router = Router(
            {provider.name: provider for provider in providers},
            health=Health(lambda: self.now),
            sleep=self.sleep,
            random=lambda: chance,
        )
        self.plan = Plan(tuple(ResolvedTarget(provider.name) for provider in providers))

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def ask(self, plan: Plan | None = None) -> list[Event]:
        async def collect() -> list[Event]:
            return [event async for event in flatten(self.router.batches(QUESTION, plan or self.plan))]

        events = [unsigned(event) for event in asyncio.run(collect())]
        self.failover_warnings = [
            event for event in events if isinstance(event, Warned) and event.code == "failed_over"
        ]
        return [event for event in events if event not in self.failover_warnings]


def unsigned(event: Event) -> Event:
    """The event as its provider emitted it."""
    if isinstance(event, Started):
        return replace(event, provider="")
    if isinstance(event, Finished):
        return replace(event, extras={key: item for key, item in event.extras.items() if key != "groundwire"})
    return event


def failing(make: Callable[[], GroundwireError]) -> list[Event | GroundwireError]:
    return [make()]


async def test_an_answer_names_its_provider_at_both_ends() -> None:
    world = RouterWorld(ScriptedProvider("a", [Overloaded("busy")] * 2), ScriptedProvider("b", [*GOOD]))

    async def collected() -> list[Event]:
        return [event async for event in flatten(world.router.batches(QUESTION, world.plan))]

    events = await collected()
    assert [event.provider for event in events if isinstance(event, Started)] == ["b"]
    assert [event.extras["groundwire"] for event in events if isinstance(event, Finished)] == [
        {"provider": "b", "model": ScriptedProvider.model}
    ]


def test_an_overloaded_provider_is_retried_and_answers_once() -> None:
    provider = ScriptedProvider("a", [Overloaded("busy")], [*GOOD])
    world = RouterWorld(provider)
    assert world.ask() == GOOD
    assert len(provider.calls) == 2
    assert world.waits == [0.5]


def test_retry_after_is_waited_out_exactly() -> None:
    provider = ScriptedProvider("a", [RateLimited("slow", retry_after=7.25)], [*GOOD])
    world = RouterWorld(provider)
    assert world.ask() == GOOD
    assert world.waits == [7.25]


def test_a_retry_delay_that_is_too_long_causes_failover_at_once() -> None:
    first = ScriptedProvider("a", [RateLimited("tomorrow", retry_after=86400)])
    world = RouterWorld(first, ScriptedProvider("b", [*GOOD]))
    assert world.ask() == GOOD
    assert world.waits == []
    assert len(first.calls) == 1


@pytest.mark.parametrize("error", [AuthRejected("no"), Unreachable("gone")])
def test_the_next_provider_answers_when_the_first_cannot(error: GroundwireError) -> None:
    world = RouterWorld(ScriptedProvider("a", [error]), ScriptedProvider("b", [*GOOD]))
    assert world.ask() == GOOD
    assert world.failover_warnings == [Warned("failed_over", f"a: {error.message}; b was used instead")]


def test_a_search_that_only_began_does_not_prevent_failover() -> None:
    begun: list[Event | GroundwireError] = [Started(), SearchStarted(0, "s"), AuthRejected("no network")]
    world = RouterWorld(
        ScriptedProvider("web", [*begun], engine=True), ScriptedProvider("local", [*GOOD], engine=True)
    )
    assert world.ask() == GOOD
    assert world.failover_warnings == [Warned("failed_over", "web: no network; local was used instead")]
    alone = RouterWorld(ScriptedProvider("web", [*begun], engine=True)).ask()
    assert any(isinstance(event, SearchStarted) for event in alone), (
        "the search of the last provider is visible"
    )
    assert isinstance(alone[-1], Failed)


def test_a_refused_request_is_not_sent_to_the_next_provider() -> None:
    second = ScriptedProvider("b", [*GOOD])
    world = RouterWorld(ScriptedProvider("a", [Refused("bad request")]), second)
    with pytest.raises(Refused):
        world.ask()
    assert second.calls == []


def test_nothing_is_repeated_after_the_first_visible_event() -> None:
    broken: list[Event | GroundwireError] = [Started(), TextDelta(0, "bec"), Interrupted("cut")]
    second = ScriptedProvider("b", [*GOOD])
    world = RouterWorld(ScriptedProvider("a", broken), second)
    assert world.ask() == [Started(), TextDelta(0, "bec"), Failed(Interrupted("cut"))]
    assert second.calls == []


def test_warnings_before_a_failure_do_not_count_as_an_answer() -> None:
    first: list[Event | GroundwireError] = [Warned("w", "first"), Started(), Failed(Overloaded("no"))]
    world = RouterWorld(ScriptedProvider("a", first), ScriptedProvider("b", [Warned("w", "second"), *GOOD]))
    assert world.ask() == [Warned("w", "second"), *GOOD]


def test_when_all_fail_the_error_lists_every_failure() -> None:
    world = RouterWorld(
        ScriptedProvider("a", [AuthRejected("bad key")]), ScriptedProvider("b", [AuthRejected("expired")])
    )
    with pytest.raises(AllTargetsFailed) as caught:
        world.ask()
    assert [name for name, _ in caught.value.attempts] == ["a", "b"]
    assert "a: bad key" in str(caught.value)


def test_an_outage_costs_at_most_a_quarter_more_attempts() -> None:
    provider = ScriptedProvider("a", failing(lambda: Overloaded("down")))
    world = RouterWorld(provider)
    for _ in range(1000):
        with pytest.raises(GroundwireError):
            world.ask()
    assert len(provider.calls) <= 1250


def test_a_failing_provider_is_skipped_while_its_breaker_is_open() -> None:
    first = ScriptedProvider("a", failing(lambda: AuthRejected("no")))
    first_broken = ScriptedProvider("a", failing(lambda: Unreachable("down")))
    world = RouterWorld(first_broken, ScriptedProvider("b", [*GOOD]))
    for _ in range(5):
        world.ask()
    calls = len(first_broken.calls)
    world.ask()
    assert len(first_broken.calls) == calls, "the breaker is open"
    world.now += 31
    world.ask()
    assert len(first_broken.calls) > calls, "one probe is let through"
    assert first.calls == []


def test_the_last_provider_is_always_tried() -> None:
    provider = ScriptedProvider("a", *[failing(lambda: Unreachable("down"))] * 8, [*GOOD])
    world = RouterWorld(provider)
    answers = []
    for _ in range(8):
        try:
            answers.append(world.ask())
        except GroundwireError:
            continue
    assert answers
    assert answers[-1] == GOOD


def test_a_paused_turn_is_continued_as_one_answer() -> None:
    first: list[Event | GroundwireError] = [Started("1", "m"), TextDelta(0, "be"), Finished("pause")]
    second: list[Event | GroundwireError] = [Started("2", "m"), TextDelta(0, "cause"), Finished("stop")]
    provider = ScriptedProvider("a", first, second)
    world = RouterWorld(provider)
    assert world.ask() == [Started("1", "m"), TextDelta(0, "be"), TextDelta(1, "cause"), Finished("stop")]
    assert provider.calls[1].messages[-1] == Message("assistant", (Text("be"),))


async def test_a_caller_that_disconnects_closes_the_provider() -> None:
    provider = ScriptedProvider("a", [TextDelta(0, "one"), TextDelta(0, "two"), Finished("stop")])
    world = RouterWorld(provider)

    async def leave() -> None:
        events = flatten(world.router.batches(QUESTION, world.plan))
        assert await anext(events) == TextDelta(0, "one")
        await events.aclose()

    await leave()
    assert provider.closed == 1


class DelayedProvider(ScriptedProvider):
    """A provider that lets time pass: before its first visible event, and after it."""

    def __init__(self, name: str, before: float, after: float) -> None:
        super().__init__(name, [*GOOD])
        self.world: RouterWorld | None = None
        self._pauses = {Started: before, TextDelta: after}

    async def batches(self, request: Request) -> Batches:
        async for batch in super().batches(request):
            yield batch
            if self.world is not None:
                self.world.now += self._pauses.get(type(batch[0]), 0.0)


@pytest.mark.parametrize(("before", "after", "is_left"), [(31.0, 0.0, True), (29.0, 0.0, False)])
def test_a_provider_that_takes_too_long_to_begin_is_skipped(
    before: float, after: float, is_left: bool
) -> None:
    # Concurrent calls end at the same time: the clock is set back between them, so that all count.
    slow, other = DelayedProvider("slow", before, after), ScriptedProvider("other", [*GOOD])
    world = RouterWorld(slow, other)
    slow.world = world
    for _ in range(20):
        world.now = 0.0
        assert world.ask() == GOOD
    assert not other.calls
    world.ask()
    assert len(other.calls) == int(is_left)


def test_a_long_answer_that_began_in_time_is_not_slow() -> None:
    slow, other = DelayedProvider("slow", 1.0, 100.0), ScriptedProvider("other", [*GOOD])
    world = RouterWorld(slow, other)
    slow.world = world
    for _ in range(30):
        world.now = 0.0
        world.ask()
    assert (len(slow.calls), len(other.calls)) == (30, 0)
