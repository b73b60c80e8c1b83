"""Requests, decoded and encoded."""

from __future__ import annotations

import pytest

from groundwire.dialects.openai_responses import DIALECT
from groundwire.errors import ClientWireError
from groundwire.model import (
    Json,
    JsonObject,
    Limits,
    Message,
    OpaqueTool,
    OutputFormat,
    ReasoningOptions,
    Request,
    Text,
)
from tests.dialects.openai_responses.wire import decode_request, encode_request, round_trip


def test_a_question_is_a_string() -> None:
    request = decode_request(instructions="Be brief.", stream=True, previous_response_id="resp_0")
    assert request.messages == (Message("user", (Text("Hi?"),)),)
    assert request.query == "Hi?"
    assert request.system == (Text("Be brief."),)
    assert (request.model, request.stream, request.previous_id) == ("gpt-5.5", True, "resp_0")


def test_a_question_is_encoded_as_items() -> None:
    body = round_trip(instructions="Be brief.", stream=True, previous_response_id="resp_0")
    assert body == {
        "model": "gpt-5.5",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi?"}]},
        ],
        "instructions": "Be brief.",
        "stream": True,
        "previous_response_id": "resp_0",
    }


def test_limits_and_format_are_decoded_and_encoded() -> None:
    wanted: JsonObject = {
        "type": "json_schema",
        "name": "city",
        "schema": {"type": "object"},
        "strict": True,
        "description": "A city.",
    }
    body: JsonObject = {
        "max_output_tokens": 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "text": {"format": wanted, "verbosity": "low"},
        "reasoning": {"effort": "high", "summary": "detailed"},
    }
    request = decode_request(**body)
    assert request.limits == Limits(7, temperature=0.5, top_p=0.9)
    assert request.output == OutputFormat({"type": "object"}, "city", strict=True)
    assert request.reasoning == ReasoningOptions("high", visible=True)
    assert {key: round_trip(**body)[key] for key in body} == body


def test_any_json_and_plain_text_are_formats_too() -> None:
    assert decode_request(text={"format": {"type": "json_object"}}).output == OutputFormat()
    assert round_trip(text={"format": {"type": "json_object"}})["text"] == {"format": {"type": "json_object"}}
    assert decode_request(text={"format": {"type": "text"}}).output is None


def test_a_format_of_the_future_is_passed_on() -> None:
    text: JsonObject = {"format": {"type": "grammar", "syntax": "lark"}}
    assert decode_request(text=text).output is None
    assert round_trip(text=text)["text"] == text


def test_an_effort_of_the_future_is_passed_on() -> None:
    assert decode_request(reasoning={"effort": "galactic"}).reasoning == ReasoningOptions()
    assert round_trip(reasoning={"effort": "galactic"})["reasoning"] == {"effort": "galactic"}


def test_reasoning_options_of_another_dialect_are_encoded() -> None:
    request = Request((), reasoning=ReasoningOptions("low", visible=True))
    assert encode_request(request)["reasoning"] == {"effort": "low", "summary": "auto"}
    hidden = Request((), reasoning=ReasoningOptions("low", visible=False))
    assert encode_request(hidden)["reasoning"] == {"effort": "low"}


def test_foreign_tools_and_options_are_named_as_unsupported() -> None:
    request = Request(
        (),
        tools=(OpaqueTool("gemini", {"codeExecution": {}}),),
        limits=Limits(stop=("END",), top_k=3),
        reasoning=ReasoningOptions(budget_tokens=99),
    )
    assert DIALECT.encode_request(request).unsupported == ("opaque_tools", "reasoning", "stop", "top_k")


def test_unknown_fields_are_encoded_for_this_dialect() -> None:
    body: JsonObject = {
        "store": False,
        "metadata": {"a": "b"},
        "client_metadata": {"x": "y"},
        "prompt_cache_key": "k",
        "parallel_tool_calls": False,
        "include": ["reasoning.encrypted_content"],
        "max_tool_calls": 3,
    }
    assert {key: round_trip(**body)[key] for key in body} == body


def test_a_search_requests_its_sources() -> None:
    body = round_trip(tools=[{"type": "web_search"}], include=["reasoning.encrypted_content"])
    assert body["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]
    assert "include" not in round_trip()


def test_what_codex_sends_is_understood() -> None:
    body: JsonObject = {
        "model": "gpt-5.1",
        "input": [
            {"type": "additional_tools", "role": "developer", "tools": [{"type": "custom", "name": "exec"}]},
            {
                "type": "message",
                "role": "developer",
                "content": [{"type": "input_text", "text": "You are Codex."}],
            },
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rain?"}]},
        ],
        "tools": [
            {"type": "namespace", "name": "web", "tools": []},
            {"type": "web_search", "external_web_access": True},
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "client_metadata": {"x-codex-installation-id": "1"},
    }
    request = DIALECT.decode_request(body)
    assert [message.role for message in request.messages] == ["developer", "developer", "user"]
    assert request.query == "Rain?"
    assert request.search is not None
    assert request.search.live is True
    tools: list[Json] = [
        {"type": "web_search", "external_web_access": True},
        {"type": "namespace", "name": "web", "tools": []},
    ]
    assert encode_request(request) == {
        **body,
        "tools": tools,
        "include": ["reasoning.encrypted_content", "web_search_call.action.sources"],
    }


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"input": 7}, "$.input"),
        ({"input": ["Hi"]}, "$.input[0]"),
        ({"input": None}, "$.input"),
        ({"tools": [{"type": "function"}]}, "$.tools[0].name"),
        (
            {"tools": [{"type": "web_search", "filters": {"allowed_domains": "a"}}]},
            "$.tools[0].filters.allowed_domains",
        ),
        ({"temperature": "hot"}, "$.temperature"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_text", "text": 1}]}]},
            "$.input[0].content[0].text",
        ),
        ({"tool_choice": 7}, "$.tool_choice"),
    ],
)
def test_a_callers_mistake_is_reported_with_its_json_path(body: JsonObject, path: str) -> None:
    with pytest.raises(ClientWireError) as caught:
        decode_request(**body)
    assert caught.value.path == path


def test_a_turn_may_continue_without_input() -> None:
    assert DIALECT.decode_request({"model": "m", "previous_response_id": "resp_0"}).messages == ()
