"""Perplexity's Search API, with one query in a request."""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.dialects.base import ErrorBody
from groundwire.dialects.fields import Fields
from groundwire.errors import ClientWireError, GroundwireError
from groundwire.faces.gateway.search_apis.api import (
    TIME_RANGES,
    FoundPages,
    LinkQuery,
    SearchApi,
    domain_of_entry,
    language_code,
)
from groundwire.model import Json, JsonObject

_DEFAULT_RESULTS = 10
FIELDS = frozenset(
    {
        *("max_tokens", "max_tokens_per_page", "search_context_size", "search_mode", "search_type"),
        *("search_domain_filter", "search_language_filter", "search_recency_filter"),
        *("search_after_date_filter", "search_before_date_filter", "display_server_time"),
        *("last_updated_after_filter", "last_updated_before_filter"),
    }
)
"""Fields that only Perplexity has."""


def decode(fields: Fields) -> LinkQuery:
    """Decode a search."""
    period = fields.text("search_recency_filter")
    if period and period not in TIME_RANGES:
        raise ClientWireError(f"expected one of {', '.join(TIME_RANGES)}", "$.search_recency_filter")
    domains = fields.texts("search_domain_filter")
    count = fields.integer("max_results")
    languages = fields.texts("search_language_filter")
    arguments: JsonObject = {
        "query": _query(fields),
        "count": _DEFAULT_RESULTS if count is None else max(count, 1),
        "allowed_domains": [domain_of_entry(name) for name in domains if not name.startswith("-")],
        "blocked_domains": [domain_of_entry(name[1:]) for name in domains if name.startswith("-")],
        "country": fields.text("country"),
        "language": language_code(languages[0]) if languages else "",
        "since": TIME_RANGES.get(period) or _date(fields, "search_after_date_filter"),
        "until": _date(fields, "search_before_date_filter"),
        "context_size": fields.text("search_context_size"),
    }
    return LinkQuery(arguments)


def _query(fields: Fields) -> str:
    if not isinstance(fields.get("query"), list):
        return fields.text("query")
    queries = fields.texts("query")
    if len(queries) != 1:
        raise ClientWireError("send one query in each request", "$.query")
    return queries[0]


def _date(fields: Fields, name: str) -> str:
    """A date, which is written as month/day/year."""
    text = fields.text(name)
    parts = text.split("/")
    if not text or len(parts) != 3 or not all(part.isdecimal() for part in parts):
        return text
    month, day, year = parts
    return f"{year:>04}-{month:>02}-{day:>02}"


def encode(_: LinkQuery, pages: FoundPages) -> Json:
    """Encode the results."""
    return {"id": pages.request_id, "results": list(_results(pages)), "server_time": None}


def _results(pages: FoundPages) -> Iterator[JsonObject]:
    for link in pages.found.links:
        date: Json = link.date or None
        yield {
            "title": link.title,
            "url": link.url,
            "snippet": link.snippet,
            "date": date,
            "last_updated": date,
        }


def encode_error(error: GroundwireError) -> ErrorBody:
    """Encode an error."""
    body: JsonObject = {"message": error.message, "type": error.code.lower(), "code": error.status_hint}
    return ErrorBody(error.status_hint, {"error": body})


PERPLEXITY = SearchApi(decode, encode, encode_error)
