"""Purposes: finds the names and pages of Python's documentation that a question in everyday words is about.

`data/purposes.txt`, `purposes_de.txt` and `concepts.txt` say what names and pages are for, in short phrases.
A question matches a phrase as far as they share words, in both directions: the phrase should cover the
question, and the question the phrase.

Analysing the phrases takes a tenth of a second, reading the compiled tables a hundredth of that. They are
kept in a file next to the index: lines of phrases, then lines of terms with the phrases that have them.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from groundwire.engine import words
from groundwire.engine.data_files import data_table
from groundwire.engine.words import query_terms, stem_synonyms
from groundwire.files.text_file import write_private

_FOLDER = Path(__file__).parent
_TABLES = ("purposes", "purposes_de", "concepts")
_SOURCES = (
    *(_FOLDER / "data" / f"{table}.txt" for table in _TABLES),
    *(Path(__file__), Path(words.__file__), *sorted((_FOLDER.parent / "data").glob("*.txt"))),
)
"""The files that the compiled tables depend on."""
COMPILED_FILE = "purposes.txt"
_END = "end"
_IN_SYNONYM = 0.8
"""Share of a term that is matched by a synonym; the same as in statement scoring."""
_NAME_SHARE = 0.6
"""Share of a term that is found in the name itself (`json.loads` for `json`), not in the phrase."""

_TOGETHER = 0.5
"""Weight of what all phrases about a target have together, relative to the similarity of the best one, when
targets are chosen. Chosen on the tuning questions of tests/engine/questions."""


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
    """Between 0 and 1."""
    coverage: float = 0.0
    """The share of the question that all phrases about the target together have."""


class PurposeIndex:
    """The compiled tables. A line of a phrase has the weight of its terms, its target and the phrase; that of
    a term has the numbers of the phrases, and of those whose target has it in its name."""

    def __init__(self, phrases: list[str], terms: Mapping[str, str]) -> None:
        self.phrases = phrases
        self.terms = terms

    @property
    def purposes(self) -> list[Purpose]:
        """All phrases with their targets."""
        return [Purpose(*line.split("\t")[1:]) for line in self.phrases]

    def match(self, query: str, limit: int = 8) -> list[PurposeMatch]:
        """The targets whose phrases are most similar to the query, best first."""
        terms = query_terms(query)
        if not terms:
            return []
        weights = {term: _weight(len(self.phrases), self._numbers(term)) for term in terms}
        covered: dict[int, dict[str, float]] = defaultdict(dict)
        for term in terms:
            for number, share in self._shares(term):
                covered[number][term] = max(share, covered[number].get(term, 0.0))
        total = sum(weights.values())
        best: dict[str, PurposeMatch] = {}
        together: dict[str, dict[str, float]] = defaultdict(dict)
        for number, shares in covered.items():
            of_phrase, target, phrase = self.phrases[number].split("\t")
            similarity = _similarity(float(of_phrase), shares, weights, total)
            known = best.get(target)
            if known is None or similarity > known.similarity:
                best[target] = PurposeMatch(target, phrase, similarity)
            of_target = together[target]
            for term, share in shares.items():
                of_target[term] = max(share, of_target.get(term, 0.0))
        matches = (
            match._replace(coverage=_matched(together[target], weights) / total)
            for target, match in best.items()
        )
        return sorted(matches, key=lambda match: -(match.similarity + _TOGETHER * match.coverage))[:limit]

    def _shares(self, term: str) -> Iterator[tuple[int, float]]:
        in_phrase, in_name = self._numbers(term)
        yield from ((number, 1.0) for number in in_phrase)
        yield from ((number, _NAME_SHARE) for number in in_name)
        for synonym in stem_synonyms().get(term, ()):
            in_phrase, in_name = self._numbers(synonym)
            yield from ((number, _IN_SYNONYM) for number in in_phrase)
            yield from ((number, 0.0) for number in in_name)

    def _numbers(self, term: str) -> tuple[list[int], list[int]]:
        in_phrase, _, in_name = self.terms.get(term, "\t").partition("\t")
        return [*map(int, in_phrase.split())], [*map(int, in_name.split())]


def _similarity(
    of_phrase: float, shares: Mapping[str, float], weights: Mapping[str, float], total: float
) -> float:
    matched = _matched(shares, weights)
    in_phrase = sum(weights[term] for term in shares)
    # The square root: what the question has beyond the phrase counts more, as people add circumstances.
    return (matched / total) * math.sqrt(min(1.0, in_phrase / of_phrase) if of_phrase else 0.0)


def _matched(shares: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return sum(weights[term] * share for term, share in shares.items())


def _weight(phrases: int, numbers: tuple[list[int], list[int]]) -> float:
    """Inverse document frequency among the phrases."""
    return math.log(1 + phrases / (0.5 + len(numbers[0]) + len(numbers[1])))


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
    weights = {term: _weight(len(analysed), found) for term, found in numbers.items()}
    return PurposeIndex(
        [f"{sum(map(weights.__getitem__, item.terms))!r}\t{item.target}\t{item.phrase}" for item in analysed],
        {
            term: "\t".join(" ".join(map(str, found)) for found in in_both)
            for term, in_both in numbers.items()
        },
    )


class _PurposeFile:
    """The compiled tables in a file, with a mark that changes with the files they are made of."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / COMPILED_FILE
        self._mark = " ".join(f"{found.st_size}-{found.st_mtime_ns}" for found in map(os.stat, _SOURCES))

    def read(self) -> PurposeIndex | None:
        """The tables; None if there is no file, or one of other sources."""
        try:
            mark, count, *lines = self._path.read_text("utf-8").split("\n")
            phrases = int(count)
        except (OSError, ValueError):
            return None
        if mark != self._mark or lines[-1:] != [_END]:
            return None
        return PurposeIndex(lines[:phrases], dict(line.split("\t", 1) for line in lines[phrases:-1]))

    def write(self, index: PurposeIndex) -> None:
        """Keeps the tables, if the folder can be written."""
        terms = (f"{term}\t{numbers}" for term, numbers in index.terms.items())
        lines = (self._mark, str(len(index.phrases)), *index.phrases, *terms, _END)
        with suppress(OSError):
            write_private(str(self._path), "\n".join(lines))


_KEPT_IN: list[Path] = []


def keep_purposes(folder: Path) -> None:
    """From now on, the compiled tables are read from a file in this folder, and written if there is none."""
    _KEPT_IN[:] = [folder]


@cache
def purpose_index() -> PurposeIndex:
    """The index of all phrases."""
    try:
        file = _PurposeFile(_KEPT_IN[0]) if _KEPT_IN else None
    except OSError:  # a source that is not a file of its own
        file = None
    found = file.read() if file is not None else None
    if found is None:
        found = compile_purposes(phrase for table in _TABLES for phrase in _analysed(table))
        if file is not None:
            file.write(found)
    return found
