"""Request bodies: messages, documents, tools, limits, reasoning and output format.

Documents are texts that the answer may cite. Providers without a field for them get them as system text.
Fields without a canonical meaning (`citation_options`, `safety_mode`, …) are kept as the client sent them.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.dialects.base import Encoded
from groundwire.dialects.cohere_chat.history import (
    decode_documents,
    decode_messages,
    encode_documents,
    encode_messages,
)
from groundwire.dialects.cohere_chat.search import NAME, decode_search, encode_search
from groundwire.dialects.cohere_chat.tools import decode_choice, decode_tools, encode_tools
from groundwire.dialects.fields import Fields
from groundwire.errors import ClientWireError
from groundwire.model import Json, JsonObject, Limits, OutputFormat, ReasoningOptions, Request

_REQUEST_FIELDS = (
    *("model", "messages", "documents", "tools", "strict_tools", "tool_choice", "connectors", "stream"),
    *("max_tokens", "stop_sequences", "temperature", "p", "k", "thinking", "response_format"),
)


def decode_request(body: JsonObject) -> Request:
    """Decode a client's request body."""
    fields = Fields.of(body, ClientWireError)
    system, messages = decode_messages(fields)
    extras = fields.rest(*_REQUEST_FIELDS)
    return Request(
        messages=messages,
        model=fields.text("model"),
        system=(*system, *decode_documents(fields)),
        tools=decode_tools(fields),
        tool_choice=decode_choice(fields),
        search=decode_search(fields),
        limits=Limits(
            fields.integer("max_tokens"),
            fields.texts("stop_sequences"),
            fields.number("temperature"),
            fields.number("p"),
            fields.integer("k"),
        ),
        reasoning=_decode_reasoning(fields.obj("thinking")),
        output=_decode_output(fields.obj("response_format")),
        stream=fields.flag("stream") or False,
        extras={NAME: extras},
    )


def _decode_reasoning(thinking: Fields) -> ReasoningOptions | None:
    if thinking.text("type") == "disabled":
        return ReasoningOptions("none")
    budget = thinking.integer("token_budget")
    return None if budget is None else ReasoningOptions(budget_tokens=budget)


def _decode_output(form: Fields) -> OutputFormat | None:
    if form.text("type") != "json_object":
        return None
    return OutputFormat(form.obj("json_schema").raw if form.has("json_schema") else None)


def encode_request(request: Request) -> Encoded:
    """Encode a request body, and name what the API has no field for."""
    messages, omitted = encode_messages(request.system, request.messages)
    tools, unsupported = encode_tools(request)
    body: JsonObject = {"model": request.model, "messages": messages, **tools}
    if documents := encode_documents(request.system):
        body["documents"] = documents
    if request.search is not None:
        declaration = encode_search(request.search)
        body |= declaration.body
        unsupported += declaration.unsupported
    body |= _encode_limits(request.limits)
    body |= _encode_reasoning(request.reasoning)
    body |= _encode_output(request.output)
    if request.stream:
        body["stream"] = True
    lost = (*unsupported, *omitted, *_unsupported(request))
    return Encoded({**body, **request.extras.get(NAME, {})}, lost)


def _encode_limits(limits: Limits) -> JsonObject:
    fields: JsonObject = {
        "max_tokens": limits.max_output_tokens,
        "stop_sequences": list(limits.stop) or None,
        "temperature": limits.temperature,
        "p": limits.top_p,
        "k": limits.top_k,
    }
    return {name: item for name, item in fields.items() if item is not None}


def _encode_reasoning(options: ReasoningOptions | None) -> JsonObject:
    if options is None or (options.effort is None and options.budget_tokens is None):
        return {}
    thinking: dict[str, Json] = {"type": "disabled" if options.effort == "none" else "enabled"}
    if options.budget_tokens is not None and options.effort != "none":
        thinking["token_budget"] = options.budget_tokens
    return {"thinking": thinking}


def _encode_output(output: OutputFormat | None) -> JsonObject:
    if output is None:
        return {}
    form: JsonObject = {"type": "json_object"}
    if output.schema is not None:
        form["json_schema"] = output.schema
    return {"response_format": form}


def _unsupported(request: Request) -> Iterator[str]:
    options = request.reasoning
    if options is not None and options.effort not in (None, "none"):
        yield "reasoning"
    if request.previous_id:
        yield "previous_id"
