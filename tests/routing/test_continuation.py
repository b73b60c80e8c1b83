"""A turn that pauses is one answer: its parts, its offsets and its usage add up."""

from __future__ import annotations

import asyncio

from groundwire.errors import Overloaded
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    Message,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    Usage,
    UsageSeen,
    Warned,
    assemble,
)
from groundwire.providers.spec import flatten
from groundwire.routing.continuation import MAX_ROUNDS, add_usage, with_continuation
from tests.routing.test_failover import QUESTION, ScriptedProvider

ONE = Source("https://one.example/", state="cited")
TWO = Source("https://two.example/", state="cited")


def cited(start: int, end: int, source: Source) -> Cited:
    return Cited(Citation(Span(start, end), (Evidence(source),)))


def events_of(provider: ScriptedProvider, rounds: int = MAX_ROUNDS) -> list[Event]:
    async def collect() -> list[Event]:
        return [event async for event in flatten(with_continuation(provider, QUESTION, rounds))]

    return asyncio.run(collect())


FIRST: list[Event] = [
    Started("1", "m"),
    SearchCalled(0, SearchCall("s1", ("one",))),
    SearchReturned(1, SearchResult("s1", (ONE,))),
    TextDelta(2, "First. "),
    cited(0, 6, ONE),
    TextSettled(2),
    SearchCalled(3, SearchCall("s2", ("two",))),
    UsageSeen(Usage(input_tokens=100, output_tokens=10, searches=1)),
    Finished("pause"),
]
SECOND: list[Event] = [
    Started("2", "m"),
    SearchReturned(0, SearchResult("s2", (TWO,))),
    TextDelta(1, "Second."),
    cited(0, 7, TWO),
    UsageSeen(Usage(input_tokens=200, output_tokens=20)),
    Finished("stop"),
]


def whole() -> Answer:
    return assemble(events_of(ScriptedProvider("a", [*FIRST], [*SECOND])))


def test_text_and_citations_join_into_one_answer() -> None:
    answer = whole()
    assert answer.text == "First. Second."
    spans = [(citation.span, citation.evidence[0].source.url) for citation in answer.citations]
    assert spans == [(Span(0, 6), ONE.url), (Span(7, 14), TWO.url)]
    assert answer.finish == "stop"
    assert answer.id == "1"


def test_a_search_of_one_round_gets_its_result_in_the_next() -> None:
    assert [(search.query, search.state) for search in whole().searches] == [("one", "done"), ("two", "done")]


def test_the_costs_of_all_rounds_add_up() -> None:
    assert whole().usage == Usage(input_tokens=300, output_tokens=30, searches=1)


def test_the_answer_so_far_is_appended_to_the_same_question() -> None:
    provider = ScriptedProvider("a", [*FIRST], [*SECOND])
    events_of(provider)
    first, second = provider.calls
    answer = assemble(FIRST)
    assert second.messages == (*first.messages, Message("assistant", answer.parts, answer.citations))


def test_an_empty_part_keeps_its_number() -> None:
    paused: list[Event] = [TextDelta(0, ""), TextDelta(1, "one "), Finished("pause")]
    provider = ScriptedProvider("a", [*paused], [TextDelta(0, "two"), Finished("stop")])
    assert assemble(events_of(provider)).parts == (Text("one "), Text("two"))


def test_warnings_are_emitted_once() -> None:
    warning, other = Warned("w", "no location"), Warned("w", "another")
    provider = ScriptedProvider("a", [warning, Finished("pause")], [warning, other, Finished("stop")])
    assert events_of(provider) == [warning, other, Finished("stop")]


def test_an_answer_that_is_not_paused_is_unchanged() -> None:
    assert events_of(ScriptedProvider("a", [*SECOND])) == SECOND


def test_a_turn_that_never_ends_is_stopped_with_a_warning() -> None:
    pause = Finished("pause", extras={"anthropic_messages": {"container": "c"}})
    provider = ScriptedProvider("a", [TextDelta(0, "a"), pause])
    events = events_of(provider, rounds=3)
    assert len(provider.calls) == 3
    assert assemble(events).text == "aaa"
    assert isinstance(events[-2], Warned)
    assert events[-2].code == "pause_limit"
    assert events[-1] == pause


def test_a_later_round_that_fails_ends_the_answer() -> None:
    provider = ScriptedProvider("a", [*FIRST], [Failed(Overloaded("busy"))])
    answer = assemble(events_of(provider))
    assert answer.text == "First. "
    assert answer.error == Overloaded("busy")


def test_uncounted_searches_stay_unknown() -> None:
    assert add_usage(Usage(), Usage()) == Usage()
    assert add_usage(Usage(searches=1), Usage(cost=0.5)) == Usage(searches=1, cost=0.5)
