"""Firecrawl."""

from __future__ import annotations

from groundwire.credentials.lookup import Lookup
from groundwire.dialects.fields import Fields
from groundwire.engine.engines.api import (
    DOMAIN_LISTS,
    ApiEngineSpec,
    ServiceError,
    ServiceQuery,
    bearer_header,
    google_time_range,
    json_call,
    one_domain_list,
)
from groundwire.engine.engines.results import SearchHit, make_hit
from groundwire.model import JsonObject, Location
from groundwire.transport.http import HttpRequest

_MOST = 100


def _request(search: ServiceQuery) -> HttpRequest:
    options = search.options
    allowed, blocked = one_domain_list(options)
    body: JsonObject = {
        "query": search.query,
        "limit": min(search.limit, _MOST),
        "sources": [{"type": "web"}],
        "country": (options.location or Location()).country.upper(),
        "tbs": google_time_range(options, search.today),
        "includeDomains": allowed,
        "excludeDomains": blocked,
    }
    return json_call(f"{search.base_url}/v2/search", body, bearer_header(search.key))


def _response(body: Fields) -> tuple[SearchHit, ...]:
    found = (
        make_hit(
            item.text("url"),
            item.text("title"),
            snippet=item.text("description"),
            text=item.text("markdown"),
        )
        for item in body.obj("data").objs("web")
    )
    return tuple(hit for hit in found if hit)


def _explain(body: Fields) -> ServiceError:
    return ServiceError(message=body.text("error"))


SPEC = ApiEngineSpec(
    name="firecrawl",
    title="Firecrawl",
    base_url="https://api.firecrawl.dev",
    request=_request,
    response=_response,
    explain=_explain,
    lookups=(Lookup("environment", "FIRECRAWL_API_KEY"), Lookup("own", "firecrawl")),
    missing="MISSING_FIRECRAWL_API_KEY",
    advice="Set FIRECRAWL_API_KEY, or run `groundwire login firecrawl`.",
    honours=DOMAIN_LISTS | {"location", "since", "until"},
)
