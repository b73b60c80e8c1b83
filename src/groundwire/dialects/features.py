"""Features of an answer, and which of them are lost between two dialects.

A dialect lists the features it cannot express, and where they go instead. The loss from A to B follows: what
A can express and B cannot. Each feature has a projection, the part of an answer that shows it, so that the
list can be tested: a feature is lost exactly if its projection changes on the way.

Positions are counted in the text without its marker anchors, because a marker (a link in place of its source)
is replaced when a dialect numbers sources itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Image,
    Json,
    Reasoning,
    SearchCall,
    SearchResult,
    Text,
    ToolCall,
)

if TYPE_CHECKING:
    from groundwire.dialects.base import Dialect

Projection: TypeAlias = Callable[[Answer], object]


class Feature(Enum):
    """One thing an answer may contain. The value is its description in the documentation."""

    TEXT = "the text of the answer"
    MARKER_TEXT = "the text of links in place of a source"
    TEXT_PARTS = "where one text part ends and the next begins"
    PHASE = "which text is commentary, answer or refusal"
    CITATIONS = "which source is cited where a claim ends"
    SPAN_STARTS = "where a cited claim begins"
    UNPLACED = "citations of the answer as a whole"
    QUOTES = "the quoted passage of a page"
    CONFIDENCE = "confidence of a citation"
    FILE_CITATIONS = "ids of cited files, and files that the answer offers"
    TITLES = "titles of cited pages"
    QUERIES = "the queries searched for"
    SEARCH_CALLS = "which queries belong to one search"
    PAGES_OPENED = "pages opened by the provider"
    PATTERNS = "patterns searched in a page"
    RETRIEVED = "pages found but not cited"
    RETRIEVED_TITLES = "titles of pages found but not cited"
    DATES = "age or date of a page"
    SEARCH_ERRORS = "the reason why a search failed"
    SUGGESTIONS = "Google's search suggestions"
    CALLERS = "which server tool called a search"
    REASONING = "reasoning shown by the model"
    TOOL_CALLS = "function calls"
    IMAGES = "images in the answer"
    FINISH = "why the answer ended"
    PAUSE = "that the turn was paused and can be continued"
    REFUSAL = "that the model refused, as opposed to a filter"
    TOKENS = "tokens read and written"
    CACHE_TOKENS = "tokens read from or written to a cache"
    REASONING_TOKENS = "tokens of reasoning"
    TOOL_TOKENS = "tokens of tool input"
    SEARCH_COUNT = "number of searches counted by the provider"
    COST = "the price"


def lost_between(source: Dialect, target: Dialect) -> Mapping[Feature, str]:
    """The features that `source` can express and `target` cannot, and where they go instead."""
    return {
        feature: replacement for feature, replacement in target.losses.items() if feature not in source.losses
    }


def project(answer: Answer, feature: Feature) -> object:
    """The part of an answer that shows a feature; equal projections mean that it was preserved."""
    return _PROJECTIONS[feature](answer)


def _without_markers(answer: Answer) -> tuple[str, Callable[[int], int]]:
    """The text without marker anchors, and a function that maps offsets into it."""
    text = answer.text
    markers = sorted(
        {citation.span for citation in answer.citations if citation.anchor == "marker" and citation.span}
    )
    kept: list[str] = []
    removed: list[tuple[int, int, int]] = []
    position = removed_length = 0
    for start, end in markers:
        if start < position:
            continue
        kept.append(text[position:start])
        removed.append((start, end, removed_length))
        removed_length += end - start
        position = end
    kept.append(text[position:])

    def map_offset(offset: int) -> int:
        shift = 0
        for start, end, before in removed:
            if offset < start:
                break
            shift = before + min(offset, end) - start
        return offset - shift

    return "".join(kept), map_offset


def _evidence(answer: Answer) -> Iterator[tuple[Citation, Evidence]]:
    return ((citation, item) for citation in answer.citations for item in citation.evidence)


def _with_spans(answer: Answer, pick: Callable[[int, int, Evidence], object]) -> object:
    _, map_offset = _without_markers(answer)
    return {
        pick(map_offset(citation.span.start), map_offset(citation.span.end), item)
        for citation, item in _evidence(answer)
        if citation.span is not None
    }


def cited_files(answer: Answer) -> list[Json]:
    """The file annotations of an answer, as Responses has them: of citations, and others of a text part."""
    found: list[Json] = [
        {
            **own,
            "start": citation.span.start if citation.span else None,
            "end": citation.span.end if citation.span else None,
        }
        for citation, item in _evidence(answer)
        if "file_id" in (own := item.extras.get("openai_responses", {}))
    ]
    for part in answer.parts:
        if isinstance(part, Text):
            kept = part.extras.get("openai_responses", {}).get("annotations")
            found += kept if isinstance(kept, list) else []
    return found


def _calls(answer: Answer) -> list[SearchCall]:
    return [part for part in answer.parts if isinstance(part, SearchCall)]


def _uncited_sources(answer: Answer) -> Iterator[tuple[str, str, str]]:
    cited = {item.source.url for _, item in _evidence(answer)}
    for part in answer.parts:
        if isinstance(part, SearchResult):
            for source in part.sources:
                if source.url not in cited:
                    yield source.url, source.title, source.date


def _arguments(call: ToolCall) -> object:
    try:
        return load_json(call.arguments, ClientWireError)
    except ClientWireError:
        return call.arguments


def _dates(answer: Answer) -> object:
    return {
        (source.url, source.date)
        for part in answer.parts
        if isinstance(part, SearchResult)
        for source in part.sources
        if source.date
    }


def _finish(answer: Answer) -> object:
    # Pausing and refusing are separate features; here they count as the nearest other reason.
    nearest = {"pause": "stop", "other": "stop", "refused": "filtered"}
    return nearest.get(answer.finish or "", answer.finish)


_PROJECTIONS: Mapping[Feature, Projection] = {
    Feature.TEXT: lambda answer: _without_markers(answer)[0],
    Feature.MARKER_TEXT: lambda answer: [
        answer.text[citation.span.start : citation.span.end]
        for citation in answer.citations
        if citation.span and citation.anchor == "marker"
    ],
    Feature.TEXT_PARTS: lambda answer: [len(part.text) for part in answer.parts if isinstance(part, Text)],
    Feature.PHASE: lambda answer: [part.phase for part in answer.parts if isinstance(part, Text)],
    Feature.CITATIONS: lambda answer: _with_spans(answer, lambda _, end, item: (end, item.source.url)),
    Feature.SPAN_STARTS: lambda answer: _with_spans(
        answer, lambda start, end, item: (start, end, item.source.url)
    ),
    Feature.UNPLACED: lambda answer: {
        item.source.url for citation, item in _evidence(answer) if citation.span is None
    },
    Feature.QUOTES: lambda answer: {
        (item.source.url, item.quote) for _, item in _evidence(answer) if item.quote
    },
    Feature.CONFIDENCE: lambda answer: {
        (item.source.url, item.confidence) for _, item in _evidence(answer) if item.confidence is not None
    },
    Feature.FILE_CITATIONS: cited_files,
    Feature.TITLES: lambda answer: {
        (item.source.url, item.source.title) for _, item in _evidence(answer) if item.source.title
    },
    Feature.QUERIES: lambda answer: {query for call in _calls(answer) for query in call.queries},
    Feature.SEARCH_CALLS: lambda answer: [call.queries for call in _calls(answer) if call.kind == "search"],
    Feature.PAGES_OPENED: lambda answer: [call.url for call in _calls(answer) if call.kind == "open"],
    Feature.PATTERNS: lambda answer: [
        (call.url, call.pattern) for call in _calls(answer) if call.kind == "find"
    ],
    Feature.RETRIEVED: lambda answer: {url for url, _, _ in _uncited_sources(answer)},
    Feature.RETRIEVED_TITLES: lambda answer: {(url, title) for url, title, _ in _uncited_sources(answer)},
    Feature.DATES: _dates,
    Feature.SEARCH_ERRORS: lambda answer: [
        part.error for part in answer.parts if isinstance(part, SearchResult) and part.error
    ],
    Feature.SUGGESTIONS: lambda answer: [
        part.suggestions for part in answer.parts if isinstance(part, SearchResult) and part.suggestions
    ],
    Feature.CALLERS: lambda answer: [call.caller for call in _calls(answer) if call.caller],
    Feature.REASONING: lambda answer: "".join(
        part.text for part in answer.parts if isinstance(part, Reasoning)
    ),
    Feature.TOOL_CALLS: lambda answer: [
        (part.id, part.name, _arguments(part)) for part in answer.parts if isinstance(part, ToolCall)
    ],
    Feature.IMAGES: lambda answer: [
        (part.media_type, part.data, part.url) for part in answer.parts if isinstance(part, Image)
    ],
    Feature.FINISH: _finish,
    Feature.PAUSE: lambda answer: answer.finish == "pause",
    Feature.REFUSAL: lambda answer: answer.finish == "refused",
    Feature.TOKENS: lambda answer: (answer.usage.input_tokens, answer.usage.output_tokens),
    Feature.CACHE_TOKENS: lambda answer: (answer.usage.cached_tokens, answer.usage.cache_write_tokens),
    Feature.REASONING_TOKENS: lambda answer: answer.usage.reasoning_tokens,
    Feature.TOOL_TOKENS: lambda answer: answer.usage.tool_tokens,
    Feature.SEARCH_COUNT: lambda answer: answer.usage.searches,
    Feature.COST: lambda answer: answer.usage.cost,
}
