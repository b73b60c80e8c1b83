"""How much of a statement is in each sentence of a page: words, names, numbers and dates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from groundwire.engine.words import guess_language, stem_synonyms
from groundwire.verify.pages import PreparedPage, SentenceTerms
from groundwire.verify.quantities import Quantity, says
from groundwire.verify.tokens import Token, tokenize_text
from groundwire.verify.vocabulary import are_opposite, synonym_stems

FEWEST_TERMS = 2
"""Content words and quantities below which a statement says too little to be looked for."""
_CANDIDATES = 12
"""Sentences that are compared in detail."""
_MOST_POSTINGS = 4000
"""Sentences of a page that are counted for one statement; the rarest words come first."""
UNION = 3
"""Sentences of a page that together may have what a statement says."""
_ROOT_WEIGHT = 0.8
"""What another word of the same family counts."""
_SUBJECT_WEIGHT = 0.6
"""What a word counts that is only in the title or first heading of the page, or that a pronoun may stand for.
The values above were chosen on the tuning half of the labelled pages in tests/verify/labelled."""
_LONG_WORD = 5
"""Letters of a stem from which its beginning tells its family."""


class Overlap(NamedTuple):
    """What a sentence has of a statement."""

    number: int
    """Of the sentence."""
    share: float
    """Of the terms, weighted, between 0 and 1."""
    words: float
    """Of the words that are not values."""
    common: float
    """Of the words that are neither values nor names."""
    row: tuple[float, ...]
    """How well each term is there: first the words, then the values."""


class ClaimSentence:
    """A sentence of a claim, with its terms."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        self.tokens = tokenize_text(self.text)
        self.words = list(_unique(token for token in self.tokens if token.kind == "word"))
        self.keys = frozenset(token.key for token in self.words)
        self.values = [token for token in self.tokens if token.kind == "value"]
        self.language = guess_language(self.text)

    @property
    def terms(self) -> list[Token]:
        """Content words, names, numbers and dates."""
        return [*self.words, *self.values]

    def shown(self, token: Token) -> str:
        """A term as it is written in the statement."""
        return self.text[token.start : token.end]


def _unique(tokens: Iterable[Token]) -> Iterator[Token]:
    seen: set[str] = set()
    for token in tokens:
        if token.key not in seen:
            seen.add(token.key)
            yield token


def rank_sentences(statement: ClaimSentence, page: PreparedPage) -> list[Overlap]:
    """The sentences that have most of a statement, best first."""
    counts: dict[int, float] = {}
    budget = _MOST_POSTINGS
    for token in sorted(statement.words, key=lambda token: len(page.roots.get(token.root, ()))):
        for number in page.roots.get(token.root, ())[:budget]:
            counts[number] = counts.get(number, 0.0) + 1.0
            budget -= 1
        if budget <= 0:
            break
    for wanted in statement.values:
        for number in page.sentences_with(wanted.quantity)[:_MOST_POSTINGS] if wanted.quantity else ():
            counts[number] = counts.get(number, 0.0) + 1.0
    best = sorted(counts, key=lambda number: (-counts[number], number))[:_CANDIDATES]
    overlaps = (_overlap(statement, page, number) for number in best)
    return sorted(overlaps, key=lambda item: (-item.share, item.number))


def _overlap(statement: ClaimSentence, page: PreparedPage, number: int) -> Overlap:
    row = term_row(statement, page, number)
    count = len(statement.words)
    implied = page.implied(number)
    matched = [
        share or (_SUBJECT_WEIGHT if token.key in page.subject or token.key in implied else 0.0)
        for token, share in zip(statement.words, row, strict=False)
    ]
    common = [share for token, share in zip(statement.words, matched, strict=True) if not token.is_name]
    return Overlap(number, _mean([*matched, *row[count:]]), _mean(matched), _mean(common or matched), row)


def term_row(statement: ClaimSentence, page: PreparedPage, number: int) -> tuple[float, ...]:
    """How well each term of a statement is in a sentence: first the words, then the values."""
    terms = page.terms(number)
    return (
        *(match_word(token, terms) for token in statement.words),
        *(float(finds_value(token, terms.values)) for token in statement.values),
    )


def joint_row(statement: ClaimSentence, page: PreparedPage, numbers: Iterable[int]) -> tuple[float, ...]:
    """How well each term is in some sentences together."""
    rows = [term_row(statement, page, number) for number in numbers]
    return tuple(map(max, zip(*rows, strict=True))) if rows else (0.0,) * len(statement.terms)


def coverage(statement: ClaimSentence, page: PreparedPage, numbers: Iterable[int]) -> float:
    """The share of the terms that some sentences have together."""
    return _mean(joint_row(statement, page, numbers))


def best_union(overlaps: Sequence[Overlap]) -> float:
    """The share of the terms that the best few sentences have together."""
    return union_share([item.row for item in overlaps])


def union_share(rows: Sequence[Sequence[float]]) -> float:
    """The mean over the best few rows together: each adds as much as it can."""
    joint: tuple[float, ...] = (0.0,) * len(rows[0]) if rows else ()
    for _ in range(UNION):
        joint = max((tuple(map(max, joint, row)) for row in rows), key=sum, default=joint)
    return _mean(joint)


def match_word(wanted: Token, terms: SentenceTerms) -> float:
    """How well a word is in a sentence: itself, or another word of its family."""
    if wanted.key in terms.keys:
        return 1.0
    families = terms.common_families if wanted.is_name else terms.families
    is_family = len(wanted.key) >= _LONG_WORD and wanted.root in families
    if is_family or any(not terms.keys.isdisjoint(words) for words in _synonyms(wanted.key)):
        return _ROOT_WEIGHT
    return 0.0


def _synonyms(stem: str) -> tuple[Collection[str], Collection[str]]:
    return synonym_stems().get(stem, ()), stem_synonyms(stem)


def _is_ending(one: str, other: str) -> bool:
    """Do two stems differ in a short ending only: `begin`, `begi`?"""
    short, long = sorted((one, other), key=len)
    return len(short) >= _LONG_WORD - 1 and len(long) - len(short) <= 1 and long.startswith(short)


def same_word(one: Token, other: Token) -> bool:
    """Are two tokens the same word, forms of one word, synonyms, or the same number?"""
    if one.quantity is not None or other.quantity is not None:
        return _says(one.quantity, other.quantity) or _says(other.quantity, one.quantity)
    if one.key == other.key:
        return True
    if one.kind != "word" or other.kind != "word" or (one.is_name and other.is_name):
        return False
    if are_opposite(one.surface, other.surface):
        return False
    is_family = min(len(one.key), len(other.key)) >= _LONG_WORD and one.root == other.root
    return (
        is_family or _is_ending(one.key, other.key) or any(other.key in words for words in _synonyms(one.key))
    )


def finds_value(wanted: Token, values: Iterable[Quantity]) -> bool:
    """Is a number or a date among those of a sentence?"""
    return any(_says(found, wanted.quantity) for found in values)


def _says(found: Quantity | None, wanted: Quantity | None) -> bool:
    return found is not None and wanted is not None and says(found, wanted)


def _mean(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares) if shares else 0.0
