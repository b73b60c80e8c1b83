"""Tool arguments: `query`, and for the unified tool where and how to search.

Provider tools take `query` alone. Models fill optional arguments with null and empty strings: both count as
absent.
"""

from __future__ import annotations

from collections.abc import Collection

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields
from groundwire.dialects.websearch.errors import WrongArguments
from groundwire.dialects.websearch.history import decode_query, unsupported_history
from groundwire.dialects.websearch.search import NAME, decode_search, encode_search
from groundwire.dialects.websearch.tools import (
    UNIFIED_ARGUMENTS,
    UNIFIED_TOOL,
    check_arguments,
    unsupported_tools,
)
from groundwire.errors import ClientWireError
from groundwire.model import JsonObject, Request, SearchOptions


def decode_request(body: JsonObject) -> Request:
    """Decode a call of the unified tool."""
    return _decode(body, UNIFIED_ARGUMENTS, f"{UNIFIED_TOOL} was called with arguments it does not take.")


def decode_provider_request(body: JsonObject, tool_name: str) -> Request:
    """Decode a call of a tool that takes a query and nothing else."""
    return _decode(body, ("query",), f"{tool_name} only accepts a single 'query' field.")


def encode_request(request: Request) -> Encoded:
    """Encode a call of the unified tool, and name what it has no arguments for."""
    options: JsonObject = {
        "provider": request.extras.get(NAME, {}).get("provider"),
        "model": request.model,
        **encode_search(request.search or SearchOptions()),
    }
    given = {name: value for name, value in options.items() if value is not None and value not in ("", [])}
    return Encoded({"query": request.query, **given}, _unsupported(request))


def _decode(body: JsonObject, accepted: Collection[str], display: str) -> Request:
    check_arguments(body, accepted, display)
    try:
        return _decode_arguments(Fields(body, ClientWireError))
    except ClientWireError as error:
        raise WrongArguments(error.message, display) from None


def _decode_arguments(fields: Fields) -> Request:
    messages = decode_query(fields)
    provider = fields.text("provider").strip()
    return Request(
        messages,
        fields.text("model").strip(),
        search=decode_search(fields),
        extras={NAME: {"provider": provider}} if provider else {},
    )


def _unsupported(request: Request) -> tuple[str, ...]:
    """Name what a request has beyond its query: a tool call is one question, and always a search."""
    limits = request.limits
    location = request.search.location if request.search else None
    missing = {
        **unsupported_history(request),
        **unsupported_tools(request),
        "search": request.search is None,
        "location": location is not None and location.latitude is not None,
        "max_output_tokens": limits.max_output_tokens is not None,
        "stop": bool(limits.stop),
        "temperature": limits.temperature is not None,
        "top_p": limits.top_p is not None,
        "top_k": limits.top_k is not None,
        "reasoning": request.reasoning is not None,
        "output": request.output is not None,
        "previous_id": bool(request.previous_id),
    }
    return tuple(name for name, is_missing in missing.items() if is_missing)
