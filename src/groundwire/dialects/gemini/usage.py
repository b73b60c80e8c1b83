"""Usage: the wire counts prompt, tool input, candidates and thoughts separately; canonical counts are sums.

`promptTokenCount` includes cached tokens. Every chunk of a stream repeats the counts so far; the last one
is final. There is no counter of searches.
"""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.dialects.proto_json import read_body
from groundwire.errors import UpstreamWireError
from groundwire.model import JsonObject, Usage


def decode_usage(fields: Fields) -> Usage:
    """Decode a `usageMetadata`."""
    tools = fields.count("toolUsePromptTokenCount")
    thoughts = fields.count("thoughtsTokenCount")
    return Usage(
        input_tokens=_total(fields.count("promptTokenCount"), tools),
        output_tokens=_total(fields.count("candidatesTokenCount"), thoughts),
        cached_tokens=fields.count("cachedContentTokenCount"),
        reasoning_tokens=thoughts,
        tool_tokens=tools,
    )


def usage_of(body: JsonObject) -> Usage | None:
    """The usage of a whole response body, if it has one."""
    usage = read_body(body, UpstreamWireError).obj("usageMetadata")
    return decode_usage(usage) if usage.raw else None


def encode_usage(usage: Usage) -> JsonObject:
    """Encode a `usageMetadata`; empty if nothing was counted."""
    counts = {
        "promptTokenCount": _difference(usage.input_tokens, usage.tool_tokens),
        "candidatesTokenCount": _difference(usage.output_tokens, usage.reasoning_tokens),
        "totalTokenCount": _total(usage.input_tokens, usage.output_tokens),
        "thoughtsTokenCount": usage.reasoning_tokens,
        "toolUsePromptTokenCount": usage.tool_tokens,
        "cachedContentTokenCount": usage.cached_tokens,
    }
    return {key: value for key, value in counts.items() if value is not None}


def _total(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _difference(whole: int | None, part: int | None) -> int | None:
    return None if whole is None else max(0, whole - (part or 0))
