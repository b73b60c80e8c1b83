"""Exa."""

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
)
from groundwire.engine.engines.results import SearchHit, make_hit
from groundwire.errors import AuthRejected, QuotaExhausted
from groundwire.model import JsonObject, Location
from groundwire.transport.http import HttpRequest

_MOST = 25
_LONGEST_PAGE = 20_000


def _request(search: ServiceQuery) -> HttpRequest:
    options = search.options
    allowed, blocked = one_domain_list(options)
    body: JsonObject = {
        "query": search.query,
        "numResults": min(search.limit, _MOST),
        "contents": {"text": {"maxCharacters": _LONGEST_PAGE}},
        "includeDomains": allowed,
        "excludeDomains": blocked,
        "startPublishedDate": _timestamp(options.since),
        "endPublishedDate": _timestamp(options.until),
        "userLocation": (options.location or Location()).country.upper(),
    }
    return json_call(f"{search.base_url}/search", body, {"x-api-key": search.key.reveal()})


def _timestamp(text: str) -> str:
    return f"{text[:10]}T00:00:00.000Z" if text and len(text) <= 10 else text


def _response(body: Fields) -> tuple[SearchHit, ...]:
    found = (
        make_hit(
            item.text("url"),
            item.text("title"),
            snippet="\n\n".join(item.texts("highlights")) or item.text("summary"),
            text=item.text("text"),
            published=item.text("publishedDate"),
        )
        for item in body.objs("results")
    )
    return tuple(hit for hit in found if hit)


def _explain(body: Fields) -> ServiceError:
    return ServiceError(body.text("tag"), body.text("error"))


SPEC = ApiEngineSpec(
    name="exa",
    title="Exa",
    base_url="https://api.exa.ai",
    request=_request,
    response=_response,
    explain=_explain,
    codes={
        "INVALID_API_KEY": AuthRejected,
        "NO_MORE_CREDITS": QuotaExhausted,
        "API_KEY_BUDGET_EXCEEDED": QuotaExhausted,
    },
    lookups=(Lookup("environment", "EXA_API_KEY"), Lookup("own", "exa")),
    missing="MISSING_EXA_API_KEY",
    advice="Set EXA_API_KEY, or run `groundwire login exa`.",
    honours=DOMAIN_LISTS | {"location", "since", "until"},
)
