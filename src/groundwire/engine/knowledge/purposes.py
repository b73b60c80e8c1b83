"""Purposes: finds the names and pages of Python's documentation that a question in everyday words is about.

`data/purposes.txt`, `purposes_de.txt` and `concepts.txt` say what names and pages are for, in short phrases.
A question matches a phrase as far as they share words, in both directions: the phrase should cover the
question, and the question the phrase. Several phrases about one target that match count more than one.

Analysing the phrases takes a tenth of a second, so that they are a compiled table (`compiled.py`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from groundwire.engine.compiled import Lines, Sections, compiled_table, find_value
from groundwire.engine.data_files import data_table
from groundwire.engine.knowledge.opposites import denied_stems, opposite_keys, phrase_keys
from groundwire.engine.words import query_terms, stem_synonyms, stem_word, tokenize

_FOLDER = Path(__file__).parent
_TABLES = ("purposes", "purposes_de", "concepts")
_IN_SYNONYM = 0.8
"""Share of a term that is matched by a synonym; the same as in statement scoring."""
_NAME_SHARE = 0.6
"""Share of a term that is found in the name itself (`json.loads` for `json`), not in the phrase."""

_TOGETHER = 0.5
"""Weight of what all phrases about a target have together, relative to the strength of the match, when
targets are chosen. Chosen on the tuning questions of tests/engine/questions."""
_DIGITS = 6
_WEIGHT_UNITS = 1000
"""Digits of each number of a record, and the units of a weight of 1."""
_MOST_COUNTED = 8
"""Phrases about a target whose similarities are counted together. Of 556 tuning questions, the best target is
right for 365; with all phrases for 360, with four for 363, with twelve for 369, with one for 337."""
_SOFTNESS = 0.1
"""Similarities that differ by this count in the ratio 1 to e. Chosen on the same questions."""
OPPOSED = 0.7
"""Factor for a phrase that says the opposite of the question."""
_CLOSEST = 3
"""Phrases about a target that say how close it is to a question. By words and meaning, ranked with weights
that were fitted to the questions of other people, 631 of 709 first passages are right (out of the box; 616
with one phrase, 629 with five, 615 with eight, 607 without this evidence)."""


def closeness(similarities: Iterable[float]) -> float:
    """The mean of the highest similarities of the phrases about one target: one phrase may be similar by
    chance, and of many phrases most are about other uses. A missing one counts as 0."""
    return sum(sorted(similarities, reverse=True)[:_CLOSEST]) / _CLOSEST


def soft_maximum(similarities: Iterable[float], softness: float) -> float:
    """The soft maximum of the highest similarities: that of one is the similarity itself, and every further
    one adds to it. Those after the first few do not count, or a name with many phrases would match every
    question that shares a common word with them."""
    highest = sorted(similarities, reverse=True)[:_MOST_COUNTED]
    return softness * math.log1p(sum(math.expm1(one / softness) for one in highest))


class Purpose(NamedTuple):
    """A name or a page, and one phrase about it."""

    target: str
    """A name (`os.walk`), or a page of the documentation (`tutorial/errors.html#handling-exceptions`)."""
    phrase: str


class PurposeMatch(NamedTuple):
    """A target that a question is about, with its best phrase."""

    target: str
    phrase: str
    similarity: float
    """Of the best phrase, between 0 and 1."""
    coverage: float = 0.0
    """The share of the question that all phrases about the target together have."""
    strength: float = 0.0
    """The soft maximum of the similarities of all phrases about the target."""


class PurposeIndex:
    """The index of phrases.

    The targets are sorted. So are the lines of terms, which have the numbers of the phrases with the term,
    and of those whose target has it in its name, and those of the keys of `opposites.py`. A record for each
    phrase, all in one line, has the weight of its terms and the number of its target: a question shares words
    with thousands of phrases, of which few are read."""

    def __init__(
        self, phrases: Lines, targets: Lines, terms: Lines, records: Lines, verbs: Lines = ()
    ) -> None:
        self.phrases = phrases
        self.targets = targets
        self.terms = terms
        self.records = records[0]
        self.verbs = verbs

    def __contains__(self, target: object) -> bool:
        """Are there phrases about it?"""
        return isinstance(target, str) and self.number(target) is not None

    def number(self, target: str) -> int | None:
        """The number of a target; None if there are no phrases about it."""
        at = bisect_left(self.targets, target)
        return at if at < len(self.targets) and self.targets[at] == target else None

    @property
    def purposes(self) -> list[Purpose]:
        """All phrases with their targets."""
        return list(map(self.purpose, range(len(self.phrases))))

    def purpose(self, number: int) -> Purpose:
        """A phrase with its target."""
        ((_, target),) = self._records([number])
        return Purpose(self.targets[target], self.phrases[number])

    def mentions(self, name: str) -> bool:
        """Does a phrase have this name?"""
        numbers = (self._numbers(term)[0] for term in query_terms(name)[:1])
        return any(name in self.phrases[number] for found in numbers for number in found)

    def match(self, query: str, limit: int = 8) -> list[PurposeMatch]:
        """The targets whose phrases are most similar to the query, best first."""
        return self.compare(query).best(limit)

    def compare(self, query: str) -> PurposeComparison:
        """Compares a query with all phrases."""
        shares = {term: self._shares(term) for term in query_terms(query)}
        weights = {term: self._weight(term) for term in shares}
        total = sum(weights.values())
        matched: dict[int, float] = {}
        present: dict[int, float] = {}
        for term, of_phrases in shares.items():
            weight = weights[term]
            for number, share in of_phrases.items():
                matched[number] = matched.get(number, 0.0) + weight * share
                present[number] = present.get(number, 0.0) + weight
        opposed = self.opposed(query)
        best: dict[int, tuple[float, int]] = {}
        similarities: dict[int, list[float]] = defaultdict(list)
        targets: dict[int, int] = {}
        root = math.sqrt
        # Written out, because a question shares words with thousands of phrases.
        for number, (of_phrase, target) in zip(matched, self._records(matched), strict=True):
            targets[number] = target
            similarity = matched[number] / total
            share = present[number] / of_phrase
            if share < 1.0:
                # The square root: what the question has beyond the phrase counts more, as people add
                # circumstances.
                similarity *= root(share)
            if number in opposed:
                similarity *= OPPOSED
            similarities[target].append(similarity)
            if target not in best or similarity > best[target][0]:
                best[target] = similarity, number
        covered = dict.fromkeys(best, 0.0)
        for term, of_phrases in shares.items():
            for target, share in _best_shares(of_phrases, targets).items():
                covered[target] += weights[term] * share / total
        return PurposeComparison(self, best, similarities, covered)

    def opposed(self, query: str) -> frozenset[int]:
        """The numbers of the phrases that say the opposite of what a query asks."""
        by_key = (
            number
            for key, excuses in opposite_keys(query).items()
            for number in map(int, (find_value(self.verbs, key) or "").split())
            if excuses.isdisjoint(map(stem_word, tokenize(self.phrases[number])))
        )
        affirmed = (
            number
            for stem in denied_stems(query)
            for number in self._numbers(stem)[0]
            if stem not in denied_stems(self.phrases[number])
        )
        return frozenset((*by_key, *affirmed))

    def _records(self, numbers: Iterable[int]) -> Iterator[tuple[float, int]]:
        """The weight of the terms of each phrase, and the number of its target."""
        records, length, weighs = self.records, 2 * _DIGITS, 10**_DIGITS
        for number in numbers:
            weight, target = divmod(int(records[length * number : length * (number + 1)]), weighs)
            yield weight / _WEIGHT_UNITS, target

    def _shares(self, term: str) -> dict[int, float]:
        """The share of a term that each phrase has."""
        in_phrase, in_name = self._numbers(term)
        found = dict.fromkeys(in_phrase, 1.0) | dict.fromkeys(in_name, _NAME_SHARE)
        for synonym in stem_synonyms(term):
            in_phrase, in_name = self._numbers(synonym)
            for number in in_phrase:
                if found.get(number, 0.0) < _IN_SYNONYM:
                    found[number] = _IN_SYNONYM
            for number in in_name:
                found.setdefault(number, 0.0)
        return found

    def _weight(self, term: str) -> float:
        in_phrase, in_name = self._numbers(term)
        return _weight(len(self.phrases), len(in_phrase) + len(in_name))

    def _numbers(self, term: str) -> tuple[list[int], list[int]]:
        in_phrase, _, in_name = (find_value(self.terms, term) or "").partition("\t")
        return [*map(int, in_phrase.split())], [*map(int, in_name.split())]


class PurposeComparison(NamedTuple):
    """How similar the phrases about each target are to a query. Targets are numbers."""

    known: PurposeIndex
    most_similar: Mapping[int, tuple[float, int]]
    """The similarity of the best phrase, and its number."""
    similarities: Mapping[int, list[float]]
    """Those of all phrases that share a word with the query."""
    covered: Mapping[int, float]
    """The share of the query that all phrases together have."""

    def best(self, limit: int) -> list[PurposeMatch]:
        """The targets whose phrases are most similar, best first."""
        covered, targets, phrases = self.covered, self.known.targets, self.known.phrases
        strengths = {target: soft_maximum(found, _SOFTNESS) for target, found in self.similarities.items()}
        chosen = sorted(strengths, key=lambda target: -(strengths[target] + _TOGETHER * covered[target]))
        return [
            PurposeMatch(targets[target], phrases[phrase], similarity, covered[target], strengths[target])
            for target in chosen[:limit]
            for similarity, phrase in [self.most_similar[target]]
        ]

    def closeness(self, target: str) -> float:
        """The mean similarity of the phrases about a target that are most similar; 0 if none shares a word,
        and if there is no such target."""
        number = self.known.number(target)
        return closeness(self.similarities.get(number, ())) if number is not None else 0.0


def _best_shares(of_phrases: Mapping[int, float], targets: Mapping[int, int]) -> dict[int, float]:
    """The share of a term that the phrases about each target have."""
    best: dict[int, float] = {}
    for number, share in of_phrases.items():
        target = targets[number]
        if best.get(target, -1.0) < share:
            best[target] = share
    return best


def _weight(phrases: int, having: int) -> float:
    """Inverse document frequency among the phrases."""
    return math.log(1 + phrases / (0.5 + having))


class AnalysedPhrase(NamedTuple):
    """A phrase with its terms, and those of the name that it is about."""

    target: str
    phrase: str
    terms: frozenset[str]
    named: frozenset[str]


def _analysed(table: str) -> Iterator[AnalysedPhrase]:
    for target, phrases in data_table(_FOLDER, table).items():
        named = frozenset(query_terms(target.replace(".", " ").replace("_", " ")))
        for phrase in phrases.replace(" | ", "; ").split("; "):
            terms = frozenset(query_terms(phrase))
            if terms:
                yield AnalysedPhrase(target, phrase, terms, named)


def compile_purposes(phrases: Iterable[AnalysedPhrase]) -> PurposeIndex:
    """The index of phrases."""
    analysed = list(phrases)
    numbers: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for number, phrase in enumerate(analysed):
        for term in phrase.terms:
            numbers[term][0].append(number)
        for term in phrase.named - phrase.terms:
            numbers[term][1].append(number)
    weights = {term: _weight(len(analysed), sum(map(len, found))) for term, found in numbers.items()}
    targets = {target: number for number, target in enumerate(sorted({item.target for item in analysed}))}
    records = (
        f"{int(_WEIGHT_UNITS * sum(map(weights.__getitem__, item.terms))):0{_DIGITS}}"
        f"{targets[item.target]:0{_DIGITS}}"
        for item in analysed
    )
    return PurposeIndex(
        [item.phrase for item in analysed],
        list(targets),
        sorted(
            "\t".join((term, *(" ".join(map(str, found)) for found in in_both)))
            for term, in_both in numbers.items()
        ),
        ["".join(records)],
        _verbs(analysed),
    )


def _verbs(phrases: Iterable[AnalysedPhrase]) -> list[str]:
    """The numbers of phrases by their keys."""
    found: dict[str, list[str]] = defaultdict(list)
    for number, item in enumerate(phrases):
        for key in phrase_keys(item.phrase):
            found[key].append(str(number))
    return sorted(f"{key}\t{' '.join(numbers)}" for key, numbers in found.items())


@cache
def purpose_index() -> PurposeIndex:
    """The index of all phrases."""
    return PurposeIndex(*compiled_table("purposes", _compile_all))


def _compile_all() -> Sections:
    found = compile_purposes(phrase for table in _TABLES for phrase in _analysed(table))
    return found.phrases, found.targets, found.terms, [found.records], found.verbs
