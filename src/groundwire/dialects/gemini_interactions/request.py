"""Request bodies: `model` or `agent`, `input`, tools, and `generation_config`.

A system instruction is one string. Output formats are `response_format`, one or a list of `{type: "text",
mime_type, schema}`, or, from earlier clients, the bare JSON schema.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.gemini_interactions.history import decode_input, encode_input
from groundwire.dialects.gemini_interactions.search import NAME, own_extras
from groundwire.dialects.gemini_interactions.tools import (
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

_REQUEST_FIELDS = (
    "model",
    "input",
    "tools",
    "system_instruction",
    "generation_config",
    "previous_interaction_id",
    "stream",
    "response_format",
    "response_mime_type",
)

_CONFIG_FIELDS = (
    "max_output_tokens",
    "stop_sequences",
    "temperature",
    "top_p",
    "top_k",
    "thinking_level",
    "thinking_summaries",
    "tool_choice",
)
_FORMAT_TYPES = frozenset({"text", "audio", "image", "video"})
_JSON_TYPE = "application/json"
_EFFORTS: Mapping[str, Effort] = {"minimal": "minimal", "low": "low", "medium": "medium", "high": "high"}

_LEVELS: Mapping[Effort, str] = {
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


def decode_request(body: JsonObject) -> Request:
    """Decode a client's request body."""
    fields = Fields.of(body, ClientWireError)
    model = fields.text("model") or fields.text("agent")
    if not model:
        raise fields.fault("a model or an agent is needed", "model")
    messages = decode_input(fields)
    if not messages and not fields.text("previous_interaction_id"):
        raise fields.fault("there is no input", "input")
    config = fields.obj("generation_config")
    tools, search = decode_tools(fields.objs("tools"))
    system = fields.text("system_instruction")
    output, formats = _decode_output(fields)
    choice = decode_choice(config)
    rest = config.rest(*_CONFIG_FIELDS)
    if choice is None and config.has("tool_choice"):
        rest["tool_choice"] = config.get("tool_choice")
    extras = fields.rest(*_REQUEST_FIELDS) | formats
    if rest:
        extras["generation_config"] = rest
    return Request(
        messages,
        model,
        (Text(system),) if system else (),
        tools,
        choice,
        search,
        _decode_limits(config),
        _decode_reasoning(config),
        output,
        bool(fields.flag("stream")),
        fields.text("previous_interaction_id"),
        {NAME: extras} if extras else {},
        stored=_decode_stored(fields),
    )


def _decode_stored(fields: Fields) -> StoredContext | None:
    name = "previous_interaction_id"
    return StoredContext(NAME, (name,)) if fields.text(name) else None


def encode_request(request: Request) -> Encoded:
    """Encode a request body for the provider."""
    extras = dict(own_extras(request.extras))
    is_agent = extras.pop("agent", None) == request.model
    body: JsonObject = {"agent" if is_agent else "model": request.model}
    conversation, unsupported = encode_input(request.messages)
    if conversation:
        body["input"] = conversation
    tools, unsupported_tools = encode_tools(request)
    if tools:
        body["tools"] = list[Json](tools)
    system = [part.text for part in request.system]
    system += (message.text for message in request.messages if message.role in ("system", "developer"))
    if any(system):
        body["system_instruction"] = "\n\n".join(filter(None, system))
    config, unsupported_config = _encode_config(request, as_object(extras.pop("generation_config", None)))
    if config:
        body["generation_config"] = config
    formats = _encode_output(request.output, extras.pop("response_format", None))
    if formats is not None:
        body["response_format"] = formats
    if request.previous_id:
        body["previous_interaction_id"] = request.previous_id
    if request.stream:
        body["stream"] = True
    return Encoded(
        body | extras, tuple(dict.fromkeys([*unsupported, *unsupported_tools, *unsupported_config]))
    )


def _decode_limits(config: Fields) -> Limits:
    return Limits(
        config.integer("max_output_tokens"),
        config.texts("stop_sequences"),
        config.number("temperature"),
        config.number("top_p"),
        config.integer("top_k"),
    )


def _decode_reasoning(config: Fields) -> ReasoningOptions | None:
    effort = _EFFORTS.get(config.text("thinking_level"))
    summaries = config.text("thinking_summaries")
    visible = summaries != "none" if summaries else None
    return None if effort is None and visible is None else ReasoningOptions(effort, visible=visible)


def _encode_config(request: Request, rest: JsonObject) -> tuple[JsonObject, list[str]]:
    limits = request.limits
    fields: JsonObject = {
        "max_output_tokens": limits.max_output_tokens,
        "stop_sequences": list(limits.stop) or None,
        "temperature": limits.temperature,
        "top_p": limits.top_p,
    }
    unsupported = ["top_k"] if limits.top_k is not None else []
    reasoning = request.reasoning
    if reasoning is not None:
        fields["thinking_level"] = _LEVELS.get(reasoning.effort) if reasoning.effort else None
        if reasoning.visible is not None:
            fields["thinking_summaries"] = "auto" if reasoning.visible else "none"
        if reasoning.budget_tokens is not None or reasoning.effort == "none":
            unsupported.append("reasoning")
    choice = request.tool_choice
    if choice is not None:
        fields["tool_choice"] = encode_choice(choice)
        if choice.mode == "search":
            unsupported.append("tool_choice")
    return {name: value for name, value in fields.items() if value is not None} | rest, unsupported


def _decode_output(fields: Fields) -> tuple[OutputFormat | None, JsonObject]:
    """Decode JSON output; formats of other kinds are returned verbatim."""
    mime_type = fields.text("response_mime_type")
    value = fields.get("response_format")
    if value is None:
        return (OutputFormat() if mime_type == _JSON_TYPE else None), {}
    is_list = isinstance(value, list)
    formats = list(fields.objs("response_format")) if is_list else [fields.obj("response_format")]
    output: OutputFormat | None = None
    others: list[Json] = []
    for item in formats:
        decoded = _decode_format(item)
        output = output or decoded
        if decoded is None:
            others.append(item.raw)
    return output, {"response_format": others if is_list else others[0]} if others else {}


def _decode_format(item: Fields) -> OutputFormat | None:
    kind = item.get("type")
    if not (isinstance(kind, str) and kind in _FORMAT_TYPES):
        return OutputFormat(item.raw)
    if kind == "text" and item.text("mime_type") == _JSON_TYPE:
        return OutputFormat(item.obj("schema").raw if item.has("schema") else None)
    return None


def _encode_output(output: OutputFormat | None, others: Json) -> Json:
    if output is None:
        return others
    body: JsonObject = {"type": "text", "mime_type": _JSON_TYPE}
    if output.schema is not None:
        body["schema"] = output.schema
    return [body, *others] if isinstance(others, list) else body
