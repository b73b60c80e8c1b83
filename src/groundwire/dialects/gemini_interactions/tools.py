"""Tools: `google_search`, functions and their choice; all other tools stay opaque."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groundwire.dialects.fields import Fields
from groundwire.dialects.gemini_interactions.search import (
    NAME,
    SEARCH_TOOL,
    decode_search,
    encode_search,
    own_extras,
)
from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError, WireError
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

_MODES: Mapping[str, ToolMode] = {"auto": "auto", "none": "none", "any": "required"}
_CHOICES: Mapping[ToolMode, str] = {"auto": "auto", "none": "none", "required": "any"}


def decode_tools(tools: Iterable[Fields]) -> tuple[tuple[Tool, ...], SearchOptions | None]:
    """Decode the function and opaque tools, and the search options if search is declared."""
    others: list[Tool] = []
    search: SearchOptions | None = None
    for tool in tools:
        kind = tool.text("type")
        if kind == SEARCH_TOOL:
            search = decode_search(tool)
        elif kind == "function":
            others.append(_decode_function(tool))
        else:
            others.append(OpaqueTool(NAME, tool.raw))
    return tuple(others), search


def encode_tools(request: Request) -> tuple[list[JsonObject], list[str]]:
    """Encode the tools, and name what could not be encoded."""
    tools: list[JsonObject] = []
    unsupported: list[str] = []
    if request.search is not None:
        declaration = encode_search(request.search)
        tools.append(declaration.body)
        unsupported += declaration.unsupported
    for tool in request.tools:
        if isinstance(tool, FunctionTool):
            tools.append(_encode_function(tool))
            unsupported += ["strict"] if tool.strict else []
        elif tool.dialect == NAME:
            tools.append(tool.data)
        else:
            unsupported.append("opaque_tools")
    return tools, unsupported


def _decode_function(tool: Fields) -> FunctionTool:
    name = tool.text("name")
    if not name:
        raise tool.fault("a function needs a name", "name")
    rest = tool.rest("type", "name", "description", "parameters")
    parameters = tool.obj("parameters").raw if tool.has("parameters") else None
    return FunctionTool(name, tool.text("description"), parameters, extras={NAME: rest} if rest else {})


def _encode_function(tool: FunctionTool) -> JsonObject:
    body: JsonObject = {"type": "function", "name": tool.name}
    if tool.description:
        body["description"] = tool.description
    if tool.parameters is not None:
        body["parameters"] = tool.parameters
    return body | own_extras(tool.extras)


def decode_choice(config: Fields) -> ToolChoice | None:
    """Decode `tool_choice`; None if it is absent or has no canonical form."""
    choice = config.get("tool_choice")
    if isinstance(choice, str) and choice in _MODES:
        return ToolChoice(_MODES[choice])
    if isinstance(choice, dict):
        allowed = config.obj("tool_choice").obj("allowed_tools")
        names = allowed.texts("tools")
        if allowed.text("mode") == "any" and len(names) == 1:
            return ToolChoice("function", names[0])
    return None


def encode_choice(choice: ToolChoice) -> Json:
    """Encode `tool_choice`; None for a forced search, which has no form here."""
    if choice.mode == "function":
        return {"allowed_tools": {"mode": "any", "tools": [choice.name]}}
    return _CHOICES.get(choice.mode)


def decode_arguments(arguments: str) -> JsonObject:
    """Decode the arguments of a call to an object; any other value is wrapped in one."""
    try:
        value = load_json(arguments, ClientWireError)
    except WireError:
        value = arguments
    return value if isinstance(value, dict) else {"value": value}
