"""Open WebUI's search engine `external`: a query and a count, answered with a list."""

from __future__ import annotations

from groundwire.dialects.base import ErrorBody
from groundwire.dialects.fields import Fields
from groundwire.errors import GroundwireError
from groundwire.faces.gateway.search_apis.api import (
    FoundPages,
    LinkQuery,
    SearchApi,
    error_encoder,
    search_endpoint,
)
from groundwire.model import Json
from groundwire.server.routes import Route


def decode(fields: Fields) -> LinkQuery:
    """Decode a search."""
    return LinkQuery({"query": fields.text("query"), "count": fields.integer("count")})


def encode(_: LinkQuery, pages: FoundPages) -> Json:
    """Encode the results."""
    return [{"link": link.url, "title": link.title, "snippet": link.snippet} for link in pages.found.links]


def encode_error(error: GroundwireError) -> ErrorBody:
    """Encode an error."""
    return ErrorBody(error.status_hint, {"detail": error.message})


OPEN_WEBUI = SearchApi(decode, encode, encode_error)
OPEN_WEBUI_ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/external",
        search_endpoint(OPEN_WEBUI),
        about="The search engine `external` of Open WebUI.",
        group="search",
        encode_error=error_encoder(OPEN_WEBUI),
    ),
)
