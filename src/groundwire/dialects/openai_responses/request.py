"""Decodes and encodes requests.

`instructions` are the system prompt; messages with the roles `system` and `developer` keep their position.
Unknown fields (`store`, `metadata`, `client_metadata`, `prompt_cache_key`, …) are kept and written back. A
request with a search also requests its sources, except in OpenRouter's forms, because OpenRouter rejects
that.
"""

from __future__ import annotations

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.openai_responses.history import decode_input, encode_input
from groundwire.dialects.openai_responses.search import (
    NAME,
    SearchDeclaration,
    as_extras,
    encode_search,
    own_extras,
)
from groundwire.dialects.openai_responses.tools import (
    decode_choice,
    decode_tools,
    encode_choice,
    encode_tools,
    other_plugins,
    search_is_alone,
)
from groundwire.errors import ClientWireError
from groundwire.model import (
    Json,
    JsonObject,
    Limits,
    OpaqueTool,
    OutputFormat,
    ReasoningOptions,
    Request,
    SearchOptions,
    StoredContext,
    Text,
    ToolChoice,
)
from groundwire.model.request import Effort
from groundwire.model.value import replace

SOURCES = "web_search_call.action.sources"
_EFFORTS: dict[str, Effort] = {
    "none": "none",
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}
_CANONICAL_FIELDS = (
    "model",
    "input",
    "instructions",
    "stream",
    "tools",
    "tool_choice",
    "plugins",
    "max_output_tokens",
    "max_tool_calls",
    "temperature",
    "top_p",
    "reasoning",
    "text",
    "previous_response_id",
)
_FORMATS = frozenset({"", "text", "json_object", "json_schema"})
_STORED_FIELDS = ("previous_response_id", "conversation", "prompt")


def decode_request(body: JsonObject) -> Request:
    """Decode a caller's request body."""
    fields = Fields.of(body, ClientWireError)
    if not fields.has("input") and not any(fields.has(key) for key in _STORED_FIELDS):
        raise fields.fault("expected a string or a list of items", "input")
    tools, search = decode_tools(fields)
    extras = fields.rest(*_CANONICAL_FIELDS)
    tool_choice = decode_choice(fields.get("tool_choice"))
    if _is_lossy_choice(fields.get("tool_choice"), tool_choice):
        extras["tool_choice"] = fields.get("tool_choice")
    if plugins := other_plugins(fields):
        extras["plugins"] = plugins
    search = _apply_max_tool_calls(fields, search, extras, alone=search_is_alone(tools))
    instructions = fields.text("instructions")
    return Request(
        messages=decode_input(fields),
        model=fields.text("model"),
        system=(Text(instructions),) if instructions else (),
        tools=tools,
        tool_choice=tool_choice,
        search=search,
        limits=Limits(
            fields.integer("max_output_tokens"),
            temperature=fields.number("temperature"),
            top_p=fields.number("top_p"),
        ),
        reasoning=_decode_reasoning(fields, extras),
        output=_decode_format(fields, extras),
        stream=fields.flag("stream") or False,
        previous_id=fields.text("previous_response_id"),
        extras=as_extras(extras),
        stored=_decode_stored(fields),
    )


def _decode_stored(fields: Fields) -> StoredContext | None:
    """Fields that refer to text which only the vendor has: earlier responses, conversations, prompts, items.

    References to reasoning are omitted, because an answer does not depend on it.
    """
    names = [name for name in _STORED_FIELDS if fields.get(name)]
    items = fields.get("input")
    for number, item in enumerate(items if isinstance(items, list) else ()):
        kind = _reference_kind(item)
        if kind:
            names.append(f"input[{number}] ({kind})")
    return StoredContext(NAME, tuple(names)) if names else None


def _reference_kind(item: Json) -> str:
    """`item_reference` or `compaction` for an item that only refers to stored text, else empty."""
    if not isinstance(item, dict):
        return ""
    kind = item.get("type") or ("" if "role" in item else "item_reference")
    if kind == "item_reference" and not str(item.get("id")).startswith("rs_"):
        return "item_reference"
    return "compaction" if kind in ("compaction", "compaction_summary") else ""


def _is_lossy_choice(raw: Json, choice: ToolChoice | None) -> bool:
    """Whether a choice is more specific than the model can express."""
    if isinstance(raw, dict):
        return choice is None or raw.get("type") == "allowed_tools"
    return raw is not None and choice is None


def _apply_max_tool_calls(
    fields: Fields, search: SearchOptions | None, extras: JsonObject, *, alone: bool
) -> SearchOptions | None:
    """Read `max_tool_calls` as the limit of searches if it cannot mean anything else."""
    limit = fields.integer("max_tool_calls")
    if limit is None:
        return search
    if search is None or not alone or search.max_uses is not None:
        extras["max_tool_calls"] = limit
        return search
    return replace(search, max_uses=limit)


def _decode_reasoning(fields: Fields, extras: JsonObject) -> ReasoningOptions | None:
    if not fields.has("reasoning"):
        return None
    reasoning = fields.obj("reasoning")
    effort = _EFFORTS.get(reasoning.text("effort"))
    if kept := reasoning.rest(*(["effort"] if effort else [])):
        extras["reasoning"] = kept
    shown = reasoning.text("summary") or reasoning.text("generate_summary")
    return ReasoningOptions(effort, visible=True if shown else None)


def _decode_format(fields: Fields, extras: JsonObject) -> OutputFormat | None:
    text = fields.obj("text")
    format_fields = text.obj("format")
    kept = text.rest("format")
    kind = format_fields.text("type")
    is_known = kind in _FORMATS
    if rest := format_fields.rest("type", "name", "schema", "strict") if is_known else format_fields.raw:
        kept["format"] = rest
    if kept:
        extras["text"] = kept
    if kind == "json_schema":
        schema = format_fields.obj("schema").raw
        return OutputFormat(schema, format_fields.text("name"), format_fields.flag("strict"))
    return OutputFormat() if kind == "json_object" else None


def encode_request(request: Request) -> Encoded:
    """Encode a request body; also the names of what it cannot express."""
    unsupported: set[str] = set()
    search = SearchDeclaration()
    if request.search is not None:
        search = encode_search(request.search, request.model, alone=search_is_alone(request.tools))
    body: JsonObject = {"model": request.model, "input": encode_input(request.messages, unsupported)}
    if request.system:
        body["instructions"] = "\n\n".join(part.text for part in request.system)
    if tools := encode_tools(request, search):
        body["tools"] = tools
    extras = own_extras(request.extras)
    optional: JsonObject = {
        "tool_choice": encode_choice(request.tool_choice, extras.get("tool_choice"), search),
        "plugins": _encode_plugins(search, extras),
        "include": _encode_include(search, extras),
        "max_tool_calls": extras.get("max_tool_calls", search.max_tool_calls),
        "max_output_tokens": request.limits.max_output_tokens,
        "temperature": request.limits.temperature,
        "top_p": request.limits.top_p,
        "reasoning": encode_reasoning_options(request) or None,
        "text": encode_text_options(request) or None,
        "previous_response_id": request.previous_id or None,
        "stream": True if request.stream else None,
    }
    body |= {key: value for key, value in optional.items() if value is not None}
    body |= {key: value for key, value in extras.items() if key not in body and key not in optional}
    return Encoded(body, tuple(sorted(unsupported | _unsupported(request) | set(search.unsupported))))


def encode_reasoning_options(request: Request) -> JsonObject:
    """Encode `reasoning`: the effort, and whether to show a summary."""
    body = dict(as_object(own_extras(request.extras).get("reasoning")))
    options = request.reasoning
    if options is None:
        return {}
    if options.effort is not None:
        body["effort"] = options.effort
    if options.visible and "summary" not in body and "generate_summary" not in body:
        body["summary"] = "auto"
    if options.visible is False:
        body.pop("summary", None)
        body.pop("generate_summary", None)
    return body


def encode_text_options(request: Request) -> JsonObject:
    """Encode `text`: the output format, and the verbosity that came with it."""
    body = dict(as_object(own_extras(request.extras).get("text")))
    kept = as_object(body.pop("format", None))
    output = request.output
    if output is None:
        return {**body, "format": kept} if "type" in kept else body
    if output.schema is None:
        return {**body, "format": {"type": "json_object"}}
    json_schema: JsonObject = {
        "type": "json_schema",
        "name": output.name or "answer",
        "schema": output.schema,
    }
    if output.strict is not None:
        json_schema["strict"] = output.strict
    return {**body, "format": {**json_schema, **kept}}


def _encode_plugins(search: SearchDeclaration, extras: JsonObject) -> Json:
    kept_plugins = extras.get("plugins")
    plugins = [
        *([search.plugin] if search.plugin else []),
        *(kept_plugins if isinstance(kept_plugins, list) else []),
    ]
    return plugins or None


def _encode_include(search: SearchDeclaration, extras: JsonObject) -> Json:
    requested = extras.get("include")
    include = list(requested) if isinstance(requested, list) else []
    if search.is_openai and SOURCES not in include:
        include.append(SOURCES)
    return include or None


def _unsupported(request: Request) -> set[str]:
    reasoning = request.reasoning
    found = {
        "stop": bool(request.limits.stop),
        "top_k": request.limits.top_k is not None,
        "reasoning": reasoning is not None
        and reasoning.budget_tokens is not None
        and reasoning.effort is None,
        "opaque_tools": any(isinstance(tool, OpaqueTool) and tool.dialect != NAME for tool in request.tools),
    }
    return {name for name, is_unsupported in found.items() if is_unsupported}
