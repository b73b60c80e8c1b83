"""Anthropic Messages oracle: a citation covers its whole text block; usage is sent twice, the last is
final."""

from __future__ import annotations

import json
from collections.abc import Iterable

from groundwire.model import FinishReason, Json, JsonObject, Usage
from tests.contracts.recorded.facts import RecordedAnswer, RecordedCitation, RecordedSearch
from tests.contracts.recorded.lookup import at, blobs, count, objects, string, total

_FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "pause_turn": "pause",
    "tool_use": "tool_calls",
    "refusal": "refused",
}


def read(body: JsonObject) -> RecordedAnswer:
    """Read the facts of a message."""
    facts = RecordedAnswer(
        id=string(body, "id"),
        model=string(body, "model"),
        finish=_FINISH.get(string(body, "stop_reason")),
        usage=_usage(body),
        blobs=blobs(body),
    )
    fetched = [
        string(block, "content", "url")
        for block in objects(body, "content")
        if string(block, "content", "content", "type") == "document"
    ]
    for block in objects(body, "content"):
        kind = string(block, "type")
        if kind == "text":
            _read_text(block, facts, fetched)
        elif kind == "thinking":
            facts.reasoning += string(block, "thinking")
        elif kind == "tool_use":
            facts.tool_calls.append((string(block, "id"), string(block, "name")))
        elif kind == "server_tool_use":
            _read_call(block, facts)
        else:
            _read_result(block, facts)
    return facts


def _read_text(block: JsonObject, facts: RecordedAnswer, fetched: list[str]) -> None:
    start = len(facts.text)
    text = string(block, "text")
    for citation in objects(block, "citations"):
        facts.citations.append(
            RecordedCitation(
                (start, start + len(text)),
                _address(citation, fetched),
                string(citation, "title") or string(citation, "document_title"),
                string(citation, "cited_text"),
            )
        )
    if text:
        facts.texts.append(text)
        facts.phases.append("")


def _address(citation: JsonObject, fetched: list[str]) -> str:
    """The URL of a document cited by index; recorded answers have only fetched documents."""
    index = count(citation, "document_index")
    if index is not None:
        return fetched[index] if index < len(fetched) else ""
    return string(citation, "url") or string(citation, "source")


def _read_call(block: JsonObject, facts: RecordedAnswer) -> None:
    if string(block, "name") == "web_search":
        facts.calls.append(RecordedSearch("search", (string(block, "input", "query"),)))
    elif string(block, "name") == "web_fetch":
        facts.calls.append(RecordedSearch("open", (string(block, "input", "url"),)))


def _read_result(block: JsonObject, facts: RecordedAnswer) -> None:
    results = objects(block, "content")
    if string(block, "type") == "web_fetch_tool_result" and string(block, "content", "url"):
        facts.found.add(string(block, "content", "url"))
    for result in results:
        facts.found.add(string(result, "url"))
        if string(result, "page_age"):
            facts.dates.add((string(result, "url"), string(result, "page_age")))
    if string(block, "content", "error_code"):
        facts.search_errors.append(string(block, "content", "error_code"))


def _usage(body: JsonObject) -> Usage:
    usage = at(body, "usage")
    cached = count(usage, "cache_read_input_tokens")
    written = count(usage, "cache_creation_input_tokens")
    return Usage(
        input_tokens=total(count(usage, "input_tokens"), cached, written),
        output_tokens=count(usage, "output_tokens"),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=count(usage, "output_tokens_details", "thinking_tokens"),
        searches=count(usage, "server_tool_use", "web_search_requests"),
        fetches=count(usage, "server_tool_use", "web_fetch_requests"),
    )


def gather(frames: Iterable[JsonObject]) -> JsonObject:
    """Merge the frames of a stream into a message."""
    message: JsonObject = {}
    usage: JsonObject = {}
    blocks: list[JsonObject] = []
    arguments: dict[int, str] = {}
    for frame in frames:
        kind = string(frame, "type")
        if kind == "message_start":
            message = dict(_object(frame, "message"))
            usage.update(_object(message, "usage"))
        elif kind == "content_block_start":
            blocks.append(dict(_object(frame, "content_block")))
        elif kind == "content_block_delta":
            _extend(blocks, arguments, count(frame, "index") or 0, _object(frame, "delta"))
        elif kind == "message_delta":
            message.update(_object(frame, "delta"))
            usage.update(_object(frame, "usage"))
    for index, text in arguments.items():
        if text:
            blocks[index]["input"] = json.loads(text)
    return {**message, "content": [*blocks], "usage": usage}


def _extend(blocks: list[JsonObject], arguments: dict[int, str], index: int, delta: JsonObject) -> None:
    kind = string(delta, "type")
    block = blocks[index]
    if kind == "input_json_delta":
        arguments[index] = arguments.get(index, "") + string(delta, "partial_json")
    elif kind == "citations_delta":
        known: list[Json] = [*objects(block, "citations")]
        block["citations"] = [*known, delta["citation"]]
    else:
        name = kind.removesuffix("_delta")
        block[name] = string(block, name) + string(delta, name)


def _object(value: Json, key: str) -> JsonObject:
    found = at(value, key)
    return found if isinstance(found, dict) else {}
