"""Perplexity's Agent API: searches and pages are items, and in streams also separate events."""

from __future__ import annotations

import json
from typing import cast

import pytest

from groundwire.dialects.openai_responses import DIALECT
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.model import (
    Answer,
    Json,
    JsonObject,
    Reasoning,
    Request,
    SearchCall,
    SearchResult,
    ToolCall,
    Usage,
    assemble,
)
from tests.dialects.openai_responses.wire import (
    REPLY,
    call,
    completed,
    decode_events,
    decode_whole,
    message,
    response,
    sse,
)

FIRST = "https://example.org/paris"
SECOND = "https://example.org/seine"
RESULTS: list[Json] = [
    {"id": 1, "url": FIRST, "title": "Paris", "snippet": "Paris is …", "date": "2026-01-02", "source": "web"},
    {"id": 2, "url": SECOND, "title": "Seine", "snippet": "The Seine …", "date": None},
]
PAGES: list[Json] = [{"url": FIRST, "title": "Paris", "snippet": "Paris is the capital."}]
TEXT = "Paris is the capital of France.[1] The Seine runs there.[2]"
SEARCH: JsonObject = {"type": "search_results", "queries": ["capital of France"], "results": RESULTS}
FETCH: JsonObject = {"type": "fetch_url_results", "contents": PAGES}
ANNOTATIONS: list[JsonObject] = [
    {"type": "url_citation", "start_index": 31, "end_index": 34, "url": FIRST, "title": "Paris"},
    {"type": "url_citation", "start_index": 56, "end_index": 59, "url": SECOND, "title": "Seine"},
]
USAGE: JsonObject = {
    "input_tokens": 7,
    "output_tokens": 3,
    "total_tokens": 10,
    "cost": {"currency": "USD", "input_cost": 0.1, "output_cost": 0.2, "total_cost": 0.3},
    "input_tokens_details": {"cache_read_input_tokens": 2, "cache_creation_input_tokens": 1},
    "tool_calls_details": {"search_web": {"invocation": 2}, "fetch_url": {"invocation": 1}},
}


def answered(*annotations: JsonObject) -> JsonObject:
    return message({"type": "output_text", "text": TEXT, "annotations": list(annotations)})


def events_of(*annotations: JsonObject, items: bool = True) -> list[JsonObject]:
    """A stream of Perplexity: searches are announced as functions, then sent as separate events."""
    position: JsonObject = {"item_id": "msg_1", "output_index": 2, "content_index": 0}
    done = answered(*annotations)
    announced = call('{"queries": ["capital of France"]}', name="search_web", call_id="s_1", id="fc_s")
    listed: list[JsonObject] = [
        {"type": "response.output_item.done", "output_index": 0, "item": SEARCH},
        {"type": "response.output_item.done", "output_index": 1, "item": FETCH},
    ]
    return [
        {"type": "response.created", "response": response(status="in_progress")},
        {"type": "response.reasoning.started", "thought": "I search."},
        {"type": "response.output_item.added", "output_index": 0, "item": announced},
        {"type": "response.reasoning.search_queries", "queries": ["capital of France"], "thought": None},
        {"type": "response.reasoning.search_results", "results": RESULTS},
        {"type": "response.reasoning.fetch_url_queries", "urls": [FIRST]},
        {"type": "response.reasoning.fetch_url_results", "contents": PAGES},
        {"type": "response.reasoning.stopped"},
        *(listed if items else []),
        {"type": "response.output_item.added", "output_index": 2, "item": {**done, "content": []}},
        {"type": "response.output_text.delta", **position, "delta": TEXT[:20]},
        {"type": "response.output_text.delta", **position, "delta": TEXT[20:]},
        {"type": "response.output_text.done", **position, "text": TEXT},
        {"type": "response.output_item.done", "output_index": 2, "item": done},
        completed(*([SEARCH, FETCH] if items else []), done, usage=USAGE),
    ]


def streamed(*annotations: JsonObject, items: bool = True) -> Answer:
    return assemble(decode_events(sse(events_of(*annotations, items=items))))


def cited(answer: Answer) -> list[tuple[str, str]]:
    return [
        (answer.text[citation.span.start : citation.span.end], item.source.url)
        for citation in answer.citations
        if citation.span
        for item in citation.evidence
    ]


def check(answer: Answer) -> None:
    calls = [part for part in answer.parts if isinstance(part, SearchCall)]
    assert [(part.kind, part.queries, part.url) for part in calls] == [
        ("search", ("capital of France",), ""),
        ("open", (), FIRST),
    ]
    found, opened = [part for part in answer.parts if isinstance(part, SearchResult)]
    assert [(page.url, page.title, page.date) for page in found.sources] == [
        (FIRST, "Paris", "2026-01-02"),
        (SECOND, "Seine", ""),
    ]
    assert [(page.url, page.state, page.excerpts) for page in opened.sources] == [
        (FIRST, "opened", ("Paris is the capital.",))
    ]
    assert [found.call_id, opened.call_id] == [part.id for part in calls]
    assert cited(answer) == [("[1]", FIRST), ("[2]", SECOND)]
    assert not [part for part in answer.parts if isinstance(part, ToolCall)]
    assert answer.finish == "stop"
    assert answer.text == TEXT


@pytest.mark.parametrize("annotations", [ANNOTATIONS, []], ids=["annotated", "numbered"])
def test_searches_pages_and_citations_are_read_whole_and_streamed(annotations: list[JsonObject]) -> None:
    check(decode_whole(SEARCH, FETCH, answered(*annotations), usage=USAGE))
    check(streamed(*annotations))
    check(streamed(*annotations, items=False))


def test_usage_has_cost_cache_and_tool_calls() -> None:
    expected = Usage(7, 3, 2, 1, None, None, 2, 1, 0.3)
    assert decode_whole(answered(), usage=USAGE).usage == expected
    assert streamed().usage == expected


def test_thoughts_are_reasoning() -> None:
    assert [part.text for part in streamed().parts if isinstance(part, Reasoning)] == ["I search."]


def test_concurrent_searches_keep_their_results() -> None:
    events = [
        {"type": "response.created", "response": response(status="in_progress")},
        {"type": "response.reasoning.search_queries", "queries": ["a"]},
        {"type": "response.reasoning.search_queries", "queries": ["b"]},
        {"type": "response.reasoning.search_results", "results": RESULTS[:1]},
        {"type": "response.reasoning.search_results", "results": RESULTS[1:]},
        completed(
            {"type": "search_results", "queries": ["a"], "results": RESULTS[:1]},
            {"type": "search_results", "queries": ["b"], "results": RESULTS[1:]},
        ),
    ]
    answer = assemble(decode_events(sse(cast("list[JsonObject]", events))))
    calls = {part.id: part.queries for part in answer.parts if isinstance(part, SearchCall)}
    results = [part for part in answer.parts if isinstance(part, SearchResult)]
    assert [(calls[part.call_id], part.sources[0].url) for part in results] == [
        (("a",), FIRST),
        (("b",), SECOND),
    ]
    assert len(calls) == 2


def test_a_function_of_the_clients_is_still_called() -> None:
    item = call()
    events = [
        {"type": "response.created", "response": response(status="in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        completed(item, status="requires_action"),
    ]
    answer = assemble(decode_events(sse(cast("list[JsonObject]", events))))
    assert [(part.id, part.name, part.arguments) for part in answer.parts if isinstance(part, ToolCall)] == [
        ("call_1", "get_weather", '{"city": "Bern"}')
    ]
    assert answer.finish == "tool_calls"


def test_a_failure_keeps_its_reason() -> None:
    failed: JsonObject = {"type": "response.failed", "error": {"message": "no credit", "code": "x"}}
    answer = assemble(decode_events(sse([*events_of()[:5], failed])))
    assert answer.error is not None
    assert answer.error.message == "no credit"
    assert [part.queries for part in answer.parts if isinstance(part, SearchCall)] == [("capital of France",)]


@pytest.mark.parametrize("name", DIALECTS)
def test_every_client_gets_the_cited_pages(name: str) -> None:
    answer = decode_whole(SEARCH, FETCH, answered(*ANNOTATIONS))
    body = json.dumps(dialect(name).encode_response(answer, REPLY))
    assert FIRST in body
    assert SECOND in body


def test_the_turn_continues_as_text_because_results_are_not_valid_input() -> None:
    answer = decode_whole(SEARCH, FETCH, answered(*ANNOTATIONS))
    body = json.dumps(DIALECT.encode_request(Request((answer.message,))).body)
    assert "search_results" not in body
    assert all(expected in body for expected in (FIRST, SECOND, "capital of France"))
