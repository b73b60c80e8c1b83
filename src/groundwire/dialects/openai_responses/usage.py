"""Counts, both ways.

`input_tokens` and `output_tokens` are totals here as in the model. Billable searches stand beside the usage
(`tool_usage`), or inside it under OpenRouter's name; OpenRouter adds the price. Clients read the details
without asking whether they are there, so unknown ones are written as nought.
"""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.errors import UpstreamWireError
from groundwire.model import JsonObject, Usage


def decode_usage(response: Fields) -> Usage | None:
    """The counts of a response, if it has any."""
    usage = response.obj("usage")
    searches = response.obj("tool_usage").obj("web_search").count("num_requests")
    if searches is None:
        details = usage.obj("server_tool_use_details")
        older = usage.obj("server_tool_use")
        searches = (details if details.raw else older).count("web_search_requests")
    if not usage.raw and searches is None:
        return None
    read = usage.obj("input_tokens_details")
    return Usage(
        input_tokens=usage.count("input_tokens"),
        output_tokens=usage.count("output_tokens"),
        cached_tokens=read.count("cached_tokens"),
        cache_write_tokens=read.count("cache_write_tokens"),
        reasoning_tokens=usage.obj("output_tokens_details").count("reasoning_tokens"),
        searches=searches,
        cost=usage.amount("cost"),
    )


def usage_of(body: JsonObject) -> Usage | None:
    """What a whole answer has cost, if it says so."""
    return decode_usage(Fields(body, UpstreamWireError))


def encode_usage(usage: Usage) -> JsonObject | None:
    """`usage`; nothing if nothing was counted."""
    if usage.input_tokens is None and usage.output_tokens is None and usage.cost is None:
        return None
    read, written = usage.input_tokens or 0, usage.output_tokens or 0
    body: JsonObject = {
        "input_tokens": read,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens or 0,
            "cache_write_tokens": usage.cache_write_tokens or 0,
        },
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": read + written,
    }
    if usage.cost is not None:
        body["cost"] = usage.cost
    return body


def encode_tool_usage(usage: Usage) -> JsonObject | None:
    """`tool_usage`, which tells the billable searches."""
    return None if usage.searches is None else {"web_search": {"num_requests": usage.searches}}
