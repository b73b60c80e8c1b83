"""What is asked: `query`, and for the unified tool where and how to search.

Provider tools take `query` alone. Models fill optional arguments with null and empty strings: both are
absent. An argument nobody knows is refused by name, so that a misspelt restriction is never dropped.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import get_args

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields
from groundwire.dialects.websearch.errors import WrongArguments
from groundwire.errors import ClientWireError, InvalidQuery
from groundwire.model import (
    FunctionTool,
    JsonObject,
    Location,
    Message,
    OpaqueTool,
    Request,
    SearchOptions,
    Text,
    ToolResult,
)
from groundwire.model.request import ContextSize

NAME = "websearch"
TOOL = "websearch"

_PLACE = ("country", "region", "city", "timezone")
UNIFIED = (
    "query",
    "provider",
    "model",
    "allowed_domains",
    "blocked_domains",
    *_PLACE,
    "language",
    "since",
    "until",
    "max_uses",
    "max_sources",
    "context_size",
    "live",
)


def decode_request(body: JsonObject) -> Request:
    """A call of the unified tool."""
    return _decode(body, UNIFIED, f"{TOOL} was called with arguments it does not take.")


def decode_provider_request(body: JsonObject, tool_name: str) -> Request:
    """A call of a tool that takes a query and nothing else."""
    return _decode(body, ("query",), f"{tool_name} only accepts a single 'query' field.")


def encode_request(request: Request) -> Encoded:
    """A call of the unified tool, and the names of what it has no arguments for."""
    search = request.search or SearchOptions()
    place = search.location or Location()
    options: JsonObject = {
        "provider": request.extras.get(NAME, {}).get("provider"),
        "model": request.model,
        "allowed_domains": list(search.allowed_domains),
        "blocked_domains": list(search.blocked_domains),
        **{name: getattr(place, name) for name in _PLACE},
        "language": search.language,
        "since": search.since,
        "until": search.until,
        "max_uses": search.max_uses,
        "max_sources": search.max_sources,
        "context_size": search.context_size,
        "live": search.live,
    }
    said = {name: value for name, value in options.items() if value is not None and value not in ("", [])}
    return Encoded({"query": request.query, **said}, _unsaid(request))


def _decode(body: JsonObject, accepted: Collection[str], display: str) -> Request:
    unknown = [name for name in body if name not in accepted]
    if unknown:
        names = ", ".join(f"'{name}'" for name in accepted)
        raise WrongArguments(f"Unknown argument(s): {', '.join(unknown)}, only {names} supported.", display)
    try:
        return _decode_arguments(Fields(body, ClientWireError))
    except ClientWireError as error:
        raise WrongArguments(error.message, display) from None


def _decode_arguments(fields: Fields) -> Request:
    query = fields.text("query").strip()
    if not query:
        raise InvalidQuery("The 'query' argument must be a non-empty string.")
    provider = fields.text("provider").strip()
    return Request(
        (Message("user", (Text(query),)),),
        fields.text("model").strip(),
        search=_decode_options(fields),
        extras={NAME: {"provider": provider}} if provider else {},
    )


def _decode_options(fields: Fields) -> SearchOptions:
    country, region, city, timezone = (fields.text(name).strip() for name in _PLACE)
    place = Location(country, region, city, timezone)
    return SearchOptions(
        allowed_domains=_decode_domains(fields, "allowed_domains"),
        blocked_domains=_decode_domains(fields, "blocked_domains"),
        location=place if place != Location() else None,
        language=fields.text("language").strip(),
        since=fields.text("since").strip(),
        until=fields.text("until").strip(),
        max_uses=_decode_count(fields, "max_uses"),
        max_sources=_decode_count(fields, "max_sources"),
        context_size=_decode_size(fields),
        live=fields.flag("live"),
    )


def _decode_domains(fields: Fields, name: str) -> tuple[str, ...]:
    return tuple(domain for text in fields.texts(name) if (domain := text.strip()))


def _decode_count(fields: Fields, name: str) -> int | None:
    count = fields.integer(name)
    if count is not None and count < 1:
        raise fields.fault("expected a number above zero", name)
    return count


def _decode_size(fields: Fields) -> ContextSize | None:
    value = fields.text("context_size").strip()
    sizes: dict[str, ContextSize] = {size: size for size in get_args(ContextSize)}
    if value and value not in sizes:
        raise fields.fault(f"expected one of {', '.join(sizes)}", "context_size")
    return sizes.get(value)


def _unsaid(request: Request) -> tuple[str, ...]:
    """What is in the request and not in its query: a tool call is a question, and always a search."""
    limits = request.limits
    place = request.search.location if request.search else None
    parts = [part for message in request.messages for part in message.parts]
    said_more = len(request.messages) > 1 or not all(isinstance(part, Text) for part in parts)
    missing = {
        "system": any([request.system, *(message.role != "user" for message in request.messages)]),
        "messages": said_more,
        "is_error": any(isinstance(part, ToolResult) for part in parts),
        "tools": any(isinstance(tool, FunctionTool) for tool in request.tools),
        "strict": any(isinstance(tool, FunctionTool) and tool.strict for tool in request.tools),
        "opaque_tools": any(isinstance(tool, OpaqueTool) for tool in request.tools),
        "tool_choice": request.tool_choice is not None,
        "search": request.search is None,
        "location": place is not None and place.latitude is not None,
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
