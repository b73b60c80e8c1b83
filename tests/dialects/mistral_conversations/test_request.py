"""Requests of Mistral's clients: entries, the search, an agent, and earlier answers."""

from __future__ import annotations

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import dialect
from groundwire.errors import ClientWireError
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    FunctionTool,
    Image,
    JsonObject,
    SearchCall,
    SearchOptions,
    SearchResult,
    Source,
    Span,
    StoredContext,
    Text,
    ToolCall,
    ToolResult,
)

CODEC = dialect("mistral_conversations")
USER: JsonObject = {"role": "user", "content": "How long is the Nile?"}


def test_entries_of_the_assistant_are_one_turn_and_results_follow_their_calls() -> None:
    entries: list[JsonObject] = [
        USER,
        {"role": "assistant", "content": "One moment."},
        {"type": "function.call", "tool_call_id": "c1", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function.call", "tool_call_id": "c2", "name": "f", "arguments": "{}"},
        {"type": "function.result", "tool_call_id": "c1", "result": "6650"},
        {"type": "function.result", "tool_call_id": "c2", "result": "km"},
        {"role": "user", "content": "And?"},
    ]
    request = CODEC.decode_request({"model": "m", "inputs": [*entries], "instructions": "Be brief."})
    assert [message.role for message in request.messages] == ["user", "assistant", "user", "user"]
    assert request.messages[1].parts == (
        Text("One moment."),
        ToolCall("c1", "f", '{"a": 1}'),
        ToolCall("c2", "f", "{}"),
    )
    assert request.messages[2].parts == (
        ToolResult("c1", (Text("6650"),)),
        ToolResult("c2", (Text("km"),)),
    )
    assert request.system == (Text("Be brief."),)
    assert CODEC.encode_request(request).body["inputs"] == entries


def test_a_question_may_be_a_string_and_have_a_picture() -> None:
    assert CODEC.decode_request({"model": "m", "inputs": "Why?"}).query == "Why?"
    chunks: list[JsonObject] = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": "data:image/png;base64,AAAA"},
    ]
    body: JsonObject = {"model": "m", "inputs": [{"role": "user", "content": [*chunks]}]}
    request = CODEC.decode_request(body)
    assert request.messages[0].parts == (Text("What is it?"), Image("image/png", "AAAA"))
    assert CODEC.encode_request(request).body == body


@pytest.mark.parametrize("kind", ["web_search", "web_search_premium"])
def test_a_search_keeps_its_kind(kind: str) -> None:
    function: JsonObject = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    body: JsonObject = {"model": "m", "inputs": [USER], "tools": [function, {"type": kind}]}
    request = CODEC.decode_request(body)
    assert request.search is not None
    assert request.search.allowed_domains == ()
    assert request.tools == (FunctionTool("f", "", {"type": "object"}),)
    assert CODEC.encode_request(request).body == body


def test_an_option_that_the_tool_does_not_have_is_named() -> None:
    request = CODEC.decode_request({"model": "m", "inputs": "Why?"})
    searching = type(request)(request.messages, "m", search=SearchOptions(("a.example",), live=True))
    assert CODEC.encode_request(searching).unsupported == ("allowed_domains",)


def test_an_agent_is_text_that_only_mistral_has() -> None:
    request = CODEC.decode_request({"agent_id": "ag_1", "inputs": "Why?"})
    assert request.stored == StoredContext("mistral_conversations", ("agent_id",))


def test_arguments_without_a_canonical_meaning_come_back_unchanged() -> None:
    body: JsonObject = {
        "model": "m",
        "inputs": [USER],
        "completion_args": {
            "max_tokens": 9,
            "stop": ["END"],
            "random_seed": 7,
            "reasoning_effort": "high",
            "tool_choice": "required",
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "x", "schema": {"type": "object"}, "strict": True},
            },
        },
        "stream": True,
        "metadata": {"team": "rivers"},
    }
    assert CODEC.encode_request(CODEC.decode_request(body)).body == body


def test_an_answer_of_groundwire_comes_back_as_text_with_its_sources() -> None:
    page = Source("https://a.example/nile", "Nile")
    answer = Answer(
        (SearchCall("s1", ("nile",)), SearchResult("s1", (page,)), Text("6650 km.")),
        (Citation(Span(0, 7), (Evidence(page),)),),
        finish="stop",
    )
    outputs = CODEC.encode_response(answer, Reply())["outputs"]
    assert isinstance(outputs, list)
    request = CODEC.decode_request({"model": "m", "inputs": [USER, *outputs, USER]})
    (citation,) = request.messages[1].citations
    assert citation.span == Span(0, 7)
    sent = CODEC.encode_request(request).body["inputs"]
    assert isinstance(sent, list)
    assert sent[1] == {
        "role": "assistant",
        "content": "6650 km[1].\n\nSearched for: nile\n\nSources:\n[1] Nile (https://a.example/nile)",
    }


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"inputs": []}, "$.inputs"),
        ({"inputs": [{"role": "system", "content": "x"}]}, "$.inputs[0].role"),
        ({"inputs": [USER, {"type": "message.output", "content": 7}]}, "$.inputs[1].content"),
        ({"inputs": "x", "tools": [{"type": "function", "function": {}}]}, "$.tools[0].function.name"),
    ],
)
def test_a_mistake_is_named_with_its_path(body: JsonObject, path: str) -> None:
    with pytest.raises(ClientWireError) as caught:
        CODEC.decode_request(body)
    assert caught.value.path == path
