"""Ollama's hosted web search. Its results are excerpts of the pages."""

from __future__ import annotations

from groundwire.credentials.lookup import Lookup
from groundwire.dialects.fields import Fields
from groundwire.engine.engines.api import (
    ApiEngineSpec,
    ServiceError,
    ServiceQuery,
    bearer_header,
    json_call,
    with_site_operators,
)
from groundwire.engine.engines.results import SearchHit, make_hit
from groundwire.model import JsonObject
from groundwire.transport.http import HttpRequest

_MOST = 10


def _request(search: ServiceQuery) -> HttpRequest:
    body: JsonObject = {
        "query": with_site_operators(search.query, search.options),
        "max_results": min(search.limit, _MOST),
    }
    return json_call(f"{search.base_url}/api/web_search", body, bearer_header(search.key))


def _response(body: Fields) -> tuple[SearchHit, ...]:
    found = (
        make_hit(item.text("url"), item.text("title"), text=item.text("content"))
        for item in body.objs("results")
    )
    return tuple(hit for hit in found if hit)


def _explain(body: Fields) -> ServiceError:
    return ServiceError(message=body.text("error"))


SPEC = ApiEngineSpec(
    name="ollama_search",
    title="Ollama web search",
    base_url="https://ollama.com",
    request=_request,
    response=_response,
    explain=_explain,
    lookups=(Lookup("environment", "OLLAMA_API_KEY"), Lookup("own", "ollama_search")),
    missing="MISSING_OLLAMA_API_KEY",
    advice="Set OLLAMA_API_KEY, or run `groundwire login ollama_search`.",
)
