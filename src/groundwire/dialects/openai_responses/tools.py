"""Tools, tool choice, function calls, and the tools that the provider runs itself.

Functions are flat entries of `tools`, next to the search. All other tools (files, code, computers, namespaces
and custom tools of Codex) are specific to this dialect and kept verbatim. A choice that is more specific than
the model can express is also kept, and written again if the choice has not changed.

`custom_tool_call` is used both for client tools and for server tools, and the status does not distinguish
them: OpenAI completes both. The distinction is an output in the item or in the same response, the id, or a
list of tools without any that a client could run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from groundwire.dialects.fields import Fields
from groundwire.dialects.openai_responses.search import (
    HOSTED,
    NAME,
    ONLINE_SUFFIX,
    OTHER_SEARCH,
    TOOLS,
    SearchDeclaration,
    decode_search_plugin,
    decode_search_tool,
    encode_echoed_search,
    is_search_name,
    merge_options,
    online_search,
    own_extras,
)
from groundwire.errors import ClientWireError
from groundwire.model import (
    Extras,
    FunctionTool,
    Json,
    JsonObject,
    OpaqueTool,
    Request,
    SearchOptions,
    Tool,
    ToolCall,
    ToolChoice,
)
from groundwire.model.request import ToolMode

_NOT_BUILT_IN = frozenset({"custom", "namespace"})
_FUNCTION_FIELDS = ("type", "name", "description", "parameters", "strict")
_MODES: dict[str, ToolMode] = {"auto": "auto", "none": "none", "required": "required"}
_CLIENT_CALLS = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
        "computer_call",
        "mcp_approval_request",
    }
)
"""Items that wait for the client, unless the provider ran the tool itself."""

_SEARCH_ITEMS = frozenset(
    {"web_search_call", "openrouter:web_search", "x_search_call", "bing_grounding_call"}
)
_SEARCH_ITEM_NAME = re.compile(r"\w+_search(?:_preview)?_call|(?:\w+_)?search_results")
_CLIENT_TOOLS = frozenset({"custom", "namespace", "tool_search"})
"""Types of `tools` entries that can declare a custom tool of the client."""

_SERVER_CALL_IDS = ("xs_call_",)


def decode_tools(body: Fields) -> tuple[tuple[Tool, ...], SearchOptions | None]:
    """Decode the tools of a request, and its search in any form."""
    tools: list[Tool] = []
    search: SearchOptions | None = None
    for tool in body.objs("tools"):
        kind = tool.text("type")
        if kind in TOOLS:
            found = decode_search_tool(tool)
            search = found if search is None else merge_options(search, found)
        elif kind == "function":
            tools.append(decode_function(tool))
        else:
            tools.append(OpaqueTool(NAME, tool.raw))
    for plugin in body.objs("plugins"):
        if _is_search_plugin(plugin):
            found = decode_search_plugin(plugin)
            search = found if search is None else merge_options(search, found)
    if search is None and body.text("model").endswith(ONLINE_SUFFIX):
        search = online_search()
    return tuple(tools), search


def other_plugins(body: Fields) -> list[Json]:
    """Plugins other than web search."""
    return [plugin.raw for plugin in body.objs("plugins") if plugin.get("id") != "web"]


def _is_search_plugin(plugin: Fields) -> bool:
    return plugin.get("id") == "web" and plugin.flag("enabled") is not False


def decode_function(tool: Fields) -> FunctionTool:
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
    """Encode a function. A missing `strict` is true here and false elsewhere, so only our own omit it."""
    is_ours = NAME in tool.extras
    body: JsonObject = {"type": "function", "name": tool.name}
    if tool.description:
        body["description"] = tool.description
    if tool.parameters is not None or not is_ours:
        body["parameters"] = tool.parameters or {"type": "object", "properties": {}}
    if tool.strict is not None or not is_ours:
        body["strict"] = bool(tool.strict)
    return {**body, **own_extras(tool.extras)}


def encode_tools(request: Request, search: SearchDeclaration) -> list[Json]:
    """Encode the tools of a request body."""
    tools: list[Json] = [] if search.tool is None else [search.tool]
    return tools + _client_tools(request)


def encode_echoed_tools(request: Request) -> list[Json]:
    """Encode the tools as a response echoes them."""
    searches: list[Json] = [] if request.search is None else [encode_echoed_search(request.search)]
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
    """Whether search is the only built-in tool, so that a limit on tools is a limit on searches."""
    return not any(
        isinstance(tool, OpaqueTool) and tool.dialect == NAME and tool.data.get("type") not in _NOT_BUILT_IN
        for tool in tools
    )


def decode_choice(value: Json) -> ToolChoice | None:
    """Decode `tool_choice`; None if it is not set or names an unknown tool."""
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


def encode_choice(choice: ToolChoice | None, verbatim: Json, search: SearchDeclaration) -> Json:
    """Encode `tool_choice`; None to omit it."""
    if verbatim is not None and decode_choice(verbatim) == choice:
        return verbatim
    if choice is None:
        return None
    if choice.mode == "function":
        return {"type": "function", "name": choice.name}
    if choice.mode == "search":
        # OpenRouter's plugin always searches and cannot be chosen.
        return None if search.tool is None else {"type": search.tool["type"]}
    return choice.mode


def encode_echoed_choice(request: Request) -> Json:
    """Encode the choice as a response echoes it."""
    kind = None if request.search is None else own_extras(request.search.extras).get("type")
    name = kind if isinstance(kind, str) and kind in HOSTED else "web_search"
    verbatim = own_extras(request.extras).get("tool_choice")
    return encode_choice(request.tool_choice, verbatim, SearchDeclaration({"type": name})) or "auto"


def decode_call(item: Fields) -> ToolCall:
    """Decode a `function_call` item."""
    arguments = item.text("arguments") or "{}"
    return ToolCall(item.text("call_id") or item.text("id"), item.text("name"), arguments, call_extras(item))


def call_extras(item: Fields) -> Extras:
    """Other fields of a function call: id, status, and Codex' namespace."""
    return {NAME: item.rest("type", "call_id", "name", "arguments")}


def encode_call(part: ToolCall) -> JsonObject:
    """Encode a `function_call` item."""
    return {
        "type": "function_call",
        "call_id": part.id,
        "name": part.name,
        "arguments": part.arguments,
        **own_extras(part.extras),
    }


class ServerToolUse:
    """Tells the calls of the client from those that the provider ran: by declared tools and by outputs."""

    __slots__ = ("_answered", "_declared")

    def __init__(self) -> None:
        self._declared: frozenset[str] = frozenset()
        self._answered: set[str] = set()

    def read_declared(self, response: Fields) -> None:
        """Read the list of tools that a response echoes."""
        if not self._declared:
            self._declared = frozenset(tool.text("type") for tool in response.objs("tools"))

    def read_outputs(self, items: Iterable[Fields]) -> None:
        """Read the outputs among the items of a response: a call with an output was not run by the client."""
        for item in items:
            if item.text("type").endswith("_output") and item.text("call_id"):
                self._answered.add(item.text("call_id"))

    def is_client_call(self, item: Fields) -> bool:
        """Whether the item waits for the client."""
        kind = item.text("type")
        if kind == "tool_search_call":
            return item.text("execution") == "client"
        return kind in _CLIENT_CALLS and not self._ran_on_server(item, kind)

    def is_search(self, item: Fields) -> bool:
        """Whether the item is a web search, or a page opened, by the provider."""
        kind = item.text("type")
        if kind in _SEARCH_ITEMS:
            return True
        if kind == "tool.execution":
            return is_search_name(item.text("name"))
        if kind in ("custom_tool_call", "function_call"):
            return is_search_name(item.text("name")) and self._ran_on_server(item, kind)
        return _SEARCH_ITEM_NAME.fullmatch(kind) is not None and not OTHER_SEARCH.fullmatch(kind)

    def is_answered(self, call_id: str) -> bool:
        """Whether the response has an output for a call."""
        return call_id in self._answered

    def _ran_on_server(self, item: Fields, kind: str) -> bool:
        call_id = item.text("call_id")
        if item.has("output") or call_id in self._answered or call_id.startswith(_SERVER_CALL_IDS):
            return True
        if kind == "shell_call":
            return item.obj("environment").text("type", "local") != "local"
        return (
            kind == "custom_tool_call" and bool(self._declared) and _CLIENT_TOOLS.isdisjoint(self._declared)
        )
