"""Request bodies: entries, instructions, tools and `completion_args`.

An agent (`agent_id`) is text that only Mistral has. Fields without a canonical meaning are kept as the client
sent them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields
from groundwire.dialects.mistral_conversations.history import decode_inputs, encode_inputs
from groundwire.dialects.mistral_conversations.search import NAME
from groundwire.dialects.mistral_conversations.tools import (
    decode_choice,
    decode_tools,
    encode_choice,
    encode_tools,
)
from groundwire.errors import ClientWireError
from groundwire.model import (
    Json,
    JsonObject,
    Limits,
    OutputFormat,
    ReasoningOptions,
    Request,
    StoredContext,
    Text,
)
from groundwire.model.request import Effort

_REQUEST_FIELDS = ("model", "inputs", "instructions", "tools", "completion_args", "stream")
_ARGUMENT_FIELDS = (
    *("max_tokens", "stop", "temperature", "top_p", "reasoning_effort", "response_format", "tool_choice"),
)
_EFFORTS: dict[str, Effort] = {effort: effort for effort in get_args(Effort)}
_INSTRUCTIONS = ("system", "developer")


def decode_request(body: JsonObject) -> Request:
    """Decode a client's request body."""
    fields = Fields.of(body, ClientWireError)
    arguments = fields.obj("completion_args")
    tools, search = decode_tools(fields)
    stop = arguments.get("stop")
    effort = _EFFORTS.get(arguments.text("reasoning_effort"))
    instructions = fields.text("instructions")
    extras = fields.rest(*_REQUEST_FIELDS)
    if rest := arguments.rest(*_ARGUMENT_FIELDS):
        extras["completion_args"] = rest
    return Request(
        messages=decode_inputs(fields),
        model=fields.text("model"),
        system=(Text(instructions),) if instructions else (),
        tools=tools,
        tool_choice=decode_choice(arguments),
        search=search,
        limits=Limits(
            arguments.integer("max_tokens"),
            (stop,) if isinstance(stop, str) else arguments.texts("stop"),
            arguments.number("temperature"),
            arguments.number("top_p"),
        ),
        reasoning=ReasoningOptions(effort) if effort else None,
        output=_decode_output(arguments.obj("response_format")),
        stream=fields.flag("stream") or False,
        stored=StoredContext(NAME, ("agent_id",)) if fields.has("agent_id") else None,
        extras={NAME: extras},
    )


def _decode_output(form: Fields) -> OutputFormat | None:
    match form.text("type"):
        case "json_object":
            return OutputFormat()
        case "json_schema":
            schema = form.obj("json_schema")
            document = schema.obj("schema").raw if schema.has("schema") else None
            return OutputFormat(document, schema.text("name"), schema.flag("strict"))
    return None


def encode_request(request: Request) -> Encoded:
    """Encode a request body, and name what the API has no field for."""
    inputs, omitted = encode_inputs(request.messages)
    tools, unsupported = encode_tools(request)
    instructions = [text.text for text in request.system]
    instructions += [message.text for message in request.messages if message.role in _INSTRUCTIONS]
    own = dict(request.extras.get(NAME, {}))
    kept = own.pop("completion_args", None)
    arguments = {**(kept if isinstance(kept, dict) else {}), **_encode_arguments(request)}
    body: JsonObject = {"model": request.model, "inputs": inputs}
    optional: dict[str, Json] = {
        "instructions": "\n\n".join(filter(None, instructions)),
        "tools": tools,
        "completion_args": arguments,
        "stream": request.stream,
    }
    body |= {name: item for name, item in optional.items() if item}
    return Encoded({**body, **own}, (*unsupported, *omitted, *_unsupported(request)))


def _encode_arguments(request: Request) -> JsonObject:
    limits = request.limits
    choice, _ = encode_choice(request.tool_choice)
    fields: JsonObject = {
        "max_tokens": limits.max_output_tokens,
        "stop": list(limits.stop) or None,
        "temperature": limits.temperature,
        "top_p": limits.top_p,
        "reasoning_effort": request.reasoning.effort if request.reasoning else None,
        "response_format": _encode_output(request.output),
        "tool_choice": choice or None,
    }
    return {name: item for name, item in fields.items() if item is not None}


def _encode_output(output: OutputFormat | None) -> JsonObject | None:
    if output is None:
        return None
    if output.schema is None:
        return {"type": "json_object"}
    schema: JsonObject = {"name": output.name or "answer", "schema": output.schema}
    if output.strict is not None:
        schema["strict"] = output.strict
    return {"type": "json_schema", "json_schema": schema}


def _unsupported(request: Request) -> Iterator[str]:
    if not encode_choice(request.tool_choice)[1]:
        yield "tool_choice"
    if request.reasoning is not None and request.reasoning.budget_tokens is not None:
        yield "reasoning"
    if request.limits.top_k is not None:
        yield "top_k"
    if request.previous_id:
        yield "previous_id"
