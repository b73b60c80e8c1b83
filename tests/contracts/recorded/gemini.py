"""Gemini oracle: offsets are UTF-8 bytes over all text that is not a thought, with a copy of the text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from groundwire.model import FinishReason, Json, JsonObject, Usage
from tests.contracts.recorded.facts import (
    RecordedAnswer,
    RecordedCitation,
    RecordedSearch,
    TextRange,
    displayed_url,
    find_quote,
)
from tests.contracts.recorded.lookup import at, blobs, count, number, objects, string, strings, total


class _Page(NamedTuple):
    url: str
    title: str
    passage: str


_NO_PAGE = _Page("", "", "")

_FINISH: dict[str, FinishReason] = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "filtered"}


def read(body: JsonObject) -> RecordedAnswer:
    """Read the facts of a response."""
    candidate = at(body, "candidates", 0)
    parts = objects(candidate, "content", "parts")
    facts = RecordedAnswer(
        id=string(body, "responseId"),
        model=string(body, "modelVersion"),
        finish=_FINISH.get(string(candidate, "finishReason")),
        usage=_usage(body),
        blobs=blobs(candidate),
        reasoning="".join(string(part, "text") for part in parts if part.get("thought") is True),
    )
    if candidate is None and string(body, "promptFeedback", "blockReason"):
        facts.finish = "filtered"
    text = "".join(string(part, "text") for part in parts if part.get("thought") is not True)
    if text:
        facts.texts.append(text)
        facts.phases.append("")
    _read_grounding(at(candidate, "groundingMetadata"), facts)
    _read_tools(parts, facts)
    for page in objects(candidate, "urlContextMetadata", "urlMetadata"):
        facts.calls.append(RecordedSearch("open", (string(page, "retrievedUrl"),)))
        status = string(page, "urlRetrievalStatus").removeprefix("URL_RETRIEVAL_STATUS_")
        if status not in ("", "SUCCESS", "UNSPECIFIED"):
            facts.search_errors.append(status.lower())
    return facts


def _read_grounding(grounding: Json, facts: RecordedAnswer) -> None:
    chunks = [_page(chunk) for chunk in objects(grounding, "groundingChunks")]
    facts.found = {displayed_url(page.url) for page in chunks if page.url}
    facts.queries = [*strings(grounding, "webSearchQueries"), *strings(grounding, "retrievalQueries")]
    if string(grounding, "searchEntryPoint", "renderedContent"):
        facts.suggestions.add(string(grounding, "searchEntryPoint", "renderedContent"))
    for support in objects(grounding, "groundingSupports"):
        span = _span(facts.text, at(support, "segment"))
        indices = at(support, "groundingChunkIndices")
        cited = [
            (position, chunks[index])
            for position, index in enumerate(indices if isinstance(indices, list) else ())
            if isinstance(index, int) and 0 <= index < len(chunks) and chunks[index] != _NO_PAGE
        ]
        facts.unverified += bool(cited) and span is None
        for position, page in cited:
            facts.citations.append(
                RecordedCitation(
                    span,
                    displayed_url(page.url),
                    page.title,
                    page.passage,
                    confidence=number(support, "confidenceScores", position),
                )
            )


def _page(chunk: JsonObject) -> _Page:
    """A page under whichever name the chunk gives it; a support may point at a chunk that names none."""
    kinds = [chunk.get(kind) for kind in ("web", "maps", "retrievedContext")]
    page = next((kind for kind in kinds if kind is not None), chunk.get("image"))
    url = string(page, "uri") or string(page, "sourceUri")
    return _Page(url, string(page, "title"), string(chunk, "retrievedContext", "text"))


def _span(text: str, segment: Json) -> TextRange:
    raw = text.encode()
    start = count(segment, "startIndex") or 0
    end = count(segment, "endIndex") or 0
    quote = string(segment, "text")
    if raw[start:end] == quote.encode():
        return len(raw[:start].decode()), len(raw[:end].decode())
    return find_quote(text, -1, -1, quote)


def _read_tools(parts: list[JsonObject], facts: RecordedAnswer) -> None:
    for part in parts:
        facts.queries = [*(facts.queries or []), *strings(part, "toolCall", "args", "queries")]
        if string(part, "toolResponse", "response", "search_suggestions"):
            facts.suggestions.add(string(part, "toolResponse", "response", "search_suggestions"))
        if "functionCall" in part:
            facts.tool_calls.append(
                (string(part, "functionCall", "id"), string(part, "functionCall", "name"))
            )


def _usage(body: JsonObject) -> Usage:
    usage = at(body, "usageMetadata")
    tools = count(usage, "toolUsePromptTokenCount")
    thoughts = count(usage, "thoughtsTokenCount")
    return Usage(
        input_tokens=total(count(usage, "promptTokenCount"), tools),
        output_tokens=total(count(usage, "candidatesTokenCount"), thoughts),
        cached_tokens=count(usage, "cachedContentTokenCount"),
        reasoning_tokens=thoughts,
        tool_tokens=tools,
    )


def gather(frames: Iterable[JsonObject]) -> JsonObject:
    """Merge the chunks of a stream into a body: lists grow, of everything else the last value counts."""
    body: JsonObject = {}
    candidate: JsonObject = {}
    grounding: JsonObject = {}
    parts: list[JsonObject] = []
    for frame in frames:
        body.update(frame)
        chunk = at(frame, "candidates", 0)
        candidate.update(chunk if isinstance(chunk, dict) else {})
        for part in objects(chunk, "content", "parts"):
            _add_part(parts, part)
        facts = at(chunk, "groundingMetadata")
        for key, value in facts.items() if isinstance(facts, dict) else ():
            known = grounding.get(key)
            grounding[key] = (
                [*known, *value] if isinstance(known, list) and isinstance(value, list) else value
            )
    merged: JsonObject = {**candidate, "content": {"role": "model", "parts": [*parts]}}
    if "groundingMetadata" in candidate:
        merged["groundingMetadata"] = grounding
    return {**body, "candidates": [merged]} if candidate else body


def _add_part(parts: list[JsonObject], part: JsonObject) -> None:
    """In a whole body the pieces of one text are one part, signature included."""
    last = parts[-1] if parts else {}
    if "text" in part and "text" in last and part.get("thought") == last.get("thought"):
        parts[-1] = {**last, **part, "text": string(last, "text") + string(part, "text")}
    elif part != {"text": ""}:
        parts.append(part)
