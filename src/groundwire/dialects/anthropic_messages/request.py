"""Request bodies: messages, system text, tools, tool choice and limits.

Requests that stay in this dialect keep `thinking`, `output_config` and every unknown field as the client sent
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from groundwire.dialects.anthropic_messages.history import decode_messages, encode_messages
from groundwire.dialects.anthropic_messages.search import NAME, decode_search, is_search_tool
from groundwire.dialects.anthropic_messages.tools import (
    block_extras,
    decode_choice,
    decode_tool,
    encode_choice,
    encode_tools,
)
from groundwire.dialects.base import DEFAULT_KEY, Dialect, Encoded
from groundwire.dialects.fields import Fields
from groundwire.errors import ClientWireError
from groundwire.model import (
    JsonObject,
    Limits,
    Message,
    Opaque,
    OpaqueTool,
    OutputFormat,
    ReasoningOptions,
    Request,
    Text,
)
from groundwire.model.request import Effort
from groundwire.model.value import replace

DEFAULT_MAX_TOKENS = 8192

_REQUEST_FIELDS = (
    *("model", "messages", "system", "tools", "tool_choice", "max_tokens", "stop_sequences", "stream"),
    *("temperature", "top_p", "top_k"),
)

_EFFORTS: frozenset[Effort] = frozenset({"low", "medium", "high", "xhigh", "max"})


def with_key(dialect: Dialect, key: bytes) -> Dialect:
    """The dialect that reads blocks signed with this key when a client sends them back."""
    return replace(dialect, decode_request=partial(decode_request, key=key))


def decode_request(body: JsonObject, key: bytes = DEFAULT_KEY) -> Request:
    """Decode a client's request body."""
    fields = Fields.of(body, ClientWireError)
    tools = list(fields.objs("tools"))
    search = next((decode_search(tool) for tool in tools if is_search_tool(tool)), None)
    extras = fields.rest(*_REQUEST_FIELDS)
    choice = fields.obj("tool_choice")
    kept_choice = choice.rest("type", "name")
    if kept_choice:
        extras["tool_choice"] = kept_choice
    return Request(
        messages=tuple(decode_messages(fields.objs("messages"), key)),
        model=fields.text("model"),
        system=_decode_system(fields),
        tools=tuple(decode_tool(tool) for tool in tools if not is_search_tool(tool)),
        tool_choice=decode_choice(choice, search),
        search=search,
        limits=Limits(
            fields.integer("max_tokens"),
            fields.texts("stop_sequences"),
            fields.number("temperature"),
            fields.number("top_p"),
            fields.integer("top_k"),
        ),
        reasoning=_decode_reasoning(fields),
        output=_decode_output(fields),
        stream=fields.flag("stream") or False,
        extras={NAME: extras} if extras else {},
    )


def encode_request(request: Request) -> Encoded:
    """Encode a body for the real API, which takes no sampling settings since 2026-10-21."""
    kept = dict(request.extras.get(NAME, {}))
    kept_choice = kept.pop("tool_choice", None)
    system, turns = _split_system(request)
    body: JsonObject = {
        "model": request.model,
        "max_tokens": request.limits.max_output_tokens or DEFAULT_MAX_TOKENS,
        "messages": list(encode_messages(turns)),
    }
    if system:
        body["system"] = [{"type": "text", "text": text.text, **text.extras.get(NAME, {})} for text in system]
    tools, unsupported = encode_tools(request)
    if tools:
        body["tools"] = tools
    choice = encode_choice(request.tool_choice)
    if choice:
        body["tool_choice"] = {**choice, **(kept_choice if isinstance(kept_choice, dict) else {})}
    if request.limits.stop:
        body["stop_sequences"] = list(request.limits.stop)
    if request.stream:
        body["stream"] = True
    body.update(_encode_reasoning(request))
    body.update(kept)
    return Encoded(body, (*unsupported, *_unsupported(request)))


def _decode_system(fields: Fields) -> tuple[Text, ...]:
    if isinstance(fields.get("system"), str):
        return (Text(fields.text("system")),)
    return tuple(
        Text(block.text("text"), extras=block_extras(block, "text")) for block in fields.objs("system")
    )


def _decode_reasoning(fields: Fields) -> ReasoningOptions | None:
    if "thinking" not in fields.raw and "output_config" not in fields.raw:
        return None
    thinking = fields.obj("thinking")
    kind = thinking.text("type")
    named = fields.obj("output_config").text("effort")
    effort = next((name for name in _EFFORTS if name == named), None)
    if kind == "disabled":
        return ReasoningOptions("none")
    if not kind and effort is None:
        return None
    return ReasoningOptions(effort, thinking.integer("budget_tokens"), True if kind else None)


def _decode_output(fields: Fields) -> OutputFormat | None:
    if "output_config" not in fields.raw and "output_format" not in fields.raw:
        return None
    form = fields.obj("output_config").obj("format")
    if form.text("type") != "json_schema":
        form = fields.obj("output_format")
    return OutputFormat(form.obj("schema").raw) if form.text("type") == "json_schema" else None


def _split_system(request: Request) -> tuple[tuple[Text, ...], tuple[Message, ...]]:
    """Leading instructions belong in `system`; later ones stay where they are."""
    turns = list(request.messages)
    system = list(request.system)
    while turns and turns[0].role in ("system", "developer"):
        system.extend(part for part in turns.pop(0).parts if isinstance(part, Text))
    return tuple(system), tuple(turns)


def _encode_reasoning(request: Request) -> JsonObject:
    body: JsonObject = {}
    config: JsonObject = {}
    options = request.reasoning
    if options is not None:
        if options.effort == "none":
            body["thinking"] = {"type": "disabled"}
        elif options.budget_tokens is not None:
            body["thinking"] = {"type": "enabled", "budget_tokens": options.budget_tokens}
        elif options.visible:
            body["thinking"] = {"type": "adaptive"}
        if options.effort in _EFFORTS:
            config["effort"] = options.effort
        elif options.effort == "minimal":
            config["effort"] = "low"
    if request.output is not None and request.output.schema is not None:
        config["format"] = {"type": "json_schema", "schema": request.output.schema}
    if config:
        body["output_config"] = config
    return body


def _unsupported(request: Request) -> Iterator[str]:
    limits = request.limits
    yield from (name for name in ("temperature", "top_p", "top_k") if getattr(limits, name) is not None)
    if request.previous_id:
        yield "previous_id"
    if request.output is not None and request.output.schema is None:
        yield "output"
    if any(isinstance(tool, OpaqueTool) and tool.dialect != NAME for tool in request.tools):
        yield "opaque_tools"
    parts = (part for message in request.messages for part in message.parts)
    if any(isinstance(part, Opaque) and part.dialect != NAME for part in parts):
        yield "opaque_parts"
