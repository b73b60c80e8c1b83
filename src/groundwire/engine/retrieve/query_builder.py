"""A question as queries of tantivy, built term by term: nothing that was typed is ever read as syntax.

Passages with all the words come first, then those with some. Each is a query of its own, because a plain
union of terms is what tantivy prunes, and a plain conjunction what it can skip through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import TypeAlias

from tantivy import FieldType, Occur, Query, Schema, Searcher

from groundwire.engine.index.search_index import Analyzers
from groundwire.engine.retrieve.filters import date_range, parse_domain_entries
from groundwire.engine.retrieve.query import LONGEST, ParsedQuery, joined_pairs, parse_query
from groundwire.engine.words import synonyms
from groundwire.model import SearchOptions
from groundwire.model.value import value

Clause: TypeAlias = tuple[Occur, Query]
Forms: TypeAlias = tuple[Query, ...]

_MUST, _SHOULD = Occur.Must, Occur.Should
_CACHED_WORDS = 4096
_MOST_ENDINGS = 64
_SYNONYM_WEIGHT = 0.6


@value
class QueryBuilder:
    """Where to look, and what terms words are there."""

    searcher: Searcher
    schema: Schema
    analysis: Analyzers
    forms: Callable[[str], Forms]
    """Words in a row in every form in which they occur; what stands nowhere tells nothing."""

    def queries(self, question: ParsedQuery, options: SearchOptions) -> Iterator[Query]:
        """What to search for, one after the other, until enough is found."""
        required = self._required(question) if question.phrases or question.prefixes else []
        words = [forms for forms in map(self.forms, question.words) if forms]
        if not all(required) or not (required or words):
            return
        needed = [(_MUST, _any_of(forms)) for forms in required] if required else []
        welcome = self._welcome(question)
        light = self._all_forms(question.light) if question.light else []
        for limits in self._limits(options):
            if len(words) > 1 or light:
                yield _all_of(words, [*welcome, *light], [*needed, *limits])
            yield _some_of([*chain.from_iterable(words), *welcome], needed, limits)

    def _required(self, question: ParsedQuery) -> list[Forms]:
        """What must be there, each in one of its forms."""
        return [*map(self.forms, question.phrases), *map(self._endings, question.prefixes)]

    def _welcome(self, question: ParsedQuery) -> list[Query]:
        """What is good to have: names whole and in parts, neighbours as one name, words of like meaning."""
        found = self._names(question.names) if question.names else []
        found += self._all_forms((*question.parts, *joined_pairs(question.words)))
        others = [other for word in question.words for other in synonyms().get(word, ())]
        found += [Query.boost_query(form, _SYNONYM_WEIGHT) for form in self._all_forms(others)]
        return found

    def _all_forms(self, words: Iterable[str]) -> list[Query]:
        return [*chain.from_iterable(map(self.forms, words))]

    def _names(self, names: Iterable[str]) -> list[Query]:
        """Dotted names as the one term that each of them is."""
        terms = [term for name in names for term in self.analysis.name(name)]
        known = self.searcher.doc_freq
        return [Query.term_query(self.schema, "text", term, "freq") for term in terms if known("text", term)]

    def _endings(self, prefix: str) -> Forms:
        """The words that begin so. Signs that are words of their own begin nothing."""
        terms = self.analysis.plain(prefix)
        if len(terms) != 1:
            return self.forms(prefix)
        found = self.searcher.terms_with_prefix("words", terms[0], limit=_MOST_ENDINGS)
        return tuple(self._exactly("words", word) for word, _ in found)

    def _limits(self, options: SearchOptions) -> list[list[Clause]]:
        """What every passage must be like; with a language, first those in it."""
        if not is_filtered(options):
            return [[]]
        allowed, blocked = (
            parse_domain_entries(options.allowed_domains),
            parse_domain_entries(options.blocked_domains),
        )
        limits: list[Clause] = []
        if options.allowed_domains:
            hosts = _any_of([self._exactly("host", host) for host in allowed.all_hosts])
            limits.append((_MUST, Query.const_score_query(hosts, 0.0)))
        limits += [(Occur.MustNot, self._exactly("host", host)) for host in blocked.hosts]
        first, last = date_range(options.since, options.until)
        if first is not None or last is not None:
            dates = Query.range_query(self.schema, "published", FieldType.Integer, first, last)
            limits.append((_MUST, Query.const_score_query(dates, 0.0)))
        language = options.language.partition("-")[0].lower()
        if not language:
            return [limits]
        spoken = Query.const_score_query(self._exactly("language", language), 0.0)
        return [[*limits, (_MUST, spoken)], limits]

    def _exactly(self, field: str, term: str) -> Query:
        return Query.term_query(self.schema, field, term, "basic")


def is_filtered(options: SearchOptions) -> bool:
    """Do the options say what passages must be like?"""
    domains = options.allowed_domains or options.blocked_domains
    return bool(domains or options.since or options.until or options.language)


def make_query_builder(searcher: Searcher, schema: Schema, analysis: Analyzers) -> QueryBuilder:
    """Matching in what a searcher sees. Questions repeat each other's words."""
    forms = partial(_forms, searcher, schema, analysis)
    return QueryBuilder(searcher, schema, analysis, lru_cache(_CACHED_WORDS)(forms))


def _forms(searcher: Searcher, schema: Schema, analysis: Analyzers, words: str) -> Forms:
    known, found = searcher.doc_freq, []
    for terms in analysis.forms(words):
        if len(terms) == 1:
            if known("text", terms[0]):
                found.append(Query.term_query(schema, "text", terms[0], "freq"))
        elif all(known("text", term) for term in terms):
            found.append(Query.phrase_query(schema, "text", list(terms)))
    return tuple(found)


def _all_of(words: list[Forms], welcome: list[Query], needed: list[Clause]) -> Query:
    clauses = [(_MUST, _any_of(forms)) for forms in words]
    clauses += [(_SHOULD, query) for query in welcome]
    return Query.boolean_query([*clauses, *needed])


def _some_of(words: list[Query], needed: list[Clause], limits: list[Clause]) -> Query:
    if needed:
        # A phrase or a prefix is enough; the words make it better.
        return Query.boolean_query([*needed, *limits, *((_SHOULD, word) for word in words)])
    return Query.boolean_query([(_MUST, _any_of(words)), *limits]) if limits else _any_of(words)


def _any_of(queries: Sequence[Query]) -> Query:
    return queries[0] if len(queries) == 1 else Query.boolean_query([(_SHOULD, query) for query in queries])


CachedQueries: TypeAlias = Callable[[str, SearchOptions], Iterable[Query]]
"""The queries for what was typed, one after the other, until enough is found."""

_CACHED_QUERIES = 256
_NO_LIMITS = SearchOptions()


def cached_queries(make_query_builder: QueryBuilder) -> CachedQueries:
    """Asking in what a searcher sees. Questions with limits are read each time: they vary too much."""

    @lru_cache(_CACHED_QUERIES)
    def unlimited(query: str) -> tuple[Query, ...]:
        return tuple(make_query_builder.queries(parse_query(query), _NO_LIMITS))

    def queries(query: str, options: SearchOptions) -> Iterable[Query]:
        if is_filtered(options):
            return make_query_builder.queries(parse_query(query), options)
        return unlimited(query[:LONGEST])

    return queries
