"""OpenAI Responses oracle, also for Azure, xAI, OpenRouter and Codex: a span is the link in its own part."""

from __future__ import annotations

import json
from collections.abc import Iterable

from groundwire.model import FinishReason, Json, JsonObject, Usage
from tests.contracts.recorded.errors import read_error
from tests.contracts.recorded.facts import (
    RecordedAnswer,
    RecordedCitation,
    RecordedSearch,
    displayed_url,
    find_link,
)
from tests.contracts.recorded.lookup import at, blobs, count, number, objects, string, strings, total

_FINISH: dict[tuple[str, str], FinishReason] = {
    ("completed", ""): "stop",
    ("incomplete", "max_output_tokens"): "length",
    ("incomplete", "content_filter"): "filtered",
}
_SEARCHES = ("web_search_call", "openrouter:web_search", "x_search_call")
_XAI_CALL = "xs_call_"
"""How xAI names the calls of its search on X, which it runs itself."""
_DEEPSEEK_MARK = "ws_call_id="
"""What DeepSeek adds to the queries and to the addresses of pages, so that it knows its call again."""


def read(body: JsonObject) -> RecordedAnswer:
    """Read the facts of a response."""
    facts = RecordedAnswer(
        id=string(body, "id"),
        model=string(body, "model"),
        finish=_FINISH.get((string(body, "status"), string(body, "incomplete_details", "reason"))),
        usage=_usage(body),
        blobs=blobs(at(body, "output")),
    )
    if at(body, "error") is not None:
        facts.refusal = read_error(at(body, "error"), 500)
    for item in objects(body, "output"):
        kind = string(item, "type")
        if kind == "message":
            for part in objects(item, "content"):
                _read_part(part, string(item, "phase"), facts)
        elif kind == "reasoning":
            shown_parts = [*objects(item, "summary"), *objects(item, "content")]
            facts.reasoning += "".join(string(part, "text") for part in shown_parts)
        elif kind in _SEARCHES or string(item, "call_id").startswith(_XAI_CALL):
            _read_search(item, facts)
        elif kind == "function_call":
            facts.tool_calls.append((string(item, "call_id"), string(item, "name")))
    return facts


def _read_part(part: JsonObject, phase: str, facts: RecordedAnswer) -> None:
    start = len(facts.text)
    text = string(part, "text")
    for annotation in objects(part, "annotations"):
        facts.citations.append(read_annotation(annotation, text, start))
        facts.unverified += facts.citations[-1].span is None and not facts.citations[-1].without_span
    if text:
        facts.texts.append(text)
        facts.phases.append(phase)


def read_annotation(annotation: JsonObject, text: str, base: int) -> RecordedCitation:
    """A flat `url_citation`; `base` is where its part begins in the answer."""
    url = string(annotation, "url")
    start = count(annotation, "start_index") or 0
    end = count(annotation, "end_index") or 0
    span = find_link(text, start, end, url) if end > start else None
    return RecordedCitation(
        span and (base + span[0], base + span[1]),
        displayed_url(url),
        string(annotation, "title"),
        string(annotation, "content"),
        without_span=end <= start,
    )


def _read_search(item: JsonObject, facts: RecordedAnswer) -> None:
    action = at(item, "action")
    kind = string(action, "type")
    # xAI's items have no action, or one without a query; the query is in the arguments of a call.
    arguments: Json = json.loads(string(item, "arguments") or string(item, "input") or "{}")
    if kind == "open_page":
        facts.calls.append(RecordedSearch("open", (string(action, "url").split(f"#{_DEEPSEEK_MARK}")[0],)))
    elif kind in ("find_in_page", "find"):
        facts.calls.append(RecordedSearch("find", (string(action, "url"), string(action, "pattern"))))
    elif string(item, "name").startswith("view_"):
        facts.calls.append(
            RecordedSearch("open", (string(arguments, "video_url") or string(arguments, "image_url"),))
        )
    else:
        queries = strings(action, "queries") or [string(action, "query") or string(arguments, "query")]
        searched = (query for query in queries if query and not query.startswith(_DEEPSEEK_MARK))
        facts.calls.append(RecordedSearch("search", tuple(searched)))
    facts.found |= {
        displayed_url(string(source, "url")) for source in objects(action, "sources") if "url" in source
    }


def _usage(body: JsonObject) -> Usage:
    usage = at(body, "usage")
    return Usage(
        input_tokens=count(usage, "input_tokens"),
        output_tokens=count(usage, "output_tokens"),
        cached_tokens=count(usage, "input_tokens_details", "cached_tokens"),
        cache_write_tokens=count(usage, "input_tokens_details", "cache_write_tokens"),
        reasoning_tokens=count(usage, "output_tokens_details", "reasoning_tokens"),
        searches=_searches(body),
        cost=number(usage, "cost"),
    )


def _searches(body: JsonObject) -> int | None:
    paths = (
        ("tool_usage", "web_search", "num_requests"),
        ("usage", "server_tool_use_details", "web_search_requests"),
    )
    counted = total(*(count(body, *path) for path in paths))
    if counted is not None:
        return counted
    # xAI bills searches of the web and of X separately.
    details = ("usage", "server_side_tool_usage_details")
    return total(count(body, *details, "web_search_calls"), count(body, *details, "x_search_calls"))


def gather(frames: Iterable[JsonObject]) -> JsonObject:
    """Merge the frames of a stream into a response, which may be incomplete.

    Items are taken as `output_item.done` gives them: the last event lists the sources of a search in another
    order and encrypts reasoning anew. Only the status it gives them is the newer one.
    """
    response: JsonObject = {}
    items: dict[int, JsonObject] = {}
    for frame in frames:
        kind = string(frame, "type")
        index = count(frame, "output_index") or 0
        item = at(frame, "item")
        if isinstance(item, dict):
            items[index] = dict(item)
        elif kind == "response.output_text.delta":
            facts = "".join(string(part, "text") for part in objects(items[index], "content"))
            items[index]["content"] = [{"type": "output_text", "text": facts + string(frame, "delta")}]
        elif kind == "error":
            nested = at(frame, "error")
            response["error"] = nested if isinstance(nested, dict) else frame
        else:
            _finish(response, at(frame, "response"))
    states = {
        string(item, "id"): {"status": item["status"]}
        for item in objects(response, "output")
        if "status" in item
    }
    output: list[Json] = [
        {**items[index], **states.get(string(items[index], "id"), {})} for index in sorted(items)
    ]
    return {**response, "output": output}


def _finish(response: JsonObject, facts: Json) -> None:
    """Each response event has the whole object; an earlier error is kept."""
    if isinstance(facts, dict):
        earlier = response.get("error")
        response.update(facts)
        response["error"] = earlier or response.get("error")
