"""Streams, encoded."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.dialects.base import Reply
from groundwire.dialects.openai_chat import DIALECT
from groundwire.errors import Overloaded, RateLimited, UpstreamWireError
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Failed,
    Finished,
    FunctionTool,
    Image,
    JsonObject,
    Message,
    Opaque,
    PartAdded,
    ReasoningDelta,
    Request,
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
    ToolCallDelta,
    Usage,
    UsageSeen,
    Warned,
)
from tests.dialects.openai_chat.test_response import REPLY
from tests.dialects.openai_chat.wire import A, decode_stream
from tests.model.strategies import examples

END: JsonObject = {"[DONE]": True}


def _encode(*events: Event, reply: Reply = REPLY) -> list[JsonObject]:
    """The payloads, the sentinel as `END`."""
    encoder = DIALECT.encoder(reply)
    data = b"".join(encoder.feed(event) for event in events) + encoder.close()
    lines = [line.removeprefix(b"data: ") for line in data.split(b"\n\n") if line]
    return [END if line == b"[DONE]" else json.loads(line) for line in lines]


def _deltas(payloads: list[JsonObject]) -> list[JsonObject]:
    found = []
    for payload in payloads:
        if payload.get("choices"):
            (choice,) = cast("list[JsonObject]", payload["choices"])
            found.append(cast("JsonObject", choice["delta"]))
    return found


CITATION = Citation(Span(0, 3), (Evidence(Source(A, "T"), "quote"), Evidence(Source("https://b.example"))))


def test_a_stream_is_encoded_as_openai_does() -> None:
    payloads = _encode(
        Started("x", "y"),
        TextDelta(0, "Sun"),
        TextDelta(0, " ☀"),
        Cited(CITATION),
        UsageSeen(Usage(1, 2)),
        Finished(),
    )
    assert payloads[-1] == END
    assert {(p["id"], p["object"], p["created"], p["model"]) for p in payloads[:-1]} == {
        ("chatcmpl-7", "chat.completion.chunk", 1790000000, "m")
    }
    role, first, second, last = _deltas(payloads)
    assert role == {"role": "assistant", "content": "", "refusal": None}
    assert (first, second) == ({"content": "Sun"}, {"content": " ☀"})
    assert last["annotations"] == [
        {
            "type": "url_citation",
            "url_citation": {"start_index": 0, "end_index": 3, "title": title, "url": url, **rest},
        }
        for url, title, rest in ((A, "T", {"content": "quote"}), ("https://b.example", "", {}))
    ]
    reasons = [cast("list[JsonObject]", p["choices"])[0]["finish_reason"] for p in payloads[:-2]]
    assert reasons == [None, None, None, "stop"]
    assert payloads[-2]["choices"] == []
    assert payloads[-2]["usage"] == {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


def test_an_uncited_stream_ends_with_empty_annotations() -> None:
    assert _deltas(_encode(TextDelta(0, "x"), Finished()))[-1] == {"annotations": []}


@pytest.mark.parametrize(
    ("extras", "is_sent"),
    [
        ({}, True),
        ({"openai_chat": {}}, False),
        ({"openai_chat": {"stream_options": {"include_usage": True}}}, True),
        ({"openai_chat": {"stream_options": {"include_usage": False}}}, False),
    ],
)
def test_usage_is_sent_on_request(extras: dict[str, JsonObject], is_sent: bool) -> None:
    reply = Reply(request=Request((Message("user", (Text("q"),)),), extras=extras))
    payloads = _encode(TextDelta(0, "x"), UsageSeen(Usage(1, 2)), Finished(), reply=reply)
    assert any("usage" in payload for payload in payloads[:-1]) is is_sent


def test_reasoning_calls_and_images_are_encoded() -> None:
    deltas = _deltas(
        _encode(
            ReasoningDelta(0, "hm"),
            ToolCallDelta(1, "a", "f"),
            ToolCallDelta(1, arguments="{}"),
            ToolCallDelta(2, arguments="x"),
            ToolCallDelta(2, name="late"),
            PartAdded(3, Image("image/png", "AA==")),
            Finished("tool_calls"),
        )
    )
    assert deltas[1:-1] == [
        {"reasoning_content": "hm"},
        {
            "tool_calls": [
                {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
            ]
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]},
        {
            "tool_calls": [
                {"index": 1, "id": "call_7_1", "type": "function", "function": {"name": "", "arguments": "x"}}
            ]
        },
        {"tool_calls": [{"index": 1, "function": {"arguments": "", "name": "late"}}]},
        {"images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
    ]


def test_a_caller_who_declared_functions_is_streamed_a_function_call() -> None:
    tool = FunctionTool("f", extras={"openai_chat": {"legacy": True}})
    reply = Reply(request=Request((Message("user", (Text("q"),)),), tools=(tool,)))
    payloads = _encode(
        ToolCallDelta(0, "a", "f"), ToolCallDelta(0, arguments="{}"), Finished("tool_calls"), reply=reply
    )
    assert [delta["function_call"] for delta in _deltas(payloads) if "function_call" in delta] == [
        {"name": "f", "arguments": ""},
        {"arguments": "{}"},
    ]
    assert cast("list[JsonObject]", payloads[-2]["choices"])[0]["finish_reason"] == "function_call"


def test_a_failure_sends_the_citations_then_the_error_and_nothing_more() -> None:
    payloads = _encode(TextDelta(0, "Sun"), Cited(CITATION), Failed(RateLimited("slow")))
    assert len(cast("list[JsonObject]", _deltas(payloads)[-1]["annotations"])) == 2
    assert payloads[-1] == {
        "error": {
            "message": "slow",
            "type": "rate_limit_error",
            "param": None,
            "code": "rate_limit_exceeded",
        }
    }


def test_an_answer_that_never_ended_is_reported_as_interrupted() -> None:
    assert cast("JsonObject", _encode(TextDelta(0, "x"))[-1]["error"])["code"] == "interrupted"


def test_spans_follow_text_that_was_sent_out_of_order() -> None:
    payloads = _encode(
        TextDelta(2, "World"),
        TextDelta(0, "Hello "),
        TextDelta(1, "no", "refusal"),
        Cited(Citation(Span(8, 13), (Evidence(Source(A)),))),
        Cited(Citation(Span(0, 5), (Evidence(Source(A)),))),
        Cited(Citation(Span(6, 8), (Evidence(Source(A)),))),
        Finished(),
    )
    text = "".join(str(delta.get("content") or "") for delta in _deltas(payloads))
    annotations = cast("list[dict[str, JsonObject]]", _deltas(payloads)[-1]["annotations"])
    spans = [
        (annotation["url_citation"]["start_index"], annotation["url_citation"]["end_index"])
        for annotation in annotations
    ]
    found = [text[cast("int", start) : cast("int", end)] for start, end in spans]
    assert found == ["Hello", "", "World"]


def test_warnings_and_searches_are_on_the_last_chunk() -> None:
    payloads = _encode(
        SearchCalled(0, SearchCall("s", ("q",))),
        SearchReturned(1, SearchResult("s", (Source("https://c.example", "C"),))),
        TextDelta(2, "x"),
        Warned("code", "message"),
        Finished(),
    )
    last = payloads[-2]
    assert last["search_results"] == [{"title": "C", "url": "https://c.example", "date": None, "snippet": ""}]
    extension = cast("JsonObject", last["groundwire"])
    assert extension["warnings"] == [{"code": "code", "message": "message"}]
    assert extension["searches"] == [{"query": "q", "kind": "search", "state": "done"}]


EVIDENCE = st.builds(
    lambda url: Evidence(Source(url, "T"), "q"), st.sampled_from([A, "", "https://b.example"])
)
SPANS = st.none() | st.builds(Span, st.integers(-3, 30), st.integers(-3, 30))
PARTS = st.integers(0, 3)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.just(Started("i", "m")),
    st.builds(TextDelta, PARTS, st.text(max_size=5), st.sampled_from(["", "refusal", "commentary"])),
    st.builds(TextSettled, PARTS),
    st.builds(ReasoningDelta, PARTS, st.text(max_size=5)),
    st.builds(
        ToolCallDelta, PARTS, st.sampled_from(["", "i"]), st.sampled_from(["", "f"]), st.text(max_size=3)
    ),
    st.builds(SearchStarted, PARTS, st.just("s")),
    st.builds(SearchCalled, PARTS, st.just(SearchCall("s", ("q",)))),
    st.builds(SearchReturned, PARTS, st.just(SearchResult("s", (Source(A),)))),
    st.builds(PartAdded, PARTS, st.sampled_from([Image(url=A), Opaque("gemini", {})])),
    st.builds(ExtrasSeen, PARTS, st.just({"openai_chat": {"x": 1}})),
    st.builds(Cited, st.builds(Citation, SPANS, st.tuples(EVIDENCE), st.sampled_from(["claim", "marker"]))),
    st.just(UsageSeen(Usage(searches=1))),
    st.just(Warned("c", "m")),
    st.sampled_from([Finished(), Finished("refused"), Failed(Overloaded("x"))]),
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(EVENTS, max_size=12))
def test_any_events_give_a_stream_that_can_be_decoded(events: list[Event]) -> None:
    encoder = DIALECT.encoder(REPLY)
    data = b"".join(encoder.feed(event) for event in events) + encoder.close()
    answer = decode_stream(data)
    assert (answer.finish is None) is isinstance(
        next((event for event in events if isinstance(event, Finished | Failed)), Failed(Overloaded(""))),
        Failed,
    )
    assert not isinstance(answer.error, UpstreamWireError)
