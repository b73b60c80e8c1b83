"""Decodes and encodes token usage, searches and cost.

`input_tokens` and `output_tokens` are totals, as in the model. Billable searches are next to the usage
(`tool_usage`), or inside it under the names of OpenRouter, xAI and Perplexity; OpenRouter and Perplexity add
the cost. Clients read the details without checking whether they exist, so unknown ones are written as zero.
"""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.errors import UpstreamWireError
from groundwire.model import JsonObject, Usage


def decode_usage(response: Fields) -> Usage | None:
    """Decode the usage of a response, if it has any."""
    usage = response.obj("usage")
    searches = _searches(response, usage)
    if not usage.raw and searches is None:
        return None
    details = usage.obj("input_tokens_details")
    cached, written = details.count("cached_tokens"), details.count("cache_write_tokens")
    return Usage(
        input_tokens=usage.count("input_tokens"),
        output_tokens=usage.count("output_tokens"),
        cached_tokens=details.count("cache_read_input_tokens") if cached is None else cached,
        cache_write_tokens=details.count("cache_creation_input_tokens") if written is None else written,
        reasoning_tokens=usage.obj("output_tokens_details").count("reasoning_tokens"),
        tool_tokens=usage.count("connector_tokens"),
        searches=searches,
        fetches=_invocations(usage, "fetch"),
        cost=_cost(usage),
    )


def _searches(response: Fields, usage: Fields) -> int | None:
    counted = response.obj("tool_usage").obj("web_search").count("num_requests")
    if counted is not None:
        return counted
    details = usage.obj("server_tool_use_details")
    older = usage.obj("server_tool_use")
    counted = (details if details.raw else older).count("web_search_requests")
    if counted is not None:
        return counted
    xai = usage.obj("server_side_tool_usage_details")
    return _sum_known(
        xai.count("web_search_calls"), xai.count("x_search_calls"), _invocations(usage, "search")
    )


def _invocations(usage: Fields, word: str) -> int | None:
    """Sum Perplexity's calls per tool: `{"search_web": {"invocation": 2}}`."""
    tools = usage.obj("tool_calls_details")
    return _sum_known(*(tools.obj(name).count("invocation") for name in tools.raw if word in name))


def _sum_known(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _cost(usage: Fields) -> float | None:
    """Cost of the response: a number from OpenRouter, an object from Perplexity."""
    if isinstance(usage.get("cost"), dict):
        return usage.obj("cost").amount("total_cost")
    return usage.amount("cost")


def usage_of(body: JsonObject) -> Usage | None:
    """Usage of a whole response body, if it has one."""
    return decode_usage(Fields(body, UpstreamWireError))


def encode_usage(usage: Usage) -> JsonObject | None:
    """Encode `usage`; None if nothing was counted."""
    if usage.input_tokens is None and usage.output_tokens is None and usage.cost is None:
        return None
    input_tokens, output_tokens = usage.input_tokens or 0, usage.output_tokens or 0
    body: JsonObject = {
        "input_tokens": input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens or 0,
            "cache_write_tokens": usage.cache_write_tokens or 0,
        },
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": input_tokens + output_tokens,
    }
    if usage.cost is not None:
        body["cost"] = usage.cost
    return body


def encode_tool_usage(usage: Usage) -> JsonObject | None:
    """Encode `tool_usage`, the billable searches. Official clients require both kinds of tools in it."""
    if usage.searches is None:
        return None
    return {"image_gen": {**_NO_IMAGE_USAGE}, "web_search": {"num_requests": usage.searches}}


_NO_IMAGE_USAGE: JsonObject = {
    "input_tokens": 0,
    "input_tokens_details": {"image_tokens": 0, "text_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"image_tokens": 0, "text_tokens": 0},
    "total_tokens": 0,
}
"""OpenAI sends zero counts for tools that were not used."""
