"""You.com. Its results are excerpts of the pages; news are a list of their own."""

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
from groundwire.model import JsonObject, Location
from groundwire.transport.http import HttpRequest

_MOST = 100


def _request(search: ServiceQuery) -> HttpRequest:
    options = search.options
    allowed, blocked = one_domain_list(options)
    since, until = options.since[:10], options.until[:10]
    body: JsonObject = {
        "query": search.query,
        "count": min(search.limit, _MOST),
        "country": (options.location or Location()).country.upper(),
        "language": options.language.upper(),
        "freshness": f"{since or '1990-01-01'}to{until or search.today}" if since or until else "",
        "include_domains": allowed,
        "exclude_domains": blocked,
    }
    return json_call(f"{search.base_url}/v1/search", body, {"x-api-key": search.key.reveal()})


def _response(body: Fields) -> tuple[SearchHit, ...]:
    results = body.obj("results")
    found = (
        make_hit(
            item.text("url"),
            item.text("title"),
            snippet=item.text("description"),
            text="\n\n".join(item.texts("snippets")),
            published=item.text("page_age"),
        )
        for name in ("web", "news")
        for item in results.objs(name)
    )
    return tuple(hit for hit in found if hit)


def _explain(body: Fields) -> ServiceError:
    return ServiceError(message=body.text("detail"))


SPEC = ApiEngineSpec(
    name="you",
    title="You.com",
    base_url="https://ydc-index.io",
    request=_request,
    response=_response,
    explain=_explain,
    lookups=(
        Lookup("environment", "YDC_API_KEY"),
        Lookup("environment", "YOUCOM_API_KEY"),
        Lookup("own", "you"),
    ),
    missing="MISSING_YDC_API_KEY",
    advice="Set YDC_API_KEY, or run `groundwire login you`.",
    honours=DOMAIN_LISTS | {"location", "language", "since", "until"},
)
