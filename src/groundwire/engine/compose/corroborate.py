"""Do two statements say the same, or the opposite?

Both questions are answered carefully rather than often: a page is cited for a sentence only if it says it in
the same words, and pages are said to disagree only if nothing but a value or a denial tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.engine.compose.statements import Statement
from groundwire.engine.words import TextTerms, word_list

_ENOUGH = 4
"""Words that two statements must share at least."""
_ALIKE = 0.8


def supports(claim: Statement, other: Statement) -> bool:
    """Does the other page say the claim too: its words in the same order, the same values and denials?"""
    if _same_page(claim, other) or claim.words.values != other.words.values:
        return False
    if claim.words.negations != other.words.negations or len(claim.words.stems) < _ENOUGH - 1:
        return False
    if not claim.words.stems <= other.words.stems or not _same_subject(claim, other):
        return False
    said, told = _gist(claim.words), _gist(other.words)
    return len(told) <= 2 * len(said) and _is_within(said, told)


def conflicts(one: Statement, other: Statement) -> bool:
    """Do statements of two pages differ in their values, or in that one denies what the other says?"""
    if _same_page(one, other) or not _same_subject(one, other):
        return False
    if one.kind != other.kind or min(len(one.words.stems), len(other.words.stems)) < _ENOUGH - 1:
        return False
    shared = len(one.words.stems & other.words.stems)
    if shared < _ALIKE * max(len(one.words.stems), len(other.words.stems)):
        return False
    differs = one.words.values - other.words.values and other.words.values - one.words.values
    denies = one.words.values == other.words.values and one.words.negations % 2 != other.words.negations % 2
    return bool(differs or denies) and _likeness(_without_denial(one), _without_denial(other)) >= _ALIKE


def _same_page(one: Statement, other: Statement) -> bool:
    """Sections of a page are one witness: a list of contents repeats what it lists."""
    return one.url.partition("#")[0] == other.url.partition("#")[0]


def _same_subject(one: Statement, other: Statement) -> bool:
    """A sentence without a subject of its own speaks of what its page is about."""
    return one.subject == other.subject or not (one.subject and other.subject)


def _gist(words: TextTerms) -> list[str]:
    articles = word_list("articles")
    return [word for word in words.order if word not in articles]


def _without_denial(statement: Statement) -> list[str]:
    skipped = word_list("negations") | _AUXILIARIES
    return [word for word in _gist(statement.words) if word not in skipped]


_AUXILIARIES = frozenset(["do", "does", "did"])


def _is_within(words: Sequence[str], longer: Sequence[str]) -> bool:
    """Do all the words stand in the longer one, in order?"""
    rest = iter(longer)
    return all(word in rest for word in words)


def _likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """How much of the longer one is common to both, in order."""
    row = [0] * (len(other) + 1)
    for word in one:
        diagonal = 0
        for place, candidate in enumerate(other, 1):
            above = row[place]
            row[place] = diagonal + 1 if word == candidate else max(above, row[place - 1])
            diagonal = above
    return row[-1] / max(len(one), len(other), 1)
