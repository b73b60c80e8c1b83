"""Parallel. Its results are excerpts of the pages."""

from __future__ import annotations

from groundwire.credentials.lookup import Lookup
from groundwire.dialects.fields import Fields
from groundwire.engine.engines.api import (
    DOMAIN_LISTS,
    ApiEngineSpec,
    ServiceError,
    ServiceQuery,
    json_call,
    one_domain_list,
    truncate_query,
)
from groundwire.engine.engines.results import SearchHit, make_hit
from groundwire.model import JsonObject, Location
from groundwire.transport.http import HttpRequest

_MOST = 40
_LONGEST_QUERY = 200
_LONGEST_OBJECTIVE = 5000


def _request(search: ServiceQuery) -> HttpRequest:
    options = search.options
    allowed, blocked = one_domain_list(options)
    policy: JsonObject = {
        "include_domains": allowed,
        "exclude_domains": blocked,
        "after_date": options.since[:10],
    }
    settings: JsonObject = {
        "max_results": min(search.limit, _MOST),
        "location": (options.location or Location()).country.lower(),
        "source_policy": {name: item for name, item in policy.items() if item},
    }
    body: JsonObject = {
        "objective": search.query[:_LONGEST_OBJECTIVE],
        "search_queries": [truncate_query(search.query, _LONGEST_QUERY, _LONGEST_QUERY)],
        "mode": "basic",
        "advanced_settings": {name: item for name, item in settings.items() if item},
    }
    return json_call(f"{search.base_url}/v1/search", body, {"x-api-key": search.key.reveal()})


def _response(body: Fields) -> tuple[SearchHit, ...]:
    found = (
        make_hit(
            item.text("url"),
            item.text("title"),
            text="\n\n".join(item.texts("excerpts")),
            published=item.text("publish_date"),
        )
        for item in body.objs("results")
    )
    return tuple(hit for hit in found if hit)


def _explain(body: Fields) -> ServiceError:
    return ServiceError(message=body.obj("error").text("message"))


SPEC = ApiEngineSpec(
    name="parallel",
    title="Parallel",
    base_url="https://api.parallel.ai",
    request=_request,
    response=_response,
    explain=_explain,
    lookups=(Lookup("environment", "PARALLEL_API_KEY"), Lookup("own", "parallel")),
    missing="MISSING_PARALLEL_API_KEY",
    advice="Set PARALLEL_API_KEY, or run `groundwire login parallel`.",
    honours=DOMAIN_LISTS | {"location", "since"},
)
