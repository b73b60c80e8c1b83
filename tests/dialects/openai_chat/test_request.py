"""Requests: decoded, and encoded with the same meaning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundwire.dialects.openai_chat import DIALECT
from groundwire.errors import ClientWireError
from groundwire.model import (
    JsonObject,
    Limits,
    Message,
    Opaque,
    OpaqueTool,
    OutputFormat,
    ReasoningOptions,
    Request,
    SearchOptions,
    Text,
)
from tests.dialects.openai_chat.wire import USER, request_body


def test_openrouter_gets_a_reasoning_object() -> None:
    search = SearchOptions(extras={"openai_chat": {"form": "openrouter"}})
    options = ReasoningOptions("low", 100, visible=True)
    request = Request((Message("user", (Text("q"),)),), "m", search=search, reasoning=options)
    body, unsupported = DIALECT.encode_request(request)
    assert body["reasoning"] == {"effort": "low", "max_tokens": 100, "exclude": False}
    assert unsupported == ()


def test_json_without_a_schema_is_any_object() -> None:
    request = DIALECT.decode_request(request_body(response_format={"type": "json_object"}))
    assert request.output == OutputFormat()
    assert DIALECT.encode_request(request).body["response_format"] == {"type": "json_object"}


def test_limits_and_everything_else_come_back() -> None:
    body = request_body(
        max_tokens=5,
        stop=["a", "b"],
        temperature=0.5,
        top_p=0.9,
        top_k=3,
        n=2,
        seed=7,
        user="u",
        metadata={"a": "b"},
        stream=True,
        stream_options={"include_usage": True},
        reasoning_effort="high",
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True, "description": "d"},
        },
        plugins=[{"id": "file-parser"}],
    )
    request = DIALECT.decode_request(body)
    assert request.limits == Limits(5, ("a", "b"), 0.5, 0.9, 3)
    assert request.reasoning == ReasoningOptions("high")
    assert request.output == OutputFormat({"type": "object"}, "n", strict=True)
    assert request.stream
    assert request.search is None
    encoded = DIALECT.encode_request(request)
    assert encoded.body == body
    assert encoded.unsupported == ()


def test_a_single_stop_sequence_may_be_a_string() -> None:
    assert DIALECT.decode_request(request_body(stop="x")).limits.stop == ("x",)


@pytest.mark.parametrize(
    ("reasoning", "options"),
    [
        ({"effort": "low"}, ReasoningOptions("low")),
        ({"max_tokens": 100, "exclude": True}, ReasoningOptions(None, 100, visible=False)),
        ({"enabled": False}, ReasoningOptions("none")),
        ({"enabled": True}, None),
    ],
)
def test_openrouters_reasoning_object(reasoning: JsonObject, options: ReasoningOptions | None) -> None:
    request = DIALECT.decode_request(request_body(reasoning=reasoning))
    assert request.reasoning == options
    encoded = DIALECT.encode_request(request).body["reasoning"]
    assert DIALECT.decode_request(request_body(reasoning=encoded)).reasoning == options


def test_an_unknown_effort_is_passed_on() -> None:
    request = DIALECT.decode_request(request_body(reasoning_effort="heroic"))
    assert request.reasoning is None
    assert DIALECT.encode_request(request).body["reasoning_effort"] == "heroic"


@pytest.mark.parametrize("form", [{"type": "text"}, {"type": "grammar", "grammar": "x"}])
def test_other_output_formats_come_back(form: JsonObject) -> None:
    body = request_body(response_format=form)
    request = DIALECT.decode_request(body)
    assert request.output is None
    assert DIALECT.encode_request(request).body == body


def test_unsupported_options_of_another_dialect_are_named() -> None:
    request = Request(
        (Message("user", (Text("q"), Opaque("gemini", {"x": 1}))),),
        tools=(OpaqueTool("anthropic_messages", {"type": "code_execution"}),),
        limits=Limits(top_k=5, max_output_tokens=9),
        reasoning=ReasoningOptions(budget_tokens=1000),
        previous_id="resp_1",
        stream=True,
        extras={"gemini": {"cachedContent": "c"}},
    )
    body, unsupported = DIALECT.encode_request(request)
    assert set(unsupported) == {"opaque_parts", "opaque_tools", "top_k", "reasoning", "previous_id"}
    assert body["messages"] == [{"role": "user", "content": "q"}]
    assert body["max_completion_tokens"] == 9
    assert body["stream_options"] == {"include_usage": True}
    assert "cachedContent" not in body


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$.messages"),
        ({"messages": []}, "$.messages"),
        ({"messages": "hi"}, "$.messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "$.messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "$.messages[0].content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": 1}]}]},
            "$.messages[0].content[0].text",
        ),
        ({"messages": [USER], "tools": [{"type": "function"}]}, "$.tools[0].function"),
        ({"messages": [USER], "tools": [{"type": "function", "function": {}}]}, "$.tools[0].function.name"),
        ({"messages": [USER], "temperature": "hot"}, "$.temperature"),
        ({"messages": [USER], "search_after_date_filter": "soon"}, "$.search_after_date_filter"),
        ([], "$"),
    ],
)
def test_mistakes_of_the_caller_name_their_json_path(body: JsonObject, path: str) -> None:
    with pytest.raises(ClientWireError) as caught:
        DIALECT.decode_request(body)
    assert caught.value.path == path


def test_recorded_requests_come_back_unchanged(recordings: Path) -> None:
    files = [
        *recordings.glob("openai-chat/*.request.json"),
        *recordings.glob("openrouter-chat/*.request.json"),
    ]
    bodies = [json.loads(file.read_text()) for file in files if "empty-messages" not in file.name]
    assert len(bodies) > 10
    for body in bodies:
        expected = {key: value for key, value in body.items() if (key, value) != ("stream", False)}
        assert DIALECT.encode_request(DIALECT.decode_request(body)) == (expected, ())
