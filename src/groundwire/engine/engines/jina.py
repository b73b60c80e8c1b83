"""Jina's search, which returns the text of the pages."""

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
    with_site_operators,
)
from groundwire.engine.engines.results import SearchHit, make_hit
from groundwire.errors import QuotaExhausted
from groundwire.model import JsonObject, Location
from groundwire.transport.http import Deadlines, HttpRequest

_MOST = 20


def _request(search: ServiceQuery) -> HttpRequest:
    options = search.options
    body: JsonObject = {
        "q": with_site_operators(search.query, options),
        "num": min(search.limit, _MOST),
        "gl": (options.location or Location()).country.upper(),
        "hl": options.language,
    }
    return json_call(f"{search.base_url}/", body, bearer_header(search.key))


def _response(body: Fields) -> tuple[SearchHit, ...]:
    found = (
        make_hit(
            item.text("url"),
            item.text("title"),
            snippet=item.text("description"),
            text=item.text("content"),
            published=item.text("date"),
        )
        for item in body.objs("data")
    )
    return tuple(hit for hit in found if hit)


def _explain(body: Fields) -> ServiceError:
    return ServiceError(body.text("name"), body.text("readableMessage") or body.text("message"))


SPEC = ApiEngineSpec(
    name="jina",
    title="Jina",
    base_url="https://s.jina.ai",
    request=_request,
    response=_response,
    explain=_explain,
    codes={"InsufficientBalanceError": QuotaExhausted},
    lookups=(Lookup("environment", "JINA_API_KEY"), Lookup("own", "jina")),
    missing="MISSING_JINA_API_KEY",
    advice="Set JINA_API_KEY, or run `groundwire login jina`.",
    honours=DOMAIN_LISTS | {"location", "language"},
    deadlines=Deadlines(connect=5.0, first_byte=25.0, idle=10.0, total=30.0),
)
"""It reads the pages before it answers."""
