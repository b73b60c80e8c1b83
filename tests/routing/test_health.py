"""The circuit breaker: when a provider is skipped, when it is probed, and by one request at a time."""

from __future__ import annotations

from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from groundwire.routing.health import Breaker, BreakerPolicy, Health

POLICY = BreakerPolicy()


class FakeClock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def breaker(clock: FakeClock) -> Breaker:
    return Breaker(POLICY, clock)


def broken(breaker: Breaker) -> Breaker:
    for _ in range(5):
        breaker.record(ok=False)
    assert breaker.is_open
    return breaker


def test_five_failures_in_a_row_open_the_breaker(breaker: Breaker) -> None:
    for _ in range(4):
        breaker.record(ok=False)
        assert breaker.admits()
    breaker.record(ok=False)
    assert not breaker.admits()


def test_a_success_resets_the_count_of_failures(breaker: Breaker) -> None:
    for ok in (False, False, False, False, True, False, False, False, False):
        breaker.record(ok=ok)
    assert breaker.admits()


def test_a_failure_rate_of_half_in_ten_seconds_opens_the_breaker(breaker: Breaker, clock: FakeClock) -> None:
    for number in range(19):
        breaker.record(ok=number % 2 == 0)
        clock.now += 0.5
        assert breaker.admits()
    breaker.record(ok=False)
    assert not breaker.admits()


def test_calls_long_ago_do_not_count(breaker: Breaker, clock: FakeClock) -> None:
    for number in range(200):
        breaker.record(ok=number % 2 == 0)
        clock.now += 0.6
    assert breaker.admits()


def test_an_open_breaker_admits_one_probe_after_half_a_minute(breaker: Breaker, clock: FakeClock) -> None:
    broken(breaker)
    clock.now += 29.9
    assert not breaker.admits()
    clock.now += 0.1
    assert breaker.admits()
    assert not breaker.admits(), "one probe at a time"


def test_a_probe_that_succeeds_closes_the_breaker(breaker: Breaker, clock: FakeClock) -> None:
    broken(breaker)
    clock.now += 30
    assert breaker.admits()
    breaker.record(ok=True)
    assert not breaker.is_open
    assert breaker.admits()
    assert breaker.admits()


def test_a_probe_that_fails_opens_the_breaker_again(breaker: Breaker, clock: FakeClock) -> None:
    broken(breaker)
    clock.now += 30
    assert breaker.admits()
    breaker.record(ok=False)
    clock.now += 29
    assert not breaker.admits()
    clock.now += 1
    assert breaker.admits()


def test_a_probe_without_a_verdict_allows_the_next_one(breaker: Breaker, clock: FakeClock) -> None:
    broken(breaker)
    clock.now += 30
    assert breaker.admits()
    breaker.release()
    assert breaker.is_open
    assert breaker.admits()


def test_a_slow_rate_of_half_opens_the_breaker(breaker: Breaker, clock: FakeClock) -> None:
    for number in range(19):
        breaker.record(ok=True, seconds=31.0 if number % 2 else 1.0)
        clock.now += 0.5
        assert breaker.admits()
    breaker.record(ok=True, seconds=30.1)
    assert not breaker.admits()


def test_a_call_that_takes_exactly_the_limit_is_not_slow(breaker: Breaker) -> None:
    for _ in range(100):
        breaker.record(ok=True, seconds=30.0)
    assert breaker.admits()


def test_a_few_slow_calls_and_slow_calls_long_ago_are_forgiven(breaker: Breaker, clock: FakeClock) -> None:
    for _ in range(19):
        breaker.record(ok=True, seconds=100.0)
    clock.now += 10
    for _ in range(19):
        breaker.record(ok=True, seconds=100.0)
    assert breaker.admits()


def test_slow_calls_do_not_count_as_failures_in_a_row(breaker: Breaker) -> None:
    for _ in range(4):
        breaker.record(ok=False)
    breaker.record(ok=True, seconds=100.0)
    breaker.record(ok=False)
    assert breaker.admits()


def test_a_probe_that_is_slow_opens_the_breaker_again(breaker: Breaker, clock: FakeClock) -> None:
    broken(breaker)
    clock.now += 30
    assert breaker.admits()
    breaker.record(ok=True, seconds=31.0)
    assert breaker.is_open
    assert not breaker.admits()
    clock.now += 30
    assert breaker.admits()
    breaker.record(ok=True, seconds=1.0)
    assert not breaker.is_open


def test_each_provider_has_its_own_breaker(clock: FakeClock) -> None:
    health = Health(clock)
    broken(health.of("a"))
    assert not health.of("a").admits()
    assert health.of("b").admits()
    assert health.of("a") is health.of("a")


class Traces(RuleBasedStateMachine):
    """Compares the breaker with a model of its whole history, for any sequence of calls."""

    POLICY: ClassVar[BreakerPolicy] = BreakerPolicy(3, 0.5, 6, 10.0, 30.0, slow=2.0)

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.breaker = Breaker(self.POLICY, self.clock)
        self.history: list[tuple[float, bool, bool]] = []
        self.probing = False

    def opened(self) -> float | None:
        """When it was opened last, by the whole history; None if it is closed."""
        opened: float | None = None
        seen: list[tuple[float, bool, bool]] = []
        row = 0
        for time, ok, slow in self.history:
            row = 0 if ok else row + 1
            if ok and not slow and opened is not None:
                opened, seen = None, []
                continue
            seen.append((time, ok, slow))
            if (not ok or slow) and (opened is not None or row >= self.POLICY.in_a_row or self.many(seen)):
                opened = time
        return opened

    def many(self, seen: list[tuple[float, bool, bool]]) -> bool:
        """Did half of enough recent calls fail, or was half of them slow?"""
        recent = [call for call in seen if call[0] > seen[-1][0] - self.POLICY.window]
        failed = len([call for call in recent if not call[1]])
        slow = len([call for call in recent if call[2]])
        return len(recent) >= self.POLICY.at_least and (failed * 2 >= len(recent) or slow * 2 >= len(recent))

    @rule(seconds=st.sampled_from([0.0, 0.5, 3.0, 9.5, 10.0, 29.0, 30.0, 31.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def a_request_arrives(self) -> None:
        opened = self.opened()
        rested = opened is not None and self.clock.now - opened >= self.POLICY.rest
        expected = opened is None or (rested and not self.probing)
        assert self.breaker.admits() is expected
        if opened is not None and expected:
            self.probing = True

    @rule(ok=st.booleans(), seconds=st.sampled_from([0.0, 2.0, 2.5, 60.0]))
    def a_call_ends(self, ok: bool, seconds: float = 0.0) -> None:
        self.breaker.record(ok=ok, seconds=seconds)
        self.history.append((self.clock.now, ok, seconds > 2.0))
        self.probing = False

    @rule(count=st.integers(1, 6))
    def a_row_of_calls_fails(self, count: int) -> None:
        for _ in range(count):
            self.a_call_ends(ok=False)

    @rule(count=st.integers(1, 8))
    def slow_calls_succeed(self, count: int) -> None:
        for _ in range(count):
            self.a_call_ends(ok=True, seconds=60.0)

    @rule()
    def a_call_is_released(self) -> None:
        self.breaker.release()
        self.probing = False

    @invariant()
    def both_agree(self) -> None:
        assert self.breaker.is_open is (self.opened() is not None)


@pytest.mark.parametrize("examples", [150, pytest.param(2000, marks=pytest.mark.thorough)])
def test_the_breaker_agrees_with_its_history_for_any_trace_of_calls(examples: int) -> None:
    run_state_machine_as_test(
        Traces, settings=settings(max_examples=examples, stateful_step_count=40, deadline=None)
    )
