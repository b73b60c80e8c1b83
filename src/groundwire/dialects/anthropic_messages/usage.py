"""Usage: Anthropic reports cached input separately; canonical `input_tokens` includes it."""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.errors import UpstreamWireError
from groundwire.model import JsonObject, Usage


def decode_usage(usage: Fields) -> Usage:
    """Decode the counts of a message so far."""
    uncached = usage.count("input_tokens")
    cached = usage.count("cache_read_input_tokens")
    written = usage.count("cache_creation_input_tokens")
    server = usage.obj("server_tool_use")
    return Usage(
        input_tokens=None if uncached is None else uncached + (cached or 0) + (written or 0),
        output_tokens=usage.count("output_tokens"),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=usage.obj("output_tokens_details").count("thinking_tokens"),
        searches=server.count("web_search_requests"),
        fetches=server.count("web_fetch_requests"),
    )


def usage_of(body: JsonObject) -> Usage | None:
    """The usage of a whole response body, if it has one."""
    usage = Fields(body, UpstreamWireError).obj("usage")
    return decode_usage(usage) if usage.raw else None


def encode_usage(usage: Usage, written_searches: int = 0) -> JsonObject:
    """Encode usage, with the counts that clients rely on always present.

    There are at least as many searches as were written as blocks: some providers count none, others count
    several queries as one.
    """
    searches = max(usage.searches or 0, written_searches)
    cached, stored = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    body: JsonObject = {
        "input_tokens": max(0, (usage.input_tokens or 0) - cached - stored),
        "output_tokens": usage.output_tokens or 0,
    }
    if usage.cached_tokens is not None:
        body["cache_read_input_tokens"] = cached
    if usage.cache_write_tokens is not None:
        body["cache_creation_input_tokens"] = stored
    if usage.reasoning_tokens is not None:
        body["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    if searches or usage.searches is not None or usage.fetches is not None:
        body["server_tool_use"] = {
            "web_search_requests": searches,
            "web_fetch_requests": usage.fetches or 0,
        }
    return body
