"""The `google_search` tool declaration, and what search steps share on the wire.

There are no options for domains, time, location or language.
"""

from __future__ import annotations

from groundwire.model import Extras, Json, JsonObject, SearchOptions, Source

NAME = "gemini_interactions"
MARK: Extras = {NAME: {}}


def marked_extras(rest: JsonObject) -> Extras:
    """Extras that carry our name and whatever of `rest` says something."""
    said: JsonObject = {key: value for key, value in rest.items() if value is not None and value != ""}
    return {NAME: said} if said else MARK


def own_extras(extras: Extras) -> JsonObject:
    """What this dialect left with a value."""
    return extras.get(NAME, {})


SEARCH_TOOL = "google_search"


def unsupported_options(search: SearchOptions) -> list[str]:
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


def encode_queries(queries: tuple[str, ...]) -> JsonObject:
    return {"queries": list(queries)} if queries else {}


def encode_result_items(sources: tuple[Source, ...], suggestions: str) -> list[Json]:
    items: list[Json] = [{"search_suggestions": suggestions}] if suggestions else []
    items += (with_title({"url": source.url} if source.url else {}, source) for source in sources)
    return items


def with_title(item: JsonObject, source: Source) -> JsonObject:
    return item | {"title": source.title} if source.title else item
