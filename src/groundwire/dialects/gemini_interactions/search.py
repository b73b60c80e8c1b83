"""Tools: `google_search` with its `search_types`, functions, and all others, which stay opaque.

There are no options for domains, time, place or language.
"""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.dialects.fields import Fields
from groundwire.dialects.gemini_interactions.parts import NAME, own
from groundwire.model import FunctionTool, JsonObject, OpaqueTool, Request, SearchOptions, Tool

_SEARCH = "google_search"


def decode_tools(tools: Iterable[Fields]) -> tuple[tuple[Tool, ...], SearchOptions | None]:
    """The tools that are not web search, and how to search, if at all."""
    others: list[Tool] = []
    search: SearchOptions | None = None
    for tool in tools:
        kind = tool.text("type")
        if kind == _SEARCH:
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
        tools.append({"type": _SEARCH, **own(request.search.extras)})
        unsupported += _unsaid_options(request.search)
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
    return body | own(tool.extras)


def _unsaid_options(search: SearchOptions) -> list[str]:
    options: dict[str, object] = {
        "allowed_domains": search.allowed_domains,
        "blocked_domains": search.blocked_domains,
        "location": search.location,
        "language": search.language,
        "since": search.since,
        "until": search.until,
        "max_uses": search.max_uses is not None,
        "max_sources": search.max_sources is not None,
        "context_size": search.context_size,
        "live": search.live is False,  # Google's search is always live
    }
    return [name for name, value in options.items() if value]
