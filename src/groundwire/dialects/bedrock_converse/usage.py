"""Usage: Bedrock reports cached input separately; canonical `input_tokens` includes it."""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.errors import UpstreamWireError
from groundwire.model import JsonObject, Usage


def decode_usage(usage: Fields) -> Usage:
    """Decode a `TokenUsage`."""
    uncached = usage.count("inputTokens")
    cached = usage.count("cacheReadInputTokens")
    written = usage.count("cacheWriteInputTokens")
    return Usage(
        input_tokens=None if uncached is None else uncached + (cached or 0) + (written or 0),
        output_tokens=usage.count("outputTokens"),
        cached_tokens=cached,
        cache_write_tokens=written,
    )


def usage_of(body: JsonObject) -> Usage | None:
    """The usage of a whole response body, if it has one."""
    usage = Fields(body, UpstreamWireError).obj("usage")
    return decode_usage(usage) if usage.raw else None


def encode_usage(usage: Usage) -> JsonObject:
    """Encode a `TokenUsage`, whose three totals are always present."""
    cached, stored = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    read, written = usage.input_tokens or 0, usage.output_tokens or 0
    body: JsonObject = {
        "inputTokens": max(0, read - cached - stored),
        "outputTokens": written,
        "totalTokens": read + written,
    }
    if usage.cached_tokens is not None:
        body["cacheReadInputTokens"] = cached
    if usage.cache_write_tokens is not None:
        body["cacheWriteInputTokens"] = stored
    return body
