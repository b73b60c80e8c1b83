"""The gate: can the passages answer the question, or is it better to say that nothing was found?

It weighs all evidence there is: the share of the question that a passage covers (rare words count more), how
well the subject of a page is known to match, words that the index does not know, names in code that do not
exist, other technologies that no passage mentions, how far a page of the user is ahead of all others, and the
score of the best passage, in which all evidence about that one is weighed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from groundwire.engine.knowledge.addresses import is_built_in, titled_name
from groundwire.engine.knowledge.prior import page_prior
from groundwire.engine.knowledge.purposes import purpose_index
from groundwire.engine.pages import Passage
from groundwire.engine.retrieve.interpret import Interpretation
from groundwire.engine.retrieve.names import is_documented, mentioned_names
from groundwire.engine.retrieve.spelling import WordsWithPrefix
from groundwire.engine.retrieve.translate import english_stems
from groundwire.engine.words import (
    analyse,
    ignored_words,
    split_words,
    stem_synonyms,
    stem_word,
    tokenize,
    word_list,
)

_ASSUMED_PASSAGES = 10_000
"""Passages of an index, for the weights of words: only their ratio matters."""
_READ = 5
"""Passages that are compared with the question."""
_SHORTEST_PREFIX = 3
_HIGH_SCORE = 12.0
"""The score of a passage that hardly any other exceeds."""
_LONG_QUESTION = 8
_TINY = 1e-6
_VERSION = re.compile(r"\bpython\s+(\d\.\d+)\b", re.IGNORECASE)
_TECHNOLOGY = r"[\w#+.-]*[\w#+]"
_TECHNOLOGY_NAME = re.compile(_TECHNOLOGY)
_COMPARED_WITH = re.compile(
    r"\b(?:like|as(?: in| with)?|than(?: in)?|similar to|the way|(?:coming|come|switch\w*|migrat\w*) from"
    r"|(?:equivalent|counterpart|analog\w*|alternative|replacement) (?:of|to|for)"
    r"|wie(?: in| bei)?|als in|ähnlich wie|(?:komme|umstieg) (?:von|aus)"
    r"|(?:entsprechung|gegenstück) (?:zu|von))"
    rf"\s+(?:the\s+|a\s+)?({_TECHNOLOGY})"
)
"""What only illustrates the question: `subcommands like git has`, `the way bash does`, `coming from Java`."""
_NAMED_AFTER = re.compile(r"\b(?:in|with|using|mit|für|from|to|and|or|und|oder|vs)\s+(\w+)")

THRESHOLD = 0.4
"""The least probability of an answer. `bench/gate.py` prints the curve. Wrongly silent is worse than wrongly
answered: an answer shows its quotes, and a warning if the evidence is thin."""


WordWeights: TypeAlias = dict[str, tuple[float, bool]]
"""The stems of a question's content words, each with its weight and whether the index knows it."""


class GateFeatures(NamedTuple):
    """What speaks for and against an answer; each between 0 and 1."""

    coverage: float = 0.0
    """The weighted share of the question's words in the passage that has most of them."""
    own_coverage: float = 0.0
    """The same for pages that the user added."""
    about: float = 0.0
    """How well the subject of a page is known to match the question."""
    unknown: float = 0.0
    """The weighted share of words that the index does not have; less if the subject is known to match."""
    missing_name: float = 0.0
    """Does the question have a name of code that no passage has and that is not documented?"""
    foreign: float = 0.0
    """Does the question name another technology that no passage mentions?"""
    length: float = 0.0
    """The number of words: a long question is seldom covered as a whole."""
    meaning: float = 0.0
    """How close a passage is to the question in meaning; 0 without vectors."""
    own_margin: float = 0.0
    """How far the first passage is ahead of all other pages, if the user added its page."""
    described: float = 0.0
    """The share of the question that the phrases about the subject of a page have together."""
    score: float = 0.0
    """The score of the first passage, relative to a high one."""
    own_score: float = 0.0
    """The same if the user added its page."""
    own: float = 0.0
    """Is the first passage of a page that the user added?"""
    closeness: float = 0.0
    """How close the closest three phrases about the subject of a page are."""


class GateWeights(NamedTuple):
    """The weights of the features, and what is added to them."""

    weights: GateFeatures
    bias: float


BY_WORDS = GateWeights(
    GateFeatures(1.06, -0.27, 0.78, -1.51, -4.23, -3.22, 2.22, 0.0, 0.82, 1.32, 3.74, 0.32, -0.1, 0.0), -4.4
)
BY_MEANING = GateWeights(
    GateFeatures(1.67, -0.95, 0.3, -1.17, -3.92, -3.07, 1.17, 0.0, 1.52, 1.08, 3.32, 1.63, -0.2, 1.16), -5.0
)
"""Without vectors and with them. Logistic regression on the tuning questions of tests/engine/questions and
tests/engine/utility_handbook, fitted by `bench/gate.py`; by words, fitting again to a ranking with
`closeness` gave no better curve, so they were left alone. The weights that only pages of the user have are
not the fitted ones: such pages share everyday words with questions that they do not answer. They were chosen
on an earlier curve, so that one in twelve answerable questions about a handbook stays without an answer, and
make up for what the other weights have changed since then."""


def probability(features: GateFeatures) -> float:
    """The probability that the passages answer the question."""
    return weighed(features, BY_MEANING if features.meaning else BY_WORDS)


def weighed(features: GateFeatures, gate: GateWeights) -> float:
    """The probability by some weights."""
    weights, bias = gate
    total = bias + sum(weight * value for weight, value in zip(weights, features, strict=True))
    return 1 / (1 + math.exp(-total))


JUDGED = (0.2, 0.35, 0.5)
"""Bias, and the weights of the gate's own log odds and of the cross-encoder's. Their ratio is about that of
the weights that `bench/cross_encoder.py` fits to the tuning questions about handbooks. Bias and scale were
chosen by hand on the same questions, for the two probabilities that matter: 4 % of the 1,025 answerable ones
are below `THRESHOLD`, and 8 % of the 294 others are answered without doubt (`compose/answer.py`). A wrong
silence hides what was found, while a doubtful answer begins by saying so."""


def judged_probability(probability: float, log_odds: float) -> float:
    """The probability with what the cross-encoder says about the first passage."""
    bias, own, judged = JUDGED
    before = math.log(max(probability, _TINY) / max(1 - probability, _TINY))
    return 1 / (1 + math.exp(-(bias + own * before + judged * log_odds)))


def gate_features(
    interpretation: Interpretation,
    passages: Sequence[Passage],
    weights: WordWeights,
    described: Sequence[float] = (),
    closeness: Sequence[float] = (),
) -> GateFeatures:
    """The features of a question and its best passages. `described` is the share of the question that is
    known of the subject of each, if anything is, and `closeness` how close the phrases about it are."""
    query = interpretation.text
    words = frozenset(tokenize(query))
    read = passages[:_READ]
    total = sum(weight for weight, _ in weights.values())
    if not read or not total:
        return GateFeatures()
    about = max(passage.about for passage in read)
    unknown = sum(weight for weight, is_known in weights.values() if not is_known)
    names = [] if interpretation.kind == "error" else mentioned_names(query)
    shares = [
        coverage(weights, passage_terms(item)) * page_prior(item.url, item.title, words) for item in read
    ]
    score = read[0].score / _HIGH_SCORE
    is_own = not is_built_in(read[0].url)
    return GateFeatures(
        max(shares),
        max(
            (share for share, passage in zip(shares, read, strict=True) if not is_built_in(passage.url)),
            default=0.0,
        ),
        about,
        unknown / total * (1 - about),
        float(not all(_is_mentioned(name, passages) or _is_known(name) for name in names)),
        float(_is_foreign(query, read)),
        min(len(weights), _LONG_QUESTION) / _LONG_QUESTION,
        max(item.similarity * page_prior(item.url, item.title, words) for item in read),
        _own_margin(passages),
        max(described[:_READ], default=0.0),
        score,
        score * is_own,
        float(is_own),
        max(closeness[:_READ], default=0.0),
    )


def _own_margin(passages: Sequence[Passage]) -> float:
    first = passages[0]
    if is_built_in(first.url) or first.score <= 0:
        return 0.0
    page = first.url.partition("#")[0]
    others = (item.score for item in passages if item.url.partition("#")[0] != page)
    return min(1.0, max(0.0, 1 - next(others, 0.0) / first.score))


def word_weights(query: str, words_with_prefix: WordsWithPrefix) -> WordWeights:
    """The stems of the content words, each with its weight (more for rare words) and whether it is known."""
    words = [word for word in split_words(query) if word not in ignored_words() and len(word) > 1]
    counts: dict[str, int] = {}
    for word in words:
        stem = stem_word(word)
        prefix = stem[: max(_SHORTEST_PREFIX, len(stem) - 1)]
        counts[stem] = sum(
            passages for known, passages in words_with_prefix(prefix) if stem_word(known) == stem
        )
    # An index that cannot list its words gives every word the same weight.
    is_listed = any(counts.values()) or bool(words_with_prefix("t"))
    return {
        # A word that no passage has weighs as much as the rarest.
        stem: (math.log(1 + _ASSUMED_PASSAGES / max(1, count)), count > 0 or not is_listed)
        for stem, count in counts.items()
    }


def passage_terms(passage: Passage) -> frozenset[str]:
    """The stems and values of a passage, its headings and its title; of a German one in English too."""
    whole = f"{passage.title} {passage.section} {passage.text}"
    terms = analyse(whole)
    return terms.stems | terms.values | english_stems(whole, passage.language)


def coverage(weights: WordWeights, terms: frozenset[str]) -> float:
    """The weighted share of the words that are among the terms, as such or as synonyms."""
    covered = sum([weights[stem][0] for stem in covered_words(weights, terms)])
    return covered / (sum(weight for weight, _ in weights.values()) or 1.0)


def covered_words(weights: WordWeights, terms: frozenset[str]) -> list[str]:
    """The stems of the words that are among the terms, as such or as synonyms."""
    return [stem for stem in weights if stem in terms or not terms.isdisjoint(stem_synonyms(stem))]


def _is_mentioned(name: str, passages: Sequence[Passage]) -> bool:
    return any(name in passage.title or name in passage.text for passage in passages)


def _is_known(name: str) -> bool:
    """Is it documented, or a special name that a phrase about a page has? A page that is known only by its
    address and its subject does not have it in its text."""
    return is_documented(name) or (name.startswith("__") and purpose_index().mentions(name))


def _is_foreign(query: str, passages: Sequence[Passage]) -> bool:
    """Is the question about another technology, or about a version of Python, that no passage mentions? What
    something is only compared with does not count: `subcommands like git has`."""
    version = _VERSION.search(query)
    if version and not any(version[1] in f"{item.title} {item.text}" for item in passages):
        return True
    named = _technologies(query)
    return bool(named) and not any(named.intersection(tokenize(_own_text(passage))) for passage in passages)


def _technologies(query: str) -> frozenset[str]:
    """The other technologies that a question is about: not those that it only compares with, and not everyday
    words such as `go`, unless they are written or used as a name."""
    folded = query.casefold()
    named = word_list("other_technologies").intersection(_TECHNOLOGY_NAME.findall(folded))
    named -= frozenset(_COMPARED_WITH.findall(folded))
    everyday = named & (word_list("common_words") | word_list("generic_words"))
    if not everyday:
        return named
    written = frozenset(word.casefold() for word in _TECHNOLOGY_NAME.findall(query)[1:] if word.istitle())
    return named - (everyday - written - frozenset(_NAMED_AFTER.findall(folded)))


def _own_text(passage: Passage) -> str:
    """Title and text, without the phrase that we added to the title of a built-in page."""
    title = titled_name(passage.title) if is_built_in(passage.url) else passage.title
    return f"{title} {passage.text}"
