"""The search declaration, in every spelling.

OpenAI's tool comes under four names (`web_search`, its preview, and a dated version of each). OpenRouter
adds a server tool with `parameters`, a deprecated plugin that always searches, and the deprecated model
suffix `:online`. All become `SearchOptions`; the spelling and whatever else stood there are kept beside them.
A provider that wants a spelling of its own says so there: `extras["openai_responses"]["type"]` may be any
name of the tool, `openrouter:web_search`, or `plugin`.

`max_tool_calls` limits all built-in tools together, so it is taken for the limit of searches, and written as
such, only where search is the one built-in tool.
"""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.dialects.openai_responses.wire import NAME, native
from groundwire.model import JsonObject, Location, SearchOptions
from groundwire.model.request import ContextSize
from groundwire.model.value import replace, value

TOOL = "web_search"
PREVIEWS = frozenset({"web_search_preview", "web_search_preview_2025_03_11"})
HOSTED = frozenset({TOOL, "web_search_2025_08_26"}) | PREVIEWS
SERVER_TOOL = "openrouter:web_search"
PLUGIN = "plugin"
ONLINE = "online"
SUFFIX = ":online"
TOOLS = HOSTED | {SERVER_TOOL}

_SIZES: dict[str, ContextSize] = {"low": "low", "medium": "medium", "high": "high"}
_PLACE = ("country", "region", "city", "timezone")
_KNOWN = ("type", "user_location", "max_uses", "max_results", "external_web_access")


def decode_tool(tool: Fields) -> SearchOptions:
    """A search tool, OpenAI's or OpenRouter's."""
    kind = tool.text("type")
    if kind == SERVER_TOOL:
        return _decode(tool.obj("parameters"), kind, "allowed_domains", "excluded_domains")
    filters = tool.obj("filters")
    options = _decode(tool, kind, "", "", "filters")
    # OpenRouter and xAI call the second list `excluded_domains`.
    blocked = filters.texts("blocked_domains") or filters.texts("excluded_domains")
    return replace(options, allowed_domains=filters.texts("allowed_domains"), blocked_domains=blocked)


def decode_plugin(plugin: Fields) -> SearchOptions:
    """OpenRouter's `web` plugin."""
    return _decode(plugin, PLUGIN, "include_domains", "exclude_domains", "id", "enabled")


def online_search() -> SearchOptions:
    """What the suffix of a model asks for."""
    return SearchOptions(extras={NAME: {"type": ONLINE}})


def fill(first: SearchOptions, second: SearchOptions) -> SearchOptions:
    """Two declarations as one: the first holds, the second fills what it leaves open."""
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


def _decode(fields: Fields, kind: str, allowed: str, blocked: str, *known: str) -> SearchOptions:
    size = fields.text("search_context_size")
    known = (*_KNOWN, *known, allowed, blocked, *(["search_context_size"] if size in _SIZES else []))
    return SearchOptions(
        allowed_domains=fields.texts(allowed),
        blocked_domains=fields.texts(blocked),
        location=_decode_location(fields),
        max_uses=fields.integer("max_uses"),
        max_sources=fields.integer("max_results"),
        context_size=_SIZES.get(size),
        live=fields.flag("external_web_access"),
        extras={NAME: {"type": kind, **fields.rest(*known)}},
    )


def _decode_location(fields: Fields) -> Location | None:
    """`{"type": "approximate"}` alone is somewhere; to leave it out means the United States."""
    if not fields.has("user_location"):
        return None
    place = fields.obj("user_location")
    return Location(place.text("country"), place.text("region"), place.text("city"), place.text("timezone"))


@value
class Declaration:
    """A search in the words of a request body: a tool or a plugin, and what has no words."""

    tool: JsonObject | None = None
    plugin: JsonObject | None = None
    max_tool_calls: int | None = None
    unsupported: tuple[str, ...] = ()

    @property
    def is_openai(self) -> bool:
        """Can the sources be asked for by `include`? OpenRouter refuses that."""
        return self.tool is not None and self.tool["type"] != SERVER_TOOL


def encode_search(search: SearchOptions, model: str, *, alone: bool) -> Declaration:
    """The declaration, in the spelling its extras name. `alone`: no other built-in tool stands beside it."""
    kind = native(search.extras).get("type")
    if kind == SERVER_TOOL:
        parameters = _encode(search, "allowed_domains", "excluded_domains")
        tool: JsonObject = {"type": SERVER_TOOL, "parameters": parameters}
        return Declaration(tool, unsupported=_unsaid(search, "live"))
    if kind == PLUGIN:
        plugin = {"id": "web", **_encode(search, "include_domains", "exclude_domains")}
        return Declaration(plugin=plugin, unsupported=_unsaid(search, "live"))
    if kind == ONLINE and model.endswith(SUFFIX):
        return Declaration()
    unsupported = _unsaid(search, "max_sources", *(() if alone else ("max_uses",)))
    return Declaration(encode_hosted(search), None, search.max_uses if alone else None, unsupported)


def encode_hosted(search: SearchOptions) -> JsonObject:
    """OpenAI's own tool. The preview knows neither filters nor `external_web_access`."""
    kept = {key: value for key, value in native(search.extras).items() if key != "type"}
    kind = native(search.extras).get("type")
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
    return _with_hints(tool, search)


def echo_search(search: SearchOptions) -> JsonObject:
    """The tool as a response repeats it: with its defaults, and without `external_web_access`."""
    tool = encode_hosted(search)
    tool.pop("external_web_access", None)
    tool.setdefault("filters", None)
    tool.setdefault("search_context_size", "medium")
    told = tool.get("user_location", {"country": "US"})
    place = told if isinstance(told, dict) else {}
    tool["user_location"] = {"type": "approximate", **{key: place.get(key) for key in _PLACE}}
    return tool


def _encode(search: SearchOptions, allowed: str, blocked: str) -> JsonObject:
    """OpenRouter's parameters."""
    body = {key: value for key, value in native(search.extras).items() if key != "type"}
    if search.allowed_domains:
        body[allowed] = list(search.allowed_domains)
    if search.blocked_domains:
        body[blocked] = list(search.blocked_domains)
    if search.max_uses is not None:
        body["max_uses"] = search.max_uses
    if search.max_sources is not None:
        body["max_results"] = search.max_sources
    return _with_hints(body, search)


def _with_hints(body: JsonObject, search: SearchOptions) -> JsonObject:
    if search.context_size is not None:
        body["search_context_size"] = search.context_size
    if search.location is not None:
        place = {key: getattr(search.location, key) for key in _PLACE}
        body["user_location"] = {"type": "approximate"} | {
            key: value for key, value in place.items() if value
        }
    return body


def _unsaid(search: SearchOptions, *more: str) -> tuple[str, ...]:
    names = ("language", "since", "until", *more)
    found = [name for name in names if getattr(search, name) not in ("", None)]
    place = search.location
    if place is not None and place.latitude is not None and not any(getattr(place, key) for key in _PLACE):
        found.append("location")
    return tuple(found)
