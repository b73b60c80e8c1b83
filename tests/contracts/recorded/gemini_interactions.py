"""Gemini Interactions oracle: steps; one annotation per span and source, in UTF-8 bytes of its text."""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.model import FinishReason, Json, JsonObject, Usage
from tests.contracts.recorded.facts import RecordedAnswer, RecordedCitation, RecordedSearch, displayed_url
from tests.contracts.recorded.lookup import at, blobs, count, objects, string, strings, total

_FINISH: dict[str, FinishReason] = {
    "completed": "stop",
    "incomplete": "length",
    "requires_action": "tool_calls",
}


def read(body: JsonObject) -> RecordedAnswer:
    """Read the facts of an interaction."""
    facts = RecordedAnswer(
        id=string(body, "id"),
        model=string(body, "model"),
        finish=_FINISH.get(string(body, "status")),
        usage=_usage(body),
        blobs=blobs(at(body, "steps")),
    )
    for step in objects(body, "steps"):
        for content in objects(step, "content"):
            _read_text(content, facts)
        if string(step, "type") == "google_search_call":
            facts.calls.append(RecordedSearch("search", tuple(strings(step, "arguments", "queries"))))
        for result in objects(step, "result"):
            facts.suggestions.add(string(result, "search_suggestions"))
    return facts


def _read_text(content: JsonObject, facts: RecordedAnswer) -> None:
    base = len(facts.text)
    text = string(content, "text")
    raw = text.encode()
    for annotation in objects(content, "annotations"):
        start = len(raw[: count(annotation, "start_index") or 0].decode())
        end = len(raw[: count(annotation, "end_index") or 0].decode())
        url = displayed_url(string(annotation, "url"))
        facts.citations.append(RecordedCitation((base + start, base + end), url, string(annotation, "title")))
    if text:
        facts.texts.append(text)
        facts.phases.append("")


def _usage(body: JsonObject) -> Usage:
    usage = at(body, "usage")
    thoughts = count(usage, "total_thought_tokens")
    tools = count(usage, "total_tool_use_tokens")
    searches = [
        count(entry, "count")
        for entry in objects(usage, "grounding_tool_count")
        if string(entry, "type") == "google_search"
    ]
    return Usage(
        input_tokens=total(count(usage, "total_input_tokens"), tools),
        output_tokens=total(count(usage, "total_output_tokens"), thoughts),
        cached_tokens=count(usage, "total_cached_tokens"),
        reasoning_tokens=thoughts,
        tool_tokens=tools,
        searches=total(*searches),
    )


def gather(frames: Iterable[JsonObject]) -> JsonObject:
    """Merge the events of a stream into an interaction."""
    body: JsonObject = {}
    steps: list[JsonObject] = []
    for frame in frames:
        interaction = at(frame, "interaction")
        step = at(frame, "step")
        delta = at(frame, "delta")
        if isinstance(interaction, dict):
            body.update(interaction)
        elif isinstance(step, dict):
            steps.append(dict(step))
        elif isinstance(delta, dict):
            _extend(steps[count(frame, "index") or 0], delta)
    return {**body, "steps": [*steps]}


def _extend(step: JsonObject, delta: JsonObject) -> None:
    kind = string(delta, "type")
    if kind in ("text", "text_annotation_delta"):
        content = objects(step, "content")
        known = content[0] if content else {}
        annotations: list[Json] = [*objects(known, "annotations"), *objects(delta, "annotations")]
        text = string(known, "text") + string(delta, "text")
        step["content"] = [{"type": "text", "text": text, "annotations": annotations}]
    else:
        step.update({key: value for key, value in delta.items() if key != "type"})
