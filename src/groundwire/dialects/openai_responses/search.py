"""Web search: its declaration in requests, and search items in responses and history.

OpenAI's tool has four names (`web_search`, its preview, and a dated version of each). OpenRouter adds a
server tool with `parameters`, a deprecated plugin that always searches, and the deprecated model suffix
`:online`. All of them become `SearchOptions`; their extras keep the form and all other fields. A provider
that needs another form sets it there: `extras["openai_responses"]["type"]` may be any name of the tool,
`openrouter:web_search`, or `plugin`.

`max_tool_calls` limits all built-in tools together. It is read and written as the limit of searches only if
search is the only built-in tool.

A search and its results are one item here and two parts in the model. Sources have URLs; feeds of weather and
sports have only names. Titles, snippets and dates are in `results`. Every server has its own search item:

| server | item | queries |
|---|---|---|
| OpenAI, Azure, DeepSeek | `web_search_call` | `action` |
| OpenRouter | `openrouter:web_search` | `action` |
| xAI | `x_search_call`, `custom_tool_call` with an id `xs_call_…` | `arguments` or `input`, as JSON text |
| Azure AI Projects | `bing_grounding_call`, `bing_custom_search_preview_call` | `arguments` |
| Perplexity | `search_results`, `people_search_results` | `queries` |
| Mistral | `tool.execution` with a name like `web_search` | `arguments` |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.json import load_json
from groundwire.errors import UpstreamWireError, WireError
from groundwire.model import (
    NO_EXTRAS,
    Extras,
    Json,
    JsonObject,
    Location,
    SearchCall,
    SearchOptions,
    SearchResult,
    Source,
)
from groundwire.model.parts import SearchKind
from groundwire.model.request import ContextSize
from groundwire.model.source import SourceMerge
from groundwire.model.value import replace, value
from groundwire.text.urls import safe_url

NAME = "openai_responses"


def own_extras(extras: Extras) -> JsonObject:
    """Fields that this dialect stored in `extras`."""
    return extras.get(NAME, {})


def as_extras(verbatim: JsonObject) -> Extras:
    """Wrap verbatim fields as extras of this dialect; no fields give no extras."""
    return {NAME: verbatim} if verbatim else NO_EXTRAS


def own_id(extras: Extras) -> str:
    """Item id that the provider assigned."""
    value = own_extras(extras).get("id")
    return value if isinstance(value, str) else ""


TOOL = "web_search"
PREVIEWS = frozenset({"web_search_preview", "web_search_preview_2025_03_11"})
HOSTED = frozenset({TOOL, "web_search_2025_08_26"}) | PREVIEWS
SERVER_TOOL = "openrouter:web_search"
PLUGIN = "plugin"
ONLINE = "online"
ONLINE_SUFFIX = ":online"
TOOLS = HOSTED | {SERVER_TOOL}
_SIZES: dict[str, ContextSize] = {"low": "low", "medium": "medium", "high": "high"}
_LOCATION_FIELDS = ("country", "region", "city", "timezone")
_OPTION_FIELDS = ("type", "user_location", "max_uses", "max_results", "external_web_access")


def decode_search_tool(tool: Fields) -> SearchOptions:
    """Decode a search tool of OpenAI or OpenRouter."""
    kind = tool.text("type")
    if kind == SERVER_TOOL:
        return _decode_options(tool.obj("parameters"), kind, "allowed_domains", "excluded_domains")
    filters = tool.obj("filters")
    options = _decode_options(tool, kind, "", "", "filters")
    # OpenRouter and xAI name the second list `excluded_domains`.
    blocked = filters.texts("blocked_domains") or filters.texts("excluded_domains")
    return replace(options, allowed_domains=filters.texts("allowed_domains"), blocked_domains=blocked)


def decode_search_plugin(plugin: Fields) -> SearchOptions:
    """Decode OpenRouter's `web` plugin."""
    return _decode_options(plugin, PLUGIN, "include_domains", "exclude_domains", "id", "enabled")


def online_search() -> SearchOptions:
    """Search options for the model suffix `:online`."""
    return SearchOptions(extras={NAME: {"type": ONLINE}})


def merge_options(first: SearchOptions, second: SearchOptions) -> SearchOptions:
    """Merge two declarations: the first wins, the second fills the gaps."""
    return SearchOptions(
        first.allowed_domains or second.allowed_domains,
        first.blocked_domains or second.blocked_domains,
        first.location or second.location,
        max_uses=second.max_uses if first.max_uses is None else first.max_uses,
        max_sources=second.max_sources if first.max_sources is None else first.max_sources,
        context_size=first.context_size or second.context_size,
        live=second.live if first.live is None else first.live,
        extras=first.extras,
    )


def _decode_options(fields: Fields, kind: str, allowed: str, blocked: str, *known: str) -> SearchOptions:
    context_size = fields.text("search_context_size")
    known = (
        *_OPTION_FIELDS,
        *known,
        allowed,
        blocked,
        *(["search_context_size"] if context_size in _SIZES else []),
    )
    return SearchOptions(
        allowed_domains=fields.texts(allowed),
        blocked_domains=fields.texts(blocked),
        location=_decode_location(fields),
        max_uses=fields.integer("max_uses"),
        max_sources=fields.integer("max_results"),
        context_size=_SIZES.get(context_size),
        live=fields.flag("external_web_access"),
        extras={NAME: {"type": kind, **fields.rest(*known)}},
    )


def _decode_location(fields: Fields) -> Location | None:
    """Decode `user_location`.

    `{"type": "approximate"}` alone means an unknown location; no field means the US.
    """
    if not fields.has("user_location"):
        return None
    location = fields.obj("user_location")
    return Location(
        location.text("country"), location.text("region"), location.text("city"), location.text("timezone")
    )


@value
class SearchDeclaration:
    """A search declaration on the wire: a tool or a plugin, and the options that do not fit."""

    tool: JsonObject | None = None
    plugin: JsonObject | None = None
    max_tool_calls: int | None = None
    unsupported: tuple[str, ...] = ()

    @property
    def is_openai(self) -> bool:
        """Whether `include` can request the sources. OpenRouter rejects that."""
        return self.tool is not None and self.tool["type"] != SERVER_TOOL


def encode_search(search: SearchOptions, model: str, *, alone: bool) -> SearchDeclaration:
    """Encode the declaration in the form that its extras name; `alone` if there is no other built-in tool."""
    kind = own_extras(search.extras).get("type")
    if kind == SERVER_TOOL:
        parameters = _encode_openrouter(search, "allowed_domains", "excluded_domains")
        tool: JsonObject = {"type": SERVER_TOOL, "parameters": parameters}
        return SearchDeclaration(tool, unsupported=_unsupported(search, "live"))
    if kind == PLUGIN:
        plugin = {"id": "web", **_encode_openrouter(search, "include_domains", "exclude_domains")}
        return SearchDeclaration(plugin=plugin, unsupported=_unsupported(search, "live"))
    if kind == ONLINE and model.endswith(ONLINE_SUFFIX) and search == SearchOptions(extras=search.extras):
        return SearchDeclaration()  # the suffix is the whole declaration; options need a tool
    unsupported = _unsupported(search, "max_sources", *(() if alone else ("max_uses",)))
    return SearchDeclaration(
        encode_hosted_tool(search), None, search.max_uses if alone else None, unsupported
    )


def encode_hosted_tool(search: SearchOptions) -> JsonObject:
    """Encode OpenAI's tool. The preview supports neither filters nor `external_web_access`."""
    kept = {key: value for key, value in own_extras(search.extras).items() if key != "type"}
    kind = own_extras(search.extras).get("type")
    is_restricted = search.allowed_domains or search.blocked_domains or search.live is not None
    if not isinstance(kind, str) or kind not in HOSTED or (kind in PREVIEWS and is_restricted):
        kind = TOOL
    tool: JsonObject = {"type": kind, **kept}
    filters: JsonObject = {}
    if search.allowed_domains:
        filters["allowed_domains"] = list(search.allowed_domains)
    if search.blocked_domains:
        filters["blocked_domains"] = list(search.blocked_domains)
    if filters:
        tool["filters"] = filters
    if search.live is not None:
        tool["external_web_access"] = search.live
    return _add_common_options(tool, search)


def encode_echoed_search(search: SearchOptions) -> JsonObject:
    """Encode the tool as a response echoes it: with its defaults, and without `external_web_access`."""
    tool = encode_hosted_tool(search)
    tool.pop("external_web_access", None)
    tool.setdefault("filters", None)
    tool.setdefault("search_context_size", "medium")
    encoded = tool.get("user_location", {"country": "US"})
    location = encoded if isinstance(encoded, dict) else {}
    tool["user_location"] = {"type": "approximate", **{key: location.get(key) for key in _LOCATION_FIELDS}}
    return tool


def _encode_openrouter(search: SearchOptions, allowed: str, blocked: str) -> JsonObject:
    """Encode OpenRouter's parameters."""
    body = {key: value for key, value in own_extras(search.extras).items() if key != "type"}
    if search.allowed_domains:
        body[allowed] = list(search.allowed_domains)
    if search.blocked_domains:
        body[blocked] = list(search.blocked_domains)
    if search.max_uses is not None:
        body["max_uses"] = search.max_uses
    if search.max_sources is not None:
        body["max_results"] = search.max_sources
    return _add_common_options(body, search)


def _add_common_options(body: JsonObject, search: SearchOptions) -> JsonObject:
    if search.context_size is not None:
        body["search_context_size"] = search.context_size
    if search.location is not None:
        location = {key: getattr(search.location, key) for key in _LOCATION_FIELDS}
        body["user_location"] = {"type": "approximate"} | {
            key: value for key, value in location.items() if value
        }
    return body


def _unsupported(search: SearchOptions, *more: str) -> tuple[str, ...]:
    names = ("language", "since", "until", *more)
    unsupported = [name for name in names if getattr(search, name) not in ("", None)]
    location = search.location
    if (
        location is not None
        and location.latitude is not None
        and not any(getattr(location, key) for key in _LOCATION_FIELDS)
    ):
        unsupported.append("location")
    return tuple(unsupported)


_ERRORS_BY_STATUS = {"failed": "unavailable", "incomplete": "unavailable"}
OTHER_SEARCH = re.compile(r"(?:file|tool|memory|document|collections|code|azure_ai)_search(?:_\w+)?")
"""Names of searches in files, tools and stores, whose results have no URL."""

_SEARCH_TOOL = re.compile(r"(?:\w+_)?search(?:_\w+)?")
_OPEN_TOOL = re.compile(r"(?:\w+_)?(?:fetch|browse|open|view)(?:_\w+)?")
_KINDS: dict[str, SearchKind] = {"open_page": "open", "find_in_page": "find", "find": "find"}
_QUERY_FIELDS = ("query", "search_query", "q")
_URL_FIELDS = ("url", "video_url", "image_url")
_CALL_MARKER = "ws_call_id="
"""DeepSeek puts the call id into the queries, and into the URL fragment of an opened page."""


def decode_search_item(item: Fields, call_id: str) -> tuple[SearchCall | None, SearchResult | None]:
    """Decode a search, and its results if it has returned. Azure sends `searching` on a finished item.

    Results without a search call, which some dialects have, carry our own flag `uncalled`.
    """
    action = decode_action(item)
    call: SearchCall | None = None
    if not item.obj(FIELD).flag("uncalled"):
        # The search result keeps the results if the server sends them as a separate item.
        listed = ("results",) if item.text("type").endswith("_results") else ()
        extras = {NAME: item.rest("id", FIELD, *listed)}
        call = SearchCall(call_id, action.queries, action.kind, action.url, action.pattern, extras=extras)
    status = item.text("status")
    if status == "in_progress":
        return call, None
    sources = tuple(_decode_sources(item, opened=action.kind != "search"))
    other_results: list[Json] = [found.raw for found in item.objs("results") if not _is_text_result(found)]
    kept: JsonObject = {"results": other_results} if other_results else {}
    return call, SearchResult(call_id, sources, _ERRORS_BY_STATUS.get(status, ""), extras={NAME: kept})


def decode_numbered_results(item: Fields) -> dict[str, Source]:
    """Pages of a search by the numbers that Perplexity writes into its text."""
    if not item.text("type").endswith("_results"):
        return {}
    found = ((result, result.integer("id")) for result in item.objs("results"))
    return {
        str(number): Source(safe_url(result.text("url")), result.text("title"), "cited")
        for result, number in found
        if number is not None and safe_url(result.text("url"))
    }


def decode_listed_sources(response: Fields) -> tuple[Source, ...]:
    """Decode the list `citations` of a response: URLs, or objects with one (xAI, proxies)."""
    found: dict[str, Source] = {}
    for item in response.items("citations"):
        page = as_object(item)
        url = safe_url(item if isinstance(item, str) else _first_text(page, ("url",)))
        if url:
            found.setdefault(url, Source(url, _first_text(page, ("title",)), "cited"))
    return tuple(found.values())


def decode_fetch_call(url: str, call_id: str) -> SearchCall:
    """Decode a page of Perplexity's `fetch_url_results` as a call."""
    return SearchCall(call_id, kind="open", url=safe_url(url), extras={NAME: {"type": "fetch_url_results"}})


def decode_fetch_result(content: Fields, call_id: str) -> SearchResult:
    """Decode the content that Perplexity read from a page."""
    snippet = content.text("snippet")
    url, title = safe_url(content.text("url")), content.text("title")
    source = Source(url, title, "opened", (snippet,) if snippet else ())
    return SearchResult(call_id, (source,) if url or title else (), extras={NAME: {}})


def encode_search_item(item_id: str, call: SearchCall | None, result: SearchResult | None) -> JsonObject:
    """Encode a search and its results as one item."""
    item: JsonObject = {
        "id": item_id,
        "type": "web_search_call",
        "status": "in_progress",
        "action": encode_action(call, result),
    }
    if result is None:
        return item
    item["status"] = "failed" if result.error else "completed"
    other_results = own_extras(result.extras).get("results")
    results: list[Json] = list(_encode_results(call, result))
    results += other_results if isinstance(other_results, list) else []
    if results:
        item["results"] = results
    if call is None:
        item[FIELD] = {"uncalled": True}
    return item


def encode_action(call: SearchCall | None, result: SearchResult | None) -> JsonObject:
    """Encode the `action` of a search item; it has sources once the search has returned."""
    if call is not None and call.kind == "open":
        return {"type": "open_page", "url": call.url or None}
    if call is not None and call.kind == "find":
        return {"type": "find_in_page", "url": call.url, "pattern": call.pattern}
    action: JsonObject = {"type": "search"}
    if call is not None and call.queries:
        action["query"] = call.queries[0]
        action["queries"] = list(call.queries)
    if result is not None and result.sources:
        action["sources"] = [_encode_source(source) for source in result.sources]
    return action


def encode_history_search(call: SearchCall | None, result: SearchResult | None) -> JsonObject:
    """Encode the search item of an earlier turn, verbatim if this dialect made it."""
    if call is not None and "type" in own_extras(call.extras):
        return {"id": call.id, **own_extras(call.extras)}
    call_id = call.id if call is not None else result.call_id if result is not None else ""
    item = encode_search_item(call_id, call, result)
    return {key: value for key, value in item.items() if key not in ("results", FIELD)}


def _decode_sources(item: Fields, *, opened: bool) -> Iterator[Source]:
    found: dict[str, SourceMerge] = {}
    listed = item.obj("action").objs("sources")
    for fields in (*listed, *(result for result in item.objs("results") if _is_text_result(result))):
        url = safe_url(fields.text("url"))
        title = fields.text("title") or fields.text("name")
        snippet = fields.text("snippet")
        source = Source(
            url,
            title,
            "opened" if opened else "retrieved",
            (snippet,) if snippet else (),
            fields.text("date"),
        )
        known = found.get(url or title)
        if known is not None:
            known.add(source)
        elif url or title:
            found[url or title] = SourceMerge(source)
    yield from (merge.source() for merge in found.values())


def _encode_source(source: Source) -> JsonObject:
    return {"type": "url", "url": source.url} if source.url else {"type": "api", "name": source.title}


def _encode_results(call: SearchCall | None, result: SearchResult) -> Iterator[JsonObject]:
    """Encode what the sources of an action cannot express, and the sources of actions that have none."""
    listed = call is None or call.kind == "search"
    for source in result.sources:
        if listed and not (source.url and (source.title or source.excerpts or source.date)):
            continue
        for snippet in source.excerpts or ("",):
            found: JsonObject = {
                "type": "text_result",
                "url": source.url,
                "title": source.title,
                "snippet": snippet,
            }
            if source.date:
                found["date"] = source.date
            yield found


def _is_text_result(found: Fields) -> bool:
    return found.text("type", "text_result") == "text_result"


def is_search_name(name: str) -> bool:
    """Whether a tool of this name searches the web or opens pages."""
    if OTHER_SEARCH.fullmatch(name):
        return False
    return _SEARCH_TOOL.fullmatch(name) is not None or _OPEN_TOOL.fullmatch(name) is not None


class SearchAction(NamedTuple):
    """What a search item did."""

    kind: SearchKind
    queries: tuple[str, ...] = ()
    url: str = ""
    pattern: str = ""


def decode_action(item: Fields) -> SearchAction:
    """Decode the queries of a search, the page that was opened, or the pattern to find in it."""
    action = item.obj("action")
    arguments = {} if action.raw else _arguments(item.get("arguments") or item.get("input"))
    url = _page_url(action.text("url") or _first_text(arguments, _URL_FIELDS))
    queries = tuple(_queries(item, action, arguments))
    kind = _KINDS.get(action.text("type"), "search")
    if kind == "search" and not queries and (url or _OPEN_TOOL.fullmatch(item.text("name"))):
        kind = "open"
    if kind == "search":
        return SearchAction(kind, queries)
    return SearchAction(kind, url=url, pattern=action.text("pattern") if kind == "find" else "")


def _queries(item: Fields, action: Fields, arguments: JsonObject) -> Iterator[str]:
    listed = action.texts("queries") or item.texts("queries") or _strings(arguments.get("queries"))
    queries = listed or (action.text("query") or _first_text(arguments, _QUERY_FIELDS),)
    if not any(queries) and item.text("type").startswith("bing_"):
        queries = (_query_of_url(item, arguments),)
    return (query for query in queries if query and not query.startswith(_CALL_MARKER))


def _query_of_url(item: Fields, arguments: JsonObject) -> str:
    """Query in a Bing search URL, which is all that some items have."""
    from urllib.parse import parse_qs, urlsplit  # noqa: PLC0415  rarely needed; keeps the import of the dialect light

    for url in (*arguments.values(), item.get("url")):
        if isinstance(url, str) and safe_url(url):
            found = parse_qs(urlsplit(url).query).get("q")
            if found:
                return found[0]
    return ""


def _page_url(url: str) -> str:
    page, _, fragment = url.partition("#")
    return safe_url(page if fragment.startswith(_CALL_MARKER) else url)


def _arguments(value: Json) -> JsonObject:
    """Arguments of a call: an object, an object as JSON text, or just the query."""
    if not isinstance(value, str):
        return as_object(value)
    if not value.lstrip().startswith(("{", "[")):
        return {"query": value.strip()}
    try:
        return as_object(load_json(value, UpstreamWireError))
    except WireError:
        return {}


def _first_text(arguments: JsonObject, names: Iterable[str]) -> str:
    values = (arguments.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value), "")


def _strings(value: Json) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
