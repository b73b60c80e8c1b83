"""The assembler: events in, one answer in normal form out."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.errors import Interrupted
from groundwire.model import (
    Answer,
    Assembler,
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Failed,
    Finished,
    Image,
    Opaque,
    PartAdded,
    Reasoning,
    ReasoningDelta,
    Search,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    ToolCallDelta,
    Usage,
    UsageSeen,
    Warned,
    assemble,
)
from tests.model.strategies import cases, events

A = Evidence(Source("https://a.example", "A"))
B = Evidence(Source("https://b.example", "B"))
C = Evidence(Source("https://c.example", "C"))


def cited(span: Span | None, *evidence: Evidence) -> Cited:
    return Cited(Citation(span, evidence))


def test_no_events_are_an_empty_answer() -> None:
    assert assemble([]) == Answer()


def test_deltas_of_one_part_are_joined_in_order() -> None:
    answer = assemble(
        [
            Started("r1", "m1"),
            TextDelta(1, "Hel"),
            ReasoningDelta(0, "hm"),
            TextDelta(1, "lo"),
            ReasoningDelta(0, "m"),
            ToolCallDelta(2, "c1", "lookup"),
            ToolCallDelta(2, arguments='{"q":'),
            ToolCallDelta(2, arguments="1}"),
            TextSettled(1),
            Finished("tool_calls", "tool_use", {"gemini": {"a": 1}}),
        ]
    )
    assert answer.parts == (Reasoning("hmm"), Text("Hello"), ToolCall("c1", "lookup", '{"q":1}'))
    assert (answer.id, answer.model, answer.text) == ("r1", "m1", "Hello")
    assert (answer.finish, answer.detail, answer.extras) == ("tool_calls", "tool_use", {"gemini": {"a": 1}})


def test_parts_are_ordered_by_number_not_by_arrival() -> None:
    events_in_order: list[Event] = [TextDelta(7, "c"), TextDelta(2, "a"), TextDelta(5, "b")]
    for order in permutations(events_in_order):
        assert assemble(order).text == "abc"


def test_a_phase_given_once_applies_to_the_whole_part() -> None:
    assert assemble([TextDelta(0, "a", "commentary"), TextDelta(0, "b")]).parts == (Text("ab", "commentary"),)


def test_an_empty_text_part_is_dropped_unless_it_has_extras() -> None:
    assert assemble([TextDelta(0, "")]).parts == ()
    signed = assemble([TextDelta(0, ""), ExtrasSeen(0, {"gemini": {"sig": "x"}})])
    assert signed.parts == (Text("", extras={"gemini": {"sig": "x"}}),)


def test_extras_are_added_to_their_part_in_any_order() -> None:
    call = SearchCall("s", ("q",), extras={"gemini": {"a": 1}})
    events_in_order: list[Event] = [SearchCalled(0, call), ExtrasSeen(0, {"gemini": {"b": 2}})]
    for order in permutations(events_in_order):
        (part,) = assemble(order).parts
        assert part == SearchCall("s", ("q",), extras={"gemini": {"a": 1, "b": 2}})


def test_opaque_parts_take_no_extras() -> None:
    opaque = Opaque("gemini", {"x": 1})
    assert assemble([PartAdded(0, opaque), ExtrasSeen(0, {"gemini": {"b": 2}})]).parts == (opaque,)


def test_a_search_that_only_began_is_not_a_part_yet() -> None:
    assembler = Assembler()
    assembler.feed(SearchStarted(0, "s1"))
    assert assembler.answer().parts == ()
    assembler.feed(SearchCalled(0, SearchCall("s1", ("q",))))
    assert assembler.answer().parts == (SearchCall("s1", ("q",)),)


def test_a_function_call_without_arguments_has_an_empty_object() -> None:
    assert assemble([ToolCallDelta(0, "c", "now")]).parts == (ToolCall("c", "now", "{}"),)


def test_citations_of_one_span_become_one_citation() -> None:
    answer = assemble([cited(Span(0, 4), A), cited(Span(5, 9), C), cited(Span(0, 4), B)])
    assert answer.citations == (Citation(Span(0, 4), (A, B)), Citation(Span(5, 9), (C,)))


def test_one_citation_of_two_sources_equals_two_citations_of_one() -> None:
    assert assemble([cited(Span(0, 4), A, B)]) == assemble([cited(Span(0, 4), A), cited(Span(0, 4), B)])


def test_repeated_evidence_is_kept_once_also_within_one_citation() -> None:
    assert assemble([cited(Span(0, 4), A, A, B), cited(Span(0, 4), B, A)]).citations == (
        Citation(Span(0, 4), (A, B)),
    )


def test_two_passages_of_one_page_are_two_pieces_of_evidence() -> None:
    first, second = Evidence(A.source, "one"), Evidence(A.source, "two")
    assert assemble([cited(Span(0, 4), first), cited(Span(0, 4), second)]).citations == (
        Citation(Span(0, 4), (first, second)),
    )


def test_the_order_of_spans_does_not_matter() -> None:
    events_in_order: list[Event] = [
        TextDelta(0, "one two three"),
        cited(Span(0, 3), A),
        cited(Span(4, 7), B),
        cited(Span(0, 7), C),
        cited(None, A),
        cited(Span(7, 7), C),
    ]
    expected = assemble(events_in_order)
    assert [citation.span for citation in expected.citations] == [(0, 3), (0, 7), (4, 7), (7, 7), None]
    for order in permutations(events_in_order):
        assert assemble(order) == expected


def test_sources_of_one_span_keep_their_order_of_relevance() -> None:
    assert assemble([cited(Span(0, 1), B), cited(Span(0, 1), A)]).citations[0].evidence == (B, A)


def test_claim_and_marker_on_one_span_stay_separate() -> None:
    events_in_order = [
        Cited(Citation(Span(0, 4), (A,), "marker")),
        Cited(Citation(Span(0, 4), (A,), "claim")),
    ]
    assert [citation.anchor for citation in assemble(events_in_order).citations] == ["claim", "marker"]


def test_the_last_usage_is_final_and_every_warning_is_kept() -> None:
    answer = assemble(
        [
            UsageSeen(Usage(input_tokens=1)),
            Warned("a", "1"),
            UsageSeen(Usage(input_tokens=9)),
            Warned("b", "2"),
        ]
    )
    assert answer.usage == Usage(input_tokens=9)
    assert answer.warnings == (Warned("a", "1"), Warned("b", "2"))


def test_events_before_a_failure_are_kept() -> None:
    error = Interrupted("cut")
    answer = assemble([TextDelta(0, "half"), cited(Span(0, 4), A), Failed(error)])
    assert (answer.text, answer.grounded, answer.error, answer.finish) == ("half", True, error, None)


def test_an_answer_is_grounded_by_citations_not_by_searching() -> None:
    searched = assemble(
        [
            SearchCalled(0, SearchCall("s", ("q",))),
            SearchReturned(1, SearchResult("s", (A.source,))),
            TextDelta(2, "x"),
        ]
    )
    assert not searched.grounded
    assert assemble([cited(None, A)]).grounded


def test_sources_are_listed_once_in_order_of_mention_with_their_strongest_state() -> None:
    answer = Answer(
        (
            SearchCall("s", ("q",)),
            SearchResult(
                "s", (Source("https://b.example", "", excerpts=("x",)), Source("https://a.example", "A"))
            ),
            SearchCall("o", kind="open", url="https://a.example"),
            SearchCall("f", kind="find", url="https://d.example", pattern="p"),
        ),
        (
            Citation(
                None,
                (Evidence(Source("https://b.example", "B", excerpts=("x", "y"), date="today", domain="b")),),
            ),
        ),
    )
    assert answer.sources == (
        Source("https://b.example", "B", "cited", ("x", "y"), "today", "b"),
        Source("https://a.example", "A", "opened"),
        Source("https://d.example", state="opened"),
    )


def test_sources_without_a_url_are_distinguished_by_name() -> None:
    feeds = (Source("", "oai-weather"), Source("", "oai-finance"), Source("", "oai-weather"))
    assert [source.title for source in Answer((SearchResult("s", feeds),)).sources] == [
        "oai-weather",
        "oai-finance",
    ]


def test_extras_of_the_first_mention_win() -> None:
    first = Source("https://a.example", extras={"gemini": {"i": 0}})
    second = Source("https://a.example", extras={"gemini": {"i": 1, "j": 2}, "openai_chat": {}})
    (source,) = Answer((SearchResult("s", (first, second)),)).sources
    assert source.extras == {"gemini": {"i": 0, "j": 2}, "openai_chat": {}}


@pytest.mark.parametrize(
    ("result", "state"),
    [(None, "running"), (SearchResult("s"), "done"), (SearchResult("s", error="unavailable"), "failed")],
)
def test_searches_list_each_query_with_its_state(result: SearchResult | None, state: str) -> None:
    call = SearchCall("s", ("one", "two"))
    error = result.error if result else ""
    assert Answer((call, result) if result else (call,)).searches == (
        ("one", "search", state, error),
        ("two", "search", state, error),
    )


def test_fetches_and_pattern_searches_have_their_url_and_pattern() -> None:
    answer = Answer(
        (
            SearchCall("o", kind="open", url="https://a.example"),
            SearchCall("f", kind="find", url="https://a.example", pattern="needle"),
        )
    )
    assert answer.searches == (
        Search("https://a.example", "open", "running"),
        Search("needle", "find", "running"),
    )


def test_the_answer_as_a_message_has_all_its_parts_and_citations() -> None:
    answer = Answer((Text("x"), Image(url="https://i.example")), (Citation(Span(0, 1), (A,)),))
    assert answer.message.role == "assistant"
    assert (answer.message.parts, answer.message.citations) == (answer.parts, answer.citations)
    assert answer.message.text == "x"


@cases(80)
@given(st.lists(events(), max_size=8))
def test_any_events_in_any_order_fold_into_normal_form(events_in_order: list[Event]) -> None:
    answer = assemble(events_in_order)
    spans = [(citation.span, citation.anchor) for citation in answer.citations]
    assert len(spans) == len(set(spans))
    placed = [span for span, _ in spans if span is not None]
    assert placed == sorted(placed)
    addresses = [(source.url, "" if source.url else source.title) for source in answer.sources]
    assert len(addresses) == len(set(addresses))


@cases(80)
@given(st.lists(events(), max_size=6))
def test_reading_the_answer_in_between_changes_nothing(events_in_order: list[Event]) -> None:
    assembler = Assembler()
    for event in events_in_order:
        assembler.feed(event)
        assembler.answer()
    assert assembler.answer() == assemble(events_in_order)
