"""`generationConfig`: limits, thinking and the form of the output.

Gemini 2.5 counts thinking in tokens (`thinkingBudget`; zero turns it off, except in the pro models),
Gemini 3 in levels (`thinkingLevel`; its pro models know no `MINIMAL`). The older refuse levels, so the model
decides which of the two is said.
"""

from __future__ import annotations

import re

from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.gemini.schemas import decode_schema
from groundwire.model import JsonObject, Limits, OutputFormat, ReasoningOptions, Request
from groundwire.model.request import Effort
from groundwire.model.value import replace

_JSON = "application/json"
_KNOWN = (
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
_LEVELS: dict[Effort, str] = {
    "none": "MINIMAL",
    "minimal": "MINIMAL",
    "low": "LOW",
    "medium": "MEDIUM",
    "high": "HIGH",
    "xhigh": "HIGH",
    "max": "HIGH",
}
_BUDGETS: dict[Effort, int] = {
    "none": 0,
    "minimal": 512,
    "low": 1024,
    "medium": 8192,
    "high": 24576,
    "xhigh": 24576,
    "max": 24576,
}
_SMALLEST_BUDGET_OF_PRO = 128
_COUNTS_IN_TOKENS = re.compile(r"gemini-[12][.-]")
_COUNTS_IN_LEVELS = re.compile(r"gemini-(?![12][.-])")


def decode_generation(fields: Fields, request: Request) -> tuple[Request, JsonObject]:
    """The request with what its generation config says, and what of that has no canonical place."""
    rest = fields.rest(*_KNOWN)
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
    """The generation config of a request, and what it can only say roughly."""
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
        config["responseMimeType"] = _JSON
        if request.output.schema is not None and "responseSchema" not in rest:
            config["responseJsonSchema"] = request.output.schema
    said: JsonObject = {key: value for key, value in config.items() if value is not None}
    return said, [] if is_exact else ["reasoning"]


def _decode_thinking(fields: Fields) -> tuple[ReasoningOptions | None, JsonObject]:
    if not fields.raw:
        return None, {}
    rest = fields.rest("includeThoughts", "thinkingBudget", "thinkingLevel")
    budget = fields.integer("thinkingBudget")
    level = fields.text("thinkingLevel")
    effort: Effort | None = "none" if budget == 0 else _EFFORTS.get(level.upper())
    if budget is not None and budget < 0:
        rest["thinkingBudget"] = budget  # as much as it likes
    if level and effort is None:
        rest["thinkingLevel"] = level
    options = ReasoningOptions(
        effort, budget if budget is not None and budget > 0 else None, fields.flag("includeThoughts")
    )
    return (options if options != ReasoningOptions() else None), rest


def _encode_thinking(reasoning: ReasoningOptions, model: str) -> tuple[JsonObject, bool]:
    """The thinking config, and whether it says just what was asked for."""
    shown: JsonObject = {} if reasoning.visible is None else {"includeThoughts": reasoning.visible}
    effort = reasoning.effort
    if reasoning.budget_tokens is not None:
        return {**shown, "thinkingBudget": reasoning.budget_tokens}, True
    if effort is None:
        return shown, True
    is_pro = "pro" in model
    if _COUNTS_IN_TOKENS.search(model) or (effort == "none" and not _COUNTS_IN_LEVELS.search(model)):
        budget = max(_BUDGETS[effort], _SMALLEST_BUDGET_OF_PRO if is_pro else 0)
        return {**shown, "thinkingBudget": budget}, effort != "none" or budget == 0
    level = "LOW" if is_pro and effort in ("none", "minimal") else _LEVELS[effort]
    return {**shown, "thinkingLevel": level}, _EFFORTS[level] == effort


def _decode_output(fields: Fields) -> tuple[OutputFormat | None, JsonObject]:
    """JSON with or without a schema; what is not JSON (`text/x.enum`) is kept as it is."""
    media_type = fields.text("responseMimeType")
    kept = fields.obj("responseSchema").raw
    form: JsonObject = {"responseSchema": kept} if kept else {}
    if media_type != _JSON:
        schema = fields.obj("responseJsonSchema").raw
        return None, {
            **({"responseMimeType": media_type} if media_type else {}),
            **({"responseJsonSchema": schema} if schema else {}),
            **form,
        }
    schema = fields.obj("responseJsonSchema").raw or kept
    return OutputFormat(decode_schema(schema) if schema else None), form
