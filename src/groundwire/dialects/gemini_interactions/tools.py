"""Tools: `google_search`, functions and their choice; all other tools stay opaque."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groundwire.dialects.fields import Fields
from groundwire.dialects.gemini_interactions.search import NAME, SEARCH_TOOL, own_extras, unsupported_options
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


def decode_tools(tools: Iterable[Fields]) -> tuple[tuple[Tool, ...], SearchOptions | None]:
    """The tools that are not web search, and how to search, if at all."""
    others: list[Tool] = []
    search: SearchOptions | None = None
    for tool in tools:
        kind = tool.text("type")
        if kind == SEARCH_TOOL:
            rest = tool.rest("type")
            search = SearchOptions(extras={NAME: rest} if rest else {})
        elif kind == "function":
            others.append(_decode_function(tool))
        else:
            others.append(OpaqueTool(NAME, tool.raw))
    return tuple(others), search


def encode_tools(request: Request) -> tuple[list[JsonObject], list[str]]:
    """The tools, and the names of what could not be said."""
    tools: list[JsonObject] = []
    unsupported: list[str] = []
    if request.search is not None:
        tools.append({"type": SEARCH_TOOL, **own_extras(request.search.extras)})
        unsupported += unsupported_options(request.search)
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


CONFIG_FIELDS = (
    "max_output_tokens",
    "stop_sequences",
    "temperature",
    "top_p",
    "top_k",
    "thinking_level",
    "thinking_summaries",
    "tool_choice",
)

_MODES: Mapping[str, ToolMode] = {"auto": "auto", "none": "none", "any": "required"}
_CHOICES: Mapping[ToolMode, str] = {"auto": "auto", "none": "none", "required": "any"}


def decode_choice(config: Fields) -> tuple[ToolChoice | None, JsonObject]:
    """The choice, and what of the configuration has no canonical form."""
    rest = config.rest(*CONFIG_FIELDS)
    choice = config.get("tool_choice")
    if isinstance(choice, str) and choice in _MODES:
        return ToolChoice(_MODES[choice]), rest
    if isinstance(choice, dict):
        allowed = config.obj("tool_choice").obj("allowed_tools")
        names = allowed.texts("tools")
        if allowed.text("mode") == "any" and len(names) == 1:
            return ToolChoice("function", names[0]), rest
    if choice is not None:
        rest["tool_choice"] = choice
    return None, rest


def encode_choice(choice: ToolChoice) -> Json:
    if choice.mode == "function":
        return {"allowed_tools": {"mode": "any", "tools": [choice.name]}}
    return _CHOICES.get(choice.mode)


def decode_arguments(arguments: str) -> JsonObject:
    """Arguments as the object the dialect wants; anything else is wrapped in one."""
    try:
        value = load_json(arguments, ClientWireError)
    except WireError:
        value = arguments
    return value if isinstance(value, dict) else {"value": value}
