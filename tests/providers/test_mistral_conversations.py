"""Mistral Conversations: what a request carries, and an answer with its citations."""

from __future__ import annotations

import pytest

from groundwire.model import (
    FunctionTool,
    JsonObject,
    Limits,
    Message,
    OutputFormat,
    Request,
    SearchOptions,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from groundwire.testing.script import json_response
from tests.providers.harness import case_named, question, world

pytestmark = pytest.mark.server

PAGE = "https://rivers.example/nile"
ANSWER: JsonObject = {
    "object": "conversation.response",
    "conversation_id": "conv_1",
    "outputs": [
        {"type": "tool.execution", "id": "t1", "name": "web_search", "arguments": '{"query": "nile"}'},
        {
            "type": "message.output",
            "id": "m1",
            "model": "mistral-medium-2508",
            "role": "assistant",
            "content": [
                {"type": "text", "text": "The Nile is 6650 km long."},
                {"type": "tool_reference", "tool": "web_search", "title": "Nile", "url": PAGE},
            ],
        },
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
}
CASE = case_named("mistral_conversations")


async def sent(request: Request) -> tuple[JsonObject, list[str]]:
    async with world(CASE, json_response(ANSWER)) as here:
        outcome = await here.ask(request)
        assert outcome.error is None
        assert [source.url for source in outcome.answer.sources] == [PAGE]
        assert outcome.answer.text == "The Nile is 6650 km long."
        assert outcome.answer.citations
        (received,) = here.upstream.requests
        assert isinstance(received.json, dict)
        return received.json, [warning.code for warning in outcome.answer.warnings]


async def test_a_search_is_a_conversation_that_is_not_stored() -> None:
    body, warnings = await sent(question())
    assert body == {
        "model": "mistral-medium-latest",
        "inputs": [{"role": "user", "content": "How long is the Nile?"}],
        "tools": [{"type": "web_search"}],
        "store": False,
    }
    assert warnings == []


async def test_history_functions_and_limits_are_carried() -> None:
    call = ToolCall("call_1", "lookup", '{"a": 1}')
    request = Request(
        (
            Message("system", (Text("Be brief."),)),
            Message("user", (Text("First?"),)),
            Message("assistant", (Text("Yes."), call)),
            Message("user", (ToolResult("call_1", (Text("42"),)), Text("And now?"))),
        ),
        system=(Text("Be kind."),),
        search=SearchOptions(),
        tools=(FunctionTool("lookup", "Looks up.", {"type": "object"}),),
        tool_choice=ToolChoice("auto"),
        limits=Limits(max_output_tokens=100, temperature=0.2),
        output=OutputFormat(),
    )
    body, warnings = await sent(request)
    assert body["inputs"] == [
        {"role": "user", "content": "First?"},
        {"role": "assistant", "content": "Yes."},
        {"type": "function.call", "tool_call_id": "call_1", "name": "lookup", "arguments": '{"a": 1}'},
        {"type": "function.result", "tool_call_id": "call_1", "result": "42"},
        {"role": "user", "content": "And now?"},
    ]
    assert body["instructions"] == "Be kind.\n\nBe brief."
    assert body["completion_args"] == {
        "max_tokens": 100,
        "temperature": 0.2,
        "tool_choice": "auto",
        "response_format": {"type": "json_object"},
    }
    tools = body["tools"]
    assert isinstance(tools, list)
    assert [tool["type"] for tool in tools if isinstance(tool, dict)] == ["function", "web_search"]
    assert warnings == []
