"""Requests.

Canonical fields are taken out, everything else stays verbatim in the extras and goes back to this dialect
only. Where two spellings mean the same (`max_tokens`, `reasoning`) the extras also keep the one that was
used: its presence chooses the spelling, its value never wins over the canonical one.
"""

from __future__ import annotations

from typing import NamedTuple

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.openai_chat.calls import expects_legacy
from groundwire.dialects.openai_chat.history import decode_messages, encode_messages
from groundwire.dialects.openai_chat.parts import NAME, own
from groundwire.dialects.openai_chat.search import (
    DEFAULT_FORM,
    SEARCH_FIELDS,
    SearchSaid,
    decode_search,
    encode_search,
    is_web_plugin,
)
from groundwire.dialects.openai_chat.tools import (
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
)
from groundwire.model.request import Effort

_KNOWN = (
    "messages",
    "model",
    "tools",
    "functions",
    "tool_choice",
    "function_call",
    "plugins",
    "max_completion_tokens",
    "stop",
    "temperature",
    "top_p",
    "reasoning_effort",
    "response_format",
    "stream",
    *SEARCH_FIELDS,
)
# Kept for their spelling or their unknown parts; written by hand.
_SPELLINGS = (
    "max_tokens",
    "top_k",
    "reasoning",
    "response_format",
    "tool_choice",
    "plugins",
    "stream_options",
)
_EFFORTS: dict[str, Effort] = {
    "none": "none",
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}


def decode_request(body: JsonObject) -> Request:
    """A caller's body."""
    fields = Fields.of(body, ClientWireError)
    system, messages = decode_messages(fields)
    search = decode_search(fields)
    return Request(
        messages,
        fields.text("model"),
        system,
        decode_tools(fields),
        decode_choice(fields),
        search,
        _decode_limits(fields),
        _decode_reasoning(fields),
        _decode_format(fields),
        fields.flag("stream") or False,
        extras={NAME: {**fields.rest(*_KNOWN), **_decode_spellings(fields)}},
    )


def _decode_spellings(fields: Fields) -> JsonObject:
    """What the known fields say beyond their canonical meaning."""
    kept: JsonObject = {}
    plugins: list[Json] = [plugin.raw for plugin in fields.objs("plugins") if not is_web_plugin(plugin)]
    if plugins:
        kept["plugins"] = plugins
    verbatim, choice = fields.get("tool_choice"), decode_choice(fields)
    if isinstance(verbatim, dict) and (choice is None or choice.mode not in ("search", "function")):
        kept["tool_choice"] = verbatim
    effort = fields.text("reasoning_effort")
    if effort and effort not in _EFFORTS:
        kept["reasoning_effort"] = effort
    form = fields.obj("response_format")
    if form.text("type") not in ("", "json_object", "json_schema"):
        kept["response_format"] = form.raw
    elif rest := form.obj("json_schema").rest("name", "schema", "strict"):
        kept["response_format"] = {"json_schema": rest}
    return kept


def _decode_limits(fields: Fields) -> Limits:
    stop = fields.get("stop")
    limit = fields.integer("max_completion_tokens")
    return Limits(
        fields.integer("max_tokens") if limit is None else limit,
        (stop,) if isinstance(stop, str) else fields.texts("stop"),
        fields.number("temperature"),
        fields.number("top_p"),
        fields.integer("top_k"),
    )


def _decode_reasoning(fields: Fields) -> ReasoningOptions | None:
    """`reasoning_effort`, or OpenRouter's object."""
    told = fields.obj("reasoning")
    effort = _EFFORTS.get(fields.text("reasoning_effort") or told.text("effort"))
    if told.flag("enabled") is False:
        effort = "none"
    hidden = told.flag("exclude")
    options = ReasoningOptions(effort, told.integer("max_tokens"), None if hidden is None else not hidden)
    return None if options == ReasoningOptions() else options


def _decode_format(fields: Fields) -> OutputFormat | None:
    told = fields.obj("response_format")
    if told.text("type") == "json_object":
        return OutputFormat()
    if told.text("type") != "json_schema":
        return None
    form = told.obj("json_schema")
    schema = form.obj("schema").raw if form.has("schema") else None
    return OutputFormat(schema, form.text("name"), form.flag("strict"))


class _Writing(NamedTuple):
    """A request on its way out: what it kept for this dialect, and the search form it is written for."""

    request: Request
    kept: JsonObject
    form: str

    @property
    def openrouter(self) -> bool:
        return self.form in ("openrouter", "plugin")


def encode_request(request: Request) -> Encoded:
    """The body for a provider, and what it has no words for."""
    kept = own(request.extras)
    search = encode_search(request.search) if request.search else SearchSaid({})
    form = own(request.search.extras).get("form", DEFAULT_FORM) if request.search else DEFAULT_FORM
    writing = _Writing(request, kept, str(form))
    messages, left_out = encode_messages(request.system, request.messages)
    tools, foreign = encode_tools(request.tools)
    body: JsonObject = {
        **{key: value for key, value in kept.items() if key not in _SPELLINGS},
        "model": request.model,
        "messages": messages,
        **tools,
        **search.fields,
    }
    unsupported = [*search.unsupported, *left_out]
    _add_search(body, search, kept)
    body |= _encode_choice(writing, search, unsupported)
    body |= _encode_limits(writing, unsupported)
    body |= _encode_thinking(writing, unsupported)
    body |= _encode_format(writing)
    body |= _encode_stream(writing)
    if foreign:
        unsupported.append("opaque_tools")
    if request.previous_id:
        unsupported.append("previous_id")
    return Encoded(body, tuple(unsupported))


def _add_search(body: JsonObject, search: SearchSaid, kept: JsonObject) -> None:
    tools, plugins = body.get("tools"), kept.get("plugins")
    if search.tool:
        body["tools"] = [*(tools if isinstance(tools, list) else ()), search.tool]
    entries: list[Json] = list(plugins) if isinstance(plugins, list) else []
    if search.plugin:
        entries.append(search.plugin)
    if entries:
        body["plugins"] = entries


def _encode_choice(writing: _Writing, search: SearchSaid, unsupported: list[str]) -> JsonObject:
    choice = writing.request.tool_choice
    verbatim = writing.kept.get("tool_choice")
    if verbatim is not None and decode_choice(Fields({"tool_choice": verbatim}, ClientWireError)) == choice:
        return {"tool_choice": verbatim}
    if choice is None:
        return {}
    search_type = search.tool["type"] if search.tool else ""
    said = encode_choice(choice, str(search_type), legacy=expects_legacy(writing.request))
    if not said:
        unsupported.append("tool_choice")
    return said


def _encode_limits(writing: _Writing, unsupported: list[str]) -> JsonObject:
    limits = writing.request.limits
    old = "max_tokens" in writing.kept or writing.form == "perplexity"
    said: JsonObject = {
        "max_tokens" if old else "max_completion_tokens": limits.max_output_tokens,
        "stop": list(limits.stop) or None,
        "temperature": limits.temperature,
        "top_p": limits.top_p,
    }
    if limits.top_k is not None:
        # OpenAI refuses it; most others take it.
        if "top_k" in writing.kept or writing.form != DEFAULT_FORM:
            said["top_k"] = limits.top_k
        else:
            unsupported.append("top_k")
    return {key: value for key, value in said.items() if value is not None}


def _encode_thinking(writing: _Writing, unsupported: list[str]) -> JsonObject:
    options = writing.request.reasoning
    kept = as_object(writing.kept.get("reasoning"))
    if options is None:
        return {"reasoning": kept} if kept else {}
    if not kept and not writing.openrouter:
        if options.budget_tokens is not None or options.visible is False:
            unsupported.append("reasoning")
        return {"reasoning_effort": options.effort} if options.effort else {}
    said: JsonObject = {
        "effort": options.effort,
        "max_tokens": options.budget_tokens,
        "exclude": None if options.visible is None else not options.visible,
    }
    return {"reasoning": {**kept, **{key: value for key, value in said.items() if value is not None}}}


def _encode_format(writing: _Writing) -> JsonObject:
    output = writing.request.output
    kept = as_object(writing.kept.get("response_format"))
    if output is None:
        return {"response_format": kept} if "type" in kept else {}
    if output.schema is None:
        return {"response_format": {"type": "json_object"}}
    schema: JsonObject = {
        **as_object(kept.get("json_schema")),
        "name": output.name or "answer",
        "schema": output.schema,
    }
    if output.strict is not None:
        schema["strict"] = output.strict
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _encode_stream(writing: _Writing) -> JsonObject:
    """A caller of this dialect says itself whether it wants counts; for others we ask for them."""
    if not writing.request.stream:
        return {}
    options = as_object(writing.kept.get("stream_options"))
    if NAME not in writing.request.extras:
        options = {"include_usage": True}
    return {"stream": True, **({"stream_options": options} if options else {})}
