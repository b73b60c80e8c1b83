"""What a client must find in an answer, computed from the canonical value alone."""

from __future__ import annotations

import json

from groundwire.dialects.base import Dialect
from groundwire.dialects.features import Feature
from groundwire.model import Answer, Json, SearchCall, Text, ToolCall
from tests.contracts.samples import SAMPLES, Sample

Cited = set[tuple[str, str]]


def claims(answer: Answer) -> Cited:
    """The text of every non-empty span, with the URL cited for it."""
    return {
        (answer.text[citation.span.start : citation.span.end], item.source.url)
        for citation in answer.citations
        if citation.span is not None and citation.span.start < citation.span.end
        for item in citation.evidence
    }


def claims_by_part(answer: Answer) -> Cited:
    """The same, each claim cut where a text part ends: for clients that count within one part."""
    found: Cited = set()
    position = 0
    for text in (part.text for part in answer.parts if isinstance(part, Text)):
        for citation in answer.citations:
            start, end = citation.span or (0, 0)
            fragment = text[max(start - position, 0) : max(end - position, 0)]
            if fragment:
                found |= {(fragment, item.source.url) for item in citation.evidence}
        position += len(text)
    return found


def covered(answer: Answer) -> dict[str, set[int]]:
    """For each URL, the positions in the text that cite it."""
    positions: dict[str, set[int]] = {}
    for citation in answer.citations:
        if citation.span is not None:
            for item in citation.evidence:
                positions.setdefault(item.source.url, set()).update(range(*citation.span))
    return positions


def queries(answer: Answer) -> set[str]:
    return {query for part in answer.parts if isinstance(part, SearchCall) for query in part.queries}


def tool_calls(answer: Answer) -> list[tuple[str, str, Json]]:
    return [
        (part.id, part.name, json.loads(part.arguments))
        for part in answer.parts
        if isinstance(part, ToolCall)
    ]


def has_points(answer: Answer) -> bool:
    """Is there a citation of a point, which has the end of a claim but not its start?"""
    return any(item.span is not None and item.span.start == item.span.end for item in answer.citations)


def keeps(codec: Dialect, *features: Feature) -> bool:
    """Does the dialect support all of these?"""
    return not any(feature in codec.losses for feature in features)


NAMES = [sample.name for sample in SAMPLES]


def named(name: str) -> Sample:
    return next(sample for sample in SAMPLES if sample.name == name)
