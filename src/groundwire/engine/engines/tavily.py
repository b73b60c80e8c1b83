"""Tavily."""

from __future__ import annotations

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.redact import UnshownHeaders
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json
from groundwire.engine.engines.api import (
    DOMAIN_LISTS,
    ApiEngineSpec,
    ServiceError,
    ServiceQuery,
    plain_domains,
    truncate_query,
)
from groundwire.engine.engines.results import SearchHit, make_hit
from groundwire.errors import QuotaExhausted
from groundwire.model import JsonObject
from groundwire.transport.http import HttpRequest

_MOST = 20
_LONGEST_QUERY = 400


def _request(search: ServiceQuery) -> HttpRequest:
    options = search.options
    body: JsonObject = {
        "query": truncate_query(search.query, _LONGEST_QUERY, _LONGEST_QUERY),
        "max_results": min(search.limit, _MOST),
        "include_raw_content": "text",
        "include_domains": [*plain_domains(options.allowed_domains)],
        "exclude_domains": [*plain_domains(options.blocked_domains)],
        "start_date": options.since[:10],
        "end_date": options.until[:10],
    }
    headers = {
        "accept": "application/json",
        "content-type": "application/json",
        "authorization": f"Bearer {search.key.reveal()}",
    }
    non_empty: JsonObject = {name: item for name, item in body.items() if item}
    return HttpRequest(
        "POST", f"{search.base_url}/search", UnshownHeaders(headers), dump_json(non_empty).encode()
    )


def _response(body: Fields) -> tuple[SearchHit, ...]:
    found = (
        make_hit(
            item.text("url"),
            item.text("title"),
            snippet=item.text("content"),
            text=item.text("raw_content"),
            published=item.text("published_date"),
        )
        for item in body.objs("results")
    )
    return tuple(hit for hit in found if hit)


def _explain(body: Fields) -> ServiceError:
    return ServiceError(message=body.obj("detail").text("error"))


SPEC = ApiEngineSpec(
    name="tavily",
    title="Tavily",
    base_url="https://api.tavily.com",
    request=_request,
    response=_response,
    explain=_explain,
    statuses={432: QuotaExhausted, 433: QuotaExhausted},
    lookups=(Lookup("environment", "TAVILY_API_KEY"), Lookup("own", "tavily")),
    missing="MISSING_TAVILY_API_KEY",
    advice="Set TAVILY_API_KEY.",
    honours=DOMAIN_LISTS | {"since", "until"},
)
