"""Function tools and tool choice.

A tool choice needs tools, and there is none that forbids them.
"""

from __future__ import annotations

from groundwire.dialects.bedrock_converse.search import GROUNDING_TOOL, NAME, encode_search
from groundwire.dialects.fields import Fields
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


def decode_tools(config: Fields) -> tuple[tuple[Tool, ...], SearchOptions | None]:
    """Decode the tools, and whether the web may be searched."""
    tools: list[Tool] = []
    search: SearchOptions | None = None
    for tool in config.objs("tools"):
        if tool.obj("systemTool").text("name") == GROUNDING_TOOL:
            search = SearchOptions()
        elif tool.has("toolSpec"):
            tools.append(_decode_function(tool.obj("toolSpec")))
        else:
            tools.append(OpaqueTool(NAME, tool.raw))
    return tuple(tools), search


def _decode_function(tool: Fields) -> FunctionTool:
    schema = tool.obj("inputSchema")
    rest = tool.rest("name", "description", "inputSchema", "strict")
    return FunctionTool(
        tool.text("name"),
        tool.text("description"),
        schema.obj("json").raw if schema.has("json") else None,
        tool.flag("strict"),
        {NAME: rest} if rest else {},
    )


def decode_choice(choice: Fields) -> ToolChoice | None:
    """Decode a `toolChoice`."""
    if choice.has("tool"):
        return ToolChoice("function", choice.obj("tool").text("name"))
    if choice.has("any"):
        return ToolChoice("required")
    return ToolChoice("auto") if choice.has("auto") else None


def encode_tools(request: Request) -> tuple[JsonObject, tuple[str, ...]]:
    """Encode a `toolConfig`, empty without tools, and name what it cannot carry."""
    tools: list[Json] = []
    unsupported: list[str] = []
    for tool in request.tools:
        if isinstance(tool, FunctionTool):
            tools.append(_encode_function(tool))
        elif tool.dialect == NAME:
            tools.append(tool.data)
        else:
            unsupported.append("opaque_tools")
    if request.search is not None:
        declaration = encode_search(request.search)
        tools.append(declaration.body)
        unsupported += declaration.unsupported
    choice = _encode_choice(request.tool_choice)
    if request.tool_choice is not None and (choice is None or not tools):
        unsupported.append("tool_choice")
    if not tools:
        return {}, tuple(unsupported)
    config: JsonObject = {"tools": tools}
    return {**config, "toolChoice": choice} if choice else config, tuple(unsupported)


def _encode_function(tool: FunctionTool) -> JsonObject:
    schema: JsonObject = tool.parameters if tool.parameters is not None else {"type": "object"}
    body: JsonObject = {"name": tool.name, "inputSchema": {"json": schema}}
    if tool.description:
        body["description"] = tool.description
    if tool.strict is not None:
        body["strict"] = tool.strict
    return {"toolSpec": {**body, **tool.extras.get(NAME, {})}}


def _encode_choice(choice: ToolChoice | None) -> JsonObject | None:
    match choice:
        case ToolChoice("function", name):
            return {"tool": {"name": name}}
        case ToolChoice("required"):
            return {"any": {}}
        case ToolChoice("auto"):
            return {"auto": {}}
    return None
