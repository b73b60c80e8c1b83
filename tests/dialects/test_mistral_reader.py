"""Mistral's Conversations API, whole and streamed: a reference cites the text before it."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.base import Dialect
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.errors import Overloaded
from groundwire.model import (
    Answer,
    Event,
    Json,
    JsonObject,
    Opaque,
    Reasoning,
    Request,
    SearchCall,
    ToolCall,
    Usage,
    assemble,
)
from tests.dialects.openai_responses.wire import REPLY, sse

DIALECT = dialect("mistral_conversations")
by_codec = pytest.mark.parametrize(
    "codec", [DIALECT, dialect("openai_responses")], ids=lambda codec: codec.name
)
"""`openai_responses` reads it for servers that are configured with that dialect."""
FIRST = "https://example.org/euro"
SECOND = "https://example.org/cup"
THIRD = "https://example.org/spain"
USAGE: JsonObject = {
    "prompt_tokens": 188,
    "completion_tokens": 55,
    "total_tokens": 7355,
    "connector_tokens": 7112,
    "connectors": {"web_search": 1},
}
MESSAGE: JsonObject = {"id": "msg_1", "model": "mistral-medium-2505", "agent_id": "ag_1", "role": "assistant"}
EXECUTION: JsonObject = {"id": "tool_exec_1", "name": "web_search", "arguments": '{"query": "euro winner"}'}


def reference(url: str | None, title: str = "A page") -> JsonObject:
    return {"type": "tool_reference", "tool": "web_search", "title": title, "url": url, "favicon": None}


CHUNKS: list[JsonObject] = [
    {"type": "text", "text": "Spain won in 2024"},
    reference(FIRST),
    {"type": "text", "text": " "},
    reference(SECOND),
    {"type": "text", "text": ". It was their fourth title"},
    reference(THIRD),
    {"type": "text", "text": "."},
]
TEXT = "Spain won in 2024 . It was their fourth title."


def body(*entries: JsonObject, **more: Json) -> JsonObject:
    return {
        "object": "conversation.response",
        "conversation_id": "conv_1",
        "outputs": list(entries),
        "usage": USAGE,
        **more,
    }


def entry(kind: str, **fields: Json) -> JsonObject:
    return {"object": "entry", "type": kind, "created_at": "2026-11-01T00:00:00Z", **fields}


def whole(content: Json = list(CHUNKS), codec: Dialect = DIALECT) -> Answer:  # noqa: B006  never changed
    message = entry("message.output", **MESSAGE, content=content)
    return assemble(codec.decode_response(body(entry("tool.execution", **EXECUTION), message)))


def decode_events(data: bytes, codec: Dialect = DIALECT, size: int = 0) -> list[Event]:
    decoder = codec.decoder()
    pieces = [data[at : at + size] for at in range(0, len(data), size)] if size else [data]
    return [*(event for piece in pieces for event in decoder.feed(piece)), *decoder.close()]


def stream(*deltas: JsonObject, end: JsonObject | None = None) -> bytes:
    return sse(
        [
            {"type": "conversation.response.started", "conversation_id": "conv_1"},
            {
                "type": "tool.execution.started",
                "output_index": 0,
                "model": "mistral-medium-2505",
                **EXECUTION,
            },
            {"type": "tool.execution.done", "output_index": 0, "id": "tool_exec_1", "name": "web_search"},
            *deltas,
            end or {"type": "conversation.response.done", "usage": USAGE},
        ]
    )


def delta(index: int, content: Json) -> JsonObject:
    return {
        "type": "message.output.delta",
        "output_index": 1,
        "content_index": index,
        **MESSAGE,
        "content": content,
    }


def fragments(*, counted: bool) -> list[JsonObject]:
    """The chunks of a stream: text in strings, each at its own index or all at 0."""
    found: list[JsonObject] = []
    for index, chunk in enumerate(CHUNKS):
        position = index if counted else 0
        text = chunk.get("text")
        if isinstance(text, str):
            found += [delta(position, text[:4]), *([delta(position, text[4:])] if text[4:] else [])]
        else:
            found.append(delta(position, chunk))
    return found


def cited(answer: Answer) -> set[tuple[str, str]]:
    return {
        (answer.text[citation.span.start : citation.span.end] if citation.span else "", item.source.url)
        for citation in answer.citations
        for item in citation.evidence
    }


EXPECTED = {
    ("Spain won in 2024", FIRST),
    ("Spain won in 2024", SECOND),
    (". It was their fourth title", THIRD),
}


@pytest.mark.parametrize("form", ["whole", "counted", "uncounted", "in small chunks"])
@by_codec
def test_text_searches_and_citations_are_read(codec: Dialect, form: str) -> None:
    counted = stream(*fragments(counted=form != "uncounted"))
    answer = (
        whole(codec=codec)
        if form == "whole"
        else assemble(decode_events(counted, codec, 7 if form == "in small chunks" else 0))
    )
    assert answer.text == TEXT
    assert cited(answer) == EXPECTED
    assert {citation.anchor for citation in answer.citations} == {"claim"}
    calls = [part for part in answer.parts if isinstance(part, SearchCall)]
    assert [(part.kind, part.queries) for part in calls] == [("search", ("euro winner",))]
    assert (answer.id, answer.model, answer.finish) == ("conv_1", "mistral-medium-2505", "stop")
    assert answer.usage == Usage(7300, 55, tool_tokens=7112, searches=1)
    assert not answer.warnings


def test_content_may_be_a_string() -> None:
    assert whole("It rains.").text == "It rains."


def test_a_reference_before_any_text_is_for_the_whole_answer() -> None:
    answer = whole([reference(FIRST), {"type": "text", "text": "It rains."}])
    assert cited(answer) == {("", FIRST)}


def test_thoughts_are_reasoning_and_functions_are_calls() -> None:
    thinking: JsonObject = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    message = entry("message.output", **MESSAGE, content=[thinking, {"type": "text", "text": "One moment."}])
    call = entry("function.call", id="fc_1", tool_call_id="c_1", name="now", arguments={"zone": "UTC"})
    answer = assemble(DIALECT.decode_response(body(message, call)))
    assert [part.text for part in answer.parts if isinstance(part, Reasoning)] == ["Hm."]
    assert [
        (part.id, part.name, json.loads(part.arguments))
        for part in answer.parts
        if isinstance(part, ToolCall)
    ] == [("c_1", "now", {"zone": "UTC"})]
    assert answer.finish == "tool_calls"
    assert answer.text == "One moment."


def test_arguments_of_a_search_may_arrive_in_fragments() -> None:
    events: list[JsonObject] = [
        {"type": "conversation.response.started", "conversation_id": "conv_1"},
        {"type": "tool.execution.started", **EXECUTION, "arguments": ""},
        {"type": "tool.execution.delta", **EXECUTION, "arguments": '{"query": '},
        {"type": "tool.execution.delta", **EXECUTION, "arguments": '"rain"}'},
        {"type": "conversation.response.done", "usage": USAGE},
    ]
    [call] = [part for part in assemble(decode_events(sse(events))).parts if isinstance(part, SearchCall)]
    assert call.queries == ("rain",)


@by_codec
def test_other_tools_and_entries_are_kept(codec: Dialect) -> None:
    handoff = entry("agent.handoff", previous_agent_id="a", next_agent_id="b")
    painted = entry("tool.execution", id="t", name="image_generation", arguments="{}")
    answer = assemble(codec.decode_response(body(handoff, painted)))
    assert [part.data["type"] for part in answer.parts if isinstance(part, Opaque)] == [
        "agent.handoff",
        "tool.execution",
    ]
    assert answer.finish == "stop"


@by_codec
def test_an_error_in_the_stream_ends_it(codec: Dialect) -> None:
    failed: JsonObject = {"type": "conversation.response.error", "message": "busy", "code": 503}
    answer = assemble(decode_events(stream(delta(0, "Spain"), end=failed), codec))
    assert answer.text == "Spain"
    assert isinstance(answer.error, Overloaded)
    assert answer.error.message == "busy"


def test_a_stream_that_is_cut_is_interrupted() -> None:
    answer = assemble(decode_events(stream(*fragments(counted=True))[:-200]))
    assert answer.error is not None


@pytest.mark.parametrize("name", DIALECTS)
def test_every_client_gets_the_cited_pages(name: str) -> None:
    encoded = json.dumps(dialect(name).encode_response(whole(), REPLY))
    assert all(url in encoded for url in (FIRST, SECOND, THIRD))


def test_the_turn_continues_as_text_with_responses() -> None:
    codec = dialect("openai_responses")
    encoded = json.dumps(codec.encode_request(Request((whole(codec=codec).message,))).body)
    assert "tool.execution" not in encoded
    assert all(expected in encoded for expected in (FIRST, SECOND, THIRD, "euro winner"))
