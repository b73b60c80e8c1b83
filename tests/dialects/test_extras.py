"""The extension field for what a dialect cannot express."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.dialects.base import Reply
from groundwire.dialects.extras import add_extension
from groundwire.dialects.features import Feature
from groundwire.dialects.foreign_history import readable_text
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.registry import dialect
from groundwire.errors import UpstreamWireError
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Text,
    Usage,
    Warned,
)
from tests.model.strategies import answers, cases

ANSWER = Answer(
    (
        SearchCall("s", ("q",)),
        SearchResult("s", (Source("https://b.example/y"),), suggestions="<b>more</b>"),
        Text("A fact."),
    ),
    (
        Citation(Span(0, 7), (Evidence(Source("https://www.a.example/x", "A"), "quote", 0.5),)),
        Citation(None, (Evidence(Source("", "oai-weather")), Evidence(Source("https://b.example/y")))),
    ),
    Usage(cost=0.25),
    (Warned("citation_unplaced", "one citation has no span"),),
)

SOURCES = [
    {"url": "https://b.example/y", "title": "", "domain": "b.example", "state": "cited"},
    {"url": "https://www.a.example/x", "title": "A", "domain": "a.example", "state": "cited"},
    {"url": "", "title": "oai-weather", "domain": "", "state": "cited"},
]


def test_nothing_to_report_adds_nothing() -> None:
    assert add_extension({"id": "x"}, Answer((Text("x"),)), tuple(Feature)) == {"id": "x"}


def test_a_dialect_that_loses_nothing_extends_only_warnings() -> None:
    assert add_extension({}, ANSWER, ()) == {
        "groundwire": {
            "version": 1,
            "warnings": [{"code": "citation_unplaced", "message": "one citation has no span"}],
        }
    }


def test_lost_features_are_in_the_extension() -> None:
    assert add_extension({}, ANSWER, tuple(Feature)) == {
        "groundwire": {
            "version": 1,
            "warnings": [{"code": "citation_unplaced", "message": "one citation has no span"}],
            "searches": [{"query": "q", "kind": "search", "state": "done"}],
            "sources": SOURCES,
            "citations": [
                {
                    "start": 0,
                    "end": 7,
                    "anchor": "claim",
                    "sources": [1],
                    "quotes": ["quote"],
                    "confidences": [0.5],
                },
                {"start": None, "end": None, "anchor": "claim", "sources": [2, 0], "quotes": []},
            ],
            "suggestions": ["<b>more</b>"],
            "cost": 0.25,
        }
    }


def test_only_lost_features_are_in_the_extension() -> None:
    quiet = Answer(ANSWER.parts, ANSWER.citations, ANSWER.usage)
    assert add_extension({}, quiet, [Feature.REASONING]) == {}
    assert set(_extension(quiet, Feature.QUERIES)) == {"version", "searches"}
    assert set(_extension(quiet, Feature.TITLES)) == {"version", "sources"}
    assert add_extension({}, quiet, [Feature.RETRIEVED]) == {}, "all that was found is cited"
    assert set(_extension(quiet, Feature.QUOTES)) == {"version", "sources", "citations"}
    assert set(_extension(quiet, Feature.SUGGESTIONS)) == {"version", "suggestions"}
    assert set(_extension(quiet, Feature.COST)) == {"version", "cost"}


def _extension(answer: Answer, *lost: Feature) -> dict[str, object]:
    extension = add_extension({}, answer, lost)["groundwire"]
    assert isinstance(extension, dict)
    return dict(extension)


def test_a_name_that_looks_like_a_url_is_not_a_url() -> None:
    named, real = Source("", "https://a.example"), Source("https://a.example", "A")
    answer = Answer((), (Citation(None, (Evidence(real),)), Citation(Span(0, 1), (Evidence(named),))))
    extension = _extension(answer, *Feature)
    assert extension["citations"] == [
        {"start": None, "end": None, "anchor": "claim", "sources": [0], "quotes": []},
        {"start": 0, "end": 1, "anchor": "claim", "sources": [1], "quotes": []},
    ]


@cases(60)
@given(answers(), st.sets(st.sampled_from(Feature)))
def test_any_answer_can_be_encoded_and_its_indices_are_valid(answer: Answer, lost: set[Feature]) -> None:
    body = add_extension({}, answer, lost)
    assert load_json(dump_json(body), UpstreamWireError) == body
    extension = body.get("groundwire")
    if not isinstance(extension, dict) or "citations" not in extension:
        return
    extension_citations, sources = extension["citations"], extension["sources"]
    assert isinstance(extension_citations, list)
    assert isinstance(sources, list)
    for item, citation in zip(extension_citations, answer.citations, strict=True):
        assert isinstance(item, dict)
        assert isinstance(item["sources"], list)
        urls = [
            source["url"] for index in item["sources"] if isinstance(source := sources[_index(index)], dict)
        ]
        assert urls == [evidence.source.url for evidence in citation.evidence]


def _index(value: object) -> int:
    assert isinstance(value, int)
    return value


@pytest.mark.parametrize("name", ["openai_responses", "openai_chat", "gemini", "gemini_interactions"])
def test_the_error_of_a_search_is_in_the_extension_where_a_dialect_has_no_field_for_it(name: str) -> None:
    failed = (
        SearchCall("s", ("nile",)),
        SearchResult("s", error="max_uses_exceeded"),
        Text("I could not search."),
    )
    body = dialect(name).encode_response(Answer(failed, finish="stop"), Reply())
    extension = body["groundwire"]
    assert isinstance(extension, dict)
    assert extension["searches"] == [
        {"query": "nile", "kind": "search", "state": "failed", "error": "max_uses_exceeded"}
    ]


def test_the_next_provider_reads_that_a_search_failed_and_why() -> None:
    failed = (SearchCall("s", ("nile", "amazon")), SearchResult("s", error="unavailable"), Text("Sorry."))
    text = readable_text(Answer(failed).message)
    assert "Searched for: nile (failed: unavailable); amazon (failed: unavailable)" in text
