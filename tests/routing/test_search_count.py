"""Searches are counted by the rule that the provider bills by, unless it counts them itself."""

from __future__ import annotations

import asyncio

import pytest

from groundwire.errors import Interrupted
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
from groundwire.providers.copilot.provider import CAPABILITIES as COPILOT
from groundwire.providers.policy import Capabilities, engine_capabilities
from groundwire.providers.registry import describe, find_spec
from groundwire.providers.spec import Batches, flatten
from groundwire.routing.failover import Router
from groundwire.routing.health import Health
from groundwire.routing.resolve import Plan, ResolvedTarget

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


class Provider:
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


def answered(provider: Provider) -> Answer:
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
def test_a_search_is_what_its_vendor_bills_for(
    capabilities: Capabilities, model: str, events: tuple[Event, ...], count: int | None
) -> None:
    usage = answered(Provider(capabilities, model, events)).usage
    assert (usage.searches, usage.input_tokens, usage.output_tokens) == (count, 5, 2)


class Counting(Provider):
    """Reports its own count."""

    async def batches(self, _: Request) -> Batches:
        yield (Started("1"), *self._events, UsageSeen(Usage(searches=0)), TextDelta(9, "Yes."), Finished())


def test_the_count_of_the_provider_wins() -> None:
    assert answered(Counting(Capabilities(), "m", TWO_CALLS)).usage.searches == 0


class Renamed(Provider):
    """Says which model its alias leads to."""

    async def batches(self, _: Request) -> Batches:
        yield (Started("1", "gemini-2.5-flash"), *self._events, TextDelta(9, "Yes."), Finished())


def test_an_alias_is_billed_as_the_model_that_answered() -> None:
    provider = Renamed(capabilities_of("gemini"), "gemini-flash-latest", (*TWO_CALLS, FOUND))
    assert answered(provider).usage.searches == 1


class Breaking(Provider):
    """Breaks off after its searches."""

    async def batches(self, _: Request) -> Batches:
        yield (Started("1"), *self._events, TextDelta(9, "Ye"))
        yield (Failed(Interrupted("cut")),)


def test_an_answer_that_broke_off_has_searched_too() -> None:
    answer = answered(Breaking(Capabilities(), "m", TWO_CALLS))
    assert answer.error is not None
    assert answer.usage.searches == 2
