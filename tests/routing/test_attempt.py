"""One deadline for a request: attempts, retries, failover and search rounds share it."""

from __future__ import annotations

import asyncio

import pytest

from groundwire.errors import AllTargetsFailed, GroundwireError, Interrupted, Overloaded, TimedOut
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    Message,
    Request,
    SearchCall,
    SearchCalled,
    SearchOptions,
    SearchResult,
    SearchReturned,
    Source,
    Started,
    Text,
    TextDelta,
    Usage,
    UsageSeen,
    assemble,
)
from groundwire.model.value import replace
from groundwire.providers.copilot.provider import CAPABILITIES as COPILOT
from groundwire.providers.policy import Capabilities, engine_capabilities
from groundwire.providers.registry import describe, find_spec
from groundwire.providers.spec import Batches, flatten
from groundwire.routing.failover import Router
from groundwire.routing.health import Health
from groundwire.routing.resolve import Plan, ResolvedTarget
from tests.routing.fake_clock import run_skipping_waits

QUESTION = Request((Message("user", (Text("why?"),)),), stream=True)
GOOD: list[Event] = [Started("1", "m"), TextDelta(0, "because"), Finished("stop")]


class SlowProvider:
    """A provider that waits before each of its events."""

    model = "m"
    capabilities = Capabilities()

    def __init__(self, name: str, seconds: float, *events: Event | GroundwireError) -> None:
        self.name = name
        self.seconds = seconds
        self.events = events
        self.calls = 0
        self.open = 0

    async def batches(self, request: Request) -> Batches:
        self.calls += 1
        self.open += 1
        try:
            for event in self.events or (Finished(),):
                await asyncio.sleep(self.seconds)
                if isinstance(event, GroundwireError):
                    raise event
                yield (event,)
        finally:
            self.open -= 1


def ask(
    seconds: float, *providers: SlowProvider, request: Request = QUESTION
) -> tuple[list[Event] | GroundwireError, float, Router]:
    """Run a plan of these providers: events or error, the seconds it took, and the router."""
    plan = Plan(tuple(ResolvedTarget(provider.name) for provider in providers), seconds=seconds)
    named = {provider.name: provider for provider in providers}

    async def main() -> tuple[list[Event] | GroundwireError, Router]:
        router = Router(
            named,
            health=Health(asyncio.get_running_loop().time),
            sleep=asyncio.sleep,
            random=lambda: 1.0,
        )
        try:
            return [event async for event in flatten(router.batches(request, plan))], router
        except GroundwireError as error:
            return error, router

    (outcome, router), took = run_skipping_waits(main())
    assert all(provider.open == 0 for provider in providers)
    return outcome, took, router


@pytest.mark.parametrize("stream", [True, False])
def test_eight_silent_providers_take_no_longer_than_one(stream: bool) -> None:
    silent = [SlowProvider(str(number), 10_000) for number in range(8)]
    outcome, took, _ = ask(3, *silent, request=replace(QUESTION, stream=stream))
    assert isinstance(outcome, TimedOut | AllTargetsFailed)
    assert took == pytest.approx(3)


@pytest.mark.parametrize("stream", [True, False])
def test_a_silent_provider_leaves_time_for_the_next(stream: bool) -> None:
    request = replace(QUESTION, stream=stream)
    outcome, took, _ = ask(
        4, SlowProvider("silent", 10_000), SlowProvider("good", 0.1, *GOOD), request=request
    )
    assert isinstance(outcome, list)
    assert any(event == TextDelta(0, "because") for event in outcome)
    assert took < 4


def test_a_whole_answer_may_take_most_of_the_time_and_the_last_provider_all_of_it() -> None:
    whole = replace(QUESTION, stream=False)
    first, second = SlowProvider("first", 2.9 / 2, *GOOD), SlowProvider("second", 0, *GOOD)
    assert isinstance(ask(4, first, second, request=whole)[0], list)
    assert (first.calls, second.calls) == (1, 0)
    assert isinstance(ask(4, SlowProvider("only", 3.9 / 3, *GOOD), request=whole)[0], list)


def test_an_answer_that_has_begun_is_cut_off_at_the_deadline_and_ends_as_failed() -> None:
    outcome, took, _ = ask(10, SlowProvider("dribbling", 0.9, *(TextDelta(0, "x") for _ in range(1000))))
    assert isinstance(outcome, list)
    assert [type(event) for event in outcome[-2:]] == [TextDelta, Failed]
    assert isinstance(outcome[-1], Failed)
    assert isinstance(outcome[-1].error, TimedOut)
    assert took == pytest.approx(10)


def test_retries_wait_only_within_the_deadline() -> None:
    busy = Overloaded("busy")
    busy.retry_after = 4
    provider = SlowProvider("busy", 1, busy)
    outcome, took, _ = ask(7, provider)
    assert outcome == busy
    assert provider.calls == 2
    assert took <= 7


def test_a_provider_without_a_fair_chance_is_not_recorded_as_failed() -> None:
    silent = [SlowProvider(str(number), 10_000) for number in range(8)]

    async def main() -> tuple[bool, bool]:
        router = Router(
            {provider.name: provider for provider in silent},
            health=Health(asyncio.get_running_loop().time),
            sleep=asyncio.sleep,
            random=lambda: 1.0,
        )
        plan = Plan(tuple(ResolvedTarget(provider.name) for provider in silent), seconds=4)
        for _ in range(10):
            with pytest.raises(GroundwireError):
                async for _ in router.batches(QUESTION, plan):
                    pass
        return router.health.of("0").is_open, router.health.of("7").is_open

    (first, last), _ = run_skipping_waits(main())
    assert first
    assert not last


PAGE = Source("https://a.example/", "A")
OPENED = SearchCalled(4, SearchCall("o", kind="open", url=PAGE.url))
TOKENS = Usage(input_tokens=5, output_tokens=2)


def called(number: int, *queries: str) -> Event:
    return SearchCalled(number, SearchCall(f"s{number}", queries))


TWO_CALLS = (called(0, "a"), called(1, "b", "c", "a", " "), OPENED)
FOUND = SearchReturned(2, SearchResult("s0", (PAGE,)))
CITED = Cited(Citation(None, (Evidence(PAGE),)))


def capabilities_of(name: str) -> Capabilities:
    row = find_spec(name)
    assert row is not None
    return row.capabilities


class AnsweringProvider:
    """Answers with these events."""

    name = "p"

    def __init__(self, capabilities: Capabilities, model: str, events: tuple[Event, ...]) -> None:
        self.capabilities = capabilities
        self.model = model
        self._events = events

    async def batches(self, _: Request) -> Batches:
        yield (Started("1"),)
        yield (*self._events, TextDelta(9, "Yes."))
        yield (UsageSeen(TOKENS), Finished())


def answered(provider: AnsweringProvider) -> Answer:
    router = Router({"p": provider}, health=Health(lambda: 0.0), sleep=asyncio.sleep, random=lambda: 0.5)
    question = Request((Message("user", (Text("q"),)),), search=SearchOptions())

    async def collect() -> list[Event]:
        return [event async for event in flatten(router.batches(question, Plan((ResolvedTarget("p"),))))]

    return assemble(asyncio.run(collect()))


@pytest.mark.parametrize(
    ("capabilities", "model", "events", "count"),
    [
        (capabilities_of("gemini"), "gemini-2.5-flash", (*TWO_CALLS, FOUND), 1),
        (capabilities_of("gemini"), "gemini-2.5-flash", TWO_CALLS, None),
        (capabilities_of("gemini"), "gemini-3-flash-preview", (*TWO_CALLS, FOUND), 3),
        (capabilities_of("gemini"), "gemini-3-pro", (called(0), FOUND), 1),
        (capabilities_of("openai"), "gpt-5.5", (*TWO_CALLS, FOUND), 2),
        (capabilities_of("openai"), "gpt-5.5", (OPENED, CITED), None),
        (capabilities_of("openai_chat"), "gpt-5-search-api", (CITED,), 1),
        (capabilities_of("openai_chat"), "gpt-5-search-api", (), None),
        (capabilities_of("anthropic"), "claude-sonnet-4-6", TWO_CALLS, 2),
        (COPILOT, "", (*TWO_CALLS, FOUND), 2),
        (engine_capabilities(frozenset()), "", (called(0, "a"), FOUND), 1),
        (describe("my", "gemini", "http://x", "").capabilities, "gemini-2.0-flash", (*TWO_CALLS, FOUND), 1),
        (describe("my", "gemini_interactions", "http://x", "").capabilities, "x", (*TWO_CALLS, FOUND), 3),
    ],
)
def test_searches_are_counted_as_the_vendor_bills_them(
    capabilities: Capabilities, model: str, events: tuple[Event, ...], count: int | None
) -> None:
    usage = answered(AnsweringProvider(capabilities, model, events)).usage
    assert (usage.searches, usage.input_tokens, usage.output_tokens) == (count, 5, 2)


class SelfCountingProvider(AnsweringProvider):
    """Reports its own count."""

    async def batches(self, _: Request) -> Batches:
        yield (Started("1"), *self._events, UsageSeen(Usage(searches=0)), TextDelta(9, "Yes."), Finished())


def test_the_search_count_of_the_provider_takes_precedence() -> None:
    assert answered(SelfCountingProvider(Capabilities(), "m", TWO_CALLS)).usage.searches == 0


class AliasProvider(AnsweringProvider):
    """Reports the model of its alias."""

    async def batches(self, _: Request) -> Batches:
        yield (Started("1", "gemini-2.5-flash"), *self._events, TextDelta(9, "Yes."), Finished())


def test_an_alias_is_billed_as_the_model_that_answered() -> None:
    provider = AliasProvider(capabilities_of("gemini"), "gemini-flash-latest", (*TWO_CALLS, FOUND))
    assert answered(provider).usage.searches == 1


class FailingProvider(AnsweringProvider):
    """Fails after its searches."""

    async def batches(self, _: Request) -> Batches:
        yield (Started("1"), *self._events, TextDelta(9, "Ye"))
        yield (Failed(Interrupted("cut")),)


def test_searches_of_an_interrupted_answer_are_counted() -> None:
    answer = answered(FailingProvider(Capabilities(), "m", TWO_CALLS))
    assert answer.error is not None
    assert answer.usage.searches == 2
