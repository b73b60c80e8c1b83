"""Requests of the Interactions API."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.gemini_interactions import DIALECT
from groundwire.errors import ClientWireError
from groundwire.model import (
    Citation,
    Evidence,
    FunctionTool,
    Image,
    Json,
    JsonObject,
    Limits,
    Location,
    Message,
    Opaque,
    OpaqueTool,
    OutputFormat,
    ReasoningOptions,
    Request,
    SearchCall,
    SearchOptions,
    SearchResult,
    Source,
    Span,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
)

decode, encode = DIALECT.decode_request, DIALECT.encode_request


TEXTS: list[Json] = [{"type": "text", "text": "x"}]


def decode_with(**fields: Json) -> Request:
    return decode({"model": "m", "input": "Hi?", **fields})


def again(body: JsonObject) -> JsonObject:
    encoded: JsonObject = json.loads(json.dumps(encode(decode(body)).body))
    return encoded


@pytest.mark.parametrize(
    "value",
    [
        "Hi?",
        {"type": "text", "text": "Hi?"},
        [{"type": "text", "text": "Hi?"}],
        [{"type": "user_input", "content": [{"type": "text", "text": "Hi?"}]}],
        [{"type": "user_input", "content": "Hi?"}],
        [{"role": "user", "content": "Hi?"}],
        [{"role": "user", "content": [{"type": "text", "text": "Hi?"}]}],
    ],
)
def test_a_question_may_have_many_forms(value: Json) -> None:
    assert decode_with(input=value).messages == (Message("user", (Text("Hi?"),)),)


def test_a_conversation_keeps_its_turns() -> None:
    steps: list[Json] = [
        {"type": "user_input", "content": [{"type": "text", "text": "Weather?"}]},
        {"type": "thought", "signature": "c2ln"},
        {"type": "function_call", "id": "c", "name": "f", "arguments": {"x": 1}},
        {"type": "function_result", "call_id": "c", "name": "f", "result": "Rain"},
        {"type": "model_output", "content": [{"type": "text", "text": "It rains."}]},
        {"type": "user_input", "content": [{"type": "text", "text": "Still?"}]},
    ]
    request = decode_with(input=steps)
    assert [message.role for message in request.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert request.messages[1].parts[1] == ToolCall("c", "f", '{"x":1}')
    assert request.messages[2].parts == (ToolResult("c", (Text("Rain"),), "f"),)
    assert again({"model": "m", "input": steps}) == {"model": "m", "input": steps}


def test_turns_of_an_earlier_revision_are_read() -> None:
    turns: list[Json] = [{"role": "user", "content": "Hi?"}, {"role": "model", "content": "Yes."}]
    assert [(message.role, message.text) for message in decode_with(input=turns).messages] == [
        ("user", "Hi?"),
        ("assistant", "Yes."),
    ]


def test_results_of_one_turn_are_in_one_message_wherever_they_were() -> None:
    results: list[Json] = [
        {"type": "function_result", "call_id": "a", "result": {"content": [1]}},
        {
            "type": "function_result",
            "call_id": "b",
            "result": [{"type": "text", "text": "x"}],
            "is_error": True,
        },
    ]
    request = decode_with(input=results)
    assert len(request.messages) == 1
    first, second = request.messages[0].parts
    assert isinstance(first, ToolResult)
    assert first.content == (Text('{"content":[1]}'),)
    assert isinstance(second, ToolResult)
    assert second.is_error
    assert again({"model": "m", "input": results})["input"] == [
        results[0],
        {**as_object(results[1]), "result": "x"},
    ]
    inside: list[Json] = [{"type": "user_input", "content": results}]
    assert decode_with(input=inside).messages == request.messages


def as_object(value: Json) -> JsonObject:
    assert isinstance(value, dict)
    return value


def test_images_are_decoded_and_other_media_stay_as_they_are() -> None:
    blocks: list[Json] = [
        {"type": "image", "data": "AAAA", "mime_type": "image/png", "resolution": "high"},
        {"type": "document", "uri": "gs://a/b.pdf"},
        {"type": "text", "text": "What?"},
    ]
    image, document, _ = decode_with(input=blocks).messages[0].parts
    assert isinstance(image, Image)
    assert (image.media_type, image.data) == ("image/png", "AAAA")
    assert document == Opaque("gemini_interactions", as_object(blocks[1]))
    assert again({"model": "m", "input": blocks})["input"] == [{"type": "user_input", "content": blocks}]


def test_web_search_is_turned_on_with_its_types() -> None:
    tool: JsonObject = {"type": "google_search", "search_types": ["web_search"]}
    request = decode_with(tools=[tool])
    assert request.search == SearchOptions(extras={"gemini_interactions": {"search_types": ["web_search"]}})
    assert encode(request).body["tools"] == [tool]


def test_functions_and_other_tools_are_passed_on() -> None:
    tools: list[Json] = [
        {
            "type": "function",
            "name": "f",
            "description": "d",
            "parameters": {"type": "object"},
            "behavior": "x",
        },
        {"type": "url_context"},
        {"type": "mcp_server", "name": "n", "url": "https://a.example/"},
    ]
    request = decode_with(tools=tools)
    assert isinstance(request.tools[0], FunctionTool)
    assert request.tools[1] == OpaqueTool("gemini_interactions", {"type": "url_context"})
    assert encode(request).body["tools"] == tools


def test_every_search_option_is_named_as_unsupported() -> None:
    options = SearchOptions(
        ("a.example",),
        ("b.example",),
        Location("DE"),
        "de",
        "2026-01-01",
        "2026-02-01",
        3,
        4,
        "low",
        live=False,
    )
    encoded = encode(Request((Message("user", (Text("?"),)),), "m", search=options))
    assert encoded.unsupported == (
        *("allowed_domains", "blocked_domains", "location", "language", "since", "until"),
        *("max_uses", "max_sources", "context_size", "live"),
    )
    assert encoded.body["tools"] == [{"type": "google_search"}]


def test_the_configuration_is_read_and_written() -> None:
    config: JsonObject = {
        "max_output_tokens": 5,
        "stop_sequences": ["END"],
        "temperature": 0.5,
        "top_p": 0.25,
        "thinking_level": "low",
        "thinking_summaries": "auto",
        "tool_choice": "any",
        "seed": 7,
    }
    request = decode_with(generation_config=config)
    assert request.limits == Limits(5, ("END",), 0.5, 0.25)
    assert request.reasoning == ReasoningOptions("low", visible=True)
    assert request.tool_choice == ToolChoice("required")
    assert encode(request).body["generation_config"] == config


@pytest.mark.parametrize(
    ("wire", "choice"),
    [
        ("auto", ToolChoice("auto")),
        ("none", ToolChoice("none")),
        ({"allowed_tools": {"mode": "any", "tools": ["f"]}}, ToolChoice("function", "f")),
        ({"allowed_tools": {"mode": "auto", "tools": ["f", "g"]}}, None),
        ("validated", None),
    ],
)
def test_tool_choices_are_passed_on(wire: Json, choice: ToolChoice | None) -> None:
    request = decode_with(generation_config={"tool_choice": wire})
    assert request.tool_choice == choice
    assert encode(request).body["generation_config"] == {"tool_choice": wire}


def test_unsupported_choices_and_options_are_named() -> None:
    request = Request(
        (Message("user", (Text("?"), Opaque("openai_chat", {}))),),
        "m",
        tools=(OpaqueTool("openai_chat", {}),),
        tool_choice=ToolChoice("search"),
        search=SearchOptions(),
        limits=Limits(top_k=3),
        reasoning=ReasoningOptions("none"),
    )
    unsupported = encode(request).unsupported
    assert set(unsupported) == {"opaque_parts", "opaque_tools", "tool_choice", "top_k", "reasoning"}


@pytest.mark.parametrize(
    ("wire", "output"),
    [
        ({"type": "text", "mime_type": "application/json", "schema": {"x": 1}}, OutputFormat({"x": 1})),
        ({"type": "text", "mime_type": "application/json"}, OutputFormat()),
        ({"type": "image"}, None),
        ([{"type": "text", "mime_type": "application/json"}, {"type": "audio"}], OutputFormat()),
    ],
)
def test_output_formats_are_passed_on(wire: Json, output: OutputFormat | None) -> None:
    request = decode_with(response_format=wire)
    assert request.output == output
    assert encode(request).body["response_format"] == wire


def test_a_bare_schema_is_an_output_format() -> None:
    schema: JsonObject = {"type": "object", "properties": {"type": {"type": "string"}}}
    assert decode_with(response_format=schema, response_mime_type="application/json").output == OutputFormat(
        schema
    )
    assert decode_with(response_mime_type="application/json").output == OutputFormat()


def test_all_other_fields_are_passed_on() -> None:
    body: JsonObject = {
        "model": "m",
        "input": "Hi?",
        "system_instruction": "Be brief.",
        "previous_interaction_id": "v1_a",
        "stream": True,
        "store": False,
        "background": False,
        "labels": {"a": "b"},
    }
    request = decode(body)
    assert (request.system, request.previous_id, request.stream) == ((Text("Be brief."),), "v1_a", True)
    assert encode(request).body == body


def test_an_agent_is_requested_by_its_name() -> None:
    body: JsonObject = {"agent": "deep-research", "input": "Hi?", "agent_config": {"type": "deep-research"}}
    assert decode(body).model == "deep-research"
    assert again(body) == body


def test_instructions_of_developers_join_the_system_instruction() -> None:
    messages = (Message("developer", (Text("Be brief."),)), Message("user", (Text("?"),)))
    body = encode(Request(messages, "m", (Text("Be kind."),))).body
    assert body["system_instruction"] == "Be kind.\n\nBe brief."
    assert body["input"] == "?"


def test_history_of_another_provider_is_readable() -> None:
    page = Source("https://a.example/", "A")
    answer = Message(
        "assistant",
        (SearchCall("s", ("nile",)), SearchResult("s", (page,)), Text("Long.")),
        (Citation(Span(0, 5), (Evidence(page, "6650 km"),)),),
    )
    body = encode(
        Request((Message("user", (Text("?"),)), answer, Message("user", (Text("And?"),))), "m")
    ).body
    steps = body["input"]
    assert isinstance(steps, list)
    assert [as_object(step)["type"] for step in steps] == ["user_input", "model_output", "user_input"]
    text = json.dumps(steps[1])
    assert "https://a.example/" in text
    assert "6650 km" in text
    assert "google_search" not in text


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"input": "Hi?"}, "$.model"),
        ({"model": "m"}, "$.input"),
        ({"model": "m", "input": []}, "$.input"),
        ({"model": "m", "input": 3}, "$.input"),
        ({"model": "m", "input": [{"text": "Hi?"}]}, "$.input[0].type"),
        ({"model": "m", "input": [{"type": "function_result", "result": "x"}]}, "$.input[0].call_id"),
        ({"model": "m", "input": "Hi?", "tools": [{"type": "function"}]}, "$.tools[0].name"),
        (
            {"model": "m", "input": "Hi?", "generation_config": {"temperature": "hot"}},
            "$.generation_config.temperature",
        ),
        (
            {"model": "m", "input": [{"type": "model_output", "content": [{"type": "text", "text": 1}]}]},
            "$.input[0].content[0].text",
        ),
    ],
)
def test_a_client_error_names_the_json_path(body: JsonObject, path: str) -> None:
    with pytest.raises(ClientWireError) as caught:
        decode(body)
    assert caught.value.path == path
