"""Serper: results of Google."""

from __future__ import annotations

from groundwire.credentials.lookup import Lookup
from groundwire.dialects.fields import Fields
from groundwire.engine.engines.api import (
    DOMAIN_LISTS,
    ApiEngineSpec,
    ServiceError,
    ServiceQuery,
    google_time_range,
    json_call,
    with_site_operators,
)
from groundwire.engine.engines.results import SearchHit, make_hit
from groundwire.errors import QuotaExhausted
from groundwire.model import JsonObject, Location
from groundwire.transport.http import HttpRequest

_MOST = 20
_NO_CREDITS = "Not enough credits"


def _request(search: ServiceQuery) -> HttpRequest:
    options = search.options
    body: JsonObject = {
        "q": with_site_operators(search.query, options),
        "num": min(search.limit, _MOST),
        "gl": (options.location or Location()).country.lower(),
        "hl": options.language,
        "tbs": google_time_range(options, search.today),
    }
    return json_call(f"{search.base_url}/search", body, {"x-api-key": search.key.reveal()})


def _response(body: Fields) -> tuple[SearchHit, ...]:
    found = (
        make_hit(
            item.text("link"), item.text("title"), snippet=item.text("snippet"), published=item.text("date")
        )
        for item in body.objs("organic")
    )
    return tuple(hit for hit in found if hit)


def _explain(body: Fields) -> ServiceError:
    message = body.text("message")
    return ServiceError(message, message)  # it has no codes


SPEC = ApiEngineSpec(
    name="serper",
    title="Serper",
    base_url="https://google.serper.dev",
    request=_request,
    response=_response,
    explain=_explain,
    codes={_NO_CREDITS: QuotaExhausted},
    lookups=(Lookup("environment", "SERPER_API_KEY"), Lookup("own", "serper")),
    missing="MISSING_SERPER_API_KEY",
    advice="Set SERPER_API_KEY, or run `groundwire login serper`.",
    honours=DOMAIN_LISTS | {"location", "language", "since", "until"},
)
