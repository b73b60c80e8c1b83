"""How well a statement answers a query: what it covers, times how it is said and where it stands."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from groundwire.engine.compose.names import NameMatch, NameMatcher
from groundwire.engine.compose.statements import Excerpt, Statement, leading_name
from groundwire.engine.words import TextTerms, analyse, query_terms, stem_synonyms, word_list

LEAST_COVERAGE = 0.25
"""Of the query; a statement below it answers something else."""
_IN_KIN = 0.8
_IN_TITLE = 0.4
_IN_PURPOSE = 0.7
_IN_LEAD = 0.9
_NEARBY = 0.15
"""What a word of the query counts whose meaning is said by another, or that stands in the title, in the
name the page is about, or in the sentence before, instead of in the sentence itself."""
_NAMED = 1.2
"""What it adds that a thing is called what the query asks for."""
_TOGETHER = 0.15
"""What each pair of words adds that stands together as in the query."""
_DEEP = 0.94
"""What each further dot in a name costs: parts of parts are more special than what is asked for."""
_LISTED = 0.5
"""What a line about a thing is worth that has a page of its own here."""
_RARITY = 0.4
"""How much more rare words weigh. Not much: what is asked for most is what most passages were found by."""
_UNSAID_VALUE = 0.3
_SITE = re.compile(r"\s+[—–|·»]\s+")


class ScoredStatement(NamedTuple):
    """A statement with its marks."""

    score: float
    coverage: float
    """The share of the query that it, with its title, speaks of; between 0 and 1."""
    statement: Statement


class Cue(NamedTuple):
    """A sign in a sentence, and what it does to the score."""

    find: Callable[[str], re.Match[str] | None]
    factor: float


def _cue(pattern: str, factor: float) -> Cue:
    return Cue(re.compile(pattern, re.IGNORECASE).search, factor)


def _opening(pattern: str, factor: float) -> Cue:
    """A sign at the beginning."""
    return Cue(re.compile(pattern, re.IGNORECASE).match, factor)


_CUES = (
    _cue(r"\?[\"'”»)]*$", 0.3),
    _cue(
        r"cookie|privacy policy|all rights reserved|sign in\b|log in\b|subscribe|newsletter|click here|"
        r"terms of (?:use|service)|skip to|table of contents|powered by|read more|share this|"
        r"datenschutz|impressum|alle rechte vorbehalten|anmelden|weiterlesen|inhaltsverzeichnis",
        0.25,
    ),
    _opening(r"(?:new|changed|added|deprecated) in (?:version|python)|\.\. version|:\w+", 0.5),
    _opening(r"(?:see|siehe|refer to|cf\.?)\b|.*for more info", 0.4),
    _cue(r"\\[ntr]", 0.6),
    _opening(r"(?:warning|todo|fixme|bugs?|internal|for internal)\b", 0.5),
    _opening(r"\(.*\)\.?$", 0.7),
    _cue(
        r"\breport(?:ing)? bugs\b|\bmailing list\b|\bpostmaster\b|^authors?\b|^written by\b|©|\(c\) \d{4}",
        0.3,
    ),
    _opening(r"\*{0,2}[a-z_]\w*(?: \([^()]*\))?: ", 0.6),
    _cue(r"^(?:system|assistant|human|user|tool|data|event)\s*:|ignore (?:all|any|previous)|^\W*\{", 0.3),
    _opening(r"(?:for example|for instance|e\.g\.|zum beispiel|example)\b", 0.75),
)
_DEFINING = re.compile(
    r"\b(?:is|are|was|means|denotes|refers to|ist|sind|war|bezeichnet|heißt)\s+"
    r"(?:an?|the|one|used|ein|eine|einer|der|die|das)\b",
    re.IGNORECASE,
)
_DOING = re.compile(
    r"^(?:return|open|read|writ|creat|convert|pars|serializ|deserializ|comput|run|call|iterat|sort|split|join|"
    r"remov|copy|copi|mov|get|set|find|check|construct|wait|send|encod|decod|format|load|dump|print|generat|"
    r"chang|delet|renam|replac|search|match|test|wrap|yield|determin|gib|liefert|erzeug|öffne|lies|schreib)|"
    r"\b(?:use|using|call|calling|by passing|pass|set|run|verwende|benutze|nutze|mit hilfe|lässt sich)\b",
    re.IGNORECASE,
)
_VALUE = re.compile(r"\d")
_WANTS: tuple[tuple[re.Pattern[str], re.Pattern[str], float], ...] = (
    (
        re.compile(r"^\s*(?:what|who|was|wer)\b|\b(?:definition|meaning|bedeutung)\b", re.IGNORECASE),
        _DEFINING,
        1.2,
    ),
    (
        re.compile(r"^\s*(?:how (?:do|to|can|does|should)|wie|which|welche\w*)\b", re.IGNORECASE),
        _DOING,
        1.2,
    ),
    (
        re.compile(
            r"^\s*(?:when|since|wann|how (?:many|much|long|old|big|far|tall|high)|"
            r"wie ?(?:viele?|lange|alt|groß|hoch|weit))\b",
            re.IGNORECASE,
        ),
        _VALUE,
        1.3,
    ),
)
"""What kind of sentence a kind of question wants, and what that is worth."""


def score_statements(
    query: str, stretches: Sequence[Excerpt], statements: Sequence[Statement]
) -> list[ScoredStatement]:
    """Every statement that speaks of the query, best first."""
    asked = _QueryTerms(query)
    heads = [leading_name(stretch.title) or _head(stretch.title) for stretch in stretches]
    titles = [asked.in_title(stretch, head) for stretch, head in zip(stretches, heads, strict=True)]
    said = [asked.said(statement.words) for statement in statements]
    weights = _weights(asked.terms, statements, said, titles)
    total = sum(weights.values()) or 1.0
    purposes = _own_purposes([stretch.title for stretch in stretches])
    callings = [_called(map(asked.fit, said), weights) / total for said in purposes]
    manner = _StyleScorer(query, frozenset(heads))
    weighed: list[ScoredStatement] = []
    before: Mapping[str, float] = {}
    for statement, own in zip(statements, said, strict=True):
        head = heads[statement.stretch]
        fit = asked.fit(statement.subject or head)
        opens = statement.is_lead and bool(purposes[statement.stretch])
        shares = _shares(statement, own, _TitleMatch(titles[statement.stretch], fit, opens=opens), before)
        before = own
        covered = sum(weights[term] * share for term, share in shares.items()) / total
        if covered >= LEAST_COVERAGE and (own or statement.is_lead):
            called = _called([fit], weights) / total
            if statement.subject in ("", head):
                called = max(called, callings[statement.stretch])
            factor = manner.factor(statement, head) * _position_factor(
                statement, stretches[statement.stretch]
            )
            factor *= (1 + _NAMED * called) * _DEEP ** max(0, statement.subject.count(".") - 1)
            weighed.append(ScoredStatement(covered * factor, covered, statement))
    weighed.sort(key=lambda item: -item.score)
    return weighed


def _called(fits: Iterable[NameMatch], weights: Mapping[str, float]) -> float:
    """How much of the query the best of some names says, and how little else."""
    return max((fit.share * sum(weights[term] for term in fit.terms) for fit in fits), default=0.0)


class _QueryTerms:
    """The words of a query, and what else may stand for them."""

    __slots__ = ("_caller", "_synonyms", "terms")

    def __init__(self, query: str) -> None:
        self.terms = frozenset(query_terms(query))
        self._synonyms = {
            synonym: term for term in sorted(self.terms) for synonym in stem_synonyms().get(term, ())
        }
        for term in self.terms:
            self._synonyms.pop(term, None)
        self._caller = NameMatcher(query)

    def said(self, words: TextTerms) -> dict[str, float]:
        """The words of the query that a text says, and how plainly."""
        shares = {self._synonyms[stem]: _IN_KIN for stem in words.stems & self._synonyms.keys()}
        shares.update((term, 1.0) for term in self.terms & (words.stems | words.values))
        return shares

    def fit(self, name: str) -> NameMatch:
        """How well a name fits, by words that carry meaning."""
        fit = self._caller.fit(name)
        return NameMatch(fit.share, fit.terms & self.terms, fit.own & self.terms)

    def in_title(self, stretch: Excerpt, head: str) -> frozenset[str]:
        """The words of the query in the title and the address of a page."""
        words = analyse(f"{stretch.title} {stretch.url.partition('://')[2].partition('/')[2]}")
        return frozenset(self.said(words)) | self.fit(head).terms


def _own_purposes(titles: Sequence[str]) -> list[list[str]]:
    """What each title says between a name and the site: what the thing is for. What stands in the titles of
    several things is what their module is for, and says little of each."""
    between = [tuple(_SITE.split(title)[1:-1]) for title in titles]
    counts = Counter(
        said for _, said in {(_head(title), said) for title, said in zip(titles, between, strict=True)}
    )
    return [
        [part for said in told for part in said.split(", ") if " " in part] if counts[told] == 1 else []
        for told in between
    ]


def _head(title: str) -> str:
    """A title without the name of the site behind it."""
    return _SITE.split(title, maxsplit=1)[0]


class _TitleMatch(NamedTuple):
    """What the title of a statement's page says of the query."""

    words: frozenset[str]
    fit: NameMatch
    opens: bool
    """Does the statement open the page, and does the title say what its thing is for?"""


def _shares(
    statement: Statement, own: Mapping[str, float], title: _TitleMatch, before: Mapping[str, float]
) -> dict[str, float]:
    """How far the statement speaks of each word of the query."""
    shares = dict.fromkeys(before if statement.number else (), _NEARBY)
    shares.update((term, _IN_PURPOSE if title.opens else _IN_TITLE) for term in title.words | title.fit.terms)
    if statement.is_lead:
        # The sentence that opens a page about a name speaks of that name, said or not.
        shares.update((term, _IN_LEAD) for term in title.fit.own)
    for term, share in own.items():
        shares[term] = max(share, shares.get(term, 0.0))
    return shares


def _weights(
    terms: frozenset[str],
    statements: Sequence[Statement],
    said: Sequence[Mapping[str, float]],
    titles: Sequence[frozenset[str]],
) -> Mapping[str, float]:
    """Rare words weigh more. A word that stands nowhere weighs most: the passages lack it. A number that
    stands nowhere is what somebody wants to do it with, rather than what a page would say."""
    holding = [set(title) for title in titles]
    for statement, own in zip(statements, said, strict=True):
        holding[statement.stretch].update(own)
    counts = Counter(term for held in holding for term in held)
    pages = len(titles) + 1
    weights = {}
    for term in sorted(terms):
        weight = math.log(1 + pages / (max(0.5, counts[term]) + 0.5)) ** _RARITY
        weights[term] = weight if counts[term] or not term[0].isdigit() else _UNSAID_VALUE * weight
    return weights


class _StyleScorer:
    """How a statement says it: as the question wants it, and in a readable sentence."""

    __slots__ = ("_cues", "_heads", "_pairs", "_titles")

    def __init__(self, query: str, heads: frozenset[str]) -> None:
        self._heads = heads
        self._titles: dict[str, frozenset[tuple[str, str]]] = {}
        wanted = [Cue(pattern.search, bonus) for asks, pattern, bonus in _WANTS if asks.search(query)]
        self._cues = (*_CUES, *wanted)
        self._pairs = _pairs(analyse(query))

    def factor(self, statement: Statement, head: str) -> float:
        """A factor around 1."""
        text = statement.text
        factor = _flaws(statement, text)
        if statement.subject != head and statement.subject in self._heads:
            factor *= _LISTED
        for find, effect in self._cues:
            if find(text):
                factor *= effect
        # Words of the query that stand side by side, as in the query.
        if not self._pairs:
            return factor
        together = len(self._pairs & _pairs(statement.words)) + len(self._pairs & self._titled(head))
        return factor * (1 + _TOGETHER * min(3, together))

    def _titled(self, head: str) -> frozenset[tuple[str, str]]:
        if head not in self._titles:
            self._titles[head] = _pairs(analyse(head))
        return self._titles[head]


def _pairs(words: TextTerms) -> frozenset[tuple[str, str]]:
    """Neighbours, over articles; a word that carries meaning is in each."""
    articles = word_list("articles")
    gist = [word for word in words.order if word not in articles]
    return frozenset(pair for pair in pairwise(gist) if not words.stems.isdisjoint(pair))


def _flaws(statement: Statement, text: str) -> float:
    """What a statement loses for being short, long, cut, dependent, or hardly words at all."""
    signs = sum(map(text.count, "=(){}[]<>|/\\_;#$"))
    flaws = (
        (len(statement.words.order) < 4, 0.35),
        (len(text) > 320, 0.7),
        (len(text) > 500, 0.3),
        (statement.kind == "item", 0.85),
        (statement.is_cut, 0.5),
        (text.endswith(":"), 0.7 if statement.is_lead else 0.25),
        (statement.leans, 0.65),
        (signs * (4 if statement.is_lead else 8) > len(text), 0.6),
        (text[:1].islower() and not statement.subject, 0.8),
        (text[:1].islower() and statement.kind == "item" and bool(statement.subject), 0.6),
    )
    return math.prod(penalty for applies, penalty in flaws if applies)


def _position_factor(statement: Statement, stretch: Excerpt) -> float:
    """Better passages first, and what opens a page or section before what follows."""
    lead = 1.3 if statement.subject else 1.2
    return stretch.score * (lead if statement.is_lead else 1.0 / (1 + 0.02 * statement.number))
