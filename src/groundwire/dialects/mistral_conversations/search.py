"""Web search: its declaration, and its calls as executions of a tool.

The tools `web_search` and `web_search_premium` have no options.
"""

from __future__ import annotations

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json
from groundwire.dialects.mistral_reader import EXECUTION, OWN_ID, UNCALLED
from groundwire.model import JsonObject, SearchCall, SearchOptions, SearchResult, Source
from groundwire.model.value import field_names

NAME = "mistral_conversations"
SEARCH_TOOL = "web_search"
_SEARCH_TOOLS = frozenset({SEARCH_TOOL, "web_search_premium"})


def is_search_tool(tool: Fields) -> bool:
    """Whether an entry of `tools` declares a web search."""
    return tool.text("type") in _SEARCH_TOOLS


def decode_search(tool: Fields) -> SearchOptions:
    """Decode a declaration; the premium search and settings of the tool are kept."""
    rest = tool.raw if tool.text("type") != SEARCH_TOOL else tool.rest("type")
    return SearchOptions(extras={NAME: rest} if rest else {})


def encode_search(options: SearchOptions) -> Encoded:
    """Encode the declaration, and name the options, none of which the tool has."""
    unset = SearchOptions()
    given = (
        name
        for name in field_names(SearchOptions)
        if name != "extras" and getattr(options, name) != getattr(unset, name)
    )
    missing = tuple(name for name in given if name != "live" or options.live is False)
    return Encoded({"type": SEARCH_TOOL, **options.extras.get(NAME, {})}, missing)


def encode_id(call_id: str) -> str:
    """Encode the id of a search."""
    return call_id if call_id.startswith(OWN_ID) else f"{OWN_ID}{call_id}"


def encode_search_call(call: SearchCall) -> JsonObject:
    """Encode a search as an entry; one that Mistral made is sent verbatim."""
    if NAME in call.extras:
        entry: JsonObject = {**_execution(call.id, "{}"), **call.extras[NAME], "id": call.id}
        arguments = entry["arguments"]
        return entry if isinstance(arguments, str) else {**entry, "arguments": dump_json(arguments)}
    return _execution(call.id, dump_json(_encode_arguments(call)))


def _encode_arguments(call: SearchCall) -> JsonObject:
    if call.kind != "search":
        return {"url": call.url, **({"pattern": call.pattern} if call.pattern else {})}
    if len(call.queries) > 1:
        return {"queries": list(call.queries)}
    return {"query": call.queries[0]} if call.queries else {}


def encode_lone_result(result: SearchResult) -> JsonObject:
    """Encode results without a search as an entry."""
    return {**_execution(result.call_id, "{}"), "info": {UNCALLED: True, **encode_info(result)}}


def _execution(call_id: str, arguments: str) -> JsonObject:
    return {"type": EXECUTION, "id": encode_id(call_id), "name": SEARCH_TOOL, "arguments": arguments}


def encode_info(result: SearchResult) -> JsonObject:
    """Encode what a search found, or why it failed."""
    info: JsonObject = {"results": [_encode_source(source) for source in result.sources]}
    return {**info, "error": result.error} if result.error else info


def _encode_source(source: Source) -> JsonObject:
    fields: JsonObject = {"url": source.url, "title": source.title, "date": source.date}
    if source.excerpts:
        fields["excerpts"] = list(source.excerpts)
    if source.state != "retrieved":
        fields["state"] = source.state
    return {name: item for name, item in fields.items() if item}
