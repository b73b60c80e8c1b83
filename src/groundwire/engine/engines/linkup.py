"""Linkup. Its results are excerpts of the pages."""

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
)
from groundwire.engine.engines.results import SearchHit, make_hit
from groundwire.model import JsonObject
from groundwire.transport.http import HttpRequest


def _request(search: ServiceQuery) -> HttpRequest:
    options = search.options
    body: JsonObject = {
        "q": search.query,
        "depth": "standard",
        "outputType": "searchResults",
        "maxResults": search.limit,
        "includeDomains": [*plain_domains(options.allowed_domains)],
        "excludeDomains": [*plain_domains(options.blocked_domains)],
        "fromDate": options.since[:10],
        "toDate": options.until[:10],
    }
    return json_call(f"{search.base_url}/search", body, bearer_header(search.key))


def _response(body: Fields) -> tuple[SearchHit, ...]:
    found = (
        make_hit(item.text("url"), item.text("name"), text=item.text("content"))
        for item in body.objs("results")
        if item.text("type") in ("", "text")
    )
    return tuple(hit for hit in found if hit)


def _explain(body: Fields) -> ServiceError:
    error = body.obj("error")
    return ServiceError(error.text("code"), error.text("message"))


SPEC = ApiEngineSpec(
    name="linkup",
    title="Linkup",
    base_url="https://api.linkup.so/v1",
    request=_request,
    response=_response,
    explain=_explain,
    empty_codes=frozenset({"SEARCH_QUERY_NO_RESULT"}),
    lookups=(Lookup("environment", "LINKUP_API_KEY"), Lookup("own", "linkup")),
    missing="MISSING_LINKUP_API_KEY",
    advice="Set LINKUP_API_KEY, or run `groundwire login linkup`.",
    honours=DOMAIN_LISTS | {"since", "until"},
)
