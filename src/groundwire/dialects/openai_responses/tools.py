"""Tools and the choice among them.

Functions stand flat in the list, the search beside them; every other tool (files, code, computers, Codex'
namespaces and custom tools) means something to this dialect alone and is carried whole. A choice that says
more than the model can hold is kept as it came, and given back while the choice is still the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.dialects.fields import Fields
from groundwire.dialects.openai_responses.search import (
    HOSTED,
    SUFFIX,
    TOOLS,
    Declaration,
    decode_plugin,
    decode_tool,
    echo_search,
    fill,
    online_search,
)
from groundwire.dialects.openai_responses.wire import NAME, native
from groundwire.errors import ClientWireError
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

_NOT_BUILT_IN = frozenset({"custom", "namespace"})
_FUNCTION_FIELDS = ("type", "name", "description", "parameters", "strict")
_MODES: dict[str, ToolMode] = {"auto": "auto", "none": "none", "required": "required"}


def decode_tools(body: Fields) -> tuple[tuple[Tool, ...], SearchOptions | None]:
    """The tools of a request, and its search in whichever spelling."""
    tools: list[Tool] = []
    search: SearchOptions | None = None
    for tool in body.objs("tools"):
        kind = tool.text("type")
        if kind in TOOLS:
            found = decode_tool(tool)
            search = found if search is None else fill(search, found)
        elif kind == "function":
            tools.append(decode_function(tool))
        else:
            tools.append(OpaqueTool(NAME, tool.raw))
    for plugin in body.objs("plugins"):
        if _is_search(plugin):
            found = decode_plugin(plugin)
            search = found if search is None else fill(search, found)
    if search is None and body.text("model").endswith(SUFFIX):
        search = online_search()
    return tuple(tools), search


def other_plugins(body: Fields) -> list[Json]:
    """The plugins that are no search."""
    return [plugin.raw for plugin in body.objs("plugins") if plugin.get("id") != "web"]


def _is_search(plugin: Fields) -> bool:
    return plugin.get("id") == "web" and plugin.flag("enabled") is not False


def decode_function(tool: Fields) -> FunctionTool:
    """A function."""
    name = tool.text("name")
    if not name:
        raise tool.fault("a function needs a name", "name")
    return FunctionTool(
        name,
        tool.text("description"),
        tool.obj("parameters").raw if tool.has("parameters") else None,
        tool.flag("strict"),
        {NAME: tool.rest(*_FUNCTION_FIELDS)},
    )


def encode_function(tool: FunctionTool) -> JsonObject:
    """A function. A missing `strict` is true here and false elsewhere, so it is left out only for our own."""
    is_ours = NAME in tool.extras
    body: JsonObject = {"type": "function", "name": tool.name}
    if tool.description:
        body["description"] = tool.description
    if tool.parameters is not None or not is_ours:
        body["parameters"] = tool.parameters or {"type": "object", "properties": {}}
    if tool.strict is not None or not is_ours:
        body["strict"] = bool(tool.strict)
    return {**body, **native(tool.extras)}


def encode_tools(request: Request, search: Declaration) -> list[Json]:
    """The tools of a request body."""
    tools: list[Json] = [] if search.tool is None else [search.tool]
    return tools + _client_tools(request)


def echo_tools(request: Request) -> list[Json]:
    """The tools as a response repeats them."""
    searches: list[Json] = [] if request.search is None else [echo_search(request.search)]
    defaults: JsonObject = {"description": None, "parameters": None, "strict": True}
    return searches + [
        {**defaults, **tool} if isinstance(tool, dict) and tool.get("type") == "function" else tool
        for tool in _client_tools(request)
    ]


def _client_tools(request: Request) -> list[Json]:
    found: list[Json] = []
    for tool in request.tools:
        if isinstance(tool, FunctionTool):
            found.append(encode_function(tool))
        elif tool.dialect == NAME:
            found.append(tool.data)
    return found


def search_is_alone(tools: Iterable[Tool]) -> bool:
    """Is there no other built-in tool, so that a limit of all of them is one of searches?"""
    return not any(
        isinstance(tool, OpaqueTool) and tool.dialect == NAME and tool.data.get("type") not in _NOT_BUILT_IN
        for tool in tools
    )


def decode_choice(value: Json) -> ToolChoice | None:
    """How to choose among tools; None where it is left open or means a tool we do not know."""
    if value is None:
        return None
    if isinstance(value, str):
        return ToolChoice(_MODES[value]) if value in _MODES else None
    choice = Fields.of({"tool_choice": value}, ClientWireError).obj("tool_choice")
    kind = choice.text("type")
    if kind in TOOLS:
        return ToolChoice("search")
    if kind == "function":
        return ToolChoice("function", choice.text("name"))
    if kind != "allowed_tools":
        return None
    allowed = [tool.raw for tool in choice.objs("tools")]
    mode = choice.text("mode", "auto")
    only = decode_choice(allowed[0]) if mode == "required" and len(allowed) == 1 else None
    return only or (ToolChoice(_MODES[mode]) if mode in _MODES else None)


def encode_choice(choice: ToolChoice | None, verbatim: Json, search: Declaration) -> Json:
    """A `tool_choice`; None to leave it out."""
    if verbatim is not None and decode_choice(verbatim) == choice:
        return verbatim
    if choice is None:
        return None
    if choice.mode == "function":
        return {"type": "function", "name": choice.name}
    if choice.mode == "search":
        # OpenRouter's plugin searches always, and cannot be chosen.
        return None if search.tool is None else {"type": search.tool["type"]}
    return choice.mode


def echo_choice(request: Request) -> Json:
    """The choice as a response repeats it."""
    kind = None if request.search is None else native(request.search.extras).get("type")
    name = kind if isinstance(kind, str) and kind in HOSTED else "web_search"
    verbatim = native(request.extras).get("tool_choice")
    return encode_choice(request.tool_choice, verbatim, Declaration({"type": name})) or "auto"
