"""Brave Search API."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.redact import UnshownHeaders
from groundwire.dialects.error_tables import retry_after
from groundwire.dialects.fields import Fields
from groundwire.engine.engines.api import (
    DOMAIN_LISTS,
    ApiEngineSpec,
    ServiceError,
    ServiceQuery,
    truncate_query,
    with_site_operators,
)
from groundwire.engine.engines.results import SearchHit, make_hit, strip_markup
from groundwire.errors import AuthRejected, QuotaExhausted
from groundwire.model import Location
from groundwire.transport.http import HttpRequest

_MOST = 20
_LONGEST_QUERY = 400
_MOST_WORDS = 50


def _request(search: ServiceQuery) -> HttpRequest:
    options = search.options
    query = with_site_operators(search.query, options)
    if len(query) > _LONGEST_QUERY or len(query.split()) > _MOST_WORDS:
        query = truncate_query(search.query, _LONGEST_QUERY, _MOST_WORDS)
    location = options.location or Location()
    since, until = options.since[:10], options.until[:10]
    fields = {
        "q": query,
        "count": str(min(search.limit, _MOST)),
        "country": location.country.upper(),
        "search_lang": options.language,
        "freshness": f"{since or '1990-01-01'}to{until or search.today}" if since or until else "",
        "extra_snippets": "true",
        "text_decorations": "false",
        "result_filter": "web",
    }
    headers = {
        "accept": "application/json",
        "x-subscription-token": search.key.reveal(),
        **{name: text for name, text in _location_headers(location).items() if text and text.isascii()},
    }
    query_text = urlencode({name: text for name, text in fields.items() if text})
    return HttpRequest("GET", f"{search.base_url}/res/v1/web/search?{query_text}", UnshownHeaders(headers))


def _location_headers(location: Location) -> Mapping[str, str]:
    return {
        "x-loc-country": location.country.upper(),
        "x-loc-state-name": location.region,
        "x-loc-city": location.city,
        "x-loc-timezone": location.timezone,
        "x-loc-lat": "" if location.latitude is None else str(location.latitude),
        "x-loc-long": "" if location.longitude is None else str(location.longitude),
    }


def _response(body: Fields) -> tuple[SearchHit, ...]:
    found = (
        make_hit(
            item.text("url"),
            strip_markup(item.text("title")),
            snippet="\n\n".join(map(strip_markup, (item.text("description"), *item.texts("extra_snippets")))),
            published=item.text("page_age"),
            language=item.text("language"),
        )
        for item in body.obj("web").objs("results")
    )
    return tuple(hit for hit in found if hit)


def _explain(body: Fields) -> ServiceError:
    error = body.obj("error")
    return ServiceError(error.text("code"), error.text("detail"))


def _wait(headers: Mapping[str, str]) -> float | None:
    """`x-ratelimit-reset: 1, 1419704`: seconds until the limits of the second and of the month reset."""
    retry = retry_after(headers)
    first = headers.get("x-ratelimit-reset", "").partition(",")[0].strip()
    return float(first) if retry is None and first.isascii() and first.isdigit() else retry


SPEC = ApiEngineSpec(
    name="brave",
    title="Brave Search",
    base_url="https://api.search.brave.com",
    request=_request,
    response=_response,
    explain=_explain,
    wait=_wait,
    codes={"SUBSCRIPTION_TOKEN_INVALID": AuthRejected, "QUOTA_LIMITED": QuotaExhausted},
    lookups=(Lookup("environment", "BRAVE_API_KEY"), Lookup("own", "brave")),
    missing="MISSING_BRAVE_API_KEY",
    advice="Set BRAVE_API_KEY, or run `groundwire login brave`.",
    honours=DOMAIN_LISTS | {"location", "language", "since", "until"},
)
