"""Function tools, tool choice, and search together with functions."""

from __future__ import annotations

import pytest

from groundwire.model import FunctionTool, Json, JsonObject, Message, Request, SearchOptions, Text, ToolChoice
from groundwire.model.value import replace
from tests.dialects.gemini.bodies import at, decode, encode

ASK = Request((Message("user", (Text("Which river?"),)),))
SCHEMA: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = FunctionTool("weather", "Tells it", SCHEMA)


def _object(value: Json) -> JsonObject:
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    ("calling", "choice"),
    [
        ({"mode": "AUTO"}, ToolChoice("auto")),
        ({"mode": "ANY"}, ToolChoice("required")),
        ({"mode": "any"}, ToolChoice("required")),
        ({"mode": "NONE"}, ToolChoice("none")),
        ({"mode": "ANY", "allowedFunctionNames": ["weather"]}, ToolChoice("function", "weather")),
        ({"mode": "VALIDATED"}, ToolChoice("auto")),
        ({"mode": "MODE_UNSPECIFIED"}, None),
        ({}, None),
    ],
)
def test_the_function_calling_mode_is_a_tool_choice(calling: JsonObject, choice: ToolChoice | None) -> None:
    tools: list[Json] = [{"functionDeclarations": [{"name": "weather"}, {"name": "clock"}]}]
    request = decode(tools=tools, toolConfig={"functionCallingConfig": calling})
    assert request.tool_choice == choice
    body, unsupported = encode(request)
    assert unsupported == ()
    if choice is not None:
        again = _object(at(body, "toolConfig", "functionCallingConfig"))
        assert again == {**calling, "mode": str(calling["mode"]).upper()}
    else:
        assert "toolConfig" not in body


def test_several_allowed_functions_are_kept_for_the_dialect_that_knows_them() -> None:
    calling: JsonObject = {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}
    tools: list[Json] = [{"functionDeclarations": [{"name": name} for name in "abc"]}]
    body, _ = encode(decode(tools=tools, toolConfig={"functionCallingConfig": calling}))
    assert at(body, "toolConfig", "functionCallingConfig") == calling


def test_arguments_are_always_complete() -> None:
    calling: JsonObject = {"mode": "VALIDATED", "streamFunctionCallArguments": True}
    tools: list[Json] = [{"functionDeclarations": [{"name": "a"}]}]
    body, _ = encode(decode(tools=tools, toolConfig={"functionCallingConfig": calling}))
    assert at(body, "toolConfig", "functionCallingConfig") == {"mode": "VALIDATED"}


@pytest.mark.parametrize("mode", ["search", "required", "function"])
def test_the_function_config_is_omitted_without_functions(mode: str) -> None:
    choice = {"search": ToolChoice("search"), "required": ToolChoice("required")}.get(
        mode, ToolChoice("function", "f")
    )
    body, unsupported = encode(replace(ASK, search=SearchOptions(), tool_choice=choice))
    assert "toolConfig" not in body
    assert unsupported == ("tool_choice",)


def test_tool_choice_none_disables_the_search() -> None:
    request = replace(ASK, search=SearchOptions(), tools=(WEATHER,), tool_choice=ToolChoice("none"))
    body, _ = encode(request)
    assert at(body, "tools") == [
        {
            "functionDeclarations": [
                {"name": "weather", "description": "Tells it", "parametersJsonSchema": SCHEMA}
            ]
        }
    ]
    assert at(body, "toolConfig") == {"functionCallingConfig": {"mode": "NONE"}}


def test_a_caller_that_forbids_only_functions_keeps_the_search() -> None:
    tools: list[Json] = [{"googleSearch": {}}, {"functionDeclarations": [{"name": "a"}]}]
    body, _ = encode(decode(tools=tools, toolConfig={"functionCallingConfig": {"mode": "NONE"}}))
    assert {"googleSearch": {}} in _list(at(body, "tools"))


def _list(value: Json) -> list[Json]:
    assert isinstance(value, list)
    return value


def test_search_and_functions_together_need_a_flag() -> None:
    body, _ = encode(replace(ASK, search=SearchOptions(), tools=(WEATHER,), tool_choice=ToolChoice("auto")))
    assert at(body, "toolConfig") == {
        "includeServerSideToolInvocations": True,
        "functionCallingConfig": {"mode": "VALIDATED"},
    }
    vertex = SearchOptions(extras={"gemini": {"vertex": True}})
    body, _ = encode(replace(ASK, search=vertex, tools=(WEATHER,)))
    assert "toolConfig" not in body


def test_a_strict_schema_cannot_be_demanded() -> None:
    _, unsupported = encode(replace(ASK, tools=(replace(WEATHER, strict=True),)))
    assert unsupported == ("strict",)


def test_schemas_are_decoded_under_either_name() -> None:
    schema: JsonObject = {
        "type": "OBJECT",
        "properties": {
            "type": {"type": "STRING"},
            "any": {"anyOf": [{"type": "NUMBER"}, {"type": ["NULL", "STRING"]}]},
        },
    }
    lowered = {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "any": {"anyOf": [{"type": "number"}, {"type": ["null", "string"]}]},
        },
    }
    for key in ("parameters", "parametersJsonSchema"):
        request = decode(tools=[{"functionDeclarations": [{"name": "f", key: schema}]}])
        tool = request.tools[0]
        assert isinstance(tool, FunctionTool)
        assert tool.parameters == lowered
