"""Retries: delays, budget, and the choice between waiting and the next target."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pytest

from groundwire.errors import (
    AllTargetsFailed,
    GroundwireError,
    Interrupted,
    Overloaded,
    RateLimited,
    Refused,
    TimedOut,
    Unreachable,
    UpstreamWireError,
)
from groundwire.model import Event, Failed, Finished, Started, TextDelta
from groundwire.providers.spec import flatten
from groundwire.routing.retry import RetryBudget, RetryPolicy, delay
from tests.routing.test_failover import GOOD, QUESTION, RouterWorld, ScriptedProvider

POLICY = RetryPolicy()
SAMPLES = 4000


def distance(samples: list[float], low: float, high: float) -> float:
    """Kolmogorov and Smirnov: how far the samples are from being spread evenly between two bounds."""
    ordered = sorted(samples)
    size = len(ordered)
    even = [(sample - low) / (high - low) for sample in ordered]
    return max(max((at + 1) / size - value, value - at / size) for at, value in enumerate(even))


def delays(error: GroundwireError, attempt: int, seed: int) -> list[float]:
    chance = Random(seed).random
    found = [delay(error, attempt, POLICY, chance) for _ in range(SAMPLES)]
    return [wait for wait in found if wait is not None]


CRITICAL = 1.63 / SAMPLES**0.5
"""Beyond this an even spread is believed with a probability of less than one in a hundred."""


@pytest.mark.parametrize(("attempt", "longest"), [(0, 0.5), (1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (9, 8.0)])
def test_waits_are_spread_evenly_over_a_span_that_doubles(attempt: int, longest: float) -> None:
    waits = delays(Overloaded("busy"), attempt, seed=attempt)
    assert len(waits) == SAMPLES
    assert distance(waits, 0, longest) < CRITICAL


@pytest.mark.parametrize(("attempt", "longest"), [(0, 0.5), (3, 4.0)])
def test_the_wait_after_a_rate_limit_is_at_least_half_the_span(attempt: int, longest: float) -> None:
    waits = delays(RateLimited("slow"), attempt, seed=attempt)
    assert distance(waits, longest / 2, longest) < CRITICAL


def test_the_test_statistic_detects_clustered_waits() -> None:
    chance = Random(1).random
    assert distance([chance() ** 1.1 for _ in range(SAMPLES)], 0, 1) > CRITICAL
    assert distance([0.5] * SAMPLES, 0, 1) > CRITICAL


@pytest.mark.parametrize(
    ("retry_after", "waited"), [(0.0, 0.0), (7.25, 7.25), (30.0, 30.0), (30.1, None), (1e9, None)]
)
def test_the_retry_delay_of_the_provider_is_kept_up_to_the_limit(
    retry_after: float, waited: float | None
) -> None:
    for kind in (RateLimited, Overloaded, TimedOut):
        assert delay(kind("no", retry_after=retry_after), 0, POLICY, lambda: 0.5) == waited


def test_a_budget_allows_three_retries_and_one_more_for_every_five_requests() -> None:
    budget = RetryBudget()
    assert [budget.take() for _ in range(4)] == [True, True, True, False]
    for _ in range(5):
        budget.request()
    assert budget.take()
    assert not budget.take()


def test_a_budget_has_an_upper_limit() -> None:
    budget = RetryBudget()
    for _ in range(10_000):
        budget.request()
    assert [budget.take() for _ in range(11)] == [True] * 10 + [False]


@pytest.mark.parametrize("requests", [100, 1000])
def test_a_dead_provider_gets_at_most_a_quarter_more_requests_upstream(requests: int) -> None:
    budget = RetryBudget()
    attempts = 0
    for _ in range(requests):
        budget.request()
        attempts += 1
        while budget.take():
            attempts += 1
    assert attempts <= requests * 1.25


def failing(make: Callable[[], GroundwireError]) -> list[Event | GroundwireError]:
    return [make()]


@pytest.mark.parametrize(
    "error", [Unreachable("refused"), Overloaded("503"), Interrupted("cut"), UpstreamWireError("garbage")]
)
def test_with_another_target_there_is_no_wait(error: GroundwireError) -> None:
    first = ScriptedProvider("a", [error])
    world = RouterWorld(first, ScriptedProvider("b", [*GOOD]))
    assert world.ask() == GOOD
    assert sum(world.waits) <= 0.2
    assert len(first.calls) == 1


def test_a_very_short_wait_is_preferred_to_another_target() -> None:
    first = ScriptedProvider("a", [RateLimited("slow", retry_after=0.05)], [*GOOD])
    second = ScriptedProvider("b", [*GOOD])
    world = RouterWorld(first, second)
    assert world.ask() == GOOD
    assert world.waits == [0.05]
    assert second.calls == []


def test_the_last_target_is_waited_for() -> None:
    world = RouterWorld(
        ScriptedProvider("a", [Unreachable("gone")]), ScriptedProvider("b", [Overloaded("busy")], [*GOOD])
    )
    assert world.ask() == GOOD
    assert world.waits == [0.5]


def test_three_attempts_are_made_and_no_more() -> None:
    provider = ScriptedProvider("a", failing(lambda: Overloaded("busy")))
    world = RouterWorld(provider)
    with pytest.raises(Overloaded):
        world.ask()
    assert len(provider.calls) == 3
    assert world.waits == [0.5, 1.0]


def test_a_provider_whose_breaker_just_opened_is_not_retried() -> None:
    provider = ScriptedProvider("a", failing(lambda: Unreachable("gone")))
    world = RouterWorld(provider)
    for _ in range(2):
        with pytest.raises(Unreachable):
            world.ask()
    assert len(provider.calls) == 5, "the breaker opens at the fifth failure"
    world.now += 1
    with pytest.raises(Unreachable):
        world.ask()
    assert len(provider.calls) == 6, "and then the last one there is gets one attempt"


def test_a_probe_is_one_attempt() -> None:
    first = ScriptedProvider("a", failing(lambda: RateLimited("slow", retry_after=0.01)))
    world = RouterWorld(first, ScriptedProvider("b", [*GOOD]))
    while not world.router.health.of("a").is_open:
        world.ask()
    calls = len(first.calls)
    world.now += 31
    world.ask()
    assert len(first.calls) == calls + 1


def test_a_caller_that_disconnects_during_a_probe_releases_it() -> None:
    first = ScriptedProvider("a", *[failing(lambda: Unreachable("gone"))] * 5, [TextDelta(0, "b"), *GOOD[1:]])
    world = RouterWorld(first, ScriptedProvider("b", [*GOOD]))
    for _ in range(5):
        world.ask()
    world.now += 31

    async def leave() -> None:
        events = flatten(world.router.batches(QUESTION, world.plan))
        assert await anext(events) == TextDelta(0, "b")
        assert not world.router.health.of("a").admits(), "the probe is running"
        await events.aclose()

    asyncio.run(leave())
    assert world.router.health.of("a").admits()


def test_a_success_is_recorded_even_if_the_caller_stops_reading() -> None:
    provider = ScriptedProvider("a", *[failing(lambda: Unreachable("gone"))] * 5, [*GOOD])
    world = RouterWorld(provider)
    for _ in range(2):
        with pytest.raises(Unreachable):
            world.ask()
    assert world.router.health.of("a").is_open

    async def read_to_the_last_word() -> None:
        events = flatten(world.router.batches(QUESTION, world.plan))
        async for event in events:
            if isinstance(event, Finished):
                break
        await events.aclose()

    asyncio.run(read_to_the_last_word())
    assert not world.router.health.of("a").is_open


def test_a_provider_that_stops_without_an_end_has_failed() -> None:
    mute = RouterWorld(ScriptedProvider("a", [Started("1", "m")]))
    with pytest.raises(Interrupted, match="a stopped without an end"):
        mute.ask()
    broken = RouterWorld(ScriptedProvider("a", [TextDelta(0, "so")]))
    assert broken.ask() == [TextDelta(0, "so"), Failed(Interrupted("a stopped without an end"))]


def test_nothing_is_emitted_after_the_end() -> None:
    late: list[Event | GroundwireError] = [*GOOD, TextDelta(0, "more"), Overloaded("late"), *GOOD]
    assert RouterWorld(ScriptedProvider("a", late)).ask() == GOOD


def test_all_skipped_providers_are_named_with_the_one_that_was_used() -> None:
    first = ScriptedProvider("a", failing(lambda: Unreachable("gone")))
    second = ScriptedProvider("b", failing(lambda: Refused("bad request")))
    world = RouterWorld(first, second)
    for _ in range(6):
        with pytest.raises(AllTargetsFailed) as caught:
            world.ask()
    assert [name for name, _ in caught.value.attempts] == ["a", "b"]
    assert "left alone" in str(caught.value)
    assert len(first.calls) == 5
