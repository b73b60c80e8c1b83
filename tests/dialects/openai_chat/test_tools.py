"""Function tools and tool choice, decoded and encoded."""

from __future__ import annotations

import pytest

from groundwire.dialects.openai_chat import DIALECT
from groundwire.model import FunctionTool, Message, OpaqueTool, Request, SearchOptions, Text, ToolChoice
from tests.dialects.openai_chat.wire import request_body


def test_functions_keep_everything() -> None:
    tools = [
        {
            "type": "function",
            "function": {
                "name": "f",
                "description": "d",
                "parameters": {"type": "object"},
                "strict": True,
                "returns": {"x": 1},
            },
            "cache_control": {"type": "ephemeral"},
        },
        {"type": "function", "function": {"name": "g"}},
        {"type": "custom", "custom": {"name": "h"}},
    ]
    request = DIALECT.decode_request(request_body(tools=tools))
    first, second, third = request.tools
    assert isinstance(first, FunctionTool)
    assert (first.name, first.description, first.parameters, first.strict) == (
        "f",
        "d",
        {"type": "object"},
        True,
    )
    assert second == FunctionTool("g")
    assert isinstance(third, OpaqueTool)
    assert DIALECT.encode_request(request).body["tools"] == tools


def test_legacy_functions_come_back_as_functions() -> None:
    body = request_body(functions=[{"name": "f", "parameters": {}}], function_call={"name": "f"})
    request = DIALECT.decode_request(body)
    assert request.tool_choice == ToolChoice("function", "f")
    assert DIALECT.encode_request(request).body == body


@pytest.mark.parametrize(
    ("wire", "choice"),
    [
        ("auto", ToolChoice("auto")),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ({"type": "function", "function": {"name": "f"}}, ToolChoice("function", "f")),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}},
            ToolChoice("required"),
        ),
        ({"type": "custom", "custom": {"name": "f"}}, None),
        (None, None),
    ],
)
def test_tool_choice_in_all_forms(wire: object, choice: ToolChoice | None) -> None:
    request = DIALECT.decode_request(request_body(tool_choice=wire))
    assert request.tool_choice == choice
    assert DIALECT.encode_request(request).body.get("tool_choice") == wire


def test_a_forced_search_is_a_choice() -> None:
    body = request_body(
        tools=[{"type": "openrouter:web_search"}], tool_choice={"type": "openrouter:web_search"}
    )
    request = DIALECT.decode_request(body)
    assert request.tool_choice == ToolChoice("search")
    assert DIALECT.encode_request(request).body == body


def test_a_search_that_is_not_a_tool_cannot_be_forced() -> None:
    request = Request((Message("user", (Text("q"),)),), "m", (), (), ToolChoice("search"), SearchOptions())
    body, unsupported = DIALECT.encode_request(request)
    assert "tool_choice" not in body
    assert unsupported == ("tool_choice",)
