"""Request bodies of generateContent and streamGenerateContent.

Model and streaming are in the URL, not in the body: decoding leaves them unset, encoding leaves them out.

Gemini 2.5 measures thinking in tokens (`thinkingBudget`; zero turns it off, except in the pro models),
Gemini 3 in levels (`thinkingLevel`; its pro models have no `MINIMAL`). Older models reject levels, so the
model decides which of the two is sent.
"""

from __future__ import annotations

import re

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.gemini.history import HistoryDecoder, encode_contents, has_foreign_parts
from groundwire.dialects.gemini.search import NAME, SERVER_PART, extras_of, is_vertex
from groundwire.dialects.gemini.tools import (
    INCLUDE_SERVER_PARTS,
    client_tool_config,
    decode_schema,
    decode_tools,
    encode_tools,
)
from groundwire.dialects.proto_json import many, read_body
from groundwire.errors import ClientWireError
from groundwire.model import (
    JsonObject,
    Limits,
    Message,
    OutputFormat,
    ReasoningOptions,
    Request,
    SearchCall,
    Text,
)
from groundwire.model.request import Effort
from groundwire.model.value import replace

_JSON_TYPE = "application/json"

_GENERATION_FIELDS = (
    "maxOutputTokens",
    "temperature",
    "topP",
    "topK",
    "stopSequences",
    "thinkingConfig",
    "responseMimeType",
    "responseJsonSchema",
    "responseSchema",
)

_EFFORTS: dict[str, Effort] = {"MINIMAL": "minimal", "LOW": "low", "MEDIUM": "medium", "HIGH": "high"}

_THINKING_LEVELS: dict[Effort, str] = {
    "none": "MINIMAL",
    "minimal": "MINIMAL",
    "low": "LOW",
    "medium": "MEDIUM",
    "high": "HIGH",
    "xhigh": "HIGH",
    "max": "HIGH",
}

_THINKING_BUDGETS: dict[Effort, int] = {
    "none": 0,
    "minimal": 512,
    "low": 1024,
    "medium": 8192,
    "high": 24576,
    "xhigh": 24576,
    "max": 24576,
}

_MIN_PRO_BUDGET = 128
_USES_BUDGETS = re.compile(r"gemini-[12][.-]")
_USES_LEVELS = re.compile(r"gemini-(?![12][.-])")


def decode_generation(fields: Fields, request: Request) -> tuple[Request, JsonObject]:
    """Decode the generation config into the request, and return the fields without a canonical form."""
    rest = fields.rest(*_GENERATION_FIELDS)
    reasoning, thinking = _decode_thinking(fields.obj("thinkingConfig"))
    if thinking:
        rest["thinkingConfig"] = thinking
    output, form = _decode_output(fields)
    limits = Limits(
        max_output_tokens=fields.integer("maxOutputTokens"),
        stop=tuple(word for word in fields.texts("stopSequences") if word),
        temperature=fields.number("temperature"),
        top_p=fields.number("topP"),
        top_k=fields.integer("topK"),
    )
    return replace(request, limits=limits, reasoning=reasoning, output=output), {**rest, **form}


def encode_generation(request: Request, rest: JsonObject) -> tuple[JsonObject, list[str]]:
    """Encode the generation config, and name the options it can only approximate."""
    limits = request.limits
    config: JsonObject = {
        "maxOutputTokens": limits.max_output_tokens,
        "temperature": limits.temperature,
        "topP": limits.top_p,
        "topK": limits.top_k,
        "stopSequences": list(limits.stop) or None,
        **rest,
    }
    thinking, is_exact = _encode_thinking(request.reasoning or ReasoningOptions(), request.model)
    config["thinkingConfig"] = {**as_object(rest.get("thinkingConfig")), **thinking} or None
    if request.output is not None:
        config["responseMimeType"] = _JSON_TYPE
        if request.output.schema is not None and "responseSchema" not in rest:
            config["responseJsonSchema"] = request.output.schema
    given: JsonObject = {key: value for key, value in config.items() if value is not None}
    return given, [] if is_exact else ["reasoning"]


def _decode_thinking(fields: Fields) -> tuple[ReasoningOptions | None, JsonObject]:
    if not fields.raw:
        return None, {}
    rest = fields.rest("includeThoughts", "thinkingBudget", "thinkingLevel")
    budget = fields.integer("thinkingBudget")
    level = fields.text("thinkingLevel")
    effort: Effort | None = "none" if budget == 0 else _EFFORTS.get(level.upper())
    if budget is not None and budget < 0:
        rest["thinkingBudget"] = budget  # dynamic thinking
    if level and effort is None:
        rest["thinkingLevel"] = level
    options = ReasoningOptions(
        effort, budget if budget is not None and budget > 0 else None, fields.flag("includeThoughts")
    )
    return (options if options != ReasoningOptions() else None), rest


def _encode_thinking(reasoning: ReasoningOptions, model: str) -> tuple[JsonObject, bool]:
    """Encode the thinking config, and whether it is exactly what was requested."""
    shown: JsonObject = {} if reasoning.visible is None else {"includeThoughts": reasoning.visible}
    effort = reasoning.effort
    if reasoning.budget_tokens is not None:
        return {**shown, "thinkingBudget": reasoning.budget_tokens}, True
    if effort is None:
        return shown, True
    is_pro = "pro" in model
    if _USES_BUDGETS.search(model) or (effort == "none" and not _USES_LEVELS.search(model)):
        budget = max(_THINKING_BUDGETS[effort], _MIN_PRO_BUDGET if is_pro else 0)
        return {**shown, "thinkingBudget": budget}, effort != "none" or budget == 0
    level = "LOW" if is_pro and effort in ("none", "minimal") else _THINKING_LEVELS[effort]
    return {**shown, "thinkingLevel": level}, _EFFORTS[level] == effort


def _decode_output(fields: Fields) -> tuple[OutputFormat | None, JsonObject]:
    """Decode JSON output with or without a schema; other types (`text/x.enum`) are kept verbatim."""
    media_type = fields.text("responseMimeType")
    kept = fields.obj("responseSchema").raw
    form: JsonObject = {"responseSchema": kept} if kept else {}
    if media_type != _JSON_TYPE:
        schema = fields.obj("responseJsonSchema").raw
        return None, {
            **({"responseMimeType": media_type} if media_type else {}),
            **({"responseJsonSchema": schema} if schema else {}),
            **form,
        }
    schema = fields.obj("responseJsonSchema").raw or kept
    return OutputFormat(decode_schema(schema) if schema else None), form


_REQUEST_FIELDS = ("model", "contents", "systemInstruction", "tools", "toolConfig", "generationConfig")
_SIGNING_MODELS = re.compile(r"gemini-(?![12][.-])")


def decode_request(body: JsonObject) -> Request:
    """Decode a client's request body."""
    fields = read_body(body, ClientWireError)
    reader = HistoryDecoder()
    messages = tuple(reader.read(content) for content in many(fields, "contents"))
    if not messages:
        raise fields.fault("there must be at least one content", "contents")
    toolbox = decode_tools(fields)
    request = Request(
        messages,
        system=_decode_system(fields),
        tools=toolbox.tools,
        tool_choice=toolbox.choice,
        search=toolbox.search,
    )
    request, generation = decode_generation(fields.obj("generationConfig"), request)
    kept: JsonObject = {"toolConfig": toolbox.config, "generationConfig": generation}
    rest = fields.rest(*_REQUEST_FIELDS) | {key: value for key, value in kept.items() if value}
    return replace(request, extras=extras_of(rest))


def encode_request(request: Request) -> Encoded:
    """Encode a request body."""
    extras = dict(request.extras.get(NAME, {}))
    generation, unsupported = encode_generation(request, as_object(extras.pop("generationConfig", None)))
    extras.pop("toolConfig", None)
    toolbox = encode_tools(request, client_tool_config(request))
    config = toolbox.config
    if _has_server_parts(request.messages) and not is_vertex(request.search):
        config[INCLUDE_SERVER_PARTS] = True
    system, messages = _split_system(request)
    body: JsonObject = {
        "contents": encode_contents(messages, signed=bool(_SIGNING_MODELS.search(request.model))),
        "systemInstruction": {"parts": [{"text": part.text} for part in system]} if system else None,
        "tools": toolbox.tools or None,
        "toolConfig": config or None,
        "generationConfig": generation or None,
        **extras,
    }
    unsupported += toolbox.unsupported
    if has_foreign_parts(request.messages):
        unsupported.append("opaque_parts")
    if request.previous_id:
        unsupported.append("previous_id")
    return Encoded({key: value for key, value in body.items() if value is not None}, tuple(unsupported))


def _decode_system(fields: Fields) -> tuple[Text, ...]:
    if isinstance(fields.get("systemInstruction"), str):
        text = fields.text("systemInstruction")
        return (Text(text),) if text else ()
    found = []
    for part in many(fields.obj("systemInstruction"), "parts"):
        if not part.has("text"):
            raise part.fault("system instructions can only be text")
        found.append(Text(part.text("text")))
    return tuple(part for part in found if part.text)


def _split_system(request: Request) -> tuple[list[Text], tuple[Message, ...]]:
    """Split off the instructions before the first turn; later ones are sent as user messages."""
    system = list(request.system)
    for number, message in enumerate(request.messages):
        if message.role not in ("system", "developer"):
            return system, request.messages[number:]
        system += (part for part in message.parts if isinstance(part, Text))
    return system, ()


def _has_server_parts(messages: tuple[Message, ...]) -> bool:
    """Whether the history has server tool parts; then the flag must be set again."""
    return any(
        isinstance(part, SearchCall) and SERVER_PART in part.extras.get(NAME, {})
        for message in messages
        for part in message.parts
    )
