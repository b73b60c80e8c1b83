"""Request bodies: messages, system text, tools, tool choice and limits.

The model and whether to stream are in the path. Fields without a canonical meaning (`guardrailConfig`,
`additionalModelRequestFields`, …) are kept as the client sent them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from groundwire.dialects.base import Encoded
from groundwire.dialects.bedrock_converse.encoder import encode_image
from groundwire.dialects.bedrock_converse.history import decode_messages, encode_messages
from groundwire.dialects.bedrock_converse.search import NAME
from groundwire.dialects.bedrock_converse.tools import decode_choice, decode_tools, encode_tools
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.model import (
    Image,
    Json,
    JsonObject,
    Limits,
    Opaque,
    OutputFormat,
    ReasoningOptions,
    Request,
    Text,
)
from groundwire.model.request import Effort

_REQUEST_FIELDS = ("messages", "system", "inferenceConfig", "toolConfig", "modelId", "model")
_EFFORTS: dict[str, Effort] = {effort: effort for effort in get_args(Effort) if effort != "none"}
_INSTRUCTIONS = ("system", "developer")


def decode_request(body: JsonObject) -> Request:
    """Decode a client's request body."""
    fields = Fields.of(body, ClientWireError)
    tools, search = decode_tools(fields.obj("toolConfig"))
    config = fields.obj("inferenceConfig")
    output = fields.obj("outputConfig")
    effort = _EFFORTS.get(output.text("effort"))
    extras = fields.rest(*_REQUEST_FIELDS)
    return Request(
        messages=tuple(decode_messages(fields.objs("messages"))),
        system=tuple(Text(block.text("text")) for block in fields.objs("system") if block.has("text")),
        tools=tools,
        tool_choice=decode_choice(fields.obj("toolConfig").obj("toolChoice")),
        search=search,
        limits=Limits(
            config.integer("maxTokens"),
            config.texts("stopSequences"),
            config.number("temperature"),
            config.number("topP"),
        ),
        reasoning=ReasoningOptions(effort) if effort else None,
        output=_decode_output(output.obj("textFormat")),
        extras={NAME: extras} if extras else {},
    )


def _decode_output(form: Fields) -> OutputFormat | None:
    schema = form.obj("structure").obj("jsonSchema")
    if not schema.has("schema"):
        return None
    document = load_json(schema.text("schema"), ClientWireError)
    if not isinstance(document, dict):
        raise schema.fault("expected the JSON text of an object", "schema")
    return OutputFormat(document, schema.text("name"))


def encode_request(request: Request) -> Encoded:
    """Encode a request body, and name what Bedrock has no field for."""
    system = [text.text for text in request.system]
    system += [message.text for message in request.messages if message.role in _INSTRUCTIONS]
    turns = [message for message in request.messages if message.role not in _INSTRUCTIONS]
    tool_config, unsupported = encode_tools(request)
    fields: dict[str, Json] = {
        "messages": encode_messages(turns),
        "system": [{"text": text} for text in system if text.strip()],
        "inferenceConfig": _encode_limits(request.limits),
        "toolConfig": tool_config,
        "outputConfig": _encode_output(request),
    }
    body: JsonObject = {name: item for name, item in fields.items() if item}
    return Encoded({**body, **request.extras.get(NAME, {})}, (*unsupported, *_unsupported(request)))


def _encode_limits(limits: Limits) -> JsonObject:
    config: JsonObject = {
        "maxTokens": limits.max_output_tokens,
        "temperature": limits.temperature,
        "topP": limits.top_p,
        "stopSequences": list(limits.stop) or None,
    }
    return {name: item for name, item in config.items() if item is not None}


def _encode_output(request: Request) -> JsonObject:
    config: JsonObject = {}
    if request.output is not None and request.output.schema is not None:
        schema: JsonObject = {"schema": dump_json(request.output.schema)}
        if request.output.name:
            schema["name"] = request.output.name
        config["textFormat"] = {"type": "json_schema", "structure": {"jsonSchema": schema}}
    if request.reasoning is not None and request.reasoning.effort in _EFFORTS.values():
        config["effort"] = request.reasoning.effort
    return config


def _unsupported(request: Request) -> Iterator[str]:
    options = request.reasoning
    if options is not None and (options.budget_tokens is not None or options.effort == "none"):
        yield "reasoning"
    if request.limits.top_k is not None:
        yield "top_k"
    if request.previous_id:
        yield "previous_id"
    if request.output is not None and request.output.schema is None:
        yield "output"
    parts = [part for message in request.messages for part in message.parts]
    if any(isinstance(part, Image) and encode_image(part) is None for part in parts):
        yield "images_by_url"
    if any(isinstance(part, Opaque) and part.dialect != NAME for part in parts):
        yield "opaque_parts"
