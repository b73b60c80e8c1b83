"""Statement scoring: coverage of the query, times factors for style and position."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from groundwire.engine.compose.names import NameMatch, NameMatcher
from groundwire.engine.compose.statements import ABOUT_THE_TEXT, Excerpt, Statement, leading_name
from groundwire.engine.retrieve.translate import english_stems
from groundwire.engine.words import TextTerms, analyse, query_terms, stem_synonyms, url_words, word_list
from groundwire.model.value import replace

# Constants and factors of this module were chosen by hand on the tuned questions of tests/engine. They were
# measured before `retrieve/rank.py` ranked passages by purpose, on all 418 questions of
# tests/engine/test_questions.py, of which 383 cited a right page first: where a figure is given, it is the
# change of that number if the constant changes by 25 %.
LEAST_COVERAGE = 0.25
"""Coverage of the query below which a statement answers something else. ±25 %: no change."""
_IN_SYNONYM = 0.8
_IN_TRANSLATION = 0.8
_IN_TITLE = 0.4
_IN_PURPOSE = 0.7
_IN_LEAD = 0.9
_NEARBY = 0.15
"""Coverage of a query term that is not in the sentence itself but matched by a synonym, by an English word
for one of a German sentence, in the title, in the purpose in the title, in the name that a lead sentence is
about, or in the sentence before. ±25 %: synonym and nearby no change, title -1 to +2 questions, purpose -1 to
0, lead -3 to 0; the English words came later, and count as synonyms do."""
_WHOLE_TITLE = 0.8
"""Share of a title or a heading that the query has to cover for the first sentence under it to be about the
query. Chosen."""
_IN_ANNOUNCED = 0.9
"""The same for a term in the code, list or table that the sentence announces, which is shown with it. Chosen:
nearly as good as in the sentence."""
_IN_HEADING = 0.7
"""The same for a term in the headings above the sentence. Chosen as for a purpose in the title: a heading
says what its section is about."""
_BY_MEANING = 1.0
"""Coverage of the whole query by a sentence that means the same in other words, relative to the similarity of
their meanings."""
_NAMED = 1.2
"""Bonus for a documented name that matches the query. ±25 %: 0 to +1 question."""
_TOGETHER = 0.15
"""Bonus for each pair of words that are adjacent as in the query. ±25 %: 0 to +1 question."""
_DEEP = 0.94
"""Factor for each further dot in a name: nested names are more specific than most questions."""
_LISTED = 0.5
"""Factor for a list item about a name that has its own page among the results."""
_RARITY = 0.4
"""Exponent of the inverse document frequency. Low, because the most important word of a query is the one that
most of the passages were found by."""
_UNMATCHED_NUMBER = 0.3
"""Factor of the weight of a number that no passage contains."""
_SITE = re.compile(r"\s+[—–|·»]\s+")


class ScoredStatement(NamedTuple):
    """A statement with its score."""

    score: float
    coverage: float
    """The weighted share of the query terms that the statement and its title match; between 0 and 1."""
    statement: Statement


class Cue(NamedTuple):
    """A pattern in a sentence, and the factor it applies to the score."""

    find: Callable[[str], re.Match[str] | None]
    factor: float


def _cue(pattern: str, factor: float) -> Cue:
    return Cue(re.compile(pattern, re.IGNORECASE).search, factor)


def _opening(pattern: str, factor: float) -> Cue:
    """A cue at the beginning of a sentence."""
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
    Cue(ABOUT_THE_TEXT.search, 0.5),
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
_ASKS_MEANING = re.compile(
    r"^\W*(?:what(?:'s|s)?|who|was|wer|explain|erkläre?)\b|\b(?:definition|meaning|mean|bedeut\w*)\b",
    re.IGNORECASE,
)
_DEFINED = 1.5
"""Factor for the first sentence under a title or heading that is what a definition is asked of. Chosen."""
_WANTS: tuple[tuple[re.Pattern[str], re.Pattern[str], float], ...] = (
    (_ASKS_MEANING, _DEFINING, 1.2),
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
"""For a kind of question: the pattern of sentences that answer it, and their factor."""


def score_statements(
    query: str, excerpts: Sequence[Excerpt], statements: Sequence[Statement]
) -> list[ScoredStatement]:
    """Every statement that covers enough of the query, best first."""
    terms_of_query = _QueryTerms(query)
    heads = [leading_name(excerpt.title) or _head(excerpt.title) for excerpt in excerpts]
    titles = [terms_of_query.in_title(excerpt, head) for excerpt, head in zip(excerpts, heads, strict=True)]
    sections = [terms_of_query.in_section(excerpt) for excerpt in excerpts]
    openings = [
        terms_of_query.in_opening(excerpt, head) for excerpt, head in zip(excerpts, heads, strict=True)
    ]
    matched = [terms_of_query.matched_by(statement) for statement in statements]
    holding = [title | section for title, section in zip(titles, sections, strict=True)]
    weights = _weights(terms_of_query.terms, statements, matched, holding)
    total = sum(weights.values()) or 1.0
    purposes = _purposes_in_titles([excerpt.title for excerpt in excerpts])
    purpose_bonuses = [_name_bonus(map(terms_of_query.fit, matched), weights) / total for matched in purposes]
    style = _StyleScorer(query, frozenset(heads))
    asks_meaning = _ASKS_MEANING.search(query) is not None
    whole_tables = {number for number, opened in enumerate(openings) if opened} - {
        statement.excerpt
        for statement, own in zip(statements, matched, strict=True)
        if statement.kind == "row" and own.keys() - openings[statement.excerpt]
    }
    scored: list[ScoredStatement] = []
    before: Mapping[str, float] = {}
    for statement, own in zip(statements, matched, strict=True):
        if statement.kind == "row" and statement.is_lead and statement.excerpt not in whole_tables:
            # The first row of a table introduces nothing, unless the whole table is asked for.
            statement = replace(statement, is_lead=False)  # noqa: PLW2901
        head = heads[statement.excerpt]
        fit = terms_of_query.fit(statement.subject or head)
        opens = statement.is_lead and bool(purposes[statement.excerpt])
        title = _TitleMatch(
            titles[statement.excerpt],
            sections[statement.excerpt],
            fit,
            opens,
            openings[statement.excerpt],
        )
        shares = _shares(statement, own, title, before)
        before = own
        covered = sum(weights[term] * share for term, share in shares.items()) / total
        excerpt = excerpts[statement.excerpt]
        about, closeness = excerpt.about, excerpt.closeness(statement)
        covered = max(covered, _BY_MEANING * closeness, about if statement.is_lead else 0.0)
        if covered >= LEAST_COVERAGE and (own or closeness or statement.is_lead):
            bonus = _name_bonus([fit], weights) / total
            if statement.subject in ("", head):
                bonus = max(bonus, purpose_bonuses[statement.excerpt], about)
            factor = style.factor(statement, head) * _position_factor(statement, excerpt)
            if statement.is_lead and title.opened and asks_meaning:
                factor *= _DEFINED
            factor *= (1 + _NAMED * bonus) * _DEEP ** max(0, statement.subject.count(".") - 1)
            scored.append(ScoredStatement(covered * factor, covered, statement))
    scored.sort(key=lambda item: -item.score)
    return scored


def first_statements(excerpts: Sequence[Excerpt], statements: Sequence[Statement]) -> list[ScoredStatement]:
    """The statement with which the best excerpt begins, whatever words it has."""
    best = max(range(len(excerpts)), key=lambda index: excerpts[index].score, default=0)
    first = next((item for item in statements if item.excerpt == best), None)
    return [ScoredStatement(excerpts[best].score, LEAST_COVERAGE, first)] if first else []


def _name_bonus(fits: Iterable[NameMatch], weights: Mapping[str, float]) -> float:
    """The best match among names: the share of the name times the weight of the query terms in it."""
    return max((fit.share * sum(weights[term] for term in fit.terms) for fit in fits), default=0.0)


class _QueryTerms:
    """The terms of a query, their synonyms, and how names match them."""

    __slots__ = ("_names", "_synonyms", "terms")

    def __init__(self, query: str) -> None:
        self.terms = frozenset(query_terms(query))
        self._synonyms = {synonym: term for term in sorted(self.terms) for synonym in stem_synonyms(term)}
        for term in self.terms:
            self._synonyms.pop(term, None)
        self._names = NameMatcher(query)

    def matched(self, words: TextTerms) -> dict[str, float]:
        """The query terms in a text: 1 for the term itself, less for a synonym."""
        shares = {self._synonyms[stem]: _IN_SYNONYM for stem in words.stems & self._synonyms.keys()}
        shares.update((term, 1.0) for term in self.terms & (words.stems | words.values))
        return shares

    def matched_by(self, statement: Statement) -> dict[str, float]:
        """The query terms in a statement, and in what it announces."""
        shares = self._translated(statement.english) | self.matched(statement.words)
        if statement.announced is not None:
            for term, share in self.matched(statement.announced).items():
                shares[term] = max(_IN_ANNOUNCED * share, shares.get(term, 0.0))
        return shares

    def fit(self, name: str) -> NameMatch:
        """How well a name matches, by content words only."""
        fit = self._names.fit(name)
        return NameMatch(fit.share, fit.terms & self.terms, fit.own & self.terms)

    def in_title(self, excerpt: Excerpt, head: str) -> frozenset[str]:
        """The query terms in the title and the URL path of a page."""
        words = analyse(f"{excerpt.title} {url_words(excerpt.url)}")
        english = english_stems(excerpt.title, excerpt.language)
        return frozenset(self.matched(words) | self._translated(english)) | self.fit(head).terms

    def in_section(self, excerpt: Excerpt) -> frozenset[str]:
        """The query terms in the headings above an excerpt."""
        if not excerpt.section:
            return frozenset()
        english = english_stems(excerpt.section, excerpt.language)
        return frozenset(self.matched(analyse(excerpt.section)) | self._translated(english))

    def _translated(self, english: frozenset[str]) -> dict[str, float]:
        """The query terms among the English words for a German text."""
        return dict.fromkeys(self.terms & english, _IN_TRANSLATION)

    def in_opening(self, excerpt: Excerpt, head: str) -> frozenset[str]:
        """The query terms in the innermost heading above an excerpt, if that is nearly all it says."""
        headings = [excerpt.section.rpartition("\n")[2], head if excerpt.start == 0 else ""]
        fits = [self.fit(heading) for heading in headings if heading]
        return frozenset().union(*(fit.terms for fit in fits if fit.share >= _WHOLE_TITLE))


def _purposes_in_titles(titles: Sequence[str]) -> list[list[str]]:
    """The part of each title between the name and the site: the purpose of what is documented.

    A purpose that several titles share is the purpose of their module and is dropped."""
    between = [tuple(_SITE.split(title)[1:-1]) for title in titles]
    named = {(_head(title), parts) for title, parts in zip(titles, between, strict=True)}
    counts = Counter(parts for _, parts in named)
    return [
        [phrase for part in parts for phrase in part.split(", ") if " " in phrase]
        if counts[parts] == 1
        else []
        for parts in between
    ]


def _head(title: str) -> str:
    """A title without the name of the site at its end."""
    return _SITE.split(title, maxsplit=1)[0]


class _TitleMatch(NamedTuple):
    """How the title of a statement's page matches the query."""

    words: frozenset[str]
    headings: frozenset[str]
    """The query terms in the headings above the statement."""
    fit: NameMatch
    opens: bool
    """Is it the first statement of a page whose title contains a purpose?"""
    opened: frozenset[str] = frozenset()
    """The query terms in the innermost heading, or in the title of a page without headings, if nearly all
    its words are in the query."""


def _shares(
    statement: Statement, own: Mapping[str, float], title: _TitleMatch, before: Mapping[str, float]
) -> dict[str, float]:
    """The share with which a statement covers each query term."""
    shares = dict.fromkeys(before if statement.number else (), _NEARBY)
    shares.update((term, _IN_PURPOSE if title.opens else _IN_TITLE) for term in title.words | title.fit.terms)
    for term in title.headings:
        shares[term] = max(_IN_HEADING, shares.get(term, 0.0))
    if statement.is_lead:
        # The first sentence of a page about a name is about that name, even if it does not repeat it.
        shares.update((term, _IN_LEAD) for term in title.fit.own | title.opened)
    for term, share in own.items():
        shares[term] = max(share, shares.get(term, 0.0))
    return shares


def _weights(
    terms: frozenset[str],
    statements: Sequence[Statement],
    matched: Sequence[Mapping[str, float]],
    titles: Sequence[frozenset[str]],
) -> Mapping[str, float]:
    """The weights of the query terms. Rare terms weigh more, terms that no passage contains most.

    A number that no passage contains weighs little: it is an argument of the user's task, not of the page."""
    holding = [set(title) for title in titles]
    for statement, own in zip(statements, matched, strict=True):
        holding[statement.excerpt].update(own)
    counts = Counter(term for held in holding for term in held)
    pages = len(titles) + 1
    weights = {}
    for term in sorted(terms):
        weight = math.log(1 + pages / (max(0.5, counts[term]) + 0.5)) ** _RARITY
        weights[term] = weight if counts[term] or not term[0].isdigit() else _UNMATCHED_NUMBER * weight
    return weights


class _StyleScorer:
    """Style factors: does the sentence have the form that the question wants, and is it readable?"""

    __slots__ = ("_cues", "_heads", "_pairs", "_titles")

    def __init__(self, query: str, heads: frozenset[str]) -> None:
        self._heads = heads
        self._titles: dict[str, frozenset[tuple[str, str]]] = {}
        wanted = [Cue(pattern.search, bonus) for question, pattern, bonus in _WANTS if question.search(query)]
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
        # Query terms that are adjacent, as in the query.
        if not self._pairs:
            return factor
        together = len(self._pairs & _pairs(statement.words)) + len(self._pairs & self._titled(head))
        return factor * (1 + _TOGETHER * min(3, together))

    def _titled(self, head: str) -> frozenset[tuple[str, str]]:
        if head not in self._titles:
            self._titles[head] = _pairs(analyse(head))
        return self._titles[head]


def _pairs(words: TextTerms) -> frozenset[tuple[str, str]]:
    """Adjacent words, articles skipped; each pair contains a content word."""
    articles = word_list("articles")
    compared = [word for word in words.order if word not in articles]
    return frozenset(pair for pair in pairwise(compared) if not words.stems.isdisjoint(pair))


def _flaws(statement: Statement, text: str) -> float:
    """The penalty for being short, long, cut off, dependent on its context, or mostly symbols."""
    symbols = sum(map(text.count, "=(){}[]<>|/\\_;#$"))
    flaws = (
        (len(statement.words.order) < 4, 0.35),
        (len(text) > 320, 0.7),
        (len(text) > 500, 0.3),
        (statement.kind == "item", 0.85),
        (statement.is_cut, 0.5),
        (text.endswith(":"), 0.7 if statement.is_lead else 0.25),
        (statement.depends_on_previous, 0.65),
        (symbols * (4 if statement.is_lead else 8) > len(text), 0.6),
        (text[:1].islower() and not statement.subject, 0.8),
        (text[:1].islower() and statement.kind == "item" and bool(statement.subject), 0.6),
    )
    return math.prod(penalty for applies, penalty in flaws if applies)


def _position_factor(statement: Statement, excerpt: Excerpt) -> float:
    """Better passages first, and the first statement of a page or section before the following ones."""
    lead = 1.3 if statement.subject else 1.2
    return excerpt.score * (lead if statement.is_lead else 1.0 / (1 + 0.02 * statement.number))
