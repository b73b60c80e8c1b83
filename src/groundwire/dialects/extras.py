"""The field `groundwire` of a final object: what the dialect has no words for.

Official clients ignore it; programs that know of it read warnings, searches, sources and citations there.
"""

from __future__ import annotations

from collections.abc import Collection

from groundwire.dialects.features import Feature, cited_files, project
from groundwire.model import Answer, Citation, Json, JsonObject, Search, SearchResult, Source
from groundwire.text.domains import display_domain

FIELD = "groundwire"
VERSION = 1

_SEARCHES = frozenset(
    {
        Feature.QUERIES,
        Feature.SEARCH_CALLS,
        Feature.PAGES_OPENED,
        Feature.PATTERNS,
        Feature.SEARCH_ERRORS,
    }
)
_SOURCES = frozenset({Feature.RETRIEVED, Feature.RETRIEVED_TITLES, Feature.TITLES})
_CITATIONS = frozenset(
    {Feature.CITATIONS, Feature.QUOTES, Feature.CONFIDENCE, Feature.UNPLACED, Feature.SPAN_STARTS}
)


def extend(body: JsonObject, answer: Answer, lost: Collection[Feature]) -> JsonObject:
    """Add the extension to a final object: what this answer has and the dialect loses."""
    lost = {feature for feature in lost if project(answer, feature)}
    extension: JsonObject = {}
    if answer.warnings:
        extension["warnings"] = [
            {"code": warning.code, "message": warning.message} for warning in answer.warnings
        ]
    if not _SEARCHES.isdisjoint(lost) and answer.searches:
        extension["searches"] = [encode_search(search) for search in answer.searches]
    tells_citations = not _CITATIONS.isdisjoint(lost) and answer.citations
    if tells_citations or (not _SOURCES.isdisjoint(lost) and answer.sources):
        extension["sources"] = [encode_source(source) for source in answer.sources]
    if tells_citations:
        places = {_key(source): index for index, source in enumerate(answer.sources)}
        extension["citations"] = [encode_citation(citation, places) for citation in answer.citations]
    if Feature.FILE_CITATIONS in lost:
        extension["files"] = cited_files(answer)
    suggestions: list[Json] = [
        part.suggestions for part in answer.parts if isinstance(part, SearchResult) and part.suggestions
    ]
    if Feature.SUGGESTIONS in lost and suggestions:
        extension["suggestions"] = suggestions
    if Feature.COST in lost and answer.usage.cost is not None:
        extension["cost"] = answer.usage.cost
    if extension:
        body[FIELD] = {"version": VERSION, **extension}
    return body


def encode_search(search: Search) -> JsonObject:
    """A search for readers of JSON."""
    body: JsonObject = {"query": search.query, "kind": search.kind, "state": search.state}
    return {**body, "error": search.error} if search.error else body


def encode_source(source: Source) -> JsonObject:
    """A source for readers of JSON."""
    return {
        "url": source.url,
        "title": source.title,
        "domain": display_domain(source),
        "state": source.state,
    }


def encode_citation(citation: Citation, places: dict[str, int]) -> JsonObject:
    """A citation for readers of JSON; its sources are indices into the list beside it."""
    quotes: list[Json] = [item.quote for item in citation.evidence if item.quote]
    confidences: list[Json] = [item.confidence for item in citation.evidence if item.confidence is not None]
    body: JsonObject = {
        "start": citation.span.start if citation.span else None,
        "end": citation.span.end if citation.span else None,
        "anchor": citation.anchor,
        "sources": [places[_key(item.source)] for item in citation.evidence],
        "quotes": quotes,
    }
    if confidences:
        body["confidences"] = confidences
    return body


def _key(source: Source) -> str:
    return source.url or f"name:{source.title}"
