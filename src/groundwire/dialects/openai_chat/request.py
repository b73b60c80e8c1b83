"""Decodes and encodes requests.

Canonical fields are extracted; all other fields stay verbatim in the extras and are written only for this
dialect. Where two fields mean the same (`max_tokens`, `reasoning`), the extras also keep the one that was
used: its presence selects the field to write, but its value never overrides the canonical one.
"""

from __future__ import annotations

from typing import NamedTuple

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.openai_chat.history import decode_messages, encode_messages
from groundwire.dialects.openai_chat.search import (
    DEFAULT_FORM,
    NAME,
    SEARCH_FIELDS,
    EncodedSearch,
    decode_search,
    encode_search,
    is_web_plugin,
    own_extras,
)
from groundwire.dialects.openai_chat.tools import (
    decode_choice,
    decode_tools,
    encode_choice,
    encode_tools,
    expects_legacy,
)
from groundwire.errors import ClientWireError
from groundwire.model import Json, JsonObject, Limits, OutputFormat, ReasoningOptions, Request, ToolChoice
from groundwire.model.request import Effort

_CANONICAL_FIELDS = (
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

# Kept in the extras for their name or their unknown parts; each has an encoder below.
_KEPT_FIELDS = (
    "max_tokens",
    "top_k",
    "reasoning",
    "response_format",
    "tool_choice",
    "plugins",
    "stream_options",
)
_PARTLY_CANONICAL = frozenset({"plugins", "tool_choice", "reasoning_effort", "response_format"})
"""Fields of which some forms or parts have no canonical meaning."""
_LIMIT_FIELDS = frozenset({"max_completion_tokens", "max_tokens", "stop", "temperature", "top_p", "top_k"})
_NO_LIMITS = Limits()
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
    """Decode a caller's request body."""
    fields = Fields.of(body, ClientWireError)
    system, messages = decode_messages(fields)
    search = decode_search(fields)
    choice = decode_choice(fields)
    return Request(
        messages,
        fields.text("model"),
        system,
        decode_tools(fields),
        choice,
        search,
        _decode_limits(fields),
        _decode_reasoning(fields),
        _decode_format(fields),
        fields.flag("stream") or False,
        extras={NAME: {**fields.rest(*_CANONICAL_FIELDS), **_decode_kept_fields(fields, choice)}},
    )


def _decode_kept_fields(fields: Fields, choice: ToolChoice | None) -> JsonObject:
    """Keep what the known fields contain beyond their canonical meaning."""
    kept: JsonObject = {}
    if _PARTLY_CANONICAL.isdisjoint(fields.raw):
        return kept
    plugins: list[Json] = [plugin.raw for plugin in fields.objs("plugins") if not is_web_plugin(plugin)]
    if plugins:
        kept["plugins"] = plugins
    verbatim = fields.get("tool_choice")
    if isinstance(verbatim, dict) and (choice is None or choice.mode not in ("search", "function")):
        kept["tool_choice"] = verbatim
    effort = fields.text("reasoning_effort")
    if effort and effort not in _EFFORTS:
        kept["reasoning_effort"] = effort
    if not fields.has("response_format"):
        return kept
    response_format = fields.obj("response_format")
    if response_format.text("type") not in ("", "json_object", "json_schema"):
        kept["response_format"] = response_format.raw
    elif rest := response_format.obj("json_schema").rest("name", "schema", "strict"):
        kept["response_format"] = {"json_schema": rest}
    return kept


def _decode_limits(fields: Fields) -> Limits:
    if _LIMIT_FIELDS.isdisjoint(fields.raw):
        return _NO_LIMITS
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
    """Decode `reasoning_effort`, or OpenRouter's `reasoning` object."""
    if not fields.has("reasoning") and not fields.has("reasoning_effort"):
        return None
    reasoning = fields.obj("reasoning")
    effort = _EFFORTS.get(fields.text("reasoning_effort") or reasoning.text("effort"))
    if reasoning.flag("enabled") is False:
        effort = "none"
    hidden = reasoning.flag("exclude")
    options = ReasoningOptions(
        effort, reasoning.integer("max_tokens"), None if hidden is None else not hidden
    )
    return None if options == ReasoningOptions() else options


def _decode_format(fields: Fields) -> OutputFormat | None:
    if not fields.has("response_format"):
        return None
    response_format = fields.obj("response_format")
    if response_format.text("type") == "json_object":
        return OutputFormat()
    if response_format.text("type") != "json_schema":
        return None
    json_schema = response_format.obj("json_schema")
    schema = json_schema.obj("schema").raw if json_schema.has("schema") else None
    return OutputFormat(schema, json_schema.text("name"), json_schema.flag("strict"))


class _RequestEncoding(NamedTuple):
    """A request to encode, with its extras for this dialect and the search form to write."""

    request: Request
    extras: JsonObject
    search_form: str

    @property
    def is_openrouter(self) -> bool:
        return self.search_form in ("openrouter", "plugin")


def encode_request(request: Request) -> Encoded:
    """Encode the body for a provider; also the names of what it cannot express."""
    extras = own_extras(request.extras)
    search = encode_search(request.search) if request.search else EncodedSearch({})
    search_form = (
        own_extras(request.search.extras).get("form", DEFAULT_FORM) if request.search else DEFAULT_FORM
    )
    encoding = _RequestEncoding(request, extras, str(search_form))
    messages, omitted = encode_messages(request.system, request.messages)
    tools, foreign = encode_tools(request.tools)
    body: JsonObject = {
        **{key: value for key, value in extras.items() if key not in _KEPT_FIELDS},
        "model": request.model,
        "messages": messages,
        **tools,
        **search.fields,
    }
    unsupported = [*search.unsupported, *omitted]
    _add_search(body, search, extras)
    body |= _encode_choice(encoding, search, unsupported)
    body |= _encode_limits(encoding, unsupported)
    body |= _encode_reasoning_options(encoding, unsupported)
    body |= _encode_format(encoding)
    body |= _encode_stream(encoding)
    if foreign:
        unsupported.append("opaque_tools")
    if request.previous_id:
        unsupported.append("previous_id")
    return Encoded(body, tuple(unsupported))


def _add_search(body: JsonObject, search: EncodedSearch, extras: JsonObject) -> None:
    tools, plugins = body.get("tools"), extras.get("plugins")
    if search.tool:
        body["tools"] = [*(tools if isinstance(tools, list) else ()), search.tool]
    entries: list[Json] = list(plugins) if isinstance(plugins, list) else []
    if search.plugin:
        entries.append(search.plugin)
    if entries:
        body["plugins"] = entries


def _encode_choice(encoding: _RequestEncoding, search: EncodedSearch, unsupported: list[str]) -> JsonObject:
    choice = encoding.request.tool_choice
    verbatim = encoding.extras.get("tool_choice")
    if verbatim is not None and decode_choice(Fields({"tool_choice": verbatim}, ClientWireError)) == choice:
        return {"tool_choice": verbatim}
    if choice is None:
        return {}
    search_type = search.tool["type"] if search.tool else ""
    encoded = encode_choice(choice, str(search_type), legacy=expects_legacy(encoding.request))
    if not encoded:
        unsupported.append("tool_choice")
    return encoded


def _encode_limits(encoding: _RequestEncoding, unsupported: list[str]) -> JsonObject:
    limits = encoding.request.limits
    is_legacy = "max_tokens" in encoding.extras or encoding.search_form == "perplexity"
    encoded: JsonObject = {
        "max_tokens" if is_legacy else "max_completion_tokens": limits.max_output_tokens,
        "stop": list(limits.stop) or None,
        "temperature": limits.temperature,
        "top_p": limits.top_p,
    }
    if limits.top_k is not None:
        # OpenAI rejects it; most other servers accept it.
        if "top_k" in encoding.extras or encoding.search_form != DEFAULT_FORM:
            encoded["top_k"] = limits.top_k
        else:
            unsupported.append("top_k")
    return {key: value for key, value in encoded.items() if value is not None}


def _encode_reasoning_options(encoding: _RequestEncoding, unsupported: list[str]) -> JsonObject:
    options = encoding.request.reasoning
    kept = as_object(encoding.extras.get("reasoning"))
    if options is None:
        return {"reasoning": kept} if kept else {}
    if not kept and not encoding.is_openrouter:
        if options.budget_tokens is not None or options.visible is False:
            unsupported.append("reasoning")
        return {"reasoning_effort": options.effort} if options.effort else {}
    encoded: JsonObject = {
        "effort": options.effort,
        "max_tokens": options.budget_tokens,
        "exclude": None if options.visible is None else not options.visible,
    }
    return {"reasoning": {**kept, **{key: value for key, value in encoded.items() if value is not None}}}


def _encode_format(encoding: _RequestEncoding) -> JsonObject:
    output = encoding.request.output
    kept = as_object(encoding.extras.get("response_format"))
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


def _encode_stream(encoding: _RequestEncoding) -> JsonObject:
    """Encode the stream options.

    Callers of this dialect choose themselves whether they want usage; for others it is always requested.
    """
    if not encoding.request.stream:
        return {}
    options = as_object(encoding.extras.get("stream_options"))
    if NAME not in encoding.request.extras:
        options = {"include_usage": True}
    return {"stream": True, **({"stream_options": options} if options else {})}
