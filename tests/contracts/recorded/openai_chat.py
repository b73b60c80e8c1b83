"""OpenAI Chat Completions oracle, also for OpenRouter, Perplexity and Groq.

OpenAI and OpenRouter nest annotations. Perplexity numbers the list `citations` with `[n]` in the text. Groq
lists the tools it ran, with what they found, and cites nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from groundwire.model import FinishReason, Json, JsonObject, Usage
from tests.contracts.recorded.errors import read_error
from tests.contracts.recorded.facts import RecordedAnswer, RecordedCitation, RecordedSearch
from tests.contracts.recorded.lookup import at, count, number, objects, string, strings
from tests.contracts.recorded.openai_responses import read_annotation

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "filtered",
}


def read(body: JsonObject) -> RecordedAnswer:
    """Read the facts of a completion."""
    facts = RecordedAnswer(id=string(body, "id"), model=string(body, "model"), usage=_usage(body))
    message = at(body, "choices", 0, "message")
    text = string(message, "content")
    if text:
        facts.texts.append(text)
        facts.phases.append("")
    for annotation in objects(message, "annotations"):
        citation = at(annotation, "url_citation")
        if isinstance(citation, dict):
            facts.citations.append(read_annotation(citation, text, 0))
            facts.unverified += facts.citations[-1].span is None and not facts.citations[-1].without_span
    _read_numbered(body, text, facts)
    _read_executed(message, facts)
    details = objects(message, "reasoning_details")
    facts.reasoning = string(message, "reasoning") or "".join(
        string(detail, "summary") or string(detail, "text") for detail in details
    )
    facts.blobs = {
        blob for item in details for blob in (string(item, "data"), string(item, "signature")) if blob
    }
    facts.tool_calls = [
        (string(call, "id"), string(call, "function", "name")) for call in objects(message, "tool_calls")
    ]
    if at(body, "error") is not None:
        facts.refusal = read_error(body, 500)
    else:
        facts.finish = _FINISH.get(string(body, "choices", 0, "finish_reason"))
    return facts


def _read_numbered(body: JsonObject, text: str, facts: RecordedAnswer) -> None:
    """Perplexity: `[3]` is the third URL; `search_results` has titles and dates."""
    pages = objects(body, "search_results")
    titles = {string(page, "url"): string(page, "title") for page in pages}
    addresses = strings(body, "citations")
    for match in re.finditer(r"\[(\d+)\]", text):
        index = int(match[1]) - 1
        if index < len(addresses):
            url = addresses[index]
            facts.citations.append(RecordedCitation(match.span(), url, titles.get(url, "")))
    facts.found |= set(titles)
    facts.dates |= {(string(page, "url"), string(page, "date")) for page in pages if string(page, "date")}


def _read_executed(message: Json, facts: RecordedAnswer) -> None:
    """Groq: the search with its query, and the pages it found."""
    for tool in objects(message, "executed_tools"):
        arguments: Json = json.loads(string(tool, "arguments"))
        facts.calls.append(RecordedSearch("search", (string(arguments, "query"),)))
        facts.found |= {string(page, "url") for page in objects(tool, "search_results", "results")}


def _usage(body: JsonObject) -> Usage:
    usage = at(body, "usage") or at(body, "x_groq", "usage")
    return Usage(
        input_tokens=count(usage, "prompt_tokens"),
        output_tokens=count(usage, "completion_tokens"),
        cached_tokens=count(usage, "prompt_tokens_details", "cached_tokens"),
        cache_write_tokens=count(usage, "prompt_tokens_details", "cache_write_tokens"),
        reasoning_tokens=count(usage, "completion_tokens_details", "reasoning_tokens"),
        searches=count(usage, "server_tool_use_details", "web_search_requests"),
        cost=number(usage, "cost")
        if number(usage, "cost") is not None
        else number(usage, "cost", "total_cost"),
    )


def gather(frames: Iterable[JsonObject]) -> JsonObject:
    """Merge the chunks of a stream into a completion. Its id is that of the first chunk."""
    body: JsonObject = {}
    message: JsonObject = {"role": "assistant"}
    texts = {"content": "", "reasoning": ""}
    annotations: list[Json] = []
    tools: dict[int, JsonObject] = {}
    reason: Json = None
    for frame in frames:
        for key in ("id", "model"):
            body.setdefault(key, frame.get(key))
        for key in ("usage", "x_groq", "error", "citations", "search_results"):
            if frame.get(key) is not None:
                body[key] = frame[key]
        delta = at(frame, "choices", 0, "delta")
        for key in texts:
            texts[key] += string(delta, key)
        annotations += objects(delta, "annotations")
        tools |= {count(tool, "index") or 0: tool for tool in objects(delta, "executed_tools")}
        reason = string(frame, "choices", 0, "finish_reason") or reason
    message |= {**texts, "annotations": annotations, "executed_tools": [*tools.values()]}
    return {**body, "choices": [{"index": 0, "message": message, "finish_reason": reason}]}
