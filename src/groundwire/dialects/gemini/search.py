"""Search declarations: `googleSearch`, its predecessor `googleSearchRetrieval`, and `enterpriseWebSearch`.

Only the Developer API has a time range, which needs both ends. Only Vertex AI can exclude domains, so it
must be selected with `extras["gemini"] = {"vertex": true}`. There is no list of allowed domains, no limit
of uses and no context size. The user's location can only be given as coordinates, in
`toolConfig.retrievalConfig`, where the language is too.
"""

from __future__ import annotations

from typing import NamedTuple

from groundwire.dialects.fields import Fields
from groundwire.model import JsonObject, Location, SearchOptions

NAME = "gemini"
GOOGLE_SEARCH = "googleSearch"
DECLARED_SEARCH_TOOLS = (GOOGLE_SEARCH, "googleSearchRetrieval", "enterpriseWebSearch")
_TOOL_KEY = "tool"
_VERTEX_KEY = "vertex"
_PRIVATE_KEYS = frozenset({_TOOL_KEY, _VERTEX_KEY})


class GoogleSearchTool(NamedTuple):
    """An encoded search: an entry of `tools`, the retrieval config, and the options neither can express."""

    tool: JsonObject
    retrieval: JsonObject
    unsupported: tuple[str, ...]


def decode_search(name: str, tool: Fields, retrieval: Fields) -> SearchOptions:
    """Decode the options of a search tool and of the retrieval config."""
    declared = tool.obj(name)
    period = declared.obj("timeRangeFilter")
    point = retrieval.obj("latLng")
    location = Location(latitude=point.number("latitude"), longitude=point.number("longitude"))
    rest = declared.rest("timeRangeFilter", "excludeDomains")
    if name != GOOGLE_SEARCH:
        rest[_TOOL_KEY] = name
    return SearchOptions(
        blocked_domains=tuple(domain for domain in declared.texts("excludeDomains") if domain),
        location=location if location != Location() else None,
        language=retrieval.text("languageCode"),
        since=period.text("startTime"),
        until=period.text("endTime"),
        extras=extras_of(rest),
    )


def encode_search(search: SearchOptions) -> GoogleSearchTool:
    """Encode a search declaration."""
    extras = search.extras.get(NAME, {})
    vertex = extras.get(_VERTEX_KEY) is True
    name = extras.get(_TOOL_KEY)
    tool: JsonObject = {key: value for key, value in extras.items() if key not in _PRIVATE_KEYS}
    retrieval: JsonObject = {}
    if has_period := bool(search.since and search.until and not vertex):
        tool["timeRangeFilter"] = {"startTime": search.since, "endTime": search.until}
    if vertex and search.blocked_domains:
        tool["excludeDomains"] = list(search.blocked_domains)
    if point := _encode_point(search.location):
        retrieval["latLng"] = point
    if search.language:
        retrieval["languageCode"] = search.language
    unsupported = {
        "allowed_domains": search.allowed_domains,
        "blocked_domains": search.blocked_domains and not vertex,
        "location": search.location is not None and search.location != Location() and not point,
        "since": search.since and not has_period,
        "until": search.until and not has_period,
        "max_uses": search.max_uses is not None,
        "max_sources": search.max_sources is not None,
        "context_size": search.context_size,
        "live": search.live is not None,
    }
    return GoogleSearchTool(
        {name if isinstance(name, str) else GOOGLE_SEARCH: tool},
        retrieval,
        tuple(option for option, is_lost in unsupported.items() if is_lost),
    )


def is_vertex(search: SearchOptions | None) -> bool:
    """Whether this is for Vertex AI, a different server with nearly the same dialect."""
    return search is not None and search.extras.get(NAME, {}).get(_VERTEX_KEY) is True


def _encode_point(location: Location | None) -> JsonObject:
    if location is None or location.latitude is None or location.longitude is None:
        return {}
    return {"latitude": location.latitude, "longitude": location.longitude}


def extras_of(rest: JsonObject) -> dict[str, JsonObject]:
    """Extras of this dialect that hold the remaining fields of an object; empty if there are none."""
    return {NAME: rest} if rest else {}


SERVER_PART = "part"
"""The key in the extras of a search for the server tool part it was decoded from."""
