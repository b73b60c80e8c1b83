"""Requests, both ways.

`instructions` are the system text; messages of the roles `system` and `developer` stay where they stand.
Fields nobody here knows (`store`, `metadata`, `client_metadata`, `prompt_cache_key`, …) are carried and given
back. Whoever asks for a search also asks for its sources, except in OpenRouter's spellings: it refuses that.
"""

from __future__ import annotations

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.openai_responses.messages import decode_input, encode_input
from groundwire.dialects.openai_responses.search import Declaration, encode_search
from groundwire.dialects.openai_responses.tools import (
    decode_choice,
    decode_tools,
    encode_choice,
    encode_tools,
    other_plugins,
    search_is_alone,
)
from groundwire.dialects.openai_responses.wire import NAME, native
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
_KNOWN = (
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
_STORED = ("previous_response_id", "conversation", "prompt")


def decode_request(body: JsonObject) -> Request:
    """A caller's request."""
    fields = Fields.of(body, ClientWireError)
    if not fields.has("input") and not any(fields.has(key) for key in _STORED):
        raise fields.fault("expected a string or a list of items", "input")
    tools, search = decode_tools(fields)
    extras = fields.rest(*_KNOWN)
    choice = decode_choice(fields.get("tool_choice"))
    if _says_more(fields.get("tool_choice"), choice):
        extras["tool_choice"] = fields.get("tool_choice")
    if plugins := other_plugins(fields):
        extras["plugins"] = plugins
    search = _limit(fields, search, extras, alone=search_is_alone(tools))
    instructions = fields.text("instructions")
    return Request(
        messages=decode_input(fields),
        model=fields.text("model"),
        system=(Text(instructions),) if instructions else (),
        tools=tools,
        tool_choice=choice,
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
        extras={NAME: extras} if extras else {},
        stored=_decode_stored(fields),
    )


def _decode_stored(fields: Fields) -> StoredContext | None:
    """The fields that name text which only the vendor has: earlier answers, conversations, prompts, items.

    A reference to reasoning is left out: an answer does not depend on it.
    """
    names = [name for name in _STORED if fields.get(name)]
    listed = fields.get("input")
    for number, item in enumerate(listed if isinstance(listed, list) else ()):
        kind = _reference_kind(item)
        if kind:
            names.append(f"input[{number}] ({kind})")
    return StoredContext(NAME, tuple(names)) if names else None


def _reference_kind(item: Json) -> str:
    """`item_reference` or `compaction` for an item that is only a handle to text, else empty."""
    if not isinstance(item, dict):
        return ""
    kind = item.get("type") or ("" if "role" in item else "item_reference")
    if kind == "item_reference" and not str(item.get("id")).startswith("rs_"):
        return "item_reference"
    return "compaction" if kind in ("compaction", "compaction_summary") else ""


def _says_more(wire: Json, choice: ToolChoice | None) -> bool:
    """Is there more in a choice than the model can hold?"""
    if isinstance(wire, dict):
        return choice is None or wire.get("type") == "allowed_tools"
    return wire is not None and choice is None


def _limit(
    fields: Fields, search: SearchOptions | None, extras: JsonObject, *, alone: bool
) -> SearchOptions | None:
    """`max_tool_calls` as the limit of searches, where it can mean nothing else."""
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
    wanted = text.obj("format")
    kept = text.rest("format")
    kind = wanted.text("type")
    if rest := wanted.rest("type", "name", "schema", "strict") if kind in _FORMATS else wanted.raw:
        kept["format"] = rest
    if kept:
        extras["text"] = kept
    if kind == "json_schema":
        schema = wanted.obj("schema").raw
        return OutputFormat(schema, wanted.text("name"), wanted.flag("strict"))
    return OutputFormat() if kind == "json_object" else None


def encode_request(request: Request) -> Encoded:
    """A request body, and what it has no words for."""
    unsupported: set[str] = set()
    search = Declaration()
    if request.search is not None:
        search = encode_search(request.search, request.model, alone=search_is_alone(request.tools))
    body: JsonObject = {"model": request.model, "input": encode_input(request.messages, unsupported)}
    if request.system:
        body["instructions"] = "\n\n".join(part.text for part in request.system)
    if tools := encode_tools(request, search):
        body["tools"] = tools
    kept = native(request.extras)
    optional: JsonObject = {
        "tool_choice": encode_choice(request.tool_choice, kept.get("tool_choice"), search),
        "plugins": _plugins(search, kept),
        "include": _include(search, kept),
        "max_tool_calls": kept.get("max_tool_calls", search.max_tool_calls),
        "max_output_tokens": request.limits.max_output_tokens,
        "temperature": request.limits.temperature,
        "top_p": request.limits.top_p,
        "reasoning": encode_reasoning(request) or None,
        "text": encode_format(request) or None,
        "previous_response_id": request.previous_id or None,
        "stream": True if request.stream else None,
    }
    body |= {key: value for key, value in optional.items() if value is not None}
    body |= {key: value for key, value in kept.items() if key not in body and key not in optional}
    return Encoded(body, tuple(sorted(unsupported | _unsaid(request) | set(search.unsupported))))


def encode_reasoning(request: Request) -> JsonObject:
    """`reasoning`: how hard to think, and whether to show a summary of it."""
    body = dict(as_object(native(request.extras).get("reasoning")))
    wanted = request.reasoning
    if wanted is None:
        return {}
    if wanted.effort is not None:
        body["effort"] = wanted.effort
    if wanted.visible and "summary" not in body and "generate_summary" not in body:
        body["summary"] = "auto"
    if wanted.visible is False:
        body.pop("summary", None)
        body.pop("generate_summary", None)
    return body


def encode_format(request: Request) -> JsonObject:
    """`text`: the output format, and the verbosity that came with it."""
    body = dict(as_object(native(request.extras).get("text")))
    kept = as_object(body.pop("format", None))
    output = request.output
    if output is None:
        return {**body, "format": kept} if "type" in kept else body
    if output.schema is None:
        return {**body, "format": {"type": "json_object"}}
    wanted: JsonObject = {"type": "json_schema", "name": output.name or "answer", "schema": output.schema}
    if output.strict is not None:
        wanted["strict"] = output.strict
    return {**body, "format": {**wanted, **kept}}


def _plugins(search: Declaration, kept: JsonObject) -> Json:
    others = kept.get("plugins")
    plugins = [*([search.plugin] if search.plugin else []), *(others if isinstance(others, list) else [])]
    return plugins or None


def _include(search: Declaration, kept: JsonObject) -> Json:
    told = kept.get("include")
    asked = list(told) if isinstance(told, list) else []
    if search.is_openai and SOURCES not in asked:
        asked.append(SOURCES)
    return asked or None


def _unsaid(request: Request) -> set[str]:
    reasoning = request.reasoning
    found = {
        "stop": bool(request.limits.stop),
        "top_k": request.limits.top_k is not None,
        "reasoning": reasoning is not None
        and reasoning.budget_tokens is not None
        and reasoning.effort is None,
        "opaque_tools": any(isinstance(tool, OpaqueTool) and tool.dialect != NAME for tool in request.tools),
    }
    return {name for name, is_unsaid in found.items() if is_unsaid}
