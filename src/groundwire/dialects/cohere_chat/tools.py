"""Function tools, tool choice and function calls.

One switch makes all functions strict. A call of one named function cannot be demanded, only a call.
"""

from __future__ import annotations

from groundwire.dialects.cohere_chat.search import NAME, is_search_tool
from groundwire.dialects.fields import Fields
from groundwire.model import (
    FunctionTool,
    Json,
    JsonObject,
    OpaqueTool,
    Request,
    Tool,
    ToolCall,
    ToolChoice,
)
from groundwire.model.request import ToolMode

_CHOICES: dict[str, ToolMode] = {"REQUIRED": "required", "NONE": "none"}
_ENCODED_CHOICES: dict[str, str] = {"required": "REQUIRED", "function": "REQUIRED", "none": "NONE"}


def decode_tools(body: Fields) -> tuple[Tool, ...]:
    """Decode all tools except web search."""
    is_strict = body.flag("strict_tools")
    return tuple(
        _decode_function(tool, strict=is_strict)
        if tool.text("type", "function") == "function"
        else OpaqueTool(NAME, tool.raw)
        for tool in body.objs("tools")
        if not is_search_tool(tool)
    )


def _decode_function(tool: Fields, *, strict: bool | None) -> FunctionTool:
    function = tool.obj("function")
    if not function.has("name"):
        raise function.fault("expected a string", "name")
    rest = function.rest("name", "description", "parameters")
    return FunctionTool(
        function.text("name"),
        function.text("description"),
        function.obj("parameters").raw if function.has("parameters") else None,
        strict,
        {NAME: rest} if rest else {},
    )


def decode_choice(body: Fields) -> ToolChoice | None:
    """Decode `tool_choice`."""
    mode = _CHOICES.get(body.text("tool_choice"))
    return ToolChoice(mode) if mode else None


def encode_tools(request: Request) -> tuple[JsonObject, tuple[str, ...]]:
    """Encode `tools`, `strict_tools` and `tool_choice`, and name what they cannot express."""
    unsupported: list[str] = []
    tools: list[Json] = []
    functions = [tool for tool in request.tools if isinstance(tool, FunctionTool)]
    for tool in request.tools:
        if isinstance(tool, FunctionTool):
            tools.append(_encode_function(tool))
        elif tool.dialect == NAME:
            tools.append(tool.data)
        else:
            unsupported.append("opaque_tools")
    body: JsonObject = {"tools": tools} if tools else {}
    strict = [tool.strict is True for tool in functions]
    if strict and all(strict):
        body["strict_tools"] = True
    elif any(strict):
        unsupported.append("strict")
    choice = request.tool_choice
    if choice is None or choice.mode == "auto":
        return body, tuple(unsupported)
    if choice.mode in ("search", "function") or not functions:
        unsupported.append("tool_choice")
    if functions and choice.mode in _ENCODED_CHOICES:
        body["tool_choice"] = _ENCODED_CHOICES[choice.mode]
    return body, tuple(unsupported)


def _encode_function(tool: FunctionTool) -> JsonObject:
    function: JsonObject = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = tool.parameters if tool.parameters is not None else {"type": "object"}
    return {"type": "function", "function": {**function, **tool.extras.get(NAME, {})}}


def encode_call(call: ToolCall) -> JsonObject:
    """Encode an entry of `tool_calls`."""
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }
