"""`/search`, which SearXNG, Tavily and Perplexity share, and the routes of all search APIs.

A form, parameters in the URL or a field `q` are SearXNG's. A JSON body is Tavily's, unless it has a field of
Perplexity or comes from Perplexity's client.
"""

from __future__ import annotations

from groundwire.dialects.base import ErrorBody
from groundwire.dialects.fields import Fields
from groundwire.errors import GroundwireError
from groundwire.faces.gateway.search_apis.api import SearchApi, search_endpoint
from groundwire.faces.gateway.search_apis.find import FIND_ROUTES
from groundwire.faces.gateway.search_apis.ollama import OLLAMA_ROUTES
from groundwire.faces.gateway.search_apis.open_webui import OPEN_WEBUI_ROUTES
from groundwire.faces.gateway.search_apis.perplexity import FIELDS as PERPLEXITY_FIELDS
from groundwire.faces.gateway.search_apis.perplexity import PERPLEXITY
from groundwire.faces.gateway.search_apis.searxng import SEARXNG
from groundwire.faces.gateway.search_apis.tavily import EXTRACT_ROUTE, TAVILY
from groundwire.server.asgi import JSON, HttpExchange
from groundwire.server.routes import Route


def choose_api(exchange: HttpExchange, fields: Fields) -> SearchApi:
    """The API of a request, by its fields."""
    if exchange.method == "GET" or "query" not in fields.raw:
        return api_of_head(exchange) if exchange.method != "GET" and "q" not in fields.raw else SEARXNG
    if isinstance(fields.get("query"), list) or not PERPLEXITY_FIELDS.isdisjoint(fields.raw):
        return PERPLEXITY
    return api_of_head(exchange)


def api_of_head(exchange: HttpExchange) -> SearchApi:
    """The API of a request whose body is not read yet."""
    if exchange.headers.get("user-agent", "").lower().startswith(("perplexity", "asyncperplexity")):
        return PERPLEXITY
    is_json = exchange.headers.get("content-type", "").lower().startswith(JSON)
    return TAVILY if exchange.method == "POST" and is_json else SEARXNG


def encode_error(error: GroundwireError, exchange: HttpExchange) -> ErrorBody:
    """Encode an error before the body is read."""
    return api_of_head(exchange).encode_error(error)


SEARCH_API_ROUTES: tuple[Route, ...] = (
    *FIND_ROUTES,
    Route(
        "GET",
        "/search",
        search_endpoint(choose_api),
        about="SearXNG's JSON API; `format=json` is required.",
        group="search",
        encode_error=encode_error,
    ),
    Route(
        "POST",
        "/search",
        search_endpoint(choose_api),
        about="Tavily Search, Perplexity Search, or SearXNG's JSON API as a form.",
        group="search",
        encode_error=encode_error,
    ),
    EXTRACT_ROUTE,
    *OLLAMA_ROUTES,
    *OPEN_WEBUI_ROUTES,
)
