"""Usage: the tokens that were processed, which are more than those that are billed."""

from __future__ import annotations

from groundwire.dialects.cohere_reader import decode_usage
from groundwire.dialects.fields import Fields
from groundwire.errors import UpstreamWireError
from groundwire.model import JsonObject, Usage

__all__ = ["decode_usage", "encode_usage", "usage_of"]


def usage_of(body: JsonObject) -> Usage | None:
    """The usage of a whole response body, if it has one."""
    usage = Fields(body, UpstreamWireError).obj("usage")
    return decode_usage(usage) if usage.raw else None


def encode_usage(usage: Usage) -> JsonObject:
    """Encode the usage, whose token counts are always present."""
    tokens: JsonObject = {"input_tokens": usage.input_tokens or 0, "output_tokens": usage.output_tokens or 0}
    billed: JsonObject = dict(tokens)
    if usage.searches is not None:
        billed["search_units"] = usage.searches
    body: JsonObject = {"billed_units": billed, "tokens": tokens}
    if usage.cached_tokens is not None:
        body["cached_tokens"] = usage.cached_tokens
    return body
