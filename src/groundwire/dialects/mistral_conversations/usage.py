"""Usage: tokens that the model read from tools are counted separately from the prompt."""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.dialects.mistral_reader import decode_usage
from groundwire.errors import UpstreamWireError
from groundwire.model import JsonObject, Usage


def usage_of(body: JsonObject) -> Usage | None:
    """The usage of a whole response body, if it has one."""
    usage = Fields(body, UpstreamWireError).obj("usage")
    return decode_usage(usage) if usage.raw else None


def encode_usage(usage: Usage) -> JsonObject:
    """Encode the usage, whose three totals are always present."""
    read, written = usage.input_tokens or 0, usage.output_tokens or 0
    body: JsonObject = {
        "prompt_tokens": max(0, read - (usage.tool_tokens or 0)),
        "completion_tokens": written,
        "total_tokens": read + written,
    }
    if usage.tool_tokens is not None:
        body["connector_tokens"] = usage.tool_tokens
    if usage.searches is not None:
        body["connectors"] = {"web_search": usage.searches}
    return body
