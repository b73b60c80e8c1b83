"""Requests of Cohere's clients: documents, results of functions, the search, and earlier answers."""

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
    JsonObject,
    Message,
    Reasoning,
    ReasoningOptions,
    SearchOptions,
    Source,
    Span,
    Text,
    ToolCall,
    ToolResult,
)

CODEC = dialect("cohere_chat")
USER: JsonObject = {"role": "user", "content": "How long is the Nile?"}
DOCUMENTS: list[JsonObject | str] = [
    {"id": "d1", "data": {"text": "6650 km.", "title": "Rivers", "depth": 8}},
    {"id": "d2", "data": "It flows north."},
    "It is in Africa.",
]


def test_documents_are_system_text_for_others_and_documents_for_cohere() -> None:
    system: JsonObject = {"role": "system", "content": "Be brief."}
    request = CODEC.decode_request({"model": "m", "messages": [system, USER], "documents": [*DOCUMENTS]})
    assert [text.text for text in request.system] == [
        "Be brief.",
        "title: Rivers\ntext: 6650 km.\ndepth: 8",
        "It flows north.",
        "It is in Africa.",
    ]
    assert request.query == "How long is the Nile?"
    body = CODEC.encode_request(request).body
    assert body["documents"] == DOCUMENTS
    assert body["messages"] == [system, USER]


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ({"connectors": [{"id": "web-search"}]}, SearchOptions()),
        (
            {"connectors": [{"id": "web-search", "options": {"site": "a.example"}}]},
            SearchOptions(("a.example",)),
        ),
        ({"tools": [{"type": "web_search"}]}, SearchOptions()),
        ({"connectors": [{"id": "my-data"}]}, None),
        ({}, None),
    ],
)
def test_a_search_is_declared_by_the_connector_or_by_a_tool(
    body: JsonObject, options: SearchOptions | None
) -> None:
    request = CODEC.decode_request({"model": "m", "messages": [USER], **body})
    assert request.search == options
    assert request.tools == ()


def test_results_of_functions_follow_their_calls() -> None:
    call: JsonObject = {"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    document: JsonObject = {"type": "document", "document": {"data": {"snippet": "6650 km"}}}
    messages: list[JsonObject] = [
        USER,
        {"role": "assistant", "tool_plan": "I will look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": [document]},
    ]
    tool: JsonObject = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    body: JsonObject = {"model": "m", "messages": [*messages], "tools": [tool], "strict_tools": True}
    request = CODEC.decode_request(body)
    _, turn, result = request.messages
    assert turn.parts == (
        Reasoning("I will look.", {"cohere_chat": {"type": "tool_plan"}}),
        ToolCall("t1", "f", "{}"),
    )
    (found,) = result.parts
    assert isinstance(found, ToolResult)
    assert (found.call_id, [item.text for item in found.content if isinstance(item, Text)]) == (
        "t1",
        ["snippet: 6650 km"],
    )
    assert request.tools == (FunctionTool("f", "", {"type": "object"}, strict=True),)
    assert CODEC.encode_request(request).body == body


def test_an_answer_of_groundwire_comes_back_as_text_with_its_sources() -> None:
    page = Source("https://a.example/nile", "Nile")
    answer = Answer(
        (Text("6650 km."),), (Citation(Span(0, 7), (Evidence(page, "It has 6650 km."),)),), finish="stop"
    )
    message = CODEC.encode_response(answer, Reply())["message"]
    request = CODEC.decode_request({"model": "m", "messages": [USER, message, USER]})
    assert request.messages[1].citations == (
        Citation(Span(0, 7), (Evidence(Source(page.url, page.title, "cited"), "It has 6650 km."),)),
    )
    sent = CODEC.encode_request(request).body["messages"]
    assert isinstance(sent, list)
    assert sent[1] == {
        "role": "assistant",
        "content": '6650 km[1].\n\nSources:\n[1] Nile (https://a.example/nile)\n    "It has 6650 km."',
    }


def test_fields_of_cohere_alone_come_back_unchanged() -> None:
    body: JsonObject = {
        "model": "m",
        "messages": [USER],
        "citation_options": {"mode": "ACCURATE"},
        "safety_mode": "STRICT",
        "seed": 7,
        "thinking": {"type": "enabled", "token_budget": 500},
    }
    request = CODEC.decode_request(body)
    assert request.reasoning == ReasoningOptions(budget_tokens=500)
    assert CODEC.encode_request(request).body == body


def test_reasoning_of_another_vendor_is_not_sent() -> None:
    request = CODEC.decode_request({"model": "m", "messages": [USER]})
    turn = Message("assistant", (Reasoning("Hm.", {"gemini": {}}), Text("Long.")))
    sent = CODEC.encode_request(type(request)((*request.messages, turn), "m")).body["messages"]
    assert sent == [USER, {"role": "assistant", "content": "Long."}]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"messages": []}, "$.messages"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "$.messages[0].role"),
        ({"messages": [USER, {"role": "assistant", "tool_calls": [7]}]}, "$.messages[1].tool_calls[0]"),
        ({"messages": [USER], "documents": [7]}, "$.documents[0]"),
        ({"messages": [USER], "tools": [{"type": "function", "function": {}}]}, "$.tools[0].function.name"),
    ],
)
def test_a_mistake_is_named_with_its_path(body: JsonObject, path: str) -> None:
    with pytest.raises(ClientWireError) as caught:
        CODEC.decode_request(body)
    assert caught.value.path == path
