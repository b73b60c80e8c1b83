"""Tavily: `/search`, and `/extract`, which reads pages through the SSRF guard."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING

from groundwire.dialects.base import ErrorBody
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json
from groundwire.errors import ClientWireError, GroundwireError, InvalidArguments
from groundwire.faces.gateway.search_apis.api import (
    TIME_RANGES,
    FoundPages,
    LinkQuery,
    SearchApi,
    domain_of_entry,
    read_fields,
    read_pages,
    respond_unless_left,
)
from groundwire.model import Json, JsonObject
from groundwire.server.asgi import JSON, HttpExchange
from groundwire.server.response_writer import ResponseInfo
from groundwire.server.routes import Route
from groundwire.tools.find import Link

if TYPE_CHECKING:
    from groundwire.engine.pages import Page
    from groundwire.server.app import HttpApp, RequestContext

_DEFAULT_RESULTS = 5
_MAX_URLS = 20
_PERIODS: Mapping[str, str] = {**TIME_RANGES, **{name[0]: length for name, length in TIME_RANGES.items()}}
"""A period may be written as its first letter."""


def decode(fields: Fields) -> LinkQuery:
    """Decode a search."""
    period = fields.text("time_range")
    if period and period not in _PERIODS:
        raise ClientWireError(f"expected one of {', '.join(TIME_RANGES)}", "$.time_range")
    days = fields.integer("days")
    count = fields.integer("max_results")
    arguments: JsonObject = {
        "query": fields.text("query"),
        "count": _DEFAULT_RESULTS if count is None else max(count, 1),
        "allowed_domains": [domain_of_entry(entry) for entry in fields.texts("include_domains")],
        "blocked_domains": [domain_of_entry(entry) for entry in fields.texts("exclude_domains")],
        "since": fields.text("start_date") or _PERIODS.get(period) or (f"{days}d" if days else ""),
        "until": fields.text("end_date"),
        "language": fields.text("language"),
    }
    return LinkQuery(
        arguments,
        wants_answer=bool(fields.get("include_answer")),
        wants_pages=bool(fields.get("include_raw_content")),
    )


def encode(query: LinkQuery, pages: FoundPages) -> Json:
    """Encode the results."""
    return {
        "query": pages.found.query,
        "answer": pages.found.answer if query.wants_answer else None,
        "follow_up_questions": None,
        "images": [],
        "results": [_result(link, pages.texts.get(link.url)) for link in pages.found.links],
        "response_time": pages.seconds,
        "request_id": pages.request_id,
    }


def _result(link: Link, text: str | None) -> JsonObject:
    dated: JsonObject = {"published_date": link.date} if link.date else {}
    return {
        "url": link.url,
        "title": link.title,
        "content": link.snippet,
        "score": link.score,
        "raw_content": text,
        **dated,
    }


def encode_error(error: GroundwireError) -> ErrorBody:
    """Encode an error."""
    return ErrorBody(error.status_hint, {"detail": {"error": error.message}})


TAVILY = SearchApi(decode, encode, encode_error)


async def extract(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
    """Read pages, and send their texts and the errors of those that cannot be read."""
    began = monotonic()
    fields = await read_fields(context.exchange, app.max_body_bytes)
    given = fields.get("urls")
    urls = (given,) if isinstance(given, str) else fields.texts("urls")
    if not 0 < len(urls) <= _MAX_URLS:
        raise InvalidArguments(f"urls: between 1 and {_MAX_URLS} are possible")
    info = ResponseInfo(context.request_id)

    async def respond() -> None:
        pages = await read_pages(app, urls)
        body = _extracted(pages, monotonic() - began, context.request_id)
        await context.exchange.respond(200, info.headers(JSON), dump_json(body).encode())

    await respond_unless_left(context, info, respond())


def _extracted(pages: Mapping[str, Page | GroundwireError], seconds: float, request_id: str) -> JsonObject:
    results: list[Json] = []
    failed: list[Json] = []
    for url, page in pages.items():
        if isinstance(page, GroundwireError):
            failed.append({"url": url, "error": page.message})
        else:
            results.append({"url": url, "title": page.title, "raw_content": page.text, "images": []})
    return {
        "results": results,
        "failed_results": failed,
        "response_time": round(seconds, 2),
        "request_id": request_id,
    }


def _encode_route_error(error: GroundwireError, _: HttpExchange) -> ErrorBody:
    return encode_error(error)


EXTRACT_ROUTE = Route(
    "POST",
    "/extract",
    extract,
    about="Tavily Extract: the texts of pages.",
    group="search",
    encode_error=_encode_route_error,
)
