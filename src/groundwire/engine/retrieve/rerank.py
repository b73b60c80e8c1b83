"""The second stage of ranking: all evidence about the best passages of the first stage, weighed together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from groundwire.engine.knowledge.addresses import is_built_in, titled_name
from groundwire.engine.pages import Passage
from groundwire.engine.retrieve.gate import WordWeights
from groundwire.engine.words import query_terms


class PassageFeatures(NamedTuple):
    """What speaks for a passage and against it; each between 0 and 1, more or less."""

    lexical: float = 0.0
    """The lexical score relative to the best one, times the prior of the page."""
    meaning: float = 0.0
    """The similarity in meaning, times the prior; 0 without vectors."""
    about: float = 0.0
    """How well the subject of the page is known to match the question."""
    coverage: float = 0.0
    """The weighted share of the question's words in the passage, its headings and its title."""
    own_coverage: float = 0.0
    """The same for a page that the user added."""
    title: float = 0.0
    """The share of the title's words that are in the question."""
    length: float = 0.0
    """The length of the passage: a signature alone answers little."""
    support: float = 0.0
    """The share of the page in the scores of all passages of the first stage."""
    depth: float = 0.0
    """The depth of the documented name: questions are seldom about a method of a class of a module."""


BY_WORDS = PassageFeatures(2.33, 0.0, 7.62, 0.59, 8.91, 1.76, 1.54, 3.16, -3.47)
BY_MEANING = PassageFeatures(0.49, 13.47, 6.85, 0.56, 5.64, 0.78, 1.87, 1.71, -4.62)
"""Weights without vectors and with them: the probability that a passage is the best one grows with the
exponential of the weighted sum. Fitted by `bench/rerank.py` on the tuning questions of
tests/engine/questions; it also compares them with weights chosen by hand, in cross-validation."""

_LONGEST = 1000
_DEEPEST = 3


def passage_score(features: PassageFeatures, weights: PassageFeatures) -> float:
    """The weighted sum of the features."""
    return sum(weight * value for weight, value in zip(weights, features, strict=True))


def title_match(passage: Passage, weights: WordWeights) -> float:
    """The share of the title's words that are in the question."""
    terms = query_terms(titled_name(passage.title).replace(".", " ").replace("_", " "))
    return sum(term in weights for term in terms) / len(terms) if terms else 0.0


def relative_length(passage: Passage) -> float:
    """The length of a passage, relative to the longest that there are."""
    return len(passage.text) / _LONGEST


def name_depth(passage: Passage) -> float:
    """The number of dots in the documented name, relative to that of the deepest names."""
    name = titled_name(passage.title)
    is_name = is_built_in(passage.url) and name.replace(".", "_").isidentifier()
    return name.count(".") / _DEEPEST if is_name else 0.0


def page_support(passages: Sequence[Passage]) -> list[float]:
    """For each passage, the share of its page in the scores of all."""
    totals: defaultdict[str, float] = defaultdict(float)
    for passage in passages:
        totals[_page(passage)] += max(0.0, passage.score)
    whole = sum(totals.values()) or 1.0
    return [totals[_page(passage)] / whole for passage in passages]


def _page(passage: Passage) -> str:
    return passage.url.partition("#")[0]
