"""SearXNG's JSON API.

A server answers with 403 if an output format is not switched on. Only `json` is available here; for all other
formats, the HTML page included, the answer is 403.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from groundwire.dialects.base import ErrorBody
from groundwire.dialects.fields import Fields
from groundwire.errors import ClientWireError, GroundwireError, TurnedAway
from groundwire.faces.gateway.search_apis.api import (
    TIME_RANGES,
    FoundPages,
    LinkQuery,
    SearchApi,
    integer_of,
    language_code,
)
from groundwire.model import Json, JsonObject
from groundwire.tools.find import MAX_LINKS, Link

PAGE_SIZE = 10
_WITHOUT_PAGES = frozenset({"images", "videos", "music", "files", "map"})
"""Categories whose results are not web pages."""


def decode(fields: Fields) -> LinkQuery:
    """Decode the parameters."""
    query = fields.text("q").strip()
    if not query:
        raise ClientWireError("No query", "$.q")
    if fields.text("format").lower() != "json":
        raise TurnedAway(status=403, message="only format=json is available here")
    number = integer_of(fields, "pageno") or 1
    if number * PAGE_SIZE > MAX_LINKS:
        raise ClientWireError(f"at most {MAX_LINKS // PAGE_SIZE} pages of results", "$.pageno")
    period = fields.text("time_range")
    if period and period not in TIME_RANGES:
        raise ClientWireError(f"expected one of {', '.join(TIME_RANGES)}", "$.time_range")
    categories = {name.strip() for name in fields.text("categories").split(",") if name.strip()}
    arguments: JsonObject = {
        "query": query,
        "count": number * PAGE_SIZE,
        "language": language_code(fields.text("language")),
        "since": TIME_RANGES.get(period, ""),
    }
    is_available = not categories or not categories <= _WITHOUT_PAGES
    return LinkQuery(arguments, (number - 1) * PAGE_SIZE, is_available=is_available)


def encode(query: LinkQuery, pages: FoundPages) -> Json:
    """Encode the results."""
    found = pages.found
    first = query.skip + 1
    return {
        "query": found.query,
        "number_of_results": len(found.links),
        "results": [_result(link, first + position) for position, link in enumerate(found.links)],
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [],
    }


def _result(link: Link, position: int) -> JsonObject:
    parts = urlsplit(link.url)
    return {
        "url": link.url,
        "title": link.title,
        "content": link.snippet,
        "engine": link.engine,
        "engines": [link.engine],
        "score": link.score,
        "category": "general",
        "publishedDate": link.date or None,
        "parsed_url": [parts.scheme, parts.netloc, parts.path, "", parts.query, parts.fragment],
        "template": "default.html",
        "positions": [position],
        "thumbnail": "",
    }


def encode_error(error: GroundwireError) -> ErrorBody:
    """Encode an error."""
    message = error.reason if isinstance(error, ClientWireError) else error.message
    return ErrorBody(error.status_hint, {"error": message})


SEARXNG = SearchApi(decode, encode, encode_error)
