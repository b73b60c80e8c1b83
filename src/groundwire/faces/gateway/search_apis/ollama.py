"""Ollama's hosted search: `/api/web_search` and `/api/web_fetch`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from groundwire.dialects.base import ErrorBody
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json
from groundwire.errors import GroundwireError
from groundwire.faces.gateway.search_apis.api import (
    FoundPages,
    LinkQuery,
    SearchApi,
    error_encoder,
    read_fields,
    read_page,
    respond_unless_left,
    search_endpoint,
)
from groundwire.model import Json, JsonObject
from groundwire.server.asgi import JSON
from groundwire.server.response_writer import ResponseInfo
from groundwire.server.routes import Route

if TYPE_CHECKING:
    from groundwire.server.app import HttpApp, RequestContext

_DEFAULT_RESULTS = 5


def decode(fields: Fields) -> LinkQuery:
    """Decode a search."""
    count = fields.integer("max_results")
    arguments: JsonObject = {
        "query": fields.text("query"),
        "count": _DEFAULT_RESULTS if count is None else max(count, 1),
    }
    return LinkQuery(arguments)


def encode(_: LinkQuery, pages: FoundPages) -> Json:
    """Encode the results."""
    results: list[Json] = [
        {"title": link.title, "url": link.url, "content": link.snippet} for link in pages.found.links
    ]
    return {"results": results}


def encode_error(error: GroundwireError) -> ErrorBody:
    """Encode an error."""
    return ErrorBody(error.status_hint, {"error": error.message})


OLLAMA = SearchApi(decode, encode, encode_error)


async def web_fetch(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
    """Read one page, and send its title and text. Its links are not listed."""
    fields = await read_fields(context.exchange, app.max_body_bytes)
    url = fields.text("url").strip()
    info = ResponseInfo(context.request_id)

    async def respond() -> None:
        page = await read_page(app, url)
        body: JsonObject = {"title": page.title, "content": page.text, "links": []}
        await context.exchange.respond(200, info.headers(JSON), dump_json(body).encode())

    await respond_unless_left(context, info, respond())


OLLAMA_ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/api/web_search",
        search_endpoint(OLLAMA),
        about="Ollama's web search.",
        group="search",
        encode_error=error_encoder(OLLAMA),
    ),
    Route(
        "POST",
        "/api/web_fetch",
        web_fetch,
        about="Ollama's web fetch: title and text of a page.",
        group="search",
        encode_error=error_encoder(OLLAMA),
    ),
)
