"""What is asked: `model` or `agent`, `input`, tools, and `generation_config`.

A system instruction is one string. Output formats are `response_format`, one or a list of
`{type: "text", mime_type, schema}`, or, from earlier clients, the bare JSON schema.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.gemini_interactions.input import decode_input, encode_input
from groundwire.dialects.gemini_interactions.parts import NAME, own
from groundwire.dialects.gemini_interactions.search import decode_tools, encode_tools
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
    ToolChoice,
)
from groundwire.model.request import Effort, ToolMode

_KNOWN = (
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
_CONFIG = (
    "max_output_tokens",
    "stop_sequences",
    "temperature",
    "top_p",
    "top_k",
    "thinking_level",
    "thinking_summaries",
    "tool_choice",
)
_FORMATS = frozenset({"text", "audio", "image", "video"})
_JSON = "application/json"

_EFFORTS: Mapping[str, Effort] = {"minimal": "minimal", "low": "low", "medium": "medium", "high": "high"}
_LEVELS: Mapping[Effort, str] = {
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
_MODES: Mapping[str, ToolMode] = {"auto": "auto", "none": "none", "any": "required"}
_CHOICES: Mapping[ToolMode, str] = {"auto": "auto", "none": "none", "required": "any"}


def decode_request(body: JsonObject) -> Request:
    """A caller's body."""
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
    choice, rest = _decode_choice(config)
    extras = fields.rest(*_KNOWN) | formats
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
    """A body for the provider."""
    extras = dict(own(request.extras))
    is_agent = extras.pop("agent", None) == request.model
    body: JsonObject = {"agent" if is_agent else "model": request.model}
    conversation, unsupported = encode_input(request.messages)
    if conversation:
        body["input"] = conversation
    tools, unsaid_tools = encode_tools(request)
    if tools:
        body["tools"] = list[Json](tools)
    system = [part.text for part in request.system]
    system += (message.text for message in request.messages if message.role in ("system", "developer"))
    if any(system):
        body["system_instruction"] = "\n\n".join(filter(None, system))
    config, unsaid_config = _encode_config(request, as_object(extras.pop("generation_config", None)))
    if config:
        body["generation_config"] = config
    formats = _encode_output(request.output, extras.pop("response_format", None))
    if formats is not None:
        body["response_format"] = formats
    if request.previous_id:
        body["previous_interaction_id"] = request.previous_id
    if request.stream:
        body["stream"] = True
    return Encoded(body | extras, tuple(dict.fromkeys([*unsupported, *unsaid_tools, *unsaid_config])))


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


def _decode_choice(config: Fields) -> tuple[ToolChoice | None, JsonObject]:
    """The choice, and what of the configuration has no canonical form."""
    rest = config.rest(*_CONFIG)
    choice = config.get("tool_choice")
    if isinstance(choice, str) and choice in _MODES:
        return ToolChoice(_MODES[choice]), rest
    if isinstance(choice, dict):
        allowed = config.obj("tool_choice").obj("allowed_tools")
        names = allowed.texts("tools")
        if allowed.text("mode") == "any" and len(names) == 1:
            return ToolChoice("function", names[0]), rest
    if choice is not None:
        rest["tool_choice"] = choice
    return None, rest


def _encode_config(request: Request, rest: JsonObject) -> tuple[JsonObject, list[str]]:
    limits = request.limits
    said: JsonObject = {
        "max_output_tokens": limits.max_output_tokens,
        "stop_sequences": list(limits.stop) or None,
        "temperature": limits.temperature,
        "top_p": limits.top_p,
    }
    unsupported = ["top_k"] if limits.top_k is not None else []
    reasoning = request.reasoning
    if reasoning is not None:
        said["thinking_level"] = _LEVELS.get(reasoning.effort) if reasoning.effort else None
        if reasoning.visible is not None:
            said["thinking_summaries"] = "auto" if reasoning.visible else "none"
        if reasoning.budget_tokens is not None or reasoning.effort == "none":
            unsupported.append("reasoning")
    choice = request.tool_choice
    if choice is not None:
        said["tool_choice"] = _encode_choice(choice)
        if choice.mode == "search":
            unsupported.append("tool_choice")
    return {name: value for name, value in said.items() if value is not None} | rest, unsupported


def _encode_choice(choice: ToolChoice) -> Json:
    if choice.mode == "function":
        return {"allowed_tools": {"mode": "any", "tools": [choice.name]}}
    return _CHOICES.get(choice.mode)


def _decode_output(fields: Fields) -> tuple[OutputFormat | None, JsonObject]:
    """JSON output, and formats of other kinds as they stand."""
    mime_type = fields.text("response_mime_type")
    value = fields.get("response_format")
    if value is None:
        return (OutputFormat() if mime_type == _JSON else None), {}
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
    if not (isinstance(kind, str) and kind in _FORMATS):
        return OutputFormat(item.raw)
    if kind == "text" and item.text("mime_type") == _JSON:
        return OutputFormat(item.obj("schema").raw if item.has("schema") else None)
    return None


def _encode_output(output: OutputFormat | None, others: Json) -> Json:
    if output is None:
        return others
    body: JsonObject = {"type": "text", "mime_type": _JSON}
    if output.schema is not None:
        body["schema"] = output.schema
    return [body, *others] if isinstance(others, list) else body
