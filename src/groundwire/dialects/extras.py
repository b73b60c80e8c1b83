"""The extension field `groundwire` of a final object: what the dialect cannot express.

Official clients ignore it; programs that know it read warnings, searches, sources and citations there.
"""

from __future__ import annotations

from collections.abc import Collection

from groundwire.dialects.features import Feature, cited_files, project
from groundwire.model import Answer, Citation, Json, JsonObject, Search, SearchResult, Source
from groundwire.text.domains import display_domain

FIELD = "groundwire"
VERSION = 1
VERIFICATION = "verification"
"""The facts about the citations, in the extras `groundwire` of an answer and in the extension."""

_SEARCH_FEATURES = frozenset(
    {
        Feature.QUERIES,
        Feature.SEARCH_CALLS,
        Feature.PAGES_OPENED,
        Feature.PATTERNS,
        Feature.SEARCH_ERRORS,
    }
)
_SOURCE_FEATURES = frozenset({Feature.RETRIEVED, Feature.RETRIEVED_TITLES, Feature.TITLES})
_CITATION_FEATURES = frozenset(
    {Feature.CITATIONS, Feature.QUOTES, Feature.CONFIDENCE, Feature.UNPLACED, Feature.SPAN_STARTS}
)


def add_extension(body: JsonObject, answer: Answer, lost: Collection[Feature]) -> JsonObject:
    """Add the extension to a final object: what this answer has and the dialect cannot express."""
    lost = {feature for feature in lost if project(answer, feature)}
    extension = {**_encode_lost(answer, lost), **_encode_verdicts(answer)}
    if Feature.COST in lost and answer.usage.cost is not None:
        extension["cost"] = answer.usage.cost
    if extension:
        body[FIELD] = {"version": VERSION, **extension}
    return body


def _encode_lost(answer: Answer, lost: Collection[Feature]) -> JsonObject:
    """The warnings, and the searches, sources and citations that the dialect cannot express."""
    extension: JsonObject = {}
    if answer.warnings:
        extension["warnings"] = [
            {"code": warning.code, "message": warning.message} for warning in answer.warnings
        ]
    if not _SEARCH_FEATURES.isdisjoint(lost) and answer.searches:
        extension["searches"] = [encode_search(search) for search in answer.searches]
    has_citations = not _CITATION_FEATURES.isdisjoint(lost) and answer.citations
    if has_citations or (not _SOURCE_FEATURES.isdisjoint(lost) and answer.sources):
        extension["sources"] = [encode_source(source) for source in answer.sources]
    if has_citations:
        indices = {_key(source): index for index, source in enumerate(answer.sources)}
        extension["citations"] = [encode_citation(citation, indices) for citation in answer.citations]
    if Feature.FILE_CITATIONS in lost:
        extension["files"] = cited_files(answer)
    suggestions: list[Json] = [
        part.suggestions for part in answer.parts if isinstance(part, SearchResult) and part.suggestions
    ]
    if Feature.SUGGESTIONS in lost and suggestions:
        extension["suggestions"] = suggestions
    return extension


def _encode_verdicts(answer: Answer) -> JsonObject:
    """Whether the answer is grounded, and the facts about its citations."""
    verdicts: JsonObject = {"grounded": False} if is_ungrounded(answer) else {}
    if isinstance(verification := answer.extras.get(FIELD, {}).get(VERIFICATION), dict):
        verdicts[VERIFICATION] = verification
    return verdicts


def is_ungrounded(answer: Answer) -> bool:
    """Was the web to be searched, and does the text name no source?"""
    return answer.extras.get(FIELD, {}).get("grounded") is False and bool(answer.text.strip())


def encode_search(search: Search) -> JsonObject:
    """Encode a search for the extension."""
    body: JsonObject = {"query": search.query, "kind": search.kind, "state": search.state}
    return {**body, "error": search.error} if search.error else body


def encode_source(source: Source) -> JsonObject:
    """Encode a source for the extension."""
    return {
        "url": source.url,
        "title": source.title,
        "domain": display_domain(source),
        "state": source.state,
    }


def encode_citation(citation: Citation, indices: dict[str, int]) -> JsonObject:
    """Encode a citation for the extension; its sources are indices into `sources`."""
    quotes: list[Json] = [item.quote for item in citation.evidence if item.quote]
    confidences: list[Json] = [item.confidence for item in citation.evidence if item.confidence is not None]
    body: JsonObject = {
        "start": citation.span.start if citation.span else None,
        "end": citation.span.end if citation.span else None,
        "anchor": citation.anchor,
        "sources": [indices[_key(item.source)] for item in citation.evidence],
        "quotes": quotes,
    }
    if confidences:
        body["confidences"] = confidences
    return body


def _key(source: Source) -> str:
    return source.url or f"name:{source.title}"
