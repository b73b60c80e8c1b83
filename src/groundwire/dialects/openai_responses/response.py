"""Whole responses, both ways.

Reading goes through the reader of streams, which takes a response in full as the last word of one. Writing
repeats what was asked (tools with their defaults, limits, format), because clients read it there.
"""

from __future__ import annotations

from groundwire.dialects.base import Reply
from groundwire.dialects.extras import FIELD, VERSION, add_extension
from groundwire.dialects.features import Feature
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.openai_responses.decoder import Decoder
from groundwire.dialects.openai_responses.errors import CUT, WIRE_REASONS, encode_failure
from groundwire.dialects.openai_responses.output import encode_output
from groundwire.dialects.openai_responses.request import encode_format, encode_reasoning
from groundwire.dialects.openai_responses.tools import echo_choice, echo_tools
from groundwire.dialects.openai_responses.usage import encode_tool_usage, encode_usage
from groundwire.dialects.openai_responses.wire import native
from groundwire.errors import UpstreamWireError
from groundwire.model import Answer, Event, JsonObject, Request, SearchCall, SearchResult

LOSSES: dict[Feature, str] = {
    Feature.CONFIDENCE: "`groundwire.citations`",
    Feature.SEARCH_ERRORS: "the status `failed`, and why in `groundwire.searches`",
    Feature.SUGGESTIONS: "`groundwire.suggestions`",
    Feature.CALLERS: "nowhere",
    Feature.PAUSE: "nowhere",
    Feature.TOOL_TOKENS: "nowhere",
}

_ECHOED: JsonObject = {
    "background": False,
    "metadata": {},
    "parallel_tool_calls": True,
    "service_tier": "default",
    "store": True,
    "truncation": "disabled",
    "user": None,
}
"""Fields of the request that a response repeats, with their defaults."""


def decode_response(body: JsonObject) -> list[Event]:
    """The events that tell a response."""
    fields = Fields.of(body, UpstreamWireError)
    if not any(fields.has(key) for key in ("output", "outputs", "status", "error", "detail")):
        raise fields.fault("expected a list of items", "output")
    decoder = Decoder()
    decoder.audit(body)
    decoder.whole(fields)
    return decoder.feed(b"")


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """An answer as the body of a response, which is also the end of a stream."""
    status, reason = _status(answer)
    output = encode_output(answer, reply.id)
    if status != "completed" and output and output[-1]["type"] in ("message", "function_call"):
        output[-1]["status"] = "incomplete"
    body: JsonObject = {**encode_head(answer, reply), "status": status, "output": [*output]}
    body["incomplete_details"] = {"reason": reason} if reason else None
    body["error"] = encode_failure(answer.error) if answer.error else None
    body["usage"] = encode_usage(answer.usage)
    if tool_usage := encode_tool_usage(answer.usage):
        body["tool_usage"] = tool_usage
    return _extend(body, answer)


def encode_head(answer: Answer, reply: Reply) -> JsonObject:
    """A response that has just begun."""
    request = reply.request
    kept = native(request.extras)
    reasoning = encode_reasoning(request)
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": reply.created,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": "\n\n".join(part.text for part in request.system) or None,
        "max_output_tokens": request.limits.max_output_tokens,
        "max_tool_calls": kept.get("max_tool_calls", _max_searches(request)),
        "model": reply.model or answer.model,
        "output": [],
        "previous_response_id": request.previous_id or None,
        "reasoning": {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")},
        "temperature": request.limits.temperature,
        "text": {"format": {"type": "text"}, **encode_format(request)},
        "tool_choice": echo_choice(request),
        "tools": echo_tools(request),
        "top_p": request.limits.top_p,
        "usage": None,
        **{key: kept.get(key, default) for key, default in _ECHOED.items()},
    }


def _max_searches(request: Request) -> int | None:
    return None if request.search is None else request.search.max_uses


def _status(answer: Answer) -> tuple[str, str]:
    """The status, and why it is incomplete."""
    if answer.error is not None:
        return "failed", ""
    reason = CUT.get(answer.finish, "")
    if answer.finish in ("length", "filtered", "other") and answer.detail in WIRE_REASONS:
        reason = answer.detail
    return ("incomplete", reason) if reason else ("completed", "")


def tell_aside(body: JsonObject, answer: Answer) -> JsonObject:
    """Add the citations, whether or not the output has them all."""
    return add_extension(body, answer, {*LOSSES, Feature.CITATIONS})


def _extend(body: JsonObject, answer: Answer) -> JsonObject:
    # Without text there is no part that an annotation could stand on.
    body = add_extension(body, answer, LOSSES if answer.text else {*LOSSES, Feature.UNPLACED})
    has_searched = any(isinstance(part, SearchCall | SearchResult) for part in answer.parts)
    if has_searched and not answer.citations and "](http" in answer.text:
        # Else whoever reads this would take the links of the text for citations, as with the Codex backend.
        body[FIELD] = {"version": VERSION, **as_object(body.get(FIELD)), "citations": []}
    return body
