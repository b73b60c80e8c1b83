"""Web search: the system tool `nova_grounding` of the Nova models, its calls and its results.

The tool has no options. Nova reports a call with its query, and a result whose content is hidden:

    {"toolUse": {"toolUseId", "name": "nova_grounding", "type": "server_tool_use", "input": {"query"}}}
    {"toolResult": {"toolUseId", "type": "nova_grounding_result", "content": [{"text": "[HIDDEN]"}], …}}

Searches of other providers are written in the same form, with an id that begins with `gw_`. Their results are
a JSON document, the only form that a stream can carry: `{"results": [{"url", "title", "date", "excerpts"}]}`.
"""

from __future__ import annotations

import re

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields
from groundwire.model import (
    NO_EXTRAS,
    JsonObject,
    SearchCall,
    SearchOptions,
    SearchResult,
    Source,
)
from groundwire.model.value import field_names
from groundwire.text.urls import safe_url

NAME = "bedrock_converse"
GROUNDING_TOOL = "nova_grounding"
RESULT_TYPE = "nova_grounding_result"
SERVER_TOOL = "server_tool_use"
_OWN_ID = "gw_"
_NOT_AN_ID = re.compile(r"[^A-Za-z0-9_.:-]")
_LONGEST_ID = 64
_ERROR = "unavailable"


def encode_id(identity: str) -> str:
    """Encode the id of a call in the characters and the length that Bedrock allows."""
    return _NOT_AN_ID.sub("_", identity)[:_LONGEST_ID]


def encode_search(options: SearchOptions) -> Encoded:
    """Encode the declaration, and name the options, none of which the tool has."""
    unset = SearchOptions()
    missing = (
        name
        for name in field_names(SearchOptions)
        if name != "extras" and getattr(options, name) != getattr(unset, name)
    )
    return Encoded({"systemTool": {"name": GROUNDING_TOOL}}, tuple(missing))


def _encode_search_id(call_id: str) -> str:
    return encode_id(call_id if call_id.startswith(_OWN_ID) else f"{_OWN_ID}{call_id}")


def is_search_call(tool_use: Fields) -> bool:
    """Whether a `toolUse` is a web search, not a call of a client's function."""
    return tool_use.text("name") == GROUNDING_TOOL


def is_search_result(tool_result: Fields) -> bool:
    """Whether a `toolResult` is that of a web search."""
    return tool_result.text("type") == RESULT_TYPE


def encode_search_call(call: SearchCall) -> JsonObject:
    """Encode a search as a `toolUse`; one that Bedrock made is sent verbatim."""
    verbatim = call.extras.get(NAME, {}).get("block")
    if isinstance(verbatim, dict):
        return verbatim
    arguments: JsonObject = {"query": call.queries[0]} if len(call.queries) == 1 else {}
    if len(call.queries) > 1:
        arguments = {"queries": list(call.queries)}
    if call.kind != "search":
        arguments = {"url": call.url, **({"pattern": call.pattern} if call.pattern else {})}
    return {
        "toolUseId": _encode_search_id(call.id),
        "name": GROUNDING_TOOL,
        "input": arguments,
        "type": SERVER_TOOL,
    }


def decode_search_call(tool_use: Fields) -> SearchCall:
    """Decode the `toolUse` of a search."""
    arguments = tool_use.obj("input")
    call_id, url, pattern = tool_use.text("toolUseId"), arguments.text("url"), arguments.text("pattern")
    queries = arguments.texts("queries") or (arguments.text("query"),)
    is_own = call_id.startswith(_OWN_ID)
    is_page = is_own and bool(url)
    return SearchCall(
        call_id,
        queries=() if is_page else tuple(query for query in queries if query.strip()),
        kind=("find" if pattern else "open") if is_page else "search",
        url=safe_url(url) if is_page else "",
        pattern=pattern if is_page else "",
        extras=NO_EXTRAS if is_own else {NAME: {"block": tool_use.raw}},
    )


def encode_search_result(result: SearchResult) -> JsonObject:
    """Encode the result of a search as a `toolResult`; one that Bedrock made is sent verbatim."""
    verbatim = result.extras.get(NAME, {}).get("block")
    if isinstance(verbatim, dict):
        return verbatim
    document: JsonObject = {"results": [_encode_source(source) for source in result.sources]}
    if result.error:
        document = {"error": result.error}
    return {
        "toolUseId": _encode_search_id(result.call_id),
        "content": [{"json": document}],
        "status": "error" if result.error else "success",
        "type": RESULT_TYPE,
    }


def _encode_source(source: Source) -> JsonObject:
    fields: JsonObject = {"url": source.url, "title": source.title, "date": source.date}
    if source.excerpts:
        fields["excerpts"] = list(source.excerpts)
    if source.state != "retrieved":
        fields["state"] = source.state
    return {name: item for name, item in fields.items() if item}


def decode_search_result(tool_result: Fields) -> SearchResult:
    """Decode the `toolResult` of a search: a document of groundwire's, or pages as search results."""
    call_id = tool_result.text("toolUseId")
    sources: list[Source] = []
    error = _ERROR if tool_result.text("status") == "error" else ""
    for block in tool_result.objs("content"):
        document = block.obj("json") if isinstance(block.get("json"), dict) else block.with_raw({})
        error = document.text("error") or error
        sources += map(_decode_source, document.objs("results"))
        page = block.obj("searchResult")
        if page.raw:
            sources.append(Source(safe_url(page.text("source")), page.text("title")))
    return SearchResult(
        call_id,
        tuple(sources),
        error,
        extras=NO_EXTRAS if call_id.startswith(_OWN_ID) else {NAME: {"block": tool_result.raw}},
    )


def _decode_source(page: Fields) -> Source:
    return Source(
        safe_url(page.text("url")),
        page.text("title"),
        "opened" if page.text("state") == "opened" else "retrieved",
        excerpts=page.texts("excerpts"),
        date=page.text("date"),
    )
