"""Tavily."""

from __future__ import annotations

from groundwire.credentials.lookup import Lookup
from groundwire.dialects.fields import Fields
from groundwire.engine.engines.api import (
    DOMAIN_LISTS,
    ApiEngineSpec,
    ServiceError,
    ServiceQuery,
    bearer_header,
    json_call,
    plain_domains,
    truncate_query,
)
from groundwire.engine.engines.results import SearchHit, make_hit
from groundwire.errors import QuotaExhausted
from groundwire.model import JsonObject
from groundwire.model.value import replace
from groundwire.transport.http import Deadlines, HttpRequest

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
    return json_call(f"{search.base_url}/search", body, bearer_header(search.key))


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
    if body.has("detail"):
        return ServiceError(message=body.obj("detail").text("error"))
    error = body.obj("error")  # of a request without a key
    return ServiceError(error.text("code"), error.text("message"))


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
    advice="Set TAVILY_API_KEY, or run `groundwire login tavily`.",
    honours=DOMAIN_LISTS | {"since", "until"},
)


def _keyless_request(search: ServiceQuery) -> HttpRequest:
    call = _request(search)
    headers = {name: text for name, text in call.headers.items() if name != "authorization"}
    return replace(call, headers={**headers, "x-tavily-access-mode": "keyless"})


KEYLESS = replace(
    SPEC,
    title="Tavily without a key",
    request=_keyless_request,
    lookups=(),
    missing="",
    advice="Wait a little, set TAVILY_API_KEY, or run `groundwire login tavily`.",
    deadlines=Deadlines(connect=3.0, first_byte=8.0, idle=5.0, total=10.0),
)
"""The same service for anybody, with a limit for each address."""
