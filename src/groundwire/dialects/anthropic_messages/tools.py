"""Function tools, tool choice, and the arguments and ids of tool calls."""

from __future__ import annotations

import re

from groundwire.dialects.anthropic_messages.search import NAME, TOOL_NAME, encode_search
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json
from groundwire.model import (
    NO_EXTRAS,
    Extras,
    FunctionTool,
    Json,
    JsonObject,
    OpaqueTool,
    Request,
    SearchOptions,
    Tool,
    ToolChoice,
)

_MODES = {"auto": "auto", "any": "required", "none": "none"}


def decode_tool(tool: Fields) -> Tool:
    if tool.text("type", "custom") != "custom":
        return OpaqueTool(NAME, tool.raw)
    known = ("type", "name", "description", "input_schema", "strict")
    rest = tool.rest(*known)
    return FunctionTool(
        tool.text("name"),
        tool.text("description"),
        tool.obj("input_schema").raw if tool.has("input_schema") else None,
        tool.flag("strict"),
        {NAME: rest} if rest else {},
    )


def decode_choice(choice: Fields, search: SearchOptions | None) -> ToolChoice | None:
    kind, name = choice.text("type"), choice.text("name")
    if kind == "tool":
        return ToolChoice("search") if search and name == TOOL_NAME else ToolChoice("function", name)
    match _MODES.get(kind):
        case "auto" | "required" | "none" as mode:
            return ToolChoice(mode)
    return None


def encode_tools(request: Request) -> tuple[list[Json], tuple[str, ...]]:
    tools: list[Json] = []
    for tool in request.tools:
        if isinstance(tool, FunctionTool):
            tools.append(_encode_function(tool))
        elif tool.dialect == NAME:
            tools.append(tool.data)
    if request.search is None:
        return tools, ()
    declaration = encode_search(request.search)
    return [*tools, declaration.body], declaration.unsupported


def _encode_function(tool: FunctionTool) -> JsonObject:
    body: JsonObject = {"name": tool.name}
    if tool.description:
        body["description"] = tool.description
    body["input_schema"] = tool.parameters if tool.parameters is not None else {"type": "object"}
    if tool.strict is not None:
        body["strict"] = tool.strict
    return {**body, **tool.extras.get(NAME, {})}


def encode_choice(choice: ToolChoice | None) -> JsonObject:
    match choice:
        case ToolChoice("search"):
            return {"type": "tool", "name": TOOL_NAME}
        case ToolChoice("function", name):
            return {"type": "tool", "name": name}
        case ToolChoice("required"):
            return {"type": "any"}
        case ToolChoice(mode):
            return {"type": mode}
    return {}


_NOT_AN_ID = re.compile(r"[^A-Za-z0-9_-]")


def encode_id(identity: str) -> str:
    """Encode the id of a call in the characters that Anthropic allows."""
    return _NOT_AN_ID.sub("_", identity)


def encode_arguments(value: JsonObject) -> str:
    """Encode the arguments of a call as JSON text."""
    return dump_json(value)


def block_extras(fields: Fields, *known: str) -> Extras:
    """The fields of a block that have no canonical meaning (`cache_control`, …), as extras."""
    rest = fields.rest("type", *known)
    return {NAME: rest} if rest else NO_EXTRAS
