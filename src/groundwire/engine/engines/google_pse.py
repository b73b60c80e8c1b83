"""Google Programmable Search. The key goes in a header, never in the URL, which is logged."""

from __future__ import annotations

from urllib.parse import urlencode

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.redact import UnshownHeaders
from groundwire.dialects.fields import Fields, as_object
from groundwire.engine.engines.api import (
    DOMAIN_LISTS,
    ApiEngineSpec,
    ServiceError,
    ServiceQuery,
    with_site_operators,
)
from groundwire.engine.engines.results import SearchHit, make_hit
from groundwire.errors import AuthRejected, QuotaExhausted
from groundwire.model import Location, SearchOptions
from groundwire.transport.http import HttpRequest

_MOST = 10
_ENGINE_ID = "GOOGLE_PSE_ENGINE_ID"
_PUBLISHED = ("article:published_time", "og:published_time", "date")


def _request(search: ServiceQuery) -> HttpRequest:
    options = search.options
    fields = {
        "cx": search.settings.get(_ENGINE_ID, ""),
        "q": with_site_operators(search.query, options),
        "num": str(min(search.limit, _MOST)),
        "gl": (options.location or Location()).country.lower(),
        "lr": f"lang_{options.language[:2].lower()}" if options.language else "",
        "sort": _date_range(options, search.today),
    }
    query = urlencode({name: text for name, text in fields.items() if text})
    headers = {"accept": "application/json", "x-goog-api-key": search.key.reveal()}
    return HttpRequest("GET", f"{search.base_url}/customsearch/v1?{query}", UnshownHeaders(headers))


def _date_range(options: SearchOptions, today: str) -> str:
    if not options.since and not options.until:
        return ""
    first, last = options.since[:10] or "1990-01-01", options.until[:10] or today[:10]
    return f"date:r:{first.replace('-', '')}:{last.replace('-', '')}"


def _response(body: Fields) -> tuple[SearchHit, ...]:
    found = (
        make_hit(
            item.text("link"), item.text("title"), snippet=item.text("snippet"), published=_published(item)
        )
        for item in body.objs("items")
    )
    return tuple(hit for hit in found if hit)


def _published(item: Fields) -> str:
    """The date in the meta tags of the page, if the page has one."""
    tags = as_object(next(iter(item.obj("pagemap").items("metatags")), None))
    return next((text for name in _PUBLISHED if isinstance(text := tags.get(name), str)), "")


def _explain(body: Fields) -> ServiceError:
    error = body.obj("error")
    reasons = [entry.text("reason") for name in ("details", "errors") for entry in error.objs(name)]
    return ServiceError(next(filter(None, reasons), ""), error.text("message"))


SPEC = ApiEngineSpec(
    name="google_pse",
    title="Google Programmable Search",
    base_url="https://customsearch.googleapis.com",
    request=_request,
    response=_response,
    explain=_explain,
    codes={
        "API_KEY_INVALID": AuthRejected,
        "keyInvalid": AuthRejected,
        "dailyLimitExceeded": QuotaExhausted,
        "quotaExceeded": QuotaExhausted,
    },
    lookups=(Lookup("environment", "GOOGLE_PSE_API_KEY"), Lookup("own", "google_pse")),
    missing="MISSING_GOOGLE_PSE_API_KEY",
    advice=(
        "Set GOOGLE_PSE_API_KEY, or run `groundwire login google_pse`, and set GOOGLE_PSE_ENGINE_ID to the "
        "ID of your search engine."
    ),
    honours=DOMAIN_LISTS | {"location", "language", "since", "until"},
    variables=(_ENGINE_ID,),
)
