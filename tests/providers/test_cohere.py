"""Requests to Cohere's own API, and a call of one named function, which it cannot demand."""

from __future__ import annotations

import json

import pytest

from groundwire.model import (
    FunctionTool,
    JsonObject,
    Limits,
    Message,
    OutputFormat,
    ReasoningOptions,
    Request,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from groundwire.model.value import replace
from groundwire.testing.answers import answer_events
from groundwire.testing.script import answer
from tests.providers.harness import VENDORS, world

pytestmark = pytest.mark.server

COHERE = next(case for case in VENDORS if case.name == "cohere")
DOCUMENT: JsonObject = {"data": {"text": "It rains."}}
SCHEMA: JsonObject = {"type": "object", "properties": {}}
WEATHER = FunctionTool("weather", "The weather.", SCHEMA, strict=True)
CLOCK = FunctionTool("clock", "The time.", SCHEMA, strict=True)
REQUEST = Request(
    (
        Message("user", (Text("Is it raining?"),)),
        Message("assistant", (ToolCall("t1", "weather", "{}"),)),
        Message("user", (ToolResult("t1", (Text("yes"),), "weather"),)),
    ),
    "command-a",
    (Text("Be brief."), Text("It rains.", extras={"cohere_chat": {"document": DOCUMENT}})),
    (WEATHER, CLOCK),
    ToolChoice("required"),
    limits=Limits(99, ("END",), 0.5, 0.25),
    output=OutputFormat(SCHEMA, "rain"),
    reasoning=ReasoningOptions("none"),
    extras={"cohere_chat": {"safety_mode": "OFF"}},
)


async def test_a_request_has_the_fields_of_version_2() -> None:
    async with world(COHERE, answer("cohere_chat", answer_events("Yes."))) as here:
        outcome = await here.ask(REQUEST)
        named = replace(REQUEST, tool_choice=ToolChoice("function", "clock"), extras={})
        narrowed = await here.ask(named)
        sent, with_choice = (json.loads(request.body) for request in here.upstream.requests)
    assert outcome.error is None
    assert narrowed.error is None
    assert not outcome.answer.warnings
    assert not narrowed.answer.warnings
    functions = [
        {"type": "function", "function": {"name": name, "description": about, "parameters": SCHEMA}}
        for name, about in (("weather", "The weather."), ("clock", "The time."))
    ]
    call = {"id": "t1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    assert sent == {
        "model": "command-a",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Is it raining?"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "t1", "content": "yes"},
        ],
        "tools": functions,
        "strict_tools": True,
        "tool_choice": "REQUIRED",
        "max_tokens": 99,
        "stop_sequences": ["END"],
        "temperature": 0.5,
        "p": 0.25,
        "response_format": {"type": "json_object", "json_schema": SCHEMA},
        "thinking": {"type": "disabled"},
        "documents": [{"data": {"text": "It rains."}}],
        "safety_mode": "OFF",
    }
    assert (with_choice["tools"], with_choice["tool_choice"]) == (functions[1:], "REQUIRED")
