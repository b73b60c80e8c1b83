"""A number that ranks claims by how likely their page supports them, made of the facts.

It orders claims, the doubtful ones first, where not all of them can be looked at. It is not shown as support,
and no verdict depends on it: two claims with the same words have the same score, whatever their order.
"""

from __future__ import annotations

import math

from groundwire.model.value import value
from groundwire.verify.overlap import ClaimSentence, best_union, rank_sentences
from groundwire.verify.pages import PreparedPage


@value
class SupportFeatures:
    """What the score is made of."""

    union: float
    """The share of the terms that the best three sentences have together."""
    missing_names: float
    """The logarithm of one and the number of names that are nowhere in the page."""
    missing_values: float
    """Likewise for numbers and dates."""


WEIGHTS = SupportFeatures(union=3.84, missing_names=-0.76, missing_values=-0.89)
BIAS = -2.42
"""Fitted on WiCE dev (`bench/verify.py --fit`)."""


def support_features(claim: str, page: PreparedPage) -> SupportFeatures:
    """The features of a claim and a page."""
    statement = ClaimSentence(claim)
    names = sum(token.is_name and token.key not in page.keys for token in statement.words)
    unsaid = sum(
        token.quantity is not None and not page.sentences_with(token.quantity) for token in statement.values
    )
    union = best_union(rank_sentences(statement, page))
    return SupportFeatures(union, math.log1p(names), math.log1p(unsaid))


def support_score(claim: str, page: PreparedPage) -> float:
    """Higher for claims that their page rather supports; comparable between pages."""
    features = support_features(claim, page)
    return (
        BIAS
        + WEIGHTS.union * features.union
        + WEIGHTS.missing_names * features.missing_names
        + WEIGHTS.missing_values * features.missing_values
    )
