"""Features and their projections, and what is lost between two dialects."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.dialects.base import Dialect
from groundwire.dialects.features import Feature, lost_between, project
from groundwire.dialects.registry import dialect
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    FinishReason,
    Image,
    JsonObject,
    Reasoning,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Text,
    ToolCall,
    Usage,
)
from groundwire.model.value import replace
from tests.model.strategies import answers, cases

FILE: JsonObject = {"type": "file_citation", "file_id": "file-1", "filename": "a.pdf"}
LINK = "([a](https://a.example))"
A = Evidence(Source("https://a.example", "A"), "quote", 0.5)
ANSWER = Answer(
    (
        SearchCall("s", ("q", "r"), caller="code_execution"),
        SearchResult(
            "s", (Source("https://found.example", "F", date="May"),), error="unavailable", suggestions="<b>"
        ),
        SearchCall("o", kind="open", url="https://a.example"),
        SearchCall("f", kind="find", url="https://a.example", pattern="p"),
        Reasoning("hm"),
        Text("Plan.", "commentary"),
        Text(f"Fact {LINK} here.", "final_answer", {"openai_responses": {"annotations": [FILE]}}),
        ToolCall("c", "f", '{"a": 1}'),
        Image("image/png", "AA=="),
    ),
    (
        Citation(Span(10, 10 + len(LINK)), (A,), "marker"),
        Citation(Span(5, 10 + len(LINK) + 6), (A,)),
        Citation(None, (Evidence(Source("https://w.example")),)),
    ),
    Usage(1, 2, 3, 4, 5, 6, 7, 8, 0.5),
    finish="refused",
)

EXPECTED: Mapping[Feature, object] = {
    Feature.TEXT: "Plan.Fact  here.",
    Feature.MARKER_TEXT: [LINK],
    Feature.TEXT_PARTS: [5, len(f"Fact {LINK} here.")],
    Feature.PHASE: ["commentary", "final_answer"],
    Feature.CITATIONS: {(10, "https://a.example"), (16, "https://a.example")},
    Feature.SPAN_STARTS: {(10, 10, "https://a.example"), (5, 16, "https://a.example")},
    Feature.UNPLACED: {"https://w.example"},
    Feature.QUOTES: {("https://a.example", "quote")},
    Feature.FILE_CITATIONS: [FILE],
    Feature.CONFIDENCE: {("https://a.example", 0.5)},
    Feature.TITLES: {("https://a.example", "A")},
    Feature.QUERIES: {"q", "r"},
    Feature.SEARCH_CALLS: [("q", "r")],
    Feature.PAGES_OPENED: ["https://a.example"],
    Feature.PATTERNS: [("https://a.example", "p")],
    Feature.RETRIEVED: {"https://found.example"},
    Feature.RETRIEVED_TITLES: {("https://found.example", "F")},
    Feature.DATES: {("https://found.example", "May")},
    Feature.SEARCH_ERRORS: ["unavailable"],
    Feature.SUGGESTIONS: ["<b>"],
    Feature.CALLERS: ["code_execution"],
    Feature.REASONING: "hm",
    Feature.TOOL_CALLS: [("c", "f", {"a": 1})],
    Feature.IMAGES: [("image/png", "AA==", "")],
    Feature.FINISH: "filtered",
    Feature.PAUSE: False,
    Feature.REFUSAL: True,
    Feature.TOKENS: (1, 2),
    Feature.CACHE_TOKENS: (3, 4),
    Feature.REASONING_TOKENS: 5,
    Feature.TOOL_TOKENS: 6,
    Feature.SEARCH_COUNT: 7,
    Feature.COST: 0.5,
}


@pytest.mark.parametrize("feature", Feature)
def test_each_feature_projects_its_part_of_an_answer(feature: Feature) -> None:
    assert project(ANSWER, feature) == EXPECTED[feature]


@pytest.mark.parametrize("feature", [feature for feature in Feature if feature is not Feature.PAUSE])
def test_each_feature_is_missing_from_an_empty_answer(feature: Feature) -> None:
    assert project(ANSWER, feature) != project(Answer(), feature)


@pytest.mark.parametrize(
    ("finish", "pause", "refusal"),
    [("stop", False, False), ("pause", True, False), ("refused", False, True), ("filtered", False, False)],
)
def test_pausing_and_refusing_are_features_of_their_own(
    finish: FinishReason, pause: bool, refusal: bool
) -> None:
    answer = Answer(finish=finish)
    assert (project(answer, Feature.PAUSE), project(answer, Feature.REFUSAL)) == (pause, refusal)


def test_a_citation_keeps_its_span_when_markers_before_it_are_replaced() -> None:
    linked = Answer(
        (Text(f"One {LINK} two."),),
        (
            Citation(Span(4, 4 + len(LINK)), (A,), "marker"),
            Citation(Span(4 + len(LINK) + 1, 4 + len(LINK) + 4), (A,)),
        ),
    )
    numbered = Answer(
        (Text("One [1] two."),),
        (Citation(Span(4, 7), (A,), "marker"), Citation(Span(8, 11), (A,))),
    )
    for feature in (Feature.TEXT, Feature.CITATIONS, Feature.SPAN_STARTS):
        assert project(linked, feature) == project(numbered, feature)
    assert project(linked, Feature.MARKER_TEXT) != project(numbered, Feature.MARKER_TEXT)


def test_overlapping_markers_are_removed_once() -> None:
    both = (Citation(Span(0, 4), (A,), "marker"), Citation(Span(2, 6), (A,), "marker"))
    assert project(Answer((Text("ABCDEFGH"),), both), Feature.TEXT) == "EFGH"


def test_arguments_are_compared_as_json_and_invalid_json_as_text() -> None:
    def calls(arguments: str) -> object:
        return project(Answer((ToolCall("c", "f", arguments),)), Feature.TOOL_CALLS)

    assert calls('{"a": 1, "b": 2}') == calls('{"b":2,"a":1}')
    assert calls('{"a": 1}') != calls('{"a": 2}')
    assert calls("{nonsense") == [("c", "f", "{nonsense")]
    assert calls("[" * 100_000) == [("c", "f", "[" * 100_000)]


def test_the_loss_is_what_the_source_supports_and_the_target_does_not() -> None:
    websearch = dialect("websearch")
    poor: Dialect = replace(websearch, losses={Feature.QUOTES: "nowhere", Feature.COST: "`groundwire.cost`"})
    rich: Dialect = replace(websearch, losses={Feature.COST: "nowhere"})
    assert lost_between(rich, poor) == {Feature.QUOTES: "nowhere"}
    assert lost_between(poor, rich) == {}
    assert lost_between(poor, poor) == {}


@cases(60)
@given(answers(), st.sampled_from(Feature))
def test_any_answer_can_be_projected_and_equals_itself(answer: Answer, feature: Feature) -> None:
    assert project(answer, feature) == project(answer, feature)
