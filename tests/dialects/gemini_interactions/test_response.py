"""Whole interactions: steps, statuses, usage."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.gemini_interactions import DIALECT
from groundwire.dialects.timestamps import timestamp
from groundwire.errors import Overloaded, QuotaExhausted, RateLimited, UpstreamError, UpstreamWireError
from groundwire.model import (
    Answer,
    FinishReason,
    Image,
    Json,
    JsonObject,
    Opaque,
    Reasoning,
    SearchCall,
    SearchResult,
    Source,
    Text,
    ToolCall,
    Usage,
)
from tests.dialects.gemini_interactions.bodies import interaction, read, text_step

OPENED: tuple[JsonObject, ...] = (
    {
        "type": "url_context_call",
        "id": "u",
        "arguments": {"urls": ["https://a.example/", "https://b.example/"]},
    },
    {
        "type": "url_context_result",
        "call_id": "u",
        "result": [
            {"url": "https://b.example/", "status": "paywall"},
            {"url": "https://a.example/", "status": "success"},
        ],
        "signature": "c2ln",
    },
)


def again(body: JsonObject) -> JsonObject:
    written: JsonObject = json.loads(json.dumps(DIALECT.encode_response(read(body), Reply("a", "m"))))
    return written


def test_a_step_of_an_unknown_kind_is_kept_whole() -> None:
    step: JsonObject = {"type": "hologram_call", "id": "h", "arguments": {"deep": [1, {"x": None}]}}
    answer = read(interaction(step, text_step("Hi.")))
    assert answer.parts[0] == Opaque("gemini_interactions", step)
    assert again(interaction(step))["steps"] == [step]


def test_audio_in_an_answer_is_opaque_and_divides_the_text() -> None:
    sound: JsonObject = {"type": "audio", "data": "AAAA", "mime_type": "audio/wav"}
    blocks: list[Json] = [{"type": "text", "text": "Listen: "}, sound, {"type": "text", "text": "that."}]
    answer = read(interaction({"type": "model_output", "content": blocks}))
    assert [type(part) for part in answer.parts] == [Text, Opaque, Text]
    assert read(again(interaction({"type": "model_output", "content": blocks}))) == answer


def test_user_input_is_not_part_of_the_answer() -> None:
    question: JsonObject = {"type": "user_input", "content": [{"type": "text", "text": "Hello?"}]}
    assert read(interaction(question, text_step("Hi."))).text == "Hi."


def test_a_thought_shows_its_summary_and_keeps_its_signature() -> None:
    summary: list[Json] = [{"type": "text", "text": "Hm. "}, {"type": "text", "text": "Aha."}]
    step: JsonObject = {"type": "thought", "signature": "c2ln", "summary": summary}
    thought = read(interaction(step)).parts[0]
    assert thought == Reasoning("Hm. Aha.", {"gemini_interactions": {"signature": "c2ln"}})


def test_an_empty_thought_is_dropped() -> None:
    assert read(interaction({"type": "thought"})).parts == ()


def test_an_image_is_a_part() -> None:
    block: JsonObject = {"type": "image", "data": "AAAA", "mime_type": "image/png"}
    answer = read(interaction({"type": "model_output", "content": [block]}))
    assert answer.parts == (Image("image/png", "AAAA"),)


def test_a_function_call_waits_for_the_client_even_if_completed() -> None:
    step: JsonObject = {"type": "function_call", "id": "c", "name": "f", "arguments": {"x": 1}}
    answer = read(interaction(step))
    assert answer.parts == (ToolCall("c", "f", '{"x":1}'),)
    assert answer.finish == "tool_calls"


def test_arguments_that_are_not_an_object_are_wrapped_in_one() -> None:
    answer = Answer((ToolCall("c", "f", "not json"),), finish="tool_calls")
    body = DIALECT.encode_response(answer, Reply())
    assert body["steps"] == [
        {"type": "function_call", "id": "c", "name": "f", "arguments": {"value": "not json"}}
    ]


def test_empty_queries_are_dropped_but_sent_back() -> None:
    step: JsonObject = {"type": "google_search_call", "id": "s", "arguments": {"queries": ["", "nile"]}}
    call = read(interaction(step)).parts[0]
    assert isinstance(call, SearchCall)
    assert call.queries == ("nile",)
    assert again(interaction(step))["steps"] == [step]


def test_a_search_without_an_id_gets_one_and_its_result_finds_it() -> None:
    call: JsonObject = {"type": "google_search_call", "arguments": {"queries": ["nile"]}}
    result: JsonObject = {"type": "google_search_result", "result": [], "is_error": True}
    answer = read(interaction(call, result))
    assert [(search.query, search.state) for search in answer.searches] == [("nile", "failed")]


def test_every_page_of_one_call_is_opened() -> None:
    answer = read(interaction(*OPENED))
    assert [(search.query, search.state) for search in answer.searches] == [
        ("https://a.example/", "done"),
        ("https://b.example/", "failed"),
    ]
    errors = [part.error for part in answer.parts if isinstance(part, SearchResult)]
    assert errors == ["paywall", ""]


def test_pages_opened_by_one_call_are_sent_back_as_one_call() -> None:
    assert again(interaction(*OPENED))["steps"] == list(OPENED)


def test_pages_found_by_other_providers_are_listed_in_the_result() -> None:
    page = Source("https://a.example/", "A")
    parts = (SearchCall("s", ("nile",)), SearchResult("s", (page,), suggestions="<b>"))
    body = DIALECT.encode_response(Answer(parts, finish="stop"), Reply())
    assert body["steps"] == [
        {"type": "google_search_call", "id": "s", "arguments": {"queries": ["nile"]}},
        {
            "type": "google_search_result",
            "call_id": "s",
            "result": [{"search_suggestions": "<b>"}, {"url": "https://a.example/", "title": "A"}],
            "is_error": False,
        },
    ]


def test_a_searched_pattern_is_in_the_extension() -> None:
    parts = (SearchCall("f", kind="find", url="https://a.example/", pattern="6650"), SearchResult("f"))
    body = DIALECT.encode_response(Answer(parts, finish="stop"), Reply())
    assert body["steps"] == []
    assert body["groundwire"] == {
        "version": 1,
        "searches": [{"query": "6650", "kind": "find", "state": "done"}],
    }


@pytest.mark.parametrize(
    ("status", "reason", "detail"),
    [
        ("completed", "stop", ""),
        ("requires_action", "tool_calls", ""),
        ("incomplete", "length", ""),
        ("budget_exceeded", "length", "budget_exceeded"),
        ("cancelled", "other", "cancelled"),
        ("requires_continuation", "pause", "requires_continuation"),
        ("in_progress", "other", "in_progress"),
        ("half_baked", "other", "half_baked"),
    ],
)
def test_a_status_is_a_finish_reason(status: str, reason: FinishReason, detail: str) -> None:
    answer = read(interaction(text_step("Hi."), status=status))
    assert (answer.finish, answer.detail) == (reason, detail)
    body = again(interaction(text_step("Hi."), status=status))
    assert (read(body).finish, read(body).detail) == (reason, detail)


def test_a_blocked_output_is_a_finish_reason_and_earlier_text_is_kept() -> None:
    errors: list[Json] = [{"code": "prohibited_content", "message": "Blocked."}]
    answer = read(interaction(text_step("Hi."), status="failed", errors=errors))
    assert (answer.text, answer.finish, answer.detail) == ("Hi.", "filtered", "prohibited_content")


@pytest.mark.parametrize(
    ("errors", "kind"),
    [
        ([{"code": "rate_limit_exceeded", "message": "Slow."}], RateLimited),
        ([{"code": "quota_exceeded", "message": "Daily."}], QuotaExhausted),
        ([{"code": "malformed_function_call", "message": "Odd."}], UpstreamError),
        ([], UpstreamError),
    ],
)
def test_a_failed_interaction_is_an_error_and_earlier_text_is_kept(
    errors: list[Json], kind: type[UpstreamError]
) -> None:
    answer = read(interaction(text_step("Hi."), status="failed", errors=errors))
    assert answer.text == "Hi."
    assert type(answer.error) is kind


def test_a_failed_answer_is_encoded_with_what_arrived() -> None:
    answer = Answer((Text("Hi."),), error=Overloaded("busy"))
    body = DIALECT.encode_response(answer, Reply("a", "m", created=0))
    assert body["status"] == "failed"
    assert body["errors"] == [{"code": "service_unavailable", "message": "busy"}]
    assert read(body).error == Overloaded("busy", upstream_code="service_unavailable")


def test_an_error_instead_of_an_interaction_is_an_error() -> None:
    answer = read({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}})
    assert answer.error == Overloaded("busy", upstream_code="unavailable")


@pytest.mark.parametrize("body", [{}, {"candidates": []}, {"status": 3}, {"status": "completed", "steps": 1}])
def test_a_body_that_is_not_an_interaction_is_the_providers_fault(body: JsonObject) -> None:
    with pytest.raises(UpstreamWireError):
        DIALECT.decode_response(body)


def test_searches_are_counted_where_the_provider_counts_them() -> None:
    counts: list[Json] = [{"type": "google_search", "count": 2}, {"type": "google_maps", "count": 9}]
    usage: JsonObject = {"total_input_tokens": 10, "total_tool_use_tokens": 5, "grounding_tool_count": counts}
    assert read(interaction(usage=usage)).usage == Usage(input_tokens=15, tool_tokens=5, searches=2)


def test_unknown_counts_are_not_encoded() -> None:
    body = DIALECT.encode_response(Answer((Text("Hi."),), finish="stop"), Reply())
    assert "usage" not in body


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_399, "2000-02-28T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (1_778_871_156, "2026-05-15T18:52:36Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
    ],
)
def test_times_are_written_as_iso_dates(seconds: int, text: str) -> None:
    assert timestamp(seconds) == text
