"""Requests: what clients send, and what is sent on."""

from __future__ import annotations

import pytest

from groundwire.dialects.openai_responses import DIALECT
from groundwire.errors import ClientWireError
from groundwire.model import (
    FunctionTool,
    Json,
    JsonObject,
    Limits,
    Message,
    OpaqueTool,
    OutputFormat,
    ReasoningOptions,
    Request,
    SearchOptions,
    Text,
    ToolChoice,
)

NATIVE = "openai_responses"
FUNCTION: JsonObject = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": True,
}


def asked(**body: Json) -> Request:
    return DIALECT.decode_request({"model": "gpt-5.5", "input": "Hi?", **body})


def sent(request: Request) -> JsonObject:
    return DIALECT.encode_request(request).body


def again(**body: Json) -> JsonObject:
    return sent(asked(**body))


def test_a_question_is_a_string() -> None:
    request = asked(instructions="Be brief.", stream=True, previous_response_id="resp_0")
    assert request.messages == (Message("user", (Text("Hi?"),)),)
    assert request.query == "Hi?"
    assert request.system == (Text("Be brief."),)
    assert (request.model, request.stream, request.previous_id) == ("gpt-5.5", True, "resp_0")


def test_a_question_goes_out_as_items() -> None:
    body = again(instructions="Be brief.", stream=True, previous_response_id="resp_0")
    assert body == {
        "model": "gpt-5.5",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi?"}]},
        ],
        "instructions": "Be brief.",
        "stream": True,
        "previous_response_id": "resp_0",
    }


def test_limits_and_format_are_understood_and_given_back() -> None:
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
    request = asked(**body)
    assert request.limits == Limits(7, temperature=0.5, top_p=0.9)
    assert request.output == OutputFormat({"type": "object"}, "city", strict=True)
    assert request.reasoning == ReasoningOptions("high", visible=True)
    assert {key: again(**body)[key] for key in body} == body


def test_any_json_and_plain_text_are_formats_too() -> None:
    assert asked(text={"format": {"type": "json_object"}}).output == OutputFormat()
    assert again(text={"format": {"type": "json_object"}})["text"] == {"format": {"type": "json_object"}}
    assert asked(text={"format": {"type": "text"}}).output is None


def test_a_format_of_the_future_is_passed_on() -> None:
    text: JsonObject = {"format": {"type": "grammar", "syntax": "lark"}}
    assert asked(text=text).output is None
    assert again(text=text)["text"] == text


def test_an_effort_of_the_future_is_passed_on() -> None:
    assert asked(reasoning={"effort": "galactic"}).reasoning == ReasoningOptions()
    assert again(reasoning={"effort": "galactic"})["reasoning"] == {"effort": "galactic"}


def test_reasoning_of_another_dialect_is_said_in_these_words() -> None:
    request = Request((), reasoning=ReasoningOptions("low", visible=True))
    assert sent(request)["reasoning"] == {"effort": "low", "summary": "auto"}
    hidden = Request((), reasoning=ReasoningOptions("low", visible=False))
    assert sent(hidden)["reasoning"] == {"effort": "low"}


def test_functions_stand_flat_and_keep_what_is_unknown() -> None:
    tool: JsonObject = {**FUNCTION, "defer_loading": True}
    [found] = asked(tools=[tool]).tools
    assert found == FunctionTool(
        "get_weather",
        "The weather.",
        {"type": "object", "properties": {"city": {"type": "string"}}},
        strict=True,
        extras={NATIVE: {"defer_loading": True}},
    )
    assert again(tools=[tool])["tools"] == [tool]


def test_a_missing_strict_stays_missing_and_a_foreign_one_is_false() -> None:
    bare: JsonObject = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    assert again(tools=[bare])["tools"] == [bare]
    foreign = Request((), tools=(FunctionTool("f"),))
    assert sent(foreign)["tools"] == [
        {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
    ]


def test_tools_of_this_dialect_alone_are_carried_whole() -> None:
    tools: list[Json] = [
        {"type": "namespace", "name": "mcp__x", "tools": [FUNCTION]},
        {"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}},
        {"type": "code_interpreter", "container": {"type": "auto"}},
    ]
    request = asked(tools=tools)
    assert all(isinstance(tool, OpaqueTool) for tool in request.tools)
    assert again(tools=tools)["tools"] == tools


def test_foreign_tools_and_options_are_named_as_unsaid() -> None:
    request = Request(
        (),
        tools=(OpaqueTool("gemini", {"codeExecution": {}}),),
        limits=Limits(stop=("END",), top_k=3),
        reasoning=ReasoningOptions(budget_tokens=99),
    )
    assert DIALECT.encode_request(request).unsupported == ("opaque_tools", "reasoning", "stop", "top_k")


@pytest.mark.parametrize(
    ("wire", "choice"),
    [
        ("auto", ToolChoice("auto")),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ({"type": "function", "name": "f"}, ToolChoice("function", "f")),
        ({"type": "web_search"}, ToolChoice("search")),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]},
            ToolChoice("search"),
        ),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
            ToolChoice("auto"),
        ),
        ({"type": "custom", "name": "x"}, None),
        (None, None),
    ],
)
def test_every_choice_is_understood_and_given_back(wire: Json, choice: ToolChoice | None) -> None:
    tools: list[Json] = [{"type": "web_search"}]
    assert asked(tools=tools, tool_choice=wire).tool_choice == choice
    assert again(tools=tools, tool_choice=wire).get("tool_choice") == wire


def test_a_choice_that_was_changed_is_not_given_back() -> None:
    wire: JsonObject = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]}
    request = asked(tool_choice=wire)
    changed = Request((), search=SearchOptions(), tool_choice=ToolChoice("search"), extras=request.extras)
    assert sent(changed)["tool_choice"] == {"type": "web_search"}


def test_unknown_fields_are_given_back_to_this_dialect() -> None:
    body: JsonObject = {
        "store": False,
        "metadata": {"a": "b"},
        "client_metadata": {"x": "y"},
        "prompt_cache_key": "k",
        "parallel_tool_calls": False,
        "include": ["reasoning.encrypted_content"],
        "max_tool_calls": 3,
    }
    assert {key: again(**body)[key] for key in body} == body


def test_who_searches_asks_for_the_sources() -> None:
    body = again(tools=[{"type": "web_search"}], include=["reasoning.encrypted_content"])
    assert body["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]
    assert "include" not in again()


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
    assert sent(request) == {
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
def test_a_callers_mistake_is_named_with_its_place(body: JsonObject, path: str) -> None:
    with pytest.raises(ClientWireError) as caught:
        asked(**body)
    assert caught.value.path == path


def test_a_turn_may_go_on_without_input() -> None:
    assert DIALECT.decode_request({"model": "m", "previous_response_id": "resp_0"}).messages == ()
