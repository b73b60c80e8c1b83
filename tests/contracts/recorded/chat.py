"""OpenAI Chat Completions, also as OpenRouter speaks it: annotations are nested, nothing else is searched."""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.model import FinishReason, Json, JsonObject, Usage
from tests.contracts.recorded.raw import at, count, number, objects, string
from tests.contracts.recorded.refusals import read_refusal
from tests.contracts.recorded.responses import read_annotation
from tests.contracts.recorded.told import Told

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "filtered",
}


def read(body: JsonObject) -> Told:
    """What a completion says."""
    told = Told(id=string(body, "id"), model=string(body, "model"), usage=_usage(body), queries=[])
    message = at(body, "choices", 0, "message")
    text = string(message, "content")
    if text:
        told.texts.append(text)
        told.phases.append("")
    for annotation in objects(message, "annotations"):
        citation = at(annotation, "url_citation")
        if isinstance(citation, dict):
            told.mentions.append(read_annotation(citation, text, 0))
            told.unverified += told.mentions[-1].place is None and not told.mentions[-1].placeless
    details = objects(message, "reasoning_details")
    told.reasoning = string(message, "reasoning") or "".join(
        string(detail, "summary") or string(detail, "text") for detail in details
    )
    told.blobs = {
        blob for item in details for blob in (string(item, "data"), string(item, "signature")) if blob
    }
    told.tool_calls = [
        (string(call, "id"), string(call, "function", "name")) for call in objects(message, "tool_calls")
    ]
    if at(body, "error") is not None:
        told.refusal = read_refusal(body, 500)
    else:
        told.finish = _FINISH.get(string(body, "choices", 0, "finish_reason"))
    return told


def _usage(body: JsonObject) -> Usage:
    usage = at(body, "usage")
    return Usage(
        input_tokens=count(usage, "prompt_tokens"),
        output_tokens=count(usage, "completion_tokens"),
        cached_tokens=count(usage, "prompt_tokens_details", "cached_tokens"),
        cache_write_tokens=count(usage, "prompt_tokens_details", "cache_write_tokens"),
        reasoning_tokens=count(usage, "completion_tokens_details", "reasoning_tokens"),
        searches=count(usage, "server_tool_use_details", "web_search_requests"),
        cost=number(usage, "cost"),
    )


def gather(frames: Iterable[JsonObject]) -> JsonObject:
    """The completion that the chunks of a stream tell."""
    body: JsonObject = {}
    text = ""
    annotations: list[Json] = []
    reason: Json = None
    for frame in frames:
        for key in ("id", "model", "usage", "error"):
            if frame.get(key) is not None:
                body[key] = frame[key]
        delta = at(frame, "choices", 0, "delta")
        text += string(delta, "content")
        annotations += objects(delta, "annotations")
        reason = string(frame, "choices", 0, "finish_reason") or reason
    message: JsonObject = {"role": "assistant", "content": text, "annotations": annotations}
    return {**body, "choices": [{"index": 0, "message": message, "finish_reason": reason}]}
