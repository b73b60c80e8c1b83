"""The `google_search` tool declaration, and what search steps share on the wire.

There are no options for domains, time, location or language.
"""

from __future__ import annotations

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields
from groundwire.model import Extras, Json, JsonObject, SearchOptions, Source

NAME = "gemini_interactions"
SEARCH_TOOL = "google_search"
MARK: Extras = {NAME: {}}
"""Marks a value as made by this dialect."""


def decode_search(tool: Fields) -> SearchOptions:
    """Decode a search declaration; its fields (`search_types`, …) have no canonical meaning."""
    rest = tool.rest("type")
    return SearchOptions(extras={NAME: rest} if rest else {})


def encode_search(search: SearchOptions) -> Encoded:
    """Encode search options as a declaration, and name the options it has no field for."""
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
    return Encoded(
        {"type": SEARCH_TOOL, **own_extras(search.extras)},
        tuple(name for name, value in options.items() if value),
    )


def marked_extras(rest: JsonObject) -> Extras:
    """Extras with the mark of this dialect and the fields of `rest` that are not empty."""
    given: JsonObject = {key: value for key, value in rest.items() if value is not None and value != ""}
    return {NAME: given} if given else MARK


def own_extras(extras: Extras) -> JsonObject:
    """The extras of this dialect."""
    return extras.get(NAME, {})


def encode_queries(queries: tuple[str, ...]) -> JsonObject:
    """Encode the `arguments` of a search call."""
    return {"queries": list(queries)} if queries else {}


def encode_result_items(sources: tuple[Source, ...], suggestions: str) -> list[Json]:
    """Encode the `result` of a search."""
    items: list[Json] = [{"search_suggestions": suggestions}] if suggestions else []
    items += (with_title({"url": source.url} if source.url else {}, source) for source in sources)
    return items


def with_title(item: JsonObject, source: Source) -> JsonObject:
    """Add the title of a source to its result item, if it has one."""
    return item | {"title": source.title} if source.title else item
