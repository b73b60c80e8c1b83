"""Decodes and encodes token usage, searches and cost.

OpenAI's `prompt_tokens` and `completion_tokens` are totals. xAI and Perplexity do not include reasoning in
`completion_tokens`, and Perplexity counts the tokens of pages separately. OpenRouter adds cost and searches,
and Perplexity has the same under different names.
"""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.errors import UpstreamWireError
from groundwire.model import JsonObject, Usage
from groundwire.model.value import replace

_OF_OPENAI = frozenset(
    {
        *("prompt_tokens", "completion_tokens", "total_tokens"),
        *("prompt_tokens_details", "completion_tokens_details"),
    }
)
"""The counts that OpenAI reports, and most other vendors too."""


def decode_usage(usage: Fields) -> Usage:
    """Decode the `usage` object."""
    prompt = usage.count("prompt_tokens")
    completion = usage.count("completion_tokens")
    reasoning = _reasoning_tokens(usage)
    output = _output_tokens(usage, prompt, completion, reasoning or 0)
    cached = written = None
    if "prompt_tokens_details" in usage.raw:
        details = usage.obj("prompt_tokens_details")
        cached, written = details.count("cached_tokens"), details.count("cache_write_tokens")
    counts = Usage(prompt, output, cached, written, reasoning)
    return counts if _OF_OPENAI.issuperset(usage.raw) else _with_vendor_counts(counts, usage)


def _with_vendor_counts(counts: Usage, usage: Fields) -> Usage:
    """Add what other vendors report: pages, searches, cost."""
    pages = usage.count("citation_tokens")
    server_tools = usage.obj(
        "server_tool_use_details" if usage.has("server_tool_use_details") else "server_tool_use"
    )
    searches = server_tools.count("web_search_requests")
    prompt, cached = counts.input_tokens, counts.cached_tokens
    return replace(
        counts,
        input_tokens=prompt if prompt is None else prompt + (pages or 0),
        cached_tokens=usage.count("prompt_cache_hit_tokens") if cached is None else cached,
        tool_tokens=pages,
        searches=usage.count("num_search_queries") if searches is None else searches,
        fetches=server_tools.count("web_fetch_requests"),
        cost=_cost(usage),
    )


def usage_of(body: JsonObject) -> Usage | None:
    """Usage of a whole response body, if it has one."""
    usage = Fields(body, UpstreamWireError).obj("usage")
    return decode_usage(usage) if usage.raw else None


def encode_usage(usage: Usage) -> JsonObject:
    """Encode the `usage` object; the three totals are required."""
    body: JsonObject = {
        "prompt_tokens": usage.input_tokens or 0,
        "completion_tokens": usage.output_tokens or 0,
        "total_tokens": (usage.input_tokens or 0) + (usage.output_tokens or 0),
    }
    groups: dict[str, dict[str, int | None]] = {
        "prompt_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "server_tool_use_details": {
            "web_search_requests": usage.searches,
            "web_fetch_requests": usage.fetches,
        },
    }
    for name, group in groups.items():
        known: JsonObject = {key: value for key, value in group.items() if value is not None}
        if known:
            body[name] = known
    if usage.cost is not None:
        body["cost"] = usage.cost
    return body


def _reasoning_tokens(usage: Fields) -> int | None:
    detailed = None
    if "completion_tokens_details" in usage.raw:
        detailed = usage.obj("completion_tokens_details").count("reasoning_tokens")
    return usage.count("reasoning_tokens") if detailed is None else detailed


def _output_tokens(usage: Fields, prompt: int | None, completion: int | None, reasoning: int) -> int | None:
    """Output tokens including reasoning, which is added if the provider's total shows it was not."""
    if completion is None or not reasoning:
        return completion
    total = usage.count("total_tokens")
    is_separate = reasoning > completion or (
        total is not None and total == (prompt or 0) + completion + reasoning
    )
    return completion + reasoning if is_separate else completion


def _cost(usage: Fields) -> float | None:
    if isinstance(usage.get("cost"), dict):  # Perplexity itemises it
        return usage.obj("cost").amount("total_cost")
    return usage.amount("cost")
