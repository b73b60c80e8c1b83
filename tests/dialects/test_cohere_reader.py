"""Cohere's Chat API, version 2: whole responses and streams in the shapes of its SDK's types."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.base import Dialect
from groundwire.dialects.fields import as_object
from groundwire.dialects.registry import dialect
from groundwire.errors import AuthRejected, Overloaded, TimedOut, UpstreamError
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    JsonObject,
    Reasoning,
    Source,
    Span,
    Text,
    ToolCall,
    Usage,
    assemble,
)

CODECS = [dialect("cohere_chat"), dialect("openai_chat")]
"""`openai_chat` reads it for servers that are configured with that dialect."""
by_codec = pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
TEXT = "Köln 🌍 is old. Bonn is older."
DOCUMENT: JsonObject = {
    "type": "document",
    "id": "doc:0",
    "document": {"id": "doc:0", "title": "Cities", "url": "https://a.example/k", "snippet": "Köln is old"},
}
UNNAMED: JsonObject = {"type": "document", "id": "my-notes", "document": {"data": "Bonn"}}
TOOL: JsonObject = {
    "type": "tool",
    "id": "search_0:1",
    "tool_output": {"link": "https://b.example/", "name": "Bonn"},
}
OWN_TOOL: JsonObject = {"type": "tool", "id": "weather_0:0", "tool_output": {"content": '{"rain": 1}'}}
CITATIONS: list[JsonObject] = [
    {
        "start": 0,
        "end": 6,
        "text": "Köln 🌍",
        "sources": [DOCUMENT],
        "content_index": 1,
        "type": "TEXT_CONTENT",
    },
    {"start": 15, "end": 19, "text": "Bonn", "sources": [TOOL, UNNAMED, OWN_TOOL], "content_index": 1},
    {"start": 90, "end": 95, "text": "older", "sources": [DOCUMENT], "content_index": 1},
    {"start": 0, "end": 2, "text": "Hm", "sources": [TOOL], "content_index": 0, "type": "THINKING_CONTENT"},
]
USAGE: JsonObject = {
    "billed_units": {"input_tokens": 5.0, "output_tokens": 4.0},
    "tokens": {"input_tokens": 50.0, "output_tokens": 9.0},
    "cached_tokens": 16.0,
}
BODY: JsonObject = {
    "id": "c1",
    "finish_reason": "COMPLETE",
    "message": {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": TEXT}],
        "citations": [*CITATIONS],
    },
    "usage": USAGE,
}


def stream(*events: JsonObject) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def delta(kind: str, index: int | None = None, **message: object) -> JsonObject:
    event: dict[str, object] = {"type": kind, "delta": {"message": message}}
    return {**event, "index": index} if index is not None else event  # type: ignore[dict-item,return-value]


STREAM = stream(
    {"type": "message-start", "id": "c1", "delta": {"message": {"role": "assistant", "content": []}}},
    delta("content-start", 0, content={"type": "thinking", "thinking": ""}),
    delta("content-delta", 0, content={"thinking": "Hm."}),
    {"type": "content-end", "index": 0},
    delta("content-start", 1, content={"type": "text", "text": ""}),
    delta("content-delta", 1, content={"text": TEXT[:9]}),
    delta("citation-start", 0, citations=CITATIONS[0]),
    {"type": "citation-end", "index": 0},
    delta("content-delta", 1, content={"text": TEXT[9:]}),
    {"type": "content-end", "index": 1},
    *(delta("citation-start", number, citations=item) for number, item in enumerate(CITATIONS[1:], 1)),
    {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": USAGE}},
)


def streamed(codec: Dialect, data: bytes) -> Answer:
    decoder = codec.decoder()
    return assemble([*decoder.feed(data), *decoder.close()])


@pytest.mark.parametrize("form", ["whole", "streamed"])
@by_codec
def test_citations_are_verified_and_name_documents_and_tool_outputs(codec: Dialect, form: str) -> None:
    answer = assemble(codec.decode_response(BODY)) if form == "whole" else streamed(codec, STREAM)

    def cited(span: Span, *sources: tuple[str, str, str, JsonObject]) -> Citation:
        evidence = (
            Evidence(Source(url, title, "cited"), quote, extras={codec.name: {"source": wire}})
            for url, title, quote, wire in sources
        )
        return Citation(span, tuple(evidence))

    cities = ("https://a.example/k", "Cities", "Köln is old", DOCUMENT)
    assert answer.citations == (
        cited(Span(0, 6), cities),
        cited(Span(15, 19), ("https://b.example/", "Bonn", "", TOOL), ("", "my-notes", "", UNNAMED)),
        cited(Span(23, 28), cities),
    )
    assert [part.text for part in answer.parts if isinstance(part, Reasoning | Text)] == ["Hm.", TEXT]
    assert (answer.id, answer.finish, answer.usage) == ("c1", "stop", Usage(50, 9, 16))
    assert answer.warnings == ()


CALL: JsonObject = {
    "id": "t1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "'},
}


@by_codec
def test_a_tool_call_with_its_plan(codec: Dialect) -> None:
    whole: JsonObject = {
        "id": "c2",
        "finish_reason": "TOOL_CALL",
        "message": {
            "role": "assistant",
            "tool_plan": "I will look.",
            "tool_calls": [{**CALL, "function": {"name": "weather", "arguments": '{"city": "Bonn"}'}}],
        },
    }
    events = stream(
        {"type": "message-start", "id": "c2"},
        delta("tool-plan-delta", tool_plan="I will "),
        delta("tool-plan-delta", tool_plan="look."),
        delta("tool-call-start", 0, tool_calls=CALL),
        delta("tool-call-delta", 0, tool_calls={"function": {"arguments": 'Bonn"}'}}),
        {"type": "tool-call-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}},
    )
    for answer in (assemble(codec.decode_response(whole)), streamed(codec, events)):
        (call,) = [part for part in answer.parts if isinstance(part, ToolCall)]
        assert (call.id, call.name, call.arguments) == ("t1", "weather", '{"city": "Bonn"}')
        assert [part.text for part in answer.parts if isinstance(part, Reasoning)] == ["I will look."]
        assert answer.finish == "tool_calls"


@pytest.mark.parametrize(("reason", "kind"), [("ERROR", Overloaded), ("TIMEOUT", TimedOut)])
@by_codec
def test_an_answer_that_ends_in_an_error_keeps_its_text(
    codec: Dialect, reason: str, kind: type[UpstreamError]
) -> None:
    ending: JsonObject = {"finish_reason": reason, "error": "the model failed"}
    events = stream(
        delta("content-delta", 0, content={"text": "Half"}), {"type": "message-end", "delta": ending}
    )
    answer = streamed(codec, events)
    assert answer.text == "Half"
    assert isinstance(answer.error, kind)
    assert answer.error.message == "the model failed"


@by_codec
def test_a_stream_without_its_end_is_interrupted(codec: Dialect) -> None:
    answer = streamed(codec, stream(delta("content-delta", 0, content={"text": "Half"})))
    assert (answer.text, answer.finish) == ("Half", None)
    assert isinstance(answer.error, UpstreamError)


@by_codec
def test_a_citation_that_precedes_its_text_waits_for_it(codec: Dialect) -> None:
    early = stream(
        delta("citation-start", 0, citations=CITATIONS[0]),
        delta("content-delta", 1, content={"text": TEXT}),
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
    )
    (citation,) = streamed(codec, early).citations
    assert citation.span == Span(0, 6)


@by_codec
def test_words_that_are_not_in_the_text_are_cited_for_the_whole_answer(codec: Dialect) -> None:
    wrong: JsonObject = {**CITATIONS[0], "text": "Aachen"}
    body: JsonObject = {**BODY, "message": {**as_object(BODY["message"]), "citations": [wrong]}}
    answer = assemble(codec.decode_response(body))
    assert [citation.span for citation in answer.citations] == [None]
    assert [warning.code for warning in answer.warnings] == ["citation_unplaced"]


@by_codec
def test_an_error_response_is_read(codec: Dialect) -> None:
    error = codec.decode_error(401, b'{"id": "e1", "message": "invalid api token"}', {})
    assert (type(error), error.message) == (AuthRejected, "invalid api token")
