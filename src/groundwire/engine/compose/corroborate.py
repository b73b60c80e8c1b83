"""Corroboration: do statements of two pages support or contradict each other?

Precision matters more than recall: a page is cited for a sentence only if it uses the same words, and pages
contradict each other only if nothing but a value or a negation differs.
"""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.engine.compose.statements import Statement
from groundwire.engine.knowledge.addresses import PROJECTS
from groundwire.engine.words import TextTerms, word_list

_ENOUGH = 4
"""Words that two statements must share at least. Chosen: shorter statements coincide by chance."""
_ALIKE = 0.8
"""Share of common words, in order, from which on two statements are about the same fact. Chosen by hand."""


def supports(claim: Statement, other: Statement) -> bool:
    """Does the other statement repeat the claim: same words in order, same values, same negations?"""
    if _same_page(claim, other) or claim.words.values != other.words.values:
        return False
    if claim.words.negations != other.words.negations or len(claim.words.stems) < _ENOUGH - 1:
        return False
    if not claim.words.stems <= other.words.stems or not _same_subject(claim, other):
        return False
    claim_words, other_words = _compared_words(claim.words), _compared_words(other.words)
    return len(other_words) <= 2 * len(claim_words) and _is_subsequence(claim_words, other_words)


def conflicts(one: Statement, other: Statement) -> bool:
    """Do statements of two pages differ only in a value or a negation?"""
    if _same_page(one, other) or not _same_subject(one, other):
        return False
    if one.url.startswith(PROJECTS) or other.url.startswith(PROJECTS):
        return False  # release notes of packages differ in nothing but numbers
    if one.kind != other.kind or min(len(one.words.stems), len(other.words.stems)) < _ENOUGH - 1:
        return False
    shared = len(one.words.stems & other.words.stems)
    if shared < _ALIKE * max(len(one.words.stems), len(other.words.stems)):
        return False
    differs = one.words.values - other.words.values and other.words.values - one.words.values
    negates = one.words.values == other.words.values and one.words.negations % 2 != other.words.negations % 2
    return (
        bool(differs or negates) and _similarity(_without_negation(one), _without_negation(other)) >= _ALIKE
    )


def _same_page(one: Statement, other: Statement) -> bool:
    """Sections of one page are not independent: a table of contents repeats what it lists."""
    return one.url.partition("#")[0] == other.url.partition("#")[0]


def _same_subject(one: Statement, other: Statement) -> bool:
    """Statements with different subjects are not compared; a missing subject matches any."""
    return one.subject == other.subject or not (one.subject and other.subject)


def _compared_words(words: TextTerms) -> list[str]:
    articles = word_list("articles")
    return [word for word in words.order if word not in articles]


def _without_negation(statement: Statement) -> list[str]:
    skipped = word_list("negations") | _AUXILIARIES
    return [word for word in _compared_words(statement.words) if word not in skipped]


_AUXILIARIES = frozenset(["do", "does", "did"])


def _is_subsequence(words: Sequence[str], longer: Sequence[str]) -> bool:
    """Are the words a subsequence of the longer text?"""
    rest = iter(longer)
    return all(word in rest for word in words)


def _similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """Length of the longest common subsequence, as a share of the longer text."""
    row = [0] * (len(other) + 1)
    for word in one:
        diagonal = 0
        for position, candidate in enumerate(other, 1):
            above = row[position]
            row[position] = diagonal + 1 if word == candidate else max(above, row[position - 1])
            diagonal = above
    return row[-1] / max(len(one), len(other), 1)
