"""Usage: `total_input_tokens` excludes tool input, `total_output_tokens` excludes thoughts.

Recorded sums confirm it: total = input + output + tool use + thought.
"""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.errors import UpstreamWireError
from groundwire.model import JsonObject, Usage

_SEARCH_TOOL = "google_search"


def decode_usage(body: Fields) -> Usage:
    """Decode the usage of an interaction."""
    thought = _count(body, "total_thought_tokens")
    tools = _count(body, "total_tool_use_tokens")
    return Usage(
        input_tokens=_plus(_count(body, "total_input_tokens"), tools),
        output_tokens=_plus(_count(body, "total_output_tokens"), thought),
        cached_tokens=_count(body, "total_cached_tokens"),
        reasoning_tokens=thought,
        tool_tokens=tools,
        searches=_searches(body),
    )


def usage_of(body: JsonObject) -> Usage | None:
    """The usage of a whole response body, if it has one."""
    usage = Fields(body, UpstreamWireError).obj("usage")
    return decode_usage(usage) if usage.raw else None


def encode_usage(usage: Usage) -> JsonObject:
    """Encode the known counts."""
    counts: dict[str, int | None] = {
        "total_tokens": _plus(usage.input_tokens, usage.output_tokens),
        "total_input_tokens": _minus(usage.input_tokens, usage.tool_tokens),
        "total_cached_tokens": usage.cached_tokens,
        "total_output_tokens": _minus(usage.output_tokens, usage.reasoning_tokens),
        "total_tool_use_tokens": usage.tool_tokens,
        "total_thought_tokens": usage.reasoning_tokens,
    }
    body: JsonObject = {name: count for name, count in counts.items() if count is not None}
    if usage.searches is not None:
        body["grounding_tool_count"] = [{"type": _SEARCH_TOOL, "count": usage.searches}]
    return body


def _count(body: Fields, name: str) -> int | None:
    count = body.count(name)
    return None if count is None or count < 0 else count


def _searches(body: Fields) -> int | None:
    counts = [
        item.count("count") or 0 for item in body.objs("grounding_tool_count") if _counts_searches(item)
    ]
    return sum(counts) if counts else None


def _counts_searches(item: Fields) -> bool:
    return item.text("type") == _SEARCH_TOOL


def _plus(count: int | None, more: int | None) -> int | None:
    return None if count is None else count + (more or 0)


def _minus(count: int | None, less: int | None) -> int | None:
    return None if count is None else max(count - (less or 0), 0)
