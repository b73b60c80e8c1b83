"""Function tools and tool choice. A call of one named function cannot be demanded, only a call."""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.dialects.mistral_conversations.search import (
    NAME,
    decode_search,
    encode_search,
    is_search_tool,
)
from groundwire.model import (
    FunctionTool,
    Json,
    JsonObject,
    OpaqueTool,
    Request,
    SearchOptions,
    Tool,
    ToolChoice,
)
from groundwire.model.request import ToolMode

_CHOICES: dict[str, ToolMode] = {
    "auto": "auto",
    "none": "none",
    "any": "required",
    "required": "required",
}


def decode_tools(body: Fields) -> tuple[tuple[Tool, ...], SearchOptions | None]:
    """Decode the tools, and whether the web may be searched."""
    tools: list[Tool] = []
    search: SearchOptions | None = None
    for tool in body.objs("tools"):
        if is_search_tool(tool):
            search = decode_search(tool)
        elif tool.text("type", "function") == "function":
            tools.append(_decode_function(tool.obj("function")))
        else:
            tools.append(OpaqueTool(NAME, tool.raw))
    return tuple(tools), search


def _decode_function(function: Fields) -> FunctionTool:
    if not function.has("name"):
        raise function.fault("expected a string", "name")
    rest = function.rest("name", "description", "parameters", "strict")
    return FunctionTool(
        function.text("name"),
        function.text("description"),
        function.obj("parameters").raw if function.has("parameters") else None,
        function.flag("strict"),
        {NAME: rest} if rest else {},
    )


def decode_choice(arguments: Fields) -> ToolChoice | None:
    """Decode the `tool_choice` of `completion_args`."""
    choice = arguments.get("tool_choice")
    mode = _CHOICES.get(choice) if isinstance(choice, str) else None
    return ToolChoice(mode) if mode else None


def encode_tools(request: Request) -> tuple[list[Json], tuple[str, ...]]:
    """Encode `tools`, and name what they cannot express."""
    unsupported: list[str] = []
    tools: list[Json] = []
    for tool in request.tools:
        if isinstance(tool, FunctionTool):
            tools.append({"type": "function", "function": _encode_function(tool)})
        elif tool.dialect == NAME:
            tools.append(tool.data)
        else:
            unsupported.append("opaque_tools")
    if request.search is not None:
        declaration = encode_search(request.search)
        tools.append(declaration.body)
        unsupported += declaration.unsupported
    return tools, tuple(unsupported)


def _encode_function(tool: FunctionTool) -> JsonObject:
    function: JsonObject = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = tool.parameters if tool.parameters is not None else {"type": "object"}
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {**function, **tool.extras.get(NAME, {})}


def encode_choice(choice: ToolChoice | None) -> tuple[str, bool]:
    """Encode `tool_choice`, empty without one, and whether it says all that was meant."""
    match choice:
        case None:
            return "", True
        case ToolChoice("function" | "search"):
            return "required", False
    return choice.mode, True
