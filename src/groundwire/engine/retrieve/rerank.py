"""The second stage of ranking: all evidence about the best passages of the first stage, weighed together."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from groundwire.engine.knowledge.addresses import is_built_in, titled_name
from groundwire.engine.pages import Passage
from groundwire.engine.retrieve.gate import WordWeights
from groundwire.engine.words import query_terms, word_list


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
    """The share of the title's words that are in the question, of a page that no phrase is about."""
    length: float = 0.0
    """The length of the passage: a signature alone answers little."""
    support: float = 0.0
    """The share of the page in the scores of all passages of the first stage."""
    repeated: float = 0.0
    """The share of a sentence at the beginning of the passage that the question repeats, if it repeats much
    of it: people who know the sentence search for it."""
    depth: float = 0.0
    """The depth of the documented name: the phrases about a module or a class tell of its functions and
    methods too, so one of these that is as close is the better answer."""
    unread: float = 0.0
    """Is only the address of the page known?"""
    described: float = 0.0
    """The share of the question that the phrases about the subject have together."""
    named: float = 0.0
    """Does the question have the last part of the documented name as a word: `iter vs next`? Less if that is
    an everyday word too."""
    own_meaning: float = 0.0
    """The similarity in meaning of a page that the user added."""
    own_sentence: float = 0.0
    """That of the closest sentence of such a page."""
    own: float = 0.0
    """Did the user add the page?"""
    own_lexical: float = 0.0
    """The lexical score of such a page, relative to the best one."""
    closeness: float = 0.0
    """How close the three closest phrases about the subject of the page are: in meaning if they have
    vectors, otherwise in words."""


BY_WORDS = PassageFeatures(
    *(1.4, 0.0, 0.0, 1.75, 9.12, 1.76, 0.48, 1.51, 6.0, 0.4),
    *(0.5, 3.7, 0.6, 0.0, 0.0, 0.25, 2.0, 9.5),
)
BY_MEANING = PassageFeatures(
    *(0.51, 2.81, 1.7, 1.7, 4.75, 0.64, 0.97, 1.02, 4.24, 1.2),
    *(1.1, 3.3, 0.3, 11.06, 5.21, -1.8, 4.0, 9.0),
)
"""Weights without vectors and with them: the probability that a passage is the best one grows with the
exponential of the weighted sum. Fitted by `bench/rerank.py` on the tuning questions of
tests/engine/questions and tests/engine/utility_handbook; it also compares them with weights chosen by hand,
and with weights that were fitted to the questions of other people. Those that only built-in pages have were
fitted last, each question with the same weight, and rounded; the others were left as they were but for two:
that of repeated sentences is higher, as the questions that are made of docstrings need, and `own` keeps the
balance with pages that the user added. The weights of those pages are fitted apart, to the questions about
handbooks; some units are moved from `own` to `own_lexical`, which changes few answers about a handbook and
ranks Cranfield better (`bench/answers.py --only ranking`)."""

_SENTENCE_END = re.compile(r"[.!?:]\s|\n")
_BEGINNING, _FIRST_SENTENCES, _LEAST_TERMS = 400, 4, 3
_LONGEST = 1000
_DEEPEST = 3
_EVERYDAY = 0.3
"""How much an everyday word counts as a name. Chosen by hand."""


def passage_score(features: PassageFeatures, weights: PassageFeatures) -> float:
    """The weighted sum of the features."""
    return sum(weight * value for weight, value in zip(weights, features, strict=True))


def title_match(passage: Passage, weights: WordWeights) -> float:
    """The share of the title's words that are in the question."""
    terms = query_terms(titled_name(passage.title).replace(".", " ").replace("_", " "))
    return sum(term in weights for term in terms) / len(terms) if terms else 0.0


def repeated_share(passage: Passage, weights: WordWeights) -> float:
    """The share of the words of a sentence at the beginning that are in the question, from a half on."""
    shares = [0.0]
    for sentence in _SENTENCE_END.split(passage.text[:_BEGINNING])[:_FIRST_SENTENCES]:
        terms = query_terms(sentence)
        if len(terms) >= _LEAST_TERMS:
            shares.append(sum(term in weights for term in terms) / len(terms))
    return max(0.0, 2 * max(shares) - 1)


def relative_length(passage: Passage) -> float:
    """The length of a passage, relative to the longest that there are."""
    return len(passage.text) / _LONGEST


def name_depth(passage: Passage) -> float:
    """The number of dots in the documented name, relative to that of the deepest names."""
    name = titled_name(passage.title)
    is_name = is_built_in(passage.url) and name.replace(".", "_").isidentifier()
    return name.count(".") / _DEEPEST if is_name else 0.0


def named_share(passage: Passage, words: frozenset[str]) -> float:
    """Is the last part of the documented name among the words of the question?"""
    name = titled_name(passage.title).rpartition(".")[2].casefold()
    if name not in words or not is_built_in(passage.url):
        return 0.0
    return _EVERYDAY if name in word_list("common_words") else 1.0


def page_support(passages: Sequence[Passage]) -> list[float]:
    """For each passage, the share of its page in the scores of all."""
    totals: defaultdict[str, float] = defaultdict(float)
    for passage in passages:
        totals[_page(passage)] += max(0.0, passage.score)
    whole = sum(totals.values()) or 1.0
    return [totals[_page(passage)] / whole for passage in passages]


def _page(passage: Passage) -> str:
    return passage.url.partition("#")[0]
