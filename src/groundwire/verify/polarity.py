"""Whether two sentences with the same words say the opposite: by a negation, or by an opposite word.

A negation concerns the content word after it in its clause, or the one before if none follows. `Not only` and
`no fewer than` are no negations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from groundwire.verify.clauses import clause_numbers
from groundwire.verify.overlap import same_word
from groundwire.verify.tokens import Token
from groundwire.verify.vocabulary import are_opposite

_AFFIRMING = frozenset(
    (
        *("only", "just", "merely", "least", "fewer", "less", "later", "doubt", "necessarily", "matter"),
        *("nur", "allein", "zuletzt", "weniger", "später", "zwingend", "unbedingt"),
    )
)
"""Words after a negation that make it none."""
_ADVERBS = frozenset(
    (
        *("longer", "yet", "ever", "really", "anymore", "any", "further", "currently", "still", "also"),
        *("mehr", "länger", "weiter", "noch", "derzeit", "bisher", "auch", "vollständig"),
    )
)
"""Words between a negation and what it negates."""


class _Negation(NamedTuple):
    at: int
    scope: int
    """The word that is negated."""


class PolarSentence:
    """The tokens of a sentence with their clauses and negations."""

    def __init__(self, tokens: Sequence[Token], text: str) -> None:
        self.tokens = tokens
        self.clauses = clause_numbers(tokens, text)
        self.negations = list(self._negations())

    def _negations(self) -> Iterator[_Negation]:
        has_neither = any(token.surface in ("neither", "weder") for token in self.tokens)
        for at, token in enumerate(self.tokens):
            following = self.tokens[at + 1].surface if at + 1 < len(self.tokens) else ""
            if (
                token.kind != "negation"
                or following in _AFFIRMING
                or (has_neither and token.surface == "nor")
            ):
                continue
            scope = self._content(at, 1)
            scope = self._content(at, -1) if scope is None else scope
            if scope is not None:
                yield _Negation(at, scope)

    def _content(self, at: int, step: int) -> int | None:
        """The nearest content word of the clause in a direction."""
        clause = self.clauses[at]
        at += step
        while 0 <= at < len(self.tokens) and self.clauses[at] == clause:
            token = self.tokens[at]
            if token.kind in ("word", "value") and token.surface not in _ADVERBS:
                return at
            at += step
        return None

    def is_negated(self, at: int) -> bool:
        """Is the clause of a position negated?"""
        clause = self.clauses[at]
        return sum(self.clauses[item.at] == clause for item in self.negations) % 2 == 1

    def neighbours(self, at: int) -> tuple[Token | None, Token | None]:
        """The nearest content words on both sides, whatever their clause."""
        before = next((token for token in reversed(self.tokens[:at]) if _is_content(token)), None)
        after = next((token for token in self.tokens[at + 1 :] if _is_content(token)), None)
        return before, after


def _is_content(token: Token) -> bool:
    return token.kind in ("word", "value") and not token.key.startswith("unit:")


def differ_in_negation(claim: PolarSentence, sentence: PolarSentence) -> bool:
    """Is a word that both have negated in one of them only?"""
    return any(
        one.is_negated(negation.at) and not other.is_negated(at)
        for one, other in ((claim, sentence), (sentence, claim))
        for negation in one.negations
        for at in [_counterpart(one.tokens[negation.scope], other)]
        if at is not None
    )


def _counterpart(token: Token, other: PolarSentence) -> int | None:
    return next((at for at, found in enumerate(other.tokens) if same_word(token, found)), None)


def opposite_words(
    claim: PolarSentence, sentence: PolarSentence, *, anywhere: bool = False
) -> tuple[Token, Token] | None:
    """A word of the claim and its opposite at the same place of the sentence, or anywhere; None if there is
    none."""
    for ours, token in enumerate(claim.tokens):
        if token.kind == "value":
            continue
        for theirs, other in enumerate(sentence.tokens):
            if are_opposite(token.surface, other.surface) and (
                anywhere or _have_same_place(claim, ours, sentence, theirs)
            ):
                return token, other
    return None


def _have_same_place(claim: PolarSentence, ours: int, sentence: PolarSentence, theirs: int) -> bool:
    """Are the neighbours the same? One of them is enough if neither sentence has both words; prepositions
    need the same word or number after them."""
    own, other = claim.neighbours(ours), sentence.neighbours(theirs)
    before, after = (
        one is not None and two is not None and same_word(one, two)
        for one, two in zip(own, other, strict=True)
    )
    token, opposite = claim.tokens[ours], sentence.tokens[theirs]
    if any(same_word(token, found) for found in sentence.tokens) or any(
        same_word(opposite, found) for found in claim.tokens
    ):
        return before and after
    return after if "function" in (token.kind, opposite.kind) else before or after
