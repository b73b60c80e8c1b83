"""Blocks, results and citations: wire shape beside canonical value.

What Anthropic made is kept verbatim in `extras` (`block`, `citation`) and given back byte for byte, because
it verifies its encrypted fields. What we made ourselves bears one of our tokens instead, is not marked as
Anthropic's, and so becomes readable text when the conversation goes on.
"""

from __future__ import annotations

import re
from html import unescape

from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.anthropic_messages.tokens import is_ours, seal, unseal
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.jsontext import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.model import (
    NO_EXTRAS,
    Evidence,
    Extras,
    Json,
    JsonObject,
    SearchCall,
    SearchResult,
    Source,
    Span,
)
from groundwire.text.addresses import safe_address

SEARCH_TOOLS = ("web_search", "web_fetch")
RESULT_BLOCKS = ("web_search_tool_result", "web_fetch_tool_result")

_ERROR_CODES = frozenset(
    (
        *("invalid_tool_input", "unavailable", "max_uses_exceeded", "too_many_requests", "query_too_long"),
        *("request_too_large", "url_too_long", "url_not_allowed", "url_not_in_prior_context"),
        *("url_not_accessible", "unsupported_content_type", "content_too_large"),
    )
)
_SEARCH_ID = "srvtoolu_"
_OUR_SEARCH_ID = "srvtoolu_gw_"
_NOT_AN_ID = re.compile(r"[^A-Za-z0-9_-]")


def decode_search_call(block: JsonObject, fields: Fields, fallback_id: str) -> SearchCall:
    """A complete `server_tool_use` of web search or web fetch."""
    arguments = fields.obj("input")
    caller = fields.obj("caller").text("type")
    url, pattern = safe_address(arguments.text("url")), arguments.text("pattern")
    queries = arguments.texts("queries") or (arguments.text("query"),)
    is_search = fields.text("name") == "web_search"
    call_id = fields.text("id")
    return SearchCall(
        call_id or fallback_id,
        queries=tuple(query for query in queries if query.strip()) if is_search else (),
        kind="search" if is_search else "find" if pattern else "open",
        url="" if is_search else url,
        pattern=pattern,
        caller="" if caller == "direct" else caller,
        extras={NAME: {"block": block}} if _is_their_id(call_id) else NO_EXTRAS,
    )


def encode_search_call(call: SearchCall, block_id: str) -> JsonObject:
    """The same, for a call of anybody's making. A second query has no field: it stands beside the first."""
    verbatim = call.extras.get(NAME, {}).get("block")
    if isinstance(verbatim, dict):
        return verbatim
    arguments: JsonObject = {"query": call.queries[0] if call.queries else ""}
    if len(call.queries) > 1:
        arguments["queries"] = list(call.queries)
    if call.kind != "search":
        arguments = {"url": call.url}
        if call.pattern:
            arguments["pattern"] = call.pattern
    return {
        "type": "server_tool_use",
        "id": block_id,
        "name": "web_search" if call.kind == "search" else "web_fetch",
        "input": arguments,
        **_encode_caller(call.caller),
    }


def decode_search_result(fields: Fields, key: bytes) -> SearchResult:
    """A result block, whose `content` is a list of results, one fetched page, or an error object."""
    caller = fields.obj("caller").text("type")
    content = fields.get("content")
    sources: tuple[Source, ...] = ()
    error = ""
    if isinstance(content, dict):
        page = fields.obj("content")
        error = page.text("error_code")
        if not error and page.has("url"):
            sources = (_decode_page(page),)
    else:
        sources = tuple(_decode_result(item, key) for item in fields.objs("content"))
    call_id = fields.text("tool_use_id")
    is_theirs = _is_their_id(call_id) and _is_theirs(content)
    return SearchResult(
        call_id,
        sources,
        error,
        caller="" if caller == "direct" else caller,
        extras={NAME: {"block": fields.raw}} if is_theirs else NO_EXTRAS,
    )


def encode_search_result(
    result: SearchResult, call: SearchCall | None, block_id: str, key: bytes
) -> JsonObject:
    """The same, for results of anybody's making."""
    verbatim = result.extras.get(NAME, {}).get("block")
    if isinstance(verbatim, dict):
        return verbatim
    fetched = call is not None and call.kind != "search"
    kind = "web_fetch" if fetched else "web_search"
    content: Json
    if result.error:
        code = result.error if result.error in _ERROR_CODES else "unavailable"
        content = {"type": f"{kind}_tool_result_error", "error_code": code}
    elif fetched:
        content = _encode_page(result, call)
    else:
        content = [_encode_result(source, key) for source in result.sources]
    return {
        "type": f"{kind}_tool_result",
        "tool_use_id": block_id,
        "content": content,
        **_encode_caller(result.caller),
    }


def decode_citation(fields: Fields, key: bytes) -> tuple[Evidence, Span | None]:
    """A citation of a block; the span only if we cut it ourselves and wrote down where it was."""
    token = fields.text("encrypted_index")
    url = safe_address(fields.text("url") or fields.text("source"))
    source = Source(url, fields.text("title") or fields.text("document_title"), "cited")
    quote = fields.text("cited_text")
    if is_ours(token):
        return Evidence(source, quote), _decode_span(unseal(token, key))
    # `cited_text` may hold character references (`&#x27;`); what is quoted is the page.
    kind = fields.text("type")
    is_whole = bool(token if kind == "web_search_result_location" else kind)
    extras: Extras = {NAME: {"citation": fields.raw}} if is_whole else NO_EXTRAS
    return Evidence(source, unescape(quote), extras=extras), None


def encode_citation(evidence: Evidence, span: Span, key: bytes) -> JsonObject:
    """The same, for evidence of anybody's making."""
    verbatim = evidence.extras.get(NAME, {}).get("citation")
    if isinstance(verbatim, dict):
        return verbatim
    return {
        "type": "web_search_result_location",
        "url": evidence.source.url,
        "title": evidence.source.title or None,
        "encrypted_index": seal({"span": [span.start, span.end]}, key),
        "cited_text": evidence.quote,
    }


def encode_id(identity: str) -> str:
    """An id of a client's call, in signs that are allowed."""
    return _NOT_AN_ID.sub("_", identity)


def encode_search_id(identity: str) -> str:
    """The id of a search: kept if it is one of Anthropic's, else made so that it is known for ours."""
    plain = encode_id(identity)
    return plain if plain.startswith(_SEARCH_ID) else _OUR_SEARCH_ID + plain


def decode_arguments(text: str) -> JsonObject:
    """The arguments of a call as an object; what is none is kept as text."""
    try:
        value = load_json(text or "{}", ClientWireError)
    except ClientWireError:
        value = text
    return value if isinstance(value, dict) else {"arguments": value}


def encode_arguments(value: JsonObject) -> str:
    """The arguments of a call as JSON text."""
    return dump_json(value)


def rest_of(fields: Fields, *known: str) -> Extras:
    """The fields of a block that have no canonical meaning (`cache_control`, …)."""
    rest = fields.rest("type", *known)
    return {NAME: rest} if rest else NO_EXTRAS


def _decode_result(item: Fields, key: bytes) -> Source:
    excerpts = unseal(item.text("encrypted_content"), key).get("excerpts")
    return Source(
        safe_address(item.text("url")),
        item.text("title"),
        excerpts=tuple(text for text in excerpts if isinstance(text, str))
        if isinstance(excerpts, list)
        else (),
        date=item.text("page_age"),
    )


def _encode_result(source: Source, key: bytes) -> JsonObject:
    return {
        "type": "web_search_result",
        "url": source.url,
        "title": source.title,
        "encrypted_content": seal({"excerpts": list(source.excerpts)}, key),
        "page_age": source.date or None,
    }


def _decode_page(page: Fields) -> Source:
    return Source(safe_address(page.text("url")), page.obj("content").text("title"), "opened")


def _encode_page(result: SearchResult, call: SearchCall | None) -> JsonObject:
    source = result.sources[0] if result.sources else Source(call.url if call else "")
    document: JsonObject = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "\n\n".join(source.excerpts)},
        "title": source.title or None,
    }
    return {"type": "web_fetch_result", "url": source.url, "retrieved_at": None, "content": document}


def _encode_caller(caller: str) -> JsonObject:
    return {"caller": {"type": caller, "tool_id": ""}} if caller else {}


def _decode_span(data: JsonObject) -> Span | None:
    match data.get("span"):
        case [int(start), int(end)] if 0 <= start <= end:
            return Span(start, end)
    return None


def _is_their_id(call_id: str) -> bool:
    return bool(call_id) and not call_id.startswith(_OUR_SEARCH_ID)


def _is_theirs(content: Json) -> bool:
    """Can it be given back as it came: complete, and not made by us?"""
    if isinstance(content, dict):
        kind = content.get("type")
        return isinstance(kind, str) and kind.endswith(("_tool_result_error", "_fetch_result"))
    tokens = (
        [as_object(item).get("encrypted_content") for item in content]
        if isinstance(content, list)
        else [None]
    )
    return all(isinstance(token, str) and not is_ours(token) for token in tokens)
