"""Search steps: `google_search_call`, `google_search_result`, `url_context_call`, `url_context_result`.

Google discloses no results, only `search_suggestions` (the same HTML several times over). Result items with
`url` and `title`, which an earlier revision of the API sent and clients still read, are how we list pages
that others found. One `url_context_call` may open several pages: each becomes a call of its own, and those
after the first say whose `part_of` they are, so that the step goes back as one.
There is no word for looking for a pattern in a page: such calls are not told.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.dialects.fields import Fields
from groundwire.dialects.gemini_interactions.parts import NAME, decode_source, marked, own
from groundwire.model import Json, JsonObject, SearchCall, SearchResult, Source
from groundwire.text.urls import safe_url

_OPENED_STATES = ("error", "paywall", "unsafe")
_NAMELESS = "search"  # ids are required
_FAILED = "unavailable"  # Google tells that a search failed, not why


def decode_search_call(step: Fields, call_id: str) -> list[SearchCall]:
    """A web search."""
    arguments = step.obj("arguments")
    queries = tuple(query for query in arguments.texts("queries") if query)
    rest = step.rest("type", "id", "arguments")
    if arguments.raw != _queries(queries):
        rest["arguments"] = arguments.raw
    return [SearchCall(call_id, queries, extras=marked(rest))]


def decode_open_call(step: Fields, call_id: str) -> list[SearchCall]:
    """Pages opened, one call for each."""
    urls = step.obj("arguments").texts("urls")
    rest = step.rest("type", "id")
    first = SearchCall(call_id, kind="open", url=safe_url("".join(urls[:1])), extras=marked(rest))
    return [first, *(_further(call_id, number, url) for number, url in enumerate(urls[1:], 1))]


def decode_search_result(step: Fields, call_id: str) -> list[SearchResult]:
    """What a web search came back with."""
    items = list(step.objs("result"))
    suggestions = "\n".join(dict.fromkeys(filter(None, (item.text("search_suggestions") for item in items))))
    found = (decode_source(item.text("url"), item.text("title")) for item in items)
    sources = tuple(source for source in found if source.url or source.title)
    rest = step.rest("type", "call_id", "result", "is_error")
    if step.items("result") != _result_items(sources, suggestions):
        rest["result"] = step.items("result")
    error = _FAILED if step.flag("is_error") else ""
    return [SearchResult(call_id, sources, error, suggestions, extras=marked(rest))]


def decode_open_result(step: Fields, call_id: str, urls: Mapping[str, str]) -> list[SearchResult]:
    """What opening pages came back with; `urls` tells the canonical call of each page."""
    results = [_opened(item, urls.get(item.text("url"), call_id)) for item in step.objs("result")]
    first, *further = results or [SearchResult(call_id, error=_FAILED if step.flag("is_error") else "")]
    rest = step.rest("type")
    return [
        SearchResult(first.call_id, first.sources, first.error, extras=marked(rest)),
        *(
            SearchResult(result.call_id, result.sources, result.error, extras={NAME: {"part_of": call_id}})
            for result in further
        ),
    ]


def encode_call(call: SearchCall) -> JsonObject | None:
    """The step of a call, if the dialect has one for it and it is not told by another."""
    if call.kind == "find" or "part_of" in own(call.extras):
        return None
    if call.kind == "open":
        step: JsonObject = {"type": "url_context_call", "arguments": {"urls": [call.url]}}
    else:
        step = {"type": "google_search_call", "arguments": _queries(call.queries)}
    return step | {"id": call.id or _NAMELESS} | own(call.extras)


def encode_result(result: SearchResult, call: SearchCall | None) -> JsonObject | None:
    """The step of a result; `call` is what it answers, if that was told."""
    if "part_of" in own(result.extras):
        return None
    if call is not None and call.kind == "open":
        return _encode_opened(result, call)
    if call is not None and call.kind == "find" and not result.sources:
        return None
    step: JsonObject = {
        "type": "google_search_result",
        "call_id": result.call_id or _NAMELESS,
        "result": _result_items(result.sources, result.suggestions),
        "is_error": bool(result.error),
    }
    return step | own(result.extras)


def _encode_opened(result: SearchResult, call: SearchCall) -> JsonObject:
    native = own(result.extras)
    if "result" in native:
        return {"type": "url_context_result", "call_id": result.call_id or _NAMELESS, **native}
    items: list[Json] = [
        _with_title({"url": source.url, "status": "success"}, source) for source in result.sources
    ]
    if result.error:
        status = result.error if result.error in _OPENED_STATES else "error"
        items = [{"url": call.url, "status": status}]
    step: JsonObject = {
        "type": "url_context_result",
        "call_id": result.call_id or _NAMELESS,
        "result": items,
        "is_error": bool(result.error),
    }
    return step | native


def _further(call_id: str, number: int, url: str) -> SearchCall:
    part_of: JsonObject = {"part_of": call_id}
    return SearchCall(f"{call_id}.{number}", kind="open", url=safe_url(url), extras={NAME: part_of})


def _opened(item: Fields, call_id: str) -> SearchResult:
    status = item.text("status", "success")
    if status != "success":
        return SearchResult(call_id, error=status)
    return SearchResult(call_id, (decode_source(item.text("url"), item.text("title"), "opened"),))


def _queries(queries: tuple[str, ...]) -> JsonObject:
    return {"queries": list(queries)} if queries else {}


def _result_items(sources: tuple[Source, ...], suggestions: str) -> list[Json]:
    items: list[Json] = [{"search_suggestions": suggestions}] if suggestions else []
    items += (_with_title({"url": source.url} if source.url else {}, source) for source in sources)
    return items


def _with_title(item: JsonObject, source: Source) -> JsonObject:
    return item | {"title": source.title} if source.title else item
