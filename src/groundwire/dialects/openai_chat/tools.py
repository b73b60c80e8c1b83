"""Tools and the choice among them.

`tools` nests a function under `function`; `functions` and `function_call` are the same of old, and callers
who use them read only `function_call` in the answer. Tools of other types are kept whole, those that mean
the provider's web search belong to the search declaration.
"""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.openai_chat.parts import NAME, marked, own
from groundwire.dialects.openai_chat.search import is_search_type
from groundwire.model import FunctionTool, Json, JsonObject, OpaqueTool, Tool, ToolChoice
from groundwire.model.request import ToolMode

_KNOWN = ("name", "description", "parameters", "strict")
_MODES: dict[str, ToolMode] = {"auto": "auto", "none": "none", "required": "required", "any": "required"}


def decode_tools(body: Fields) -> tuple[Tool, ...]:
    """Everything but web search."""
    return (
        *(decode_tool(tool) for tool in body.objs("tools") if not is_search_type(tool.text("type"))),
        *(_decode_function(function, {"legacy": True}) for function in body.objs("functions")),
    )


def decode_tool(tool: Fields) -> Tool:
    """An entry of `tools`."""
    if tool.text("type", "function") != "function":
        return OpaqueTool(NAME, tool.raw)
    if not tool.has("function"):
        raise tool.fault("expected an object", "function")
    return _decode_function(tool.obj("function"), tool.rest("type", "function"))


def encode_tools(tools: Iterable[Tool]) -> tuple[JsonObject, bool]:
    """The fields `tools` and `functions`, and whether a tool of another dialect was left out."""
    modern: list[Json] = []
    legacy: list[Json] = []
    foreign = False
    for tool in tools:
        if isinstance(tool, FunctionTool):
            (legacy if own(tool.extras).get("legacy") is True else modern).append(encode_tool(tool))
        elif tool.dialect == NAME:
            modern.append(tool.data)
        else:
            foreign = True
    named = {"tools": modern, "functions": legacy}
    return {name: entries for name, entries in named.items() if entries}, foreign


def encode_tool(tool: FunctionTool) -> JsonObject:
    """An entry of `tools`, or of `functions` for a tool declared there."""
    verbatim = own(tool.extras)
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
    """`tool_choice`, or `function_call` of old; a choice that has no canonical meaning is none."""
    if isinstance(value := body.get("function_call"), str):
        return _choose(value)
    if body.has("function_call"):
        return ToolChoice("function", body.obj("function_call").text("name"))
    if isinstance(value := body.get("tool_choice"), str):
        return _choose(value)
    choice = body.obj("tool_choice")
    kind = choice.text("type")
    if is_search_type(kind):
        return ToolChoice("search")
    if kind == "function":
        return ToolChoice("function", choice.obj("function").text("name") or choice.text("name"))
    if kind == "allowed_tools":
        return _choose(choice.obj("allowed_tools").text("mode"))
    return None


def encode_choice(choice: ToolChoice, search_type: str, *, legacy: bool) -> JsonObject:
    """`tool_choice`; empty for a search that is no tool, where it cannot be said."""
    if choice.mode == "search":
        return {"tool_choice": {"type": search_type}} if search_type else {}
    if choice.mode != "function":
        return {"function_call" if legacy else "tool_choice": choice.mode}
    if legacy:
        return {"function_call": {"name": choice.name}}
    return {"tool_choice": {"type": "function", "function": {"name": choice.name}}}


def _choose(mode: str) -> ToolChoice | None:
    return ToolChoice(_MODES[mode]) if mode in _MODES else None


def _decode_function(function: Fields, outer: JsonObject) -> FunctionTool:
    if not function.has("name"):
        raise function.fault("expected a string", "name")
    inner = function.rest(*_KNOWN)
    verbatim: JsonObject = {**outer, **({"function": inner} if inner else {})}
    return FunctionTool(
        function.text("name"),
        function.text("description"),
        function.obj("parameters").raw if function.has("parameters") else None,
        function.flag("strict"),
        marked(verbatim),
    )
