"""Items of tools that the provider ran itself: told apart from calls for the client, and read as searches.

Every speaker has its own item for a search:

| speaker | item | where its queries are |
|---|---|---|
| OpenAI, Azure, DeepSeek | `web_search_call` | `action` |
| OpenRouter | `openrouter:web_search` | `action` |
| xAI | `x_search_call`, `custom_tool_call` with an id `xs_call_…` | `arguments` or `input`, as JSON text |
| Azure AI Projects | `bing_grounding_call`, `bing_custom_search_preview_call` | `arguments` |
| Perplexity | `search_results`, `people_search_results` | `queries` |
| Mistral | `tool.execution` with a name like `web_search` | `arguments` |

`custom_tool_call` is also what a client's own tool is called by, and the status does not tell the two apart:
OpenAI completes both. What does: an output in the item or in the same response, the id, and a list of tools
that has none a client could run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.json import load_json
from groundwire.errors import UpstreamWireError, WireError
from groundwire.model import Json, JsonObject
from groundwire.model.parts import SearchKind
from groundwire.text.urls import safe_url

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
"""Items that wait for the client to act, unless the provider has done so itself."""

_SEARCHES = frozenset({"web_search_call", "openrouter:web_search", "x_search_call", "bing_grounding_call"})
_SEARCH_NAME = re.compile(r"\w+_search(?:_preview)?_call|(?:\w+_)?search_results")
_OTHER_SEARCH = re.compile(r"(?:file|tool|memory|document|collections|code|azure_ai)_search(?:_\w+)?")
"""Searches of files, tools and stores: what they find has no address."""

_CLIENT_TOOLS = frozenset({"custom", "namespace", "tool_search"})
"""Entries of `tools` by which a client may have declared a custom tool."""

_SERVER_IDS = ("xs_call_",)
_SEARCHES_BY_NAME = re.compile(r"(?:\w+_)?search(?:_\w+)?")
_OPENS_BY_NAME = re.compile(r"(?:\w+_)?(?:fetch|browse|open|view)(?:_\w+)?")
_KINDS: dict[str, SearchKind] = {"open_page": "open", "find_in_page": "find", "find": "find"}
_QUERIES = ("query", "search_query", "q")
_ADDRESSES = ("url", "video_url", "image_url")
_CALL_MARK = "ws_call_id="
"""DeepSeek names the call among the queries, and in the fragment of the address of an opened page."""


class ToolUse:
    """What a response tells of its tools: what was declared, and which calls it answered itself."""

    __slots__ = ("_answered", "_declared")

    def __init__(self) -> None:
        self._declared: frozenset[str] = frozenset()
        self._answered: set[str] = set()

    def read_declared(self, response: Fields) -> None:
        """The list of tools that a response repeats."""
        if not self._declared:
            self._declared = frozenset(tool.text("type") for tool in response.objs("tools"))

    def read_outputs(self, items: Iterable[Fields]) -> None:
        """The outputs among the items of a response: what has one was not run by the client."""
        for item in items:
            if item.text("type").endswith("_output") and item.text("call_id"):
                self._answered.add(item.text("call_id"))

    def is_client_call(self, item: Fields) -> bool:
        """Does the item wait for the client?"""
        kind = item.text("type")
        if kind == "tool_search_call":
            return item.text("execution") == "client"
        return kind in _CLIENT_CALLS and not self._ran_on_server(item, kind)

    def is_search(self, item: Fields) -> bool:
        """Is the item a search of the web that the provider ran, or a page that it opened?"""
        kind = item.text("type")
        if kind in _SEARCHES:
            return True
        if kind == "tool.execution":
            return _is_search_name(item.text("name"))
        if kind in ("custom_tool_call", "function_call"):
            return _is_search_name(item.text("name")) and self._ran_on_server(item, kind)
        return _SEARCH_NAME.fullmatch(kind) is not None and not _OTHER_SEARCH.fullmatch(kind)

    def is_answered(self, call_id: str) -> bool:
        """Has the response an output for a call?"""
        return call_id in self._answered

    def _ran_on_server(self, item: Fields, kind: str) -> bool:
        call_id = item.text("call_id")
        if item.has("output") or call_id in self._answered or call_id.startswith(_SERVER_IDS):
            return True
        if kind == "shell_call":
            return item.obj("environment").text("type", "local") != "local"
        return (
            kind == "custom_tool_call" and bool(self._declared) and _CLIENT_TOOLS.isdisjoint(self._declared)
        )


def _is_search_name(name: str) -> bool:
    """Does a tool of this name search the web or open pages?"""
    if _OTHER_SEARCH.fullmatch(name):
        return False
    return _SEARCHES_BY_NAME.fullmatch(name) is not None or _OPENS_BY_NAME.fullmatch(name) is not None


class SearchAct(NamedTuple):
    """What a search item did."""

    kind: SearchKind
    queries: tuple[str, ...] = ()
    url: str = ""
    pattern: str = ""


def read_act(item: Fields) -> SearchAct:
    """The queries of a search, the page that was opened, or the pattern that was looked for in it."""
    action = item.obj("action")
    arguments = {} if action.raw else _arguments(item.get("arguments") or item.get("input"))
    url = _address(action.text("url") or _first(arguments, _ADDRESSES))
    queries = tuple(_queries(item, action, arguments))
    kind = _KINDS.get(action.text("type"), "search")
    if kind == "search" and not queries and (url or _OPENS_BY_NAME.fullmatch(item.text("name"))):
        kind = "open"
    if kind == "search":
        return SearchAct(kind, queries)
    return SearchAct(kind, url=url, pattern=action.text("pattern") if kind == "find" else "")


def _queries(item: Fields, action: Fields, arguments: JsonObject) -> Iterator[str]:
    listed = action.texts("queries") or item.texts("queries") or _strings(arguments.get("queries"))
    told = listed or (action.text("query") or _first(arguments, _QUERIES),)
    if not any(told) and item.text("type").startswith("bing_"):
        told = (_query_of_address(item, arguments),)
    return (query for query in told if query and not query.startswith(_CALL_MARK))


def _query_of_address(item: Fields, arguments: JsonObject) -> str:
    """The query in the address of a search at Bing, which is all that some items have."""
    from urllib.parse import parse_qs, urlsplit  # noqa: PLC0415  few items have nothing but an address

    for value in (*arguments.values(), item.get("url")):
        if isinstance(value, str) and safe_url(value):
            found = parse_qs(urlsplit(value).query).get("q")
            if found:
                return found[0]
    return ""


def _address(url: str) -> str:
    page, _, fragment = url.partition("#")
    return safe_url(page if fragment.startswith(_CALL_MARK) else url)


def _arguments(value: Json) -> JsonObject:
    """The arguments of a call: an object, an object as JSON text, or the query itself."""
    if not isinstance(value, str):
        return as_object(value)
    if not value.lstrip().startswith(("{", "[")):
        return {"query": value.strip()}
    try:
        return as_object(load_json(value, UpstreamWireError))
    except WireError:
        return {}


def _first(arguments: JsonObject, names: Iterable[str]) -> str:
    values = (arguments.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value), "")


def _strings(value: Json) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
