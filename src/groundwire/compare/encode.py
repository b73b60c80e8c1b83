"""A comparison as JSON."""

from __future__ import annotations

from groundwire.compare.comparison import ClaimGroup, Comparison, Contribution, MergedSource
from groundwire.model import JsonObject

VERSION = 1


def encode_comparison(comparison: Comparison) -> JsonObject:
    """The object that `groundwire compare --json` prints."""
    return {
        "version": VERSION,
        "query": comparison.query,
        "answers": [_encode_contribution(item) for item in comparison.contributions],
        "claims": [_encode_group(group) for group in comparison.claims],
        "sources": [_encode_source(source) for source in comparison.sources],
        "removed_sources": comparison.removed,
    }


def _encode_contribution(item: Contribution) -> JsonObject:
    answer = item.answer
    return {
        "provider": item.provider,
        "model": answer.model,
        "outcome": item.outcome,
        "reason": item.reason,
        "text": answer.text,
        "citations": len(answer.citations),
        "searches": answer.usage.searches,
        "input_tokens": answer.usage.input_tokens,
        "output_tokens": answer.usage.output_tokens,
        "cost": answer.usage.cost,
        "seconds": item.seconds,
        "first_seconds": item.first_seconds,
    }


def _encode_group(group: ClaimGroup) -> JsonObject:
    return {
        "agreement": group.agreement,
        "sides": [
            {"provider": side.provider, "text": side.text, "urls": list(side.urls)} for side in group.sides
        ],
        "differences": [{item.one: item.one_says, item.other: item.other_says} for item in group.differences],
    }


def _encode_source(source: MergedSource) -> JsonObject:
    return {
        "url": source.url,
        "title": source.title,
        "domain": source.domain,
        "score": source.score,
        "ranks": dict(source.ranks),
        "cited_by": list(source.cited_by),
    }
