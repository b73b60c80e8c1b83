"""Web search tool declaration, from `web_search_20250305` on, and the names that search blocks share.

All versions share the options with a canonical meaning. The version itself and the fields that only it has
(`allowed_callers`, `response_inclusion`, `search_profile`, …) are kept verbatim.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields
from groundwire.model import JsonObject, Location, SearchOptions, Source

NAME = "anthropic_messages"
TOOL_NAME = "web_search"
DEFAULT_TYPE = "web_search_20250305"
_TOOL_FIELDS = ("name", "allowed_domains", "blocked_domains", "user_location", "max_uses")
_LOCATION_FIELDS = ("country", "region", "city", "timezone")


def is_search_tool(tool: Fields) -> bool:
    """Whether a tool is the web search tool, by prefix, so that future versions are recognised."""
    return tool.text("type").startswith("web_search_")


def decode_search(tool: Fields) -> SearchOptions:
    """Decode a search declaration."""
    allowed, blocked = tool.texts("allowed_domains"), tool.texts("blocked_domains")
    if allowed and blocked:
        raise tool.fault("allowed_domains and blocked_domains cannot be used together", "blocked_domains")
    return SearchOptions(
        allowed_domains=allowed,
        blocked_domains=blocked,
        location=_decode_location(tool.obj("user_location")),
        max_uses=tool.integer("max_uses"),
        extras={NAME: tool.rest(*_TOOL_FIELDS)},
    )


def encode_search(options: SearchOptions) -> Encoded:
    """Encode a search declaration, and name the options it has no field for."""
    tool: JsonObject = {"type": DEFAULT_TYPE, "name": TOOL_NAME}
    if options.allowed_domains:
        tool["allowed_domains"] = list(options.allowed_domains)
    elif options.blocked_domains:
        tool["blocked_domains"] = list(options.blocked_domains)
    location = _encode_location(options.location)
    if location:
        tool["user_location"] = {"type": "approximate", **location}
    if options.max_uses is not None:
        tool["max_uses"] = options.max_uses
    tool.update(options.extras.get(NAME, {}))
    unsupported = {
        "blocked_domains": bool(options.allowed_domains and options.blocked_domains),
        "location": options.location is not None and not location,
        "language": bool(options.language),
        "since": bool(options.since),
        "until": bool(options.until),
        "max_sources": options.max_sources is not None,
        "context_size": options.context_size is not None,
        "live": options.live is False,
    }
    return Encoded(tool, tuple(name for name, missing in unsupported.items() if missing))


def _decode_location(location: Fields) -> Location | None:
    if not location.raw:
        return None
    return Location(
        location.text("country"), location.text("region"), location.text("city"), location.text("timezone")
    )


def _encode_location(location: Location | None) -> JsonObject:
    if location is None:
        return {}
    values: tuple[str, ...] = tuple(getattr(location, name) for name in _LOCATION_FIELDS)
    return {name: value for name, value in zip(_LOCATION_FIELDS, values, strict=True) if value}


SEARCH_ID_PREFIX = "srvtoolu_"
GROUNDWIRE_SEARCH_ID = re.compile(r"srvtoolu_gw(?:(\d{1,9})of(\d{1,9}))?_(.*)", re.DOTALL)


class ListedPage(NamedTuple):
    """A page in a list of results, and why it is listed."""

    source: Source
    found: bool = True
    """Whether a search found it; otherwise it is listed because the answer cites it."""
    quotes: tuple[str, ...] = ()
    """The quotes of citations for the answer as a whole, one for each citation; may be empty strings."""


WEB_CITATION = "web_search_result_location"
SEARCH_RESULT_CITATION = "search_result_location"
