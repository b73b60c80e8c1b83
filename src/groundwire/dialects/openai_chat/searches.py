"""Searches that a server ran while it answered, in the accents that tell them.

Groq lists `executed_tools` in the message and in deltas: first the call, then the same entry again with
what it found (`search_results.results`, `browser_results`). Which kind of act it was shows in its
arguments. Perplexity lists `reasoning_steps`: thoughts, searches with their keywords, and pages fetched.

gpt-oss cites with `【4†L12-L15】`: the number is that of a page shown by its browser, and every call of the
browser shows one. Only a call that opened a page by its address tells which page that was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.openai_chat.annotations import decode_page
from groundwire.dialects.openai_chat.parts import NAME
from groundwire.errors import UpstreamWireError
from groundwire.model import Extras, Json, JsonObject, SearchCall, SearchResult, Source, SourceState
from groundwire.text.urls import safe_url

_OWN: Extras = {NAME: {}}
_WEB = re.compile(r"search|brows|visit|open|find|web", re.IGNORECASE)
_SHOWN = re.compile(r"\s*\[(\d{1,4})\]")


class ServerSearch(NamedTuple):
    """One act of the server's, as far as it has been told."""

    call: SearchCall
    result: SearchResult | None = None


class ServerSearches:
    """Collects what a server ran; entries are told again when more is known of them."""

    __slots__ = ("_ids", "_known", "_outputs", "_steps")

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._known: dict[str, ServerSearch] = {}
        self._outputs: dict[str, str] = {}
        self._steps: set[str] = set()

    def read_tools(self, message: Fields) -> Iterator[ServerSearch]:
        """What is new in `executed_tools`."""
        for position, tool in enumerate(_entries(message.get("executed_tools"))):
            entry = as_object(tool)
            index = entry.get("index")
            key = f"tool {position if index is None else index}"
            search = _decode_tool(entry, self._ids.get(key) or f"search_{len(self._known) + 1}")
            if search is not None and search != self._known.get(search.call.id):
                self._ids[key] = search.call.id
                self._known[search.call.id] = search
                output = entry.get("output")
                self._outputs[search.call.id] = output if isinstance(output, str) else ""
                yield search

    def read_steps(self, message: Fields) -> Iterator[str | ServerSearch]:
        """What is new in `reasoning_steps`: thoughts, and what was searched and fetched."""
        for step in _entries(message.get("reasoning_steps")):
            key = dump_json(step)
            if key in self._steps or not isinstance(step, dict):
                continue
            self._steps.add(key)
            if isinstance(thought := step.get("thought"), str) and thought:
                yield thought
            for search in _decode_step(step, len(self._known) + 1):
                self._known[search.call.id] = search
                yield search

    def pending(self) -> Iterator[ServerSearch]:
        """Searches whose results never came: the answer is complete, so they found nothing."""
        for search in self._known.values():
            if search.result is None:
                yield ServerSearch(search.call, SearchResult(search.call.id, extras=_OWN))

    def shown_pages(self) -> Mapping[int, Source]:
        """The pages that gpt-oss's browser opened by address, by the number it cites them with."""
        shown: dict[int, Source] = {}
        numbers = {key: _SHOWN.match(output) for key, output in self._outputs.items()}
        for order, key in enumerate(self._outputs):
            search, number = self._known[key], numbers[key]
            if search.call.kind == "open" and search.call.url and (number or not any(numbers.values())):
                found = search.result.sources if search.result else ()
                page = next((page for page in found if page.url == search.call.url), None)
                shown[int(number[1]) if number else order] = page or Source(search.call.url, state="opened")
        return shown


def _decode_tool(tool: JsonObject, call_id: str) -> ServerSearch | None:
    """An entry of `executed_tools`; None for what has nothing to do with the web."""
    arguments = _arguments(tool.get("arguments"))
    found = (
        *_sources(as_object(tool.get("search_results")).get("results")),
        *_sources(tool.get("browser_results"), "opened"),
    )
    kind = tool.get("type")
    if not found and "code" in arguments:
        return None
    call = _decode_call(arguments, call_id)
    if call is None:
        if not found and not (isinstance(kind, str) and _WEB.search(kind)):
            return None
        call = SearchCall(call_id, extras=_OWN)
    is_done = bool(found) or isinstance(tool.get("output"), str)
    return ServerSearch(call, SearchResult(call_id, found, extras=_OWN) if is_done else None)


def _decode_call(arguments: JsonObject, call_id: str) -> SearchCall | None:
    """What the arguments of a call say it did."""
    named = [arguments.get(name) for name in ("query", "q", "search_query")]
    queries = tuple(
        query for query in (*named, *_entries(arguments.get("queries"))) if isinstance(query, str) and query
    )
    addresses = (arguments.get(name) for name in ("url", "id", "link"))
    url = next((safe for item in addresses if isinstance(item, str) and (safe := safe_url(item))), "")
    pattern = arguments.get("pattern")
    if isinstance(pattern, str) and pattern:
        return SearchCall(call_id, (), "find", url, pattern, extras=_OWN)
    if queries:
        return SearchCall(call_id, queries, extras=_OWN)
    return SearchCall(call_id, (), "open", url, extras=_OWN) if url else None


def _decode_step(step: JsonObject, number: int) -> Iterator[ServerSearch]:
    """An entry of `reasoning_steps`."""
    searched, fetched = as_object(step.get("web_search")), as_object(step.get("fetch_url_content"))
    if searched:
        words = _entries(searched.get("search_keywords"))
        queries = tuple(word for word in words if isinstance(word, str))
        call_id = f"search_{number}"
        found = tuple(_sources(searched.get("search_results")))
        yield ServerSearch(
            SearchCall(call_id, queries, extras=_OWN), SearchResult(call_id, found, extras=_OWN)
        )
        number += 1
    for page in _sources(fetched.get("contents"), "opened"):
        call_id = f"search_{number}"
        yield ServerSearch(
            SearchCall(call_id, (), "open", page.url, extras=_OWN),
            SearchResult(call_id, (page,), extras=_OWN),
        )
        number += 1


def _sources(listed: Json, state: SourceState = "retrieved") -> Iterator[Source]:
    for page in _entries(listed):
        source = decode_page(as_object(page), state)
        if source.url or source.title:
            yield source


def _entries(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _arguments(value: Json) -> JsonObject:
    """JSON text, or the object itself; empty for what is neither."""
    if isinstance(value, str):
        try:
            value = load_json(value, UpstreamWireError)
        except UpstreamWireError:
            return {}
    return as_object(value)
