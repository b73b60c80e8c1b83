"""SearXNG, on a server that the user configures."""

from __future__ import annotations

from urllib.parse import urlencode

from groundwire.dialects.fields import Fields
from groundwire.engine.engines.api import (
    DOMAIN_LISTS,
    ApiEngineSpec,
    ServiceQuery,
    time_span,
    with_site_operators,
)
from groundwire.engine.engines.results import SearchHit, make_hit
from groundwire.transport.http import HttpRequest

_SETTINGS = (
    "This SearXNG does not allow the JSON format (HTTP 403). Add json to search.formats in its settings.yml, "
    "and check that its limiter lets you in."
)


def _request(search: ServiceQuery) -> HttpRequest:
    options = search.options
    fields = {
        "q": with_site_operators(search.query, options),
        "format": "json",
        "language": options.language,
        "time_range": time_span(options.since, search.today) if options.since else "",
    }
    query = urlencode({name: text for name, text in fields.items() if text})
    return HttpRequest("GET", f"{search.base_url}/search?{query}", {"accept": "application/json"})


def _response(body: Fields) -> tuple[SearchHit, ...]:
    found = (
        make_hit(
            item.text("url"),
            item.text("title"),
            snippet=item.text("content"),
            published=item.text("publishedDate"),
        )
        for item in body.objs("results")
    )
    return tuple(hit for hit in found if hit)


SPEC = ApiEngineSpec(
    name="searxng",
    title="SearXNG",
    base_url="",
    base_url_env="SEARXNG_URL",
    request=_request,
    response=_response,
    remedies={403: _SETTINGS},
    missing="MISSING_SEARXNG_URL",
    advice="Set SEARXNG_URL to the address of a SearXNG server.",
    honours=DOMAIN_LISTS | {"language", "since"},
)
