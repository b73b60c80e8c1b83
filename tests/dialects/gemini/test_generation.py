"""Thinking and the form of the output."""

from __future__ import annotations

import pytest

from groundwire.dialects.gemini import DIALECT
from groundwire.model import JsonObject, Message, OutputFormat, ReasoningOptions, Request, Text
from groundwire.model.request import Effort
from groundwire.model.value import replace
from tests.dialects.gemini.bodies import at, decode, encode

ASK = Request((Message("user", (Text("Which river?"),)),))

EFFORTS: tuple[tuple[str, Effort, JsonObject, bool], ...] = (
    ("gemini-2.5-flash", "none", {"thinkingBudget": 0}, True),
    ("gemini-2.5-pro", "none", {"thinkingBudget": 128}, False),
    ("gemini-2.5-flash", "low", {"thinkingBudget": 1024}, True),
    ("gemini-3-flash", "none", {"thinkingLevel": "MINIMAL"}, False),
    ("gemini-3-pro", "minimal", {"thinkingLevel": "LOW"}, False),
    ("gemini-3-flash", "medium", {"thinkingLevel": "MEDIUM"}, True),
    ("models/gemini-3.5-flash", "max", {"thinkingLevel": "HIGH"}, False),
    ("", "high", {"thinkingLevel": "HIGH"}, True),
)


@pytest.mark.parametrize(("model", "effort", "config", "is_exact"), EFFORTS)
def test_effort_is_said_in_the_words_of_the_model(
    model: str, effort: Effort, config: JsonObject, is_exact: bool
) -> None:
    body, unsupported = encode(replace(ASK, model=model, reasoning=ReasoningOptions(effort)))
    assert at(body, "generationConfig", "thinkingConfig") == config
    assert unsupported == (() if is_exact else ("reasoning",))


@pytest.mark.parametrize(
    ("config", "options"),
    [
        ({"thinkingBudget": 0}, ReasoningOptions("none")),
        ({"thinkingBudget": "512"}, ReasoningOptions(budget_tokens=512)),
        ({"thinkingBudget": -1}, None),
        ({"thinkingLevel": "low", "includeThoughts": False}, ReasoningOptions("low", visible=False)),
        ({"thinkingLevel": "ULTRA"}, None),
        ({}, None),
    ],
)
def test_thinking_is_read(config: JsonObject, options: ReasoningOptions | None) -> None:
    request = decode(generationConfig={"thinkingConfig": config})
    assert request.reasoning == options
    body, _ = encode(replace(request, model="gemini-2.5-flash" if "thinkingBudget" in config else ""))
    if config:
        again = DIALECT.decode_request(body)
        assert (again.reasoning, again.extras) == (request.reasoning, request.extras)


def test_a_schema_in_the_wires_own_words_is_kept_and_understood() -> None:
    schema: JsonObject = {"type": "ARRAY", "items": {"type": "INTEGER"}, "min_items": "2"}
    config: JsonObject = {"responseMimeType": "application/json", "responseSchema": schema}
    request = decode(generationConfig=config)
    assert request.output == OutputFormat({"type": "array", "items": {"type": "integer"}, "minItems": 2})
    body, _ = encode(request)
    assert at(body, "generationConfig") == config


def test_output_that_is_no_json_is_kept_for_the_dialect_that_knows_it() -> None:
    config: JsonObject = {
        "responseMimeType": "text/x.enum",
        "responseSchema": {"type": "STRING", "enum": ["a"]},
    }
    request = decode(generationConfig=config)
    assert request.output is None
    body, _ = encode(request)
    assert at(body, "generationConfig") == config
