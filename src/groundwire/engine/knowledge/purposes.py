"""Purposes: finds the names and pages of Python's documentation that a question in everyday words is about.

`data/purposes.txt`, `purposes_de.txt` and `concepts.txt` say what names and pages are for, in short phrases.
A question matches a phrase as far as they share words, in both directions: the phrase should cover the
question, and the question the phrase.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from groundwire.engine.data_files import data_table
from groundwire.engine.words import query_terms, stem_synonyms

_FOLDER = Path(__file__).parent
_TABLES = ("purposes", "purposes_de", "concepts")
_IN_SYNONYM = 0.8
"""Share of a term that is matched by a synonym; the same as in statement scoring."""
_NAME_SHARE = 0.6
"""Share of a term that is found in the name itself (`json.loads` for `json`), not in the phrase."""


class Purpose(NamedTuple):
    """A name or a page, and one phrase about it."""

    target: str
    """A name (`os.walk`), or a page of the documentation (`tutorial/errors.html#handling-exceptions`)."""
    phrase: str
    terms: frozenset[str]
    named: frozenset[str]
    """The terms of the name."""


class PurposeMatch(NamedTuple):
    """A target that a question is about, with its best phrase."""

    target: str
    phrase: str
    similarity: float
    """Between 0 and 1."""


class PurposeIndex:
    """The phrases by their terms."""

    def __init__(self, purposes: list[Purpose]) -> None:
        self.purposes = purposes
        self._postings: dict[str, list[int]] = defaultdict(list)
        for number, purpose in enumerate(purposes):
            for term in purpose.terms | purpose.named:
                self._postings[term].append(number)
        self._count = len(purposes)

    def match(self, query: str, limit: int = 8) -> list[PurposeMatch]:
        """The targets whose phrases are most similar to the query, best first."""
        terms = query_terms(query)
        if not terms:
            return []
        weights = {term: self._weight(term) for term in terms}
        covered: dict[int, dict[str, float]] = defaultdict(dict)
        for term in terms:
            for number, share in self._shares(term):
                covered[number][term] = max(share, covered[number].get(term, 0.0))
        total = sum(weights.values())
        best: dict[str, PurposeMatch] = {}
        for number, shares in covered.items():
            purpose = self.purposes[number]
            similarity = self._similarity(purpose, shares, weights, total)
            known = best.get(purpose.target)
            if known is None or similarity > known.similarity:
                best[purpose.target] = PurposeMatch(purpose.target, purpose.phrase, similarity)
        return sorted(best.values(), key=lambda match: -match.similarity)[:limit]

    def _shares(self, term: str) -> Iterator[tuple[int, float]]:
        for number in self._postings.get(term, ()):
            yield number, 1.0 if term in self.purposes[number].terms else _NAME_SHARE
        for synonym in stem_synonyms().get(term, ()):
            for number in self._postings.get(synonym, ()):
                yield number, _IN_SYNONYM if synonym in self.purposes[number].terms else 0.0

    def _similarity(
        self, purpose: Purpose, shares: Mapping[str, float], weights: Mapping[str, float], total: float
    ) -> float:
        matched = sum(weights[term] * share for term, share in shares.items())
        phrase = sum(map(self._weight, purpose.terms))
        in_phrase = sum(weights[term] for term in shares)
        # The square root: what the question has beyond the phrase counts more, as people add circumstances.
        return (matched / total) * math.sqrt(min(1.0, in_phrase / phrase) if phrase else 0.0)

    def _weight(self, term: str) -> float:
        """Inverse document frequency among the phrases."""
        return math.log(1 + self._count / (0.5 + len(self._postings.get(term, ()))))


@cache
def purpose_index() -> PurposeIndex:
    """The index of all phrases. Building it takes about a tenth of a second, once in a process."""
    return PurposeIndex([purpose for table in _TABLES for purpose in _purposes(table)])


def _purposes(table: str) -> Iterator[Purpose]:
    for target, phrases in data_table(_FOLDER, table).items():
        named = frozenset(query_terms(target.replace(".", " ").replace("_", " ")))
        for phrase in phrases.replace(" | ", "; ").split("; "):
            terms = frozenset(query_terms(phrase))
            if terms:
                yield Purpose(target, phrase, terms, named)
