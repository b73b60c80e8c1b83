"""A question as queries of tantivy, built term by term: nothing that was typed is ever read as syntax.

Passages with all the words come first, then those with some. Each is a query of its own, because a plain
union of terms is what tantivy prunes, and a plain conjunction what it can skip through.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tantivy import FieldType, Occur, Query, Schema, Searcher

from groundwire.engine.index.analysis import Analysis
from groundwire.engine.index.domains import read_entries
from groundwire.engine.index.moments import bounds
from groundwire.engine.index.question import Question, joined_neighbours
from groundwire.model import SearchOptions
from groundwire.model.value import value
from groundwire.text.kin import KIN

Clause: TypeAlias = tuple[Occur, Query]

_MOST_ENDINGS = 64
_KIN_WEIGHT = 0.6
_NO_OPTIONS = SearchOptions()
_KIN = {word: tuple(other for other in group if other != word) for group in KIN for word in group}


@value
class Matching:
    """Where to look, and what terms words are there."""

    searcher: Searcher
    schema: Schema
    analysis: Analysis

    def queries(self, question: Question, options: SearchOptions) -> Iterator[Query]:
        """What to search for, one after the other, until enough is found."""
        required = [self._forms(phrase) for phrase in question.phrases]
        required += [self._endings(prefix) for prefix in question.prefixes]
        words = [forms for word in question.words if (forms := self._forms(word))]
        if not all(required) or not (required or words):
            return
        welcome = self._welcome(question)
        needed: list[Clause] = [(Occur.Must, _any_of(forms)) for forms in required]
        light = [form for word in question.light for form in self._forms(word)]
        for limits in self._limits(options):
            if len(words) > 1 or light:
                yield _all_of(words, [*welcome, *light], [*needed, *limits])
            yield _some_of([*(form for forms in words for form in forms), *welcome], needed, limits)

    def _forms(self, words: str) -> list[Query]:
        """Words in a row in every form in which they occur; what stands nowhere tells nothing."""
        known, found = self.searcher.doc_freq, []
        for terms in self.analysis.forms(words):
            if len(terms) == 1:
                if known("text", terms[0]):
                    found.append(Query.term_query(self.schema, "text", terms[0], "freq"))
            elif all(known("text", term) for term in terms):
                found.append(Query.phrase_query(self.schema, "text", list(terms)))
        return found

    def _welcome(self, question: Question) -> list[Query]:
        """What is good to have: names whole and in parts, neighbours as one name, words of like meaning."""
        names = [term for name in question.names for term in self.analysis.name(name)]
        whole = [
            Query.term_query(self.schema, "text", term, "freq")
            for term in names
            if self.searcher.doc_freq("text", term)
        ]
        parts = [form for part in question.parts for form in self._forms(part)]
        joined = [form for word in joined_neighbours(question.words) for form in self._forms(word)]
        others = [other for word in question.words for other in _KIN.get(word, ())]
        kin = [Query.boost_query(form, _KIN_WEIGHT) for other in others for form in self._forms(other)]
        return [*whole, *parts, *joined, *kin]

    def _endings(self, prefix: str) -> list[Query]:
        """The words that begin so. Signs that are words of their own begin nothing."""
        terms = self.analysis.plain(prefix)
        if len(terms) != 1:
            return self._forms(prefix)
        found = self.searcher.terms_with_prefix("words", terms[0], limit=_MOST_ENDINGS)
        return [self._exactly("words", word) for word, _ in found]

    def _limits(self, options: SearchOptions) -> list[list[Clause]]:
        """What every passage must be like; with a language, first those in it."""
        if options is _NO_OPTIONS or options == _NO_OPTIONS:
            return [[]]
        allowed, blocked = read_entries(options.allowed_domains), read_entries(options.blocked_domains)
        limits: list[Clause] = []
        if options.allowed_domains:
            hosts = _any_of([self._exactly("host", host) for host in allowed.all_hosts])
            limits.append((Occur.Must, Query.const_score_query(hosts, 0.0)))
        limits += [(Occur.MustNot, self._exactly("host", host)) for host in blocked.hosts]
        first, last = bounds(options.since, options.until)
        if first is not None or last is not None:
            dates = Query.range_query(self.schema, "published", FieldType.Integer, first, last)
            limits.append((Occur.Must, Query.const_score_query(dates, 0.0)))
        language = options.language.partition("-")[0].lower()
        if not language:
            return [limits]
        spoken = Query.const_score_query(self._exactly("language", language), 0.0)
        return [[*limits, (Occur.Must, spoken)], limits]

    def _exactly(self, field: str, term: str) -> Query:
        return Query.term_query(self.schema, field, term, "basic")


def _all_of(words: list[list[Query]], welcome: list[Query], needed: list[Clause]) -> Query:
    clauses: list[Clause] = [(Occur.Must, _any_of(forms)) for forms in words]
    clauses += [(Occur.Should, query) for query in welcome]
    return Query.boolean_query([*clauses, *needed])


def _some_of(words: list[Query], needed: list[Clause], limits: list[Clause]) -> Query:
    if needed:
        # A phrase or a prefix is enough; the words make it better.
        return Query.boolean_query([*needed, *limits, *((Occur.Should, word) for word in words)])
    return Query.boolean_query([(Occur.Must, _any_of(words)), *limits]) if limits else _any_of(words)


def _any_of(queries: list[Query]) -> Query:
    if len(queries) == 1:
        return queries[0]
    return Query.boolean_query([(Occur.Should, query) for query in queries])
