"""Function tools, tool choice and function calls.

`tools` nests a function under `function`. `functions` and `function_call` are the legacy form; callers that
declare `functions` read only `function_call` in the response. Tools of other types are kept verbatim; those
that are the provider's web search belong to the search declaration.

A call is an entry of `tool_calls` of type `function`, one of type `custom`, whose input is free text, or a
legacy `function_call`, which has no id. Other fields of a call (Google's `extra_content` with its thought
signatures) must be returned with the history and are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.json import dump_json
from groundwire.dialects.openai_chat.search import NAME, as_extras, is_search_type, own_extras
from groundwire.model import FunctionTool, Json, JsonObject, OpaqueTool, Request, Tool, ToolCall, ToolChoice
from groundwire.model.request import ToolMode

_CALL_FIELDS = ("id", "type", "function", "custom", "index")
_LEGACY_CALL = "function_call"
_FUNCTION_FIELDS = ("name", "description", "parameters", "strict")
_MODES: dict[str, ToolMode] = {"auto": "auto", "none": "none", "required": "required", "any": "required"}


def decode_tools(body: Fields) -> tuple[Tool, ...]:
    """Decode all tools except web search."""
    if "tools" not in body.raw and "functions" not in body.raw:
        return ()
    return (
        *(decode_tool(tool) for tool in body.objs("tools") if not is_search_type(tool.text("type"))),
        *(_decode_function(function, {"legacy": True}) for function in body.objs("functions")),
    )


def decode_tool(tool: Fields) -> Tool:
    """Decode an entry of `tools`."""
    if tool.text("type", "function") != "function":
        return OpaqueTool(NAME, tool.raw)
    if not tool.has("function"):
        raise tool.fault("expected an object", "function")
    return _decode_function(tool.obj("function"), tool.rest("type", "function"))


def encode_tools(tools: Iterable[Tool]) -> tuple[JsonObject, bool]:
    """Encode the fields `tools` and `functions`; also whether a tool of another dialect was omitted."""
    modern: list[Json] = []
    legacy: list[Json] = []
    foreign = False
    for tool in tools:
        if isinstance(tool, FunctionTool):
            (legacy if own_extras(tool.extras).get("legacy") is True else modern).append(encode_tool(tool))
        elif tool.dialect == NAME:
            modern.append(tool.data)
        else:
            foreign = True
    named = {"tools": modern, "functions": legacy}
    return {name: entries for name, entries in named.items() if entries}, foreign


def encode_tool(tool: FunctionTool) -> JsonObject:
    """Encode an entry of `tools`, or of `functions` if the tool was declared there."""
    verbatim = own_extras(tool.extras)
    function: JsonObject = {"name": tool.name, **as_object(verbatim.get("function"))}
    if tool.description:
        function["description"] = tool.description
    if tool.parameters is not None:
        function["parameters"] = tool.parameters
    if tool.strict is not None:
        function["strict"] = tool.strict
    if verbatim.get("legacy") is True:
        return function
    outer = {key: value for key, value in verbatim.items() if key != "function"}
    return {**outer, "type": "function", "function": function}


def decode_choice(body: Fields) -> ToolChoice | None:
    """Decode `tool_choice` or the legacy `function_call`; None if the choice has no canonical form."""
    if isinstance(value := body.get("function_call"), str):
        return _choice_of_mode(value)
    if value is not None:
        return ToolChoice("function", body.obj("function_call").text("name"))
    if isinstance(value := body.get("tool_choice"), str):
        return _choice_of_mode(value)
    if value is None:
        return None
    choice = body.obj("tool_choice")
    kind = choice.text("type")
    if is_search_type(kind):
        return ToolChoice("search")
    if kind == "function":
        return ToolChoice("function", choice.obj("function").text("name") or choice.text("name"))
    if kind == "allowed_tools":
        return _choice_of_mode(choice.obj("allowed_tools").text("mode"))
    return None


def encode_choice(choice: ToolChoice, search_type: str, *, legacy: bool) -> JsonObject:
    """Encode `tool_choice`; empty if the choice is a search that is not declared as a tool."""
    if choice.mode == "search":
        return {"tool_choice": {"type": search_type}} if search_type else {}
    if choice.mode != "function":
        return {"function_call" if legacy else "tool_choice": choice.mode}
    if legacy:
        return {"function_call": {"name": choice.name}}
    return {"tool_choice": {"type": "function", "function": {"name": choice.name}}}


def _choice_of_mode(mode: str) -> ToolChoice | None:
    return ToolChoice(_MODES[mode]) if mode in _MODES else None


def _decode_function(function: Fields, outer: JsonObject) -> FunctionTool:
    if not function.has("name"):
        raise function.fault("expected a string", "name")
    inner = function.rest(*_FUNCTION_FIELDS)
    verbatim: JsonObject = {**outer, **({"function": inner} if inner else {})}
    return FunctionTool(
        function.text("name"),
        function.text("description"),
        function.obj("parameters").raw if function.has("parameters") else None,
        function.flag("strict"),
        as_extras(verbatim),
    )


class WireCall(NamedTuple):
    """A function call, or the fragment of one in a delta."""

    id: str
    name: str
    arguments: str
    verbatim: JsonObject


def is_client_call(call: Fields) -> bool:
    """Whether the client has to run this call. GLM lists its own searches among the calls."""
    is_function = call.text("type", "function") in ("function", "custom")
    return is_function or call.has("function") or call.has("custom")


def decode_call(call: Fields) -> WireCall:
    """Decode an entry of `tool_calls`."""
    verbatim: JsonObject = {
        key: value for key, value in call.rest(*_CALL_FIELDS).items() if value is not None
    }
    if call.has("custom"):
        body = call.obj("custom")
        return WireCall(
            call.text("id"), body.text("name"), body.text("input"), {**verbatim, "type": "custom"}
        )
    body = call.obj("function")
    return WireCall(call.text("id"), body.text("name"), _call_arguments(body), verbatim)


def decode_legacy_call(call: Fields) -> WireCall:
    """Decode the object `function_call`."""
    return WireCall("", call.text("name"), _call_arguments(call), {"type": _LEGACY_CALL})


def encode_call(call: ToolCall) -> JsonObject:
    """Encode an entry of `tool_calls`."""
    verbatim = own_extras(call.extras)
    if verbatim.get("type") == "custom":
        return {"id": call.id, **verbatim, "custom": {"name": call.name, "input": call.arguments}}
    return {
        "id": call.id,
        **{key: value for key, value in verbatim.items() if key != "type"},
        "type": "function",
        "function": encode_legacy_call(call),
    }


def encode_call_delta(call: ToolCall) -> JsonObject:
    """Encode a later delta of a call, which has only the new fields."""
    custom = own_extras(call.extras).get("type") == "custom"
    body: JsonObject = {"input" if custom else "arguments": call.arguments}
    if call.name:
        body["name"] = call.name
    return {"custom" if custom else "function": body}


def encode_legacy_call(call: ToolCall) -> JsonObject:
    """Encode name and arguments, the content of `function_call`."""
    return {"name": call.name, "arguments": call.arguments}


def is_legacy(call: ToolCall) -> bool:
    """Whether this call arrived as `function_call`."""
    return own_extras(call.extras).get("type") == _LEGACY_CALL


def expects_legacy(request: Request) -> bool:
    """Whether the caller declared `functions`, and so reads only `function_call`."""
    return any(
        isinstance(tool, FunctionTool) and own_extras(tool.extras).get("legacy") is True
        for tool in request.tools
    )


def _call_arguments(body: Fields) -> str:
    value = body.get("arguments")
    # Some compatible servers send the arguments parsed.
    return dump_json(value) if isinstance(value, dict) else body.text("arguments")
