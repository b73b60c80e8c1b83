"""Merges the sources of several answers by canonical address, with reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.compare.comparison import Contribution, MergedSource
from groundwire.model import Answer, SearchOptions, Source
from groundwire.model.source import SourceMerge
from groundwire.text.domains import admits, display_domain
from groundwire.text.sources import source_key

RANK_CONSTANT = 60
"""The constant k of reciprocal rank fusion, as proposed: it keeps the first ranks from deciding alone."""


def merge_sources(
    contributions: Sequence[Contribution], options: SearchOptions | None = None
) -> tuple[tuple[MergedSource, ...], int]:
    """All sources, the best first, and how many the domain lists do not allow."""
    merges: dict[str, SourceMerge] = {}
    ranks: dict[str, list[tuple[str, int]]] = {}
    cited: dict[str, list[str]] = {}
    removed: set[str] = set()
    for contribution in contributions:
        cited_keys = _cited_keys(contribution.answer)
        for rank, source in enumerate(_ranked(contribution.answer), 1):
            key = source_key(source)
            if options is not None and not admits(options, source):
                removed.add(key)
                continue
            if key in merges:
                merges[key].add(source, with_extras=False)
            else:
                merges[key] = SourceMerge(source)
            ranks.setdefault(key, []).append((contribution.provider, rank))
            if key in cited_keys:
                cited.setdefault(key, []).append(contribution.provider)
    merged = [
        _merged(merge.source(), tuple(ranks[key]), tuple(cited.get(key, ()))) for key, merge in merges.items()
    ]
    return tuple(sorted(merged, key=lambda source: (-source.score, source.url, source.title))), len(removed)


def _merged(source: Source, ranks: tuple[tuple[str, int], ...], cited_by: tuple[str, ...]) -> MergedSource:
    # Summed in a fixed order: the sum of floats depends on it.
    score = sum(sorted(1 / (RANK_CONSTANT + rank) for _, rank in ranks))
    return MergedSource(
        source.url, source.title, display_domain(source), round(score, 6), ranks, tuple(cited_by)
    )


def _ranked(answer: Answer) -> list[Source]:
    """The sources of an answer, each page once: those that it cites first, in the order of its text."""
    cited = [item.source for citation in answer.citations for item in citation.evidence]
    unique: dict[str, Source] = {}
    for source in (*cited, *answer.sources):
        unique.setdefault(source_key(source), source)
    return list(unique.values())


def _cited_keys(answer: Answer) -> frozenset[str]:
    return frozenset(source_key(item.source) for citation in answer.citations for item in citation.evidence)
