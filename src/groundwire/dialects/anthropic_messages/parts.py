"""Search blocks and results: wire shape beside canonical value.

What Anthropic made is kept verbatim in `extras` (`block`) and given back byte for byte, because
it verifies its encrypted fields. What we made ourselves bears one of our tokens instead, is not marked as
Anthropic's, and so becomes readable text when the conversation goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.anthropic_messages.tokens import is_ours, seal, unseal
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.model import (
    NO_EXTRAS,
    Extras,
    Json,
    JsonObject,
    SearchCall,
    SearchResult,
    Source,
)
from groundwire.text.urls import safe_url

SEARCH_TOOLS = ("web_search", "web_fetch")
RESULT_BLOCKS = ("web_search_tool_result", "web_fetch_tool_result")

_OWN_CODES = (
    *("invalid_tool_input", "unavailable", "max_uses_exceeded", "too_many_requests", "query_too_long"),
    *("request_too_large", "url_too_long", "url_not_allowed", "url_not_in_prior_context"),
    *("url_not_accessible", "unsupported_content_type", "content_too_large"),
)
_ERROR_CODES = {
    **{code: code for code in _OWN_CODES},
    # Google's words for a page that could not be read.
    "error": "url_not_accessible",
    "paywall": "url_not_accessible",
    "unsafe": "url_not_allowed",
}
SEARCH_ID = "srvtoolu_"
OUR_SEARCH_ID = re.compile(r"srvtoolu_gw(?:(\d{1,9})of(\d{1,9}))?_(.*)", re.DOTALL)
_NOT_AN_ID = re.compile(r"[^A-Za-z0-9_-]")


class Listed(NamedTuple):
    """A page in a list of results, and why it is there."""

    source: Source
    found: bool = True
    """Did a search find it? Else it is listed because the answer cites it."""
    quotes: tuple[str, ...] = ()
    """What is quoted where it is cited for the answer as a whole, one for each citation; may be empty."""


class ResultBlock(NamedTuple):
    """A result block that was read."""

    result: SearchResult
    cited: tuple[Listed, ...]
    """The pages that are cited for the answer as a whole, or that no search found."""


def decode_search_call(block: JsonObject, fields: Fields, fallback_id: str) -> SearchCall:
    """A complete `server_tool_use` of web search or web fetch."""
    arguments = fields.obj("input")
    caller = fields.obj("caller").text("type")
    url, pattern = safe_url(arguments.text("url")), arguments.text("pattern")
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


def verbatim_block(part: SearchCall | SearchResult) -> JsonObject | None:
    """The block that Anthropic itself made, if it did."""
    block = part.extras.get(NAME, {}).get("block")
    return block if isinstance(block, dict) else None


def encode_search_call(call: SearchCall, query: str, block_id: str) -> JsonObject:
    """A `server_tool_use` of our own making, for one query of a search, or for a page."""
    arguments: JsonObject = {"query": query}
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


def decode_search_result(fields: Fields, key: bytes) -> ResultBlock:
    """A result block, whose `content` is a list of results, one fetched page, or an error object."""
    caller = fields.obj("caller").text("type")
    content = fields.get("content")
    sources: tuple[Source, ...] = ()
    cited: tuple[Listed, ...] = ()
    error = ""
    if isinstance(content, dict):
        page = fields.obj("content")
        error = page.text("error_code")
        if not error and page.text("type").endswith("_error"):
            error = "unavailable"
        if not error and page.has("url"):
            sources = (_decode_page(page),)
    else:
        listed = [_decode_listed(item, key) for item in fields.objs("content")]
        sources = tuple(page.source for page in listed if page.found)
        cited = tuple(page for page in listed if page.quotes or not page.found)
    call_id = fields.text("tool_use_id")
    is_theirs = _is_their_id(call_id) and _is_theirs(content)
    result = SearchResult(
        call_id,
        sources,
        error,
        caller="" if caller == "direct" else caller,
        extras={NAME: {"block": fields.raw}} if is_theirs else NO_EXTRAS,
    )
    return ResultBlock(result, cited)


def encode_search_result(
    result: SearchResult, pages: Iterable[Listed], block_id: str, key: bytes
) -> JsonObject:
    """The pages that a search of another provider found."""
    content: list[Json] = [_encode_listed(page, key) for page in pages]
    return _encode_result_block("web_search", result, block_id, content)


def encode_search_error(result: SearchResult, block_id: str, kind: str = "web_search") -> JsonObject:
    """Why a search of another provider failed."""
    code = _ERROR_CODES.get(result.error, "unavailable")
    error: JsonObject = {"type": f"{kind}_tool_result_error", "error_code": code}
    return _encode_result_block(kind, result, block_id, error)


def encode_fetch_result(result: SearchResult, call: SearchCall, block_id: str) -> JsonObject:
    """The page that another provider opened, or why it could not."""
    if result.error:
        return encode_search_error(result, block_id, "web_fetch")
    return _encode_result_block("web_fetch", result, block_id, _encode_page(result, call))


def encode_id(identity: str) -> str:
    """An id of a client's call, in signs that are allowed."""
    return _NOT_AN_ID.sub("_", identity)


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


def _decode_listed(item: Fields, key: bytes) -> Listed:
    kept = unseal(item.text("encrypted_content"), key)
    source = Source(
        safe_url(item.text("url")),
        item.text("title"),
        excerpts=_texts(kept.get("excerpts")),
        date=item.text("page_age"),
    )
    return Listed(source, kept.get("found") is not False, _texts(kept.get("quotes")))


def _encode_listed(page: Listed, key: bytes) -> JsonObject:
    source = page.source
    kept: JsonObject = {"excerpts": list(source.excerpts)}
    if not page.found:
        kept["found"] = False
    if page.quotes:
        kept["quotes"] = list(page.quotes)
    return {
        "type": "web_search_result",
        "url": source.url,
        "title": source.title,
        "encrypted_content": seal(kept, key),
        "page_age": source.date or None,
    }


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _encode_result_block(kind: str, result: SearchResult, block_id: str, content: Json) -> JsonObject:
    return {
        "type": f"{kind}_tool_result",
        "tool_use_id": block_id,
        "content": content,
        **_encode_caller(result.caller),
    }


def _decode_page(page: Fields) -> Source:
    return Source(safe_url(page.text("url")), page.obj("content").text("title"), "opened")


def _encode_page(result: SearchResult, call: SearchCall) -> JsonObject:
    source = result.sources[0] if result.sources else Source(call.url)
    document: JsonObject = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "\n\n".join(source.excerpts)},
        "title": source.title or None,
    }
    return {
        "type": "web_fetch_result",
        "url": source.url or call.url,
        "retrieved_at": None,
        "content": document,
    }


def _encode_caller(caller: str) -> JsonObject:
    return {"caller": {"type": caller, "tool_id": ""}} if caller else {}


def _is_their_id(call_id: str) -> bool:
    return bool(call_id) and OUR_SEARCH_ID.fullmatch(call_id) is None


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
