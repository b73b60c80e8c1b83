"""What is asked: `query`, and for the unified tool where and how to search.

Provider tools take `query` alone. Models fill optional arguments with null and empty strings: both are
absent. An argument nobody knows is refused by name, so that a misspelt restriction is never dropped.
"""

from __future__ import annotations

from collections.abc import Collection

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields
from groundwire.dialects.websearch.errors import WrongArguments
from groundwire.dialects.websearch.search import OPTIONS, decode_search, encode_search
from groundwire.errors import ClientWireError, InvalidQuery
from groundwire.model import (
    FunctionTool,
    JsonObject,
    Message,
    OpaqueTool,
    Request,
    SearchOptions,
    Text,
    ToolResult,
)

NAME = "websearch"
TOOL = "websearch"

UNIFIED = ("query", "provider", "model", *OPTIONS)


def decode_request(body: JsonObject) -> Request:
    """A call of the unified tool."""
    return _decode(body, UNIFIED, f"{TOOL} was called with arguments it does not take.")


def decode_provider_request(body: JsonObject, tool_name: str) -> Request:
    """A call of a tool that takes a query and nothing else."""
    return _decode(body, ("query",), f"{tool_name} only accepts a single 'query' field.")


def encode_request(request: Request) -> Encoded:
    """A call of the unified tool, and the names of what it has no arguments for."""
    options: JsonObject = {
        "provider": request.extras.get(NAME, {}).get("provider"),
        "model": request.model,
        **encode_search(request.search or SearchOptions()),
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
        search=decode_search(fields),
        extras={NAME: {"provider": provider}} if provider else {},
    )


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
