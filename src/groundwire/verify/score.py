"""A number that ranks claims by how likely their page supports them, made of the facts.

It orders claims, the doubtful ones first, where not all of them can be looked at. It is not shown as support,
and no verdict depends on it: two claims with the same words have the same score, whatever their order.
"""

from __future__ import annotations

import math
import re

from groundwire.model.value import value
from groundwire.verify.pages import PreparedPage
from groundwire.verify.overlap import (
    FEWEST_TERMS,
    ClaimSentence,
    best_union,
    rank_sentences,
)

_CLAUSES = re.compile(r"[,;:]| and | but | which | who | while | und | aber | wobei | während ")
_MOST_CLAUSES = 12


@value
class SupportFeatures:
    """What the score is made of."""

    union: float
    """The share of the terms that the best three sentences have together."""
    clauses: float
    """The mean over the clauses of the claim of the share that the best sentence has."""
    missing_names: float
    """The logarithm of one and the number of names that are nowhere in the page."""
    missing_values: float
    """Likewise for numbers and dates."""


WEIGHTS = SupportFeatures(union=3.23, clauses=0.55, missing_names=-0.57, missing_values=-0.77)
BIAS = -2.10
"""Fitted on WiCE dev (`bench/verify.py --fit`)."""


def support_features(claim: str, page: PreparedPage) -> SupportFeatures:
    """The features of a claim and a page."""
    statement = ClaimSentence(claim)
    overlaps = rank_sentences(statement, page)
    parts = [ClaimSentence(part) for part in _CLAUSES.split(claim)[:_MOST_CLAUSES]]
    shares = [
        max((item.share for item in rank_sentences(part, page)), default=0.0)
        for part in parts
        if len(part.terms) >= FEWEST_TERMS
    ]
    best = max((item.share for item in overlaps), default=0.0)
    names = sum(token.is_name and token.key not in page.keys for token in statement.words)
    unsaid = sum(
        token.quantity is not None and not page.sentences_with(token.quantity) for token in statement.values
    )
    return SupportFeatures(
        best_union(overlaps),
        sum(shares) / len(shares) if shares else best,
        math.log1p(names),
        math.log1p(unsaid),
    )


def support_score(claim: str, page: PreparedPage) -> float:
    """Higher for claims that their page rather supports; comparable between pages."""
    features = support_features(claim, page)
    return (
        BIAS
        + WEIGHTS.union * features.union
        + WEIGHTS.clauses * features.clauses
        + WEIGHTS.missing_names * features.missing_names
        + WEIGHTS.missing_values * features.missing_values
    )
