"""Ranks passages for a question: lexical search, purposes of names and pages, names in the question, prior.

A first stage finds candidates and scores them by what is cheap to compute; `rerank.py` weighs all evidence
about the best of them. Every interpretation of the question is ranked; the one whose first passage
has the highest score is used.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, repeat
from typing import NamedTuple, Protocol, TypeAlias

from groundwire.engine.index.base import Index
from groundwire.engine.knowledge.addresses import (
    CONTENTS_URL,
    DOCS_SITE,
    DOCS_URL,
    PROJECTS,
    documentation_heading,
    documentation_link,
    documentation_title,
    empty_headings,
    first_sections,
    is_built_in,
    local_address,
    titled_name,
)
from groundwire.engine.knowledge.prior import package_of, page_prior
from groundwire.engine.knowledge.purposes import PurposeComparison, PurposeMatch, purpose_index
from groundwire.engine.pages import ClosestSentence, Page, Passage, page_passages
from groundwire.engine.retrieve.filters import date_range
from groundwire.engine.retrieve.gate import (
    THRESHOLD,
    GateFeatures,
    WordWeights,
    coverage,
    covered_words,
    gate_features,
    judged_probability,
    passage_terms,
    probability,
    word_weights,
)
from groundwire.engine.retrieve.interpret import Interpretation, error_message, error_names, interpretations
from groundwire.engine.retrieve.names import mentioned_names
from groundwire.engine.retrieve.question import compared_things
from groundwire.engine.retrieve.rerank import (
    BY_MEANING,
    BY_WORDS,
    PassageFeatures,
    name_depth,
    named_share,
    page_support,
    passage_score,
    relative_length,
    repeated_share,
    title_match,
)
from groundwire.engine.retrieve.spelling import WordsWithPrefix
from groundwire.engine.words import analyse, query_terms, tokenize
from groundwire.model import SearchOptions, Source
from groundwire.model.value import replace, value
from groundwire.text.domains import admits

_CANDIDATES = 3
"""Passages that are searched for each one that is returned."""
_DEEP = 200
_OWN = 10
"""Passages that are searched for pages that the user added, and how many of these are compared beyond those
that are found anyway: a handbook is small next to what is built in, which shares its everyday words."""
_LEXICAL = 0.5
_PURPOSE = 1.0
_NAMED = 0.6
"""Weights of the first stage: the lexical score relative to the best one, the similarity of a purpose, a name
or a package in the question. Chosen on the tuning questions of tests/engine/questions."""
_MEANING = 1.0
"""Weight of the similarity in meaning of a passage, if there are vectors. Chosen likewise."""
_MEANT = 2.0
_UNRELATED = 0.2
"""Weight of the similarity in meaning of a purpose, relative to that in words, and the similarity of phrases
that have nothing in common. Chosen likewise."""
_MISSING = 0.5
"""How much a purpose loses if the passage has none of the question's other known words. Chosen likewise."""
_DESCRIBED, _LEAST_DESCRIBED, _DESCRIBED_WORDS = 0.7, 0.6, 2
_SUMMARY = 160
"""How much the summary of a package counts as its purpose, from which share of the question on, and in how
many characters it is looked for. Chosen on the package questions of tests/engine/fresh_questions.py."""
RERANKED = 20
"""Passages of the first stage whose evidence is weighed."""
_MOST_TARGETS = 8
_MESSAGE_WORDS = 2
"""Words of a phrase about an error message: one word alone may be in any message."""
_GENERAL_ERRORS = frozenset(
    (
        *("Exception", "ArithmeticError", "AssertionError", "AttributeError", "ImportError", "LookupError"),
        *("OSError", "RuntimeError", "SystemError", "TypeError", "ValueError"),
        *("Warning", "DeprecationWarning", "ResourceWarning", "RuntimeWarning", "UserWarning"),
    )
)
"""Classes of errors with many causes: only the message says which."""
_CLASS_OF_ERROR = 0.7
"""Factor for the page of the class of an error, if another page is about its message: it is quoted second."""
_COMPARED_TARGETS = 60
"""Targets by words and by meaning whose similarities are added."""
_TARGET_PASSAGES = 2
_TARGET_HITS = 5
_JUDGED, _JUDGED_FIRST = 8, 3
"""Passages that the cross-encoder reads at most and at first, 50 ms of CPU for each."""
_HIGH_ODDS = 4.5
"""Log odds that few passages exceed. On the tuning questions about handbooks, three in four need only the
first passages, and as many first passages are right as if all had been read."""
ODDS = 1.5
"""Weight of what it says, next to the score. Chosen on the tuning questions about handbooks
(`bench/cross_encoder.py`), where higher weights give no more right pages, and more passages are read."""
_COMPARES = 6.0
"""Added to the score of a passage whose headings name both things that a question compares: it says how they
differ, while the pages of either describe it alone. Chosen by reading answers to the tuning questions."""
_TYPED_BONUS = 1.0
"""Added to the score of the question as typed: another interpretation must be clearly better. Chosen on the
tuning questions."""


class RankedPassages(NamedTuple):
    """The passages for one interpretation of a question, best first."""

    interpretation: Interpretation
    passages: tuple[Passage, ...] = ()
    probability: float = 0.0
    """That the passages answer the question."""
    features: GateFeatures = GateFeatures()
    """What the probability was computed from."""
    corrected: str = ""
    """The question with its spelling corrected, whether or not that interpretation is used."""

    @property
    def score(self) -> float:
        """The score of the first passage."""
        return self.passages[0].score if self.passages else -math.inf

    @property
    def is_answer(self) -> bool:
        """Do the passages answer the question?"""
        return self.probability >= THRESHOLD


class MeaningSearch(Protocol):
    """Search by meaning: vectors of passages and of phrases about purposes. Similarities are cosines, more or
    less."""

    def search(self, query: str, options: SearchOptions, limit: int) -> list[Passage]:
        """The passages closest in meaning, best first; none without vectors."""
        ...

    def similarities(self, query: str, passages: Sequence[Passage]) -> list[float | None]:
        """The similarities of passages; None for those without a vector."""
        ...

    def closest_sentences(self, query: str, passages: Sequence[Passage]) -> list[ClosestSentence | None]:
        """In each passage the sentence that is closest in meaning; None where none was compared."""
        ...

    def answer_odds(self, query: str, passages: Sequence[Passage]) -> list[float | None]:
        """For each passage the logarithm of the odds that it answers the question; None where that cannot be
        judged."""
        ...

    def purposes(self, query: str, limit: int) -> list[PurposeMatch]:
        """The names and pages whose purposes are closest in meaning, best first."""
        ...

    def purpose_closeness(self, query: str, targets: Sequence[str]) -> list[float | None]:
        """How close the phrases about names and pages are in meaning, between 0 (unrelated) and 1; None for
        those without vectors."""
        ...


@value
class PassageSource:
    """What passages are found with."""

    index: Index
    words_with_prefix: WordsWithPrefix
    meaning: MeaningSearch | None = None


def find_passages(
    index: Index, query: str, options: SearchOptions, limit: int, meaning: MeaningSearch | None = None
) -> RankedPassages:
    """The passages for the best interpretation of a question."""
    source = PassageSource(index, lru_cache(maxsize=None)(index.words_with_prefix), meaning)
    ranked = [
        rank(source, interpretation, options, limit)
        for interpretation in interpretations(query, source.words_with_prefix)
    ]
    corrected = (one.interpretation.text for one in ranked if one.interpretation.kind == "corrected")
    best = _best_interpretation(query, ranked, meaning)._replace(corrected=next(corrected, ""))
    return best._replace(passages=_sharpened(best.passages))


def _best_interpretation(
    query: str, ranked: Sequence[RankedPassages], meaning: MeaningSearch | None
) -> RankedPassages:
    """The interpretation with the best first passage. The cross-encoder reads the passages of the one with
    the highest score, and those of another one only if its judgement may make up for the difference."""
    best, highest = ranked[0], -math.inf
    bonuses = (_TYPED_BONUS, *repeat(0.0, len(ranked) - 1))
    for bonus, found in sorted(zip(bonuses, ranked, strict=True), key=lambda one: -one[0] - one[1].score):
        if found.score + bonus + ODDS * _HIGH_ODDS < highest:
            break
        judged = _judged(query, found, meaning) if meaning else _Judgement(found)
        if (score := judged.found.score + judged.gain + bonus) > highest:
            best, highest = judged.found, score
    return best


class _Judgement(NamedTuple):
    """What was found, in the order that the cross-encoder gives it."""

    found: RankedPassages
    gain: float = 0.0
    """What its judgement of the first passage adds to the score, when interpretations are compared: those of
    a question as typed and in English are hardly comparable. Of 127 tuning questions about handbooks with
    several, 114 instead of 112 then have the right page first."""


def _judged(query: str, found: RankedPassages, meaning: MeaningSearch) -> _Judgement:
    """With what the cross-encoder says of the best passages, if the user added the page of the first one: a
    page that shares the subject of a question may lack the detail that was asked for. If a built-in page is
    first but does not answer, those of the user may."""
    if not found.passages or (is_built_in(found.passages[0].url) and found.is_answer):
        return _Judgement(found)
    if is_built_in(found.passages[0].url):
        found = found._replace(passages=_own(found.passages) or found.passages)
    odds = passage_odds(query, found, meaning)
    if not odds:
        return _Judgement(found)
    # A passage that was not read counts as the worst of those that were.
    worst = min(odds.values())
    judged = [odds.get(at, worst) for at in range(len(found.passages))]
    order = sorted(
        range(len(judged)), key=lambda at: found.passages[at].score + ODDS * judged[at], reverse=True
    )
    # The first passage keeps its score: scores are compared by their ratio.
    first = judged[order[0]]
    ordered = found._replace(
        passages=tuple(
            replace(item, score=item.score + ODDS * (judged[at] - first))
            for at, item in ((at, found.passages[at]) for at in order)
        ),
        probability=judged_probability(found.probability, first),
    )
    return _Judgement(ordered, ODDS * first)


def _own(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    return tuple(item for item in passages if not is_built_in(item.url))


def passage_odds(query: str, found: RankedPassages, meaning: MeaningSearch) -> dict[int, float]:
    """What the cross-encoder says of the best passages of pages that the user added, by their places. After
    the first ones it goes on only if another one may still become the first."""
    if found.interpretation.kind == "error":
        return {}
    typed = found.interpretation.text if found.interpretation.kind == "corrected" else query
    best = [at for at, item in enumerate(found.passages) if not is_built_in(item.url)][:_JUDGED]
    odds: dict[int, float] = {}
    for some in (best[:_JUDGED_FIRST], best[_JUDGED_FIRST:]):
        leading = max((found.passages[at].score + ODDS * one for at, one in odds.items()), default=-math.inf)
        if some and leading < found.passages[some[0]].score + ODDS * _HIGH_ODDS:
            judged = meaning.answer_odds(typed, [found.passages[at] for at in some])
            odds |= {at: one for at, one in zip(some, judged, strict=True) if one is not None}
    return odds


def _sharpened(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """The passages with the squares of their scores: the composer compares scores by their ratio, and a page
    that is behind seldom opens the right answer. On 67 tuning questions, exponents from 1.5 to 4 differ by
    nothing, and 1 by one question."""
    return tuple(replace(passage, score=max(0.0, passage.score) ** 2) for passage in passages)


def rank(
    source: PassageSource, interpretation: Interpretation, options: SearchOptions, limit: int
) -> RankedPassages:
    """The passages for one interpretation."""
    weights = word_weights(interpretation.text, source.words_with_prefix)
    best = candidates(source, interpretation.text, weights, options, max(limit, RERANKED))
    by = BY_MEANING if any(item.features.meaning for item in best) else BY_WORDS
    things = frozenset(query_terms(" ".join(compared_things(interpretation.text) or ())))
    scores = [passage_score(item.features, by) + _COMPARES * _names(item.passage, things) for item in best]
    order = sorted(range(len(best)), key=lambda at: -scores[at])[:limit]
    best, scores = [best[at] for at in order], [scores[at] for at in order]
    passages = tuple(replace(item.passage, score=score) for item, score in zip(best, scores, strict=True))
    described = [item.features.described for item in best]
    closeness = [item.features.closeness for item in best]
    features = gate_features(interpretation, passages, weights, described, closeness)
    found = RankedPassages(interpretation, passages, probability(features) if passages else 0.0, features)
    if interpretation.kind != "error":
        return found
    if found.is_answer:
        return found._replace(passages=_explained_first(passages, interpretation.text))
    return _class_first(found)


def _names(passage: Passage, things: frozenset[str]) -> bool:
    """Do the title and the headings of a passage have all words of the things that a question compares? The
    phrase that we added to the title of a built-in page is about something else: `array to a list`."""
    title = titled_name(passage.title) if is_built_in(passage.url) else passage.title
    return bool(things) and things.issubset(query_terms(f"{title} {passage.section}"))


def _class_first(found: RankedPassages) -> RankedPassages:
    """What was found for an error with an unknown message. The page of its class, if it was found, says
    something of every such error."""
    names = error_names(found.interpretation.text)
    own = next((item for item in found.passages if titled_name(item.title) in names), None)
    if own is None:
        return found
    others = (item for item in found.passages if item is not own)
    first = replace(own, score=found.passages[0].score)
    return found._replace(passages=(first, *others), probability=THRESHOLD)


def _explained_first(passages: Sequence[Passage], error: str) -> tuple[Passage, ...]:
    """The passages for a pasted error. A page about its message comes before the page of a general class,
    which says nothing of the cause: `time data … does not match format` is about `strptime`."""
    message = error_message(error)
    terms = frozenset(query_terms(message))
    explaining = {
        match.target: _NO_TARGET
        for match in purpose_index().match(message, _MOST_TARGETS)
        if len(phrase := frozenset(query_terms(match.phrase))) >= _MESSAGE_WORDS and phrase <= terms
    }
    names = [_target_of(passage, explaining) for passage in passages]
    first = next((at for at, name in enumerate(names) if name in explaining and error_message(name)), 0)
    if not first or not _GENERAL_ERRORS.issuperset(names[:first]):
        return tuple(passages)
    best = passages[0].score
    behind = (
        replace(passage, score=_CLASS_OF_ERROR * passage.score) if at < first else passage
        for at, passage in enumerate(passages)
        if at != first
    )
    moved = replace(passages[first], score=best)
    return (moved, *sorted(behind, key=lambda passage: -passage.score))


class Candidate(NamedTuple):
    """A passage of the first stage, with the evidence about it."""

    passage: Passage
    features: PassageFeatures


def candidates(
    source: PassageSource, query: str, weights: WordWeights, options: SearchOptions, limit: int
) -> list[Candidate]:
    """The best passages of the first stage, best first."""
    meaning = source.meaning
    deep = source.index.search(query, options, _DEEP)
    found = deep[: _CANDIDATES * limit]
    own = [passage for passage in deep[len(found) :] if not is_built_in(passage.url)]
    has_own = bool(own) or any(not is_built_in(passage.url) for passage in found)
    alike = meaning.search(query, options, _DEEP if has_own else limit) if meaning else []
    highest = max((passage.score for passage in found), default=1.0) or 1.0
    phrases = purpose_index().compare(query)
    targets = _targets(query, phrases, meaning)
    words = frozenset(tokenize(query))
    known: dict[tuple[str, int], Candidate] = {}
    passages = [
        *_target_passages(source.index, targets, options),
        *found,
        *own[:_OWN],
        *(replace(item, score=0.0) for item in alike[:limit]),
        *[replace(item, score=0.0) for item in alike[limit:] if not is_built_in(item.url)][:_OWN],
    ]
    similarities = meaning.similarities(query, passages) if meaning else [None] * len(passages)
    for passage, similarity in zip(passages, similarities, strict=True):
        prior = page_prior(passage.url, passage.title, words)
        name = _target_of(passage, targets)
        target = targets.get(name, _NO_TARGET)
        about = target.strength
        if not passage.text:
            similarity = target.similarity  # noqa: PLW2901  the phrase stands for the text
        elif name in first_sections():  # it stands for the heading above it, too
            similarity = max(similarity or 0.0, target.similarity)  # noqa: PLW2901
        if package_of(passage.url) in words:
            about += _NAMED
        about = max(about, _DESCRIBED * _described(passage, weights))
        features = PassageFeatures(passage.score / highest * prior, (similarity or 0.0) * prior)
        score = _LEXICAL * features.lexical + _MEANING * features.meaning + about
        key = _position(passage)
        if key not in known or score > known[key].passage.score:
            scored = replace(passage, score=score, about=min(1.0, about), similarity=similarity or 0.0)
            known[key] = Candidate(scored, features)
    best = list(_without_doubles(_by_score(item.passage for item in known.values())))
    best = best[:limit] + [item for item in best[limit:] if not is_built_in(item.url)][:_OWN]
    support = page_support(best)
    close = _closeness(query, best, phrases, meaning)
    best = _with_closest_sentences(query, best, meaning) if meaning else best
    evidence = (
        known[_position(passage)].features._replace(
            support=share,
            closeness=closeness or 0.0,
            title=title_match(passage, weights) if closeness is None else 0.0,
        )
        for passage, share, closeness in zip(best, support, close, strict=True)
    )
    return [
        _compared(passage, features, weights, targets, words)
        for passage, features in zip(best, evidence, strict=True)
    ]


def _with_closest_sentences(query: str, passages: Sequence[Passage], meaning: MeaningSearch) -> list[Passage]:
    """The passages; those of pages that the user added with the sentence that is closest to the question.
    Documentation is found by the purposes of what it documents."""
    own = [passage for passage in passages if passage.text and not is_built_in(passage.url)]
    closest = dict(zip(map(_position, own), meaning.closest_sentences(query, own), strict=True))
    return [replace(passage, closest=closest.get(_position(passage))) for passage in passages]


def _position(passage: Passage) -> tuple[str, int]:
    return passage.url, passage.start


def _described(passage: Passage, weights: WordWeights) -> float:
    """How well the summary of a package, with which its description begins, matches the question. A single
    word, however rare, may be there by chance."""
    if passage.start or not passage.url.startswith(PROJECTS) or len(weights) < _DESCRIBED_WORDS:
        return 0.0
    summary = analyse(passage.text[:_SUMMARY])
    terms = summary.stems | summary.values
    covered = coverage(weights, terms)
    is_enough = covered >= _LEAST_DESCRIBED and len(covered_words(weights, terms)) >= _DESCRIBED_WORDS
    return covered if is_enough else 0.0


def _by_score(passages: Iterable[Passage]) -> list[Passage]:
    return sorted(passages, key=lambda passage: -passage.score)


def _compared(
    passage: Passage,
    features: PassageFeatures,
    weights: WordWeights,
    targets: Targets,
    words: frozenset[str],
) -> Candidate:
    """The passage with all evidence.

    A purpose counts less if the question has words that the index knows and that neither the passage nor the
    phrase has: `read and write WARC files` is not about `open`."""
    terms = passage_terms(passage)
    target = targets.get(_target_of(passage, targets), _NO_TARGET)
    phrase = frozenset(query_terms(target.phrase))
    known = {stem: value for stem, value in weights.items() if value[1]}
    missing = 1 - coverage(known, terms | phrase) if known and passage.about else 0.0
    # Of a page that is not in the index, only the phrase about it can be compared.
    covered = coverage(weights, terms if passage.text else terms | phrase)
    summary = _described(passage, weights)
    is_package = package_of(passage.url) in words
    features = features._replace(
        about=passage.about * (1 - _MISSING * missing),
        coverage=covered,
        own_coverage=0.0 if is_built_in(passage.url) else covered,
        length=relative_length(passage),
        repeated=repeated_share(passage, weights),
        depth=name_depth(passage),
        unread=float(not passage.text),
        described=max(target.described, _DESCRIBED * summary),
        closeness=min(1.0, max(features.closeness, summary) + _NAMED * (target.is_named or is_package)),
        named=named_share(passage, words),
        own_meaning=0.0 if is_built_in(passage.url) else features.meaning,
        own_sentence=passage.closest.similarity if passage.closest else 0.0,
        own=float(not is_built_in(passage.url)),
        own_lexical=0.0 if is_built_in(passage.url) else features.lexical,
    )
    return Candidate(replace(passage, about=features.about), features)


class Target(NamedTuple):
    """A name or a documentation page that the question is about."""

    strength: float = 0.0
    phrase: str = ""
    """The phrase about it that the question matches."""
    described: float = 0.0
    """The share of the question that all phrases about it together have."""
    similarity: float = 0.0
    """How close a phrase about it is to the question in meaning; 0 without vectors."""
    is_named: bool = False
    """Does the question have the name itself, as in code?"""


Targets: TypeAlias = dict[str, Target]
_NO_TARGET = Target()


def _targets(query: str, phrases: PurposeComparison, meaning: MeaningSearch | None) -> Targets:
    """Names and documentation pages that the question is about."""
    targets = _by_words(phrases) if meaning is None else _by_words_and_meaning(query, phrases, meaning)
    for name in mentioned_names(query):
        known = targets.get(name, _NO_TARGET)
        targets[name] = known._replace(strength=known.strength + _NAMED, is_named=True)
    return targets


_NO_MATCH = PurposeMatch("", "", 0.0)


def _by_words(phrases: PurposeComparison) -> Targets:
    return {
        match.target: Target(_PURPOSE * match.strength, match.phrase, match.coverage)
        for match in phrases.best(_MOST_TARGETS)
    }


def _by_words_and_meaning(query: str, phrases: PurposeComparison, meaning: MeaningSearch) -> Targets:
    by_words = {match.target: match for match in phrases.best(_COMPARED_TARGETS)}
    by_meaning = {match.target: match for match in meaning.purposes(query, _COMPARED_TARGETS)}
    if not by_meaning:
        return _by_words(phrases)
    targets: Targets = {}
    for target in by_words | by_meaning:
        words, meant = by_words.get(target, _NO_MATCH), by_meaning.get(target, _NO_MATCH)
        similarity = max(0.0, (meant.strength - _UNRELATED) / (1 - _UNRELATED))
        strength = _PURPOSE * (words.strength + _MEANT * similarity) / (1 + _MEANT)
        targets[target] = Target(strength, words.phrase or meant.phrase, words.coverage, meant.similarity)
    best = sorted(targets, key=lambda target: -targets[target].strength)[:_MOST_TARGETS]
    return {target: targets[target] for target in best}


def _closeness(
    query: str, passages: Sequence[Passage], phrases: PurposeComparison, meaning: MeaningSearch | None
) -> list[float | None]:
    """How close the phrases about the subject of each passage are: in meaning, as far as they have vectors,
    and otherwise in words. None if there are none."""
    subjects = [_target_of(passage, phrases.known) for passage in passages]
    known = [*dict.fromkeys(subject for subject in subjects if subject in phrases.known)]
    in_meaning = meaning.purpose_closeness(query, known) if meaning else [None] * len(known)
    found = {
        subject: phrases.closeness(subject) if close is None else close
        for subject, close in zip(known, in_meaning, strict=True)
    }
    return [found.get(subject) for subject in subjects]


def _target_passages(index: Index, targets: Iterable[str], options: SearchOptions) -> Iterator[Passage]:
    """The first passages of the pages of targets."""
    if any(bound is not None for bound in date_range(options.since, options.until)):
        return  # documentation has no date
    for target in targets:
        pages = [page for page in _pages(index, target, options) if admits(options, Source(page.url))]
        for page in pages:
            yield from islice(page_passages(page), _TARGET_PASSAGES)
        if not pages and ".html" in target:
            yield from _reference(index, target, options)


def _reference(index: Index, target: str, options: SearchOptions) -> Iterator[Passage]:
    """A page of the documentation that an index about Python does not have: only its address is known."""
    url = f"{DOCS_URL}{target}"
    if admits(options, Source(url)) and index.page(CONTENTS_URL) is not None:
        yield Passage(url, documentation_title(documentation_heading(target)), "", 0, language="en")


def _pages(index: Index, target: str, options: SearchOptions) -> Iterator[Page]:
    """The documentation page of a target, and the pages of its docstring."""
    link = f"{DOCS_URL}{target}" if ".html" in target else documentation_link(local_address(target), target)
    documented = index.page(link) if link else None
    if documented is not None:
        yield documented
    elif ".html" in target:
        first = first_sections().get(target)
        if first and (page := index.page(f"{DOCS_URL}{first}")) is not None:
            yield page
    else:
        for passage in index.search(target, options, _TARGET_HITS):
            if titled_name(passage.title) == target and (page := index.page(passage.url)) is not None:
                yield page


def _target_of(passage: Passage, targets: Container[str]) -> str:
    """The target that the page of a passage belongs to."""
    name = titled_name(passage.title)
    if name in targets or not passage.url.startswith(DOCS_SITE):
        return name
    section = passage.url.removeprefix(DOCS_SITE).partition("/")[2]
    headings = (heading for heading in empty_headings().get(section, ()) if heading in targets)
    return section if section in targets else next(headings, section)


def _without_doubles(passages: Sequence[Passage]) -> Iterator[Passage]:
    """Without docstrings of objects whose documentation is among the passages."""
    documented = {passage.url for passage in passages}
    for passage in passages:
        if documentation_link(passage.url, passage.title) not in documented:
            yield passage
