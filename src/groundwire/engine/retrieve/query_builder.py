"""Builds tantivy queries from a parsed query, term by term: user input is never parsed as query syntax.

Passages with all words come first, then those with some. These are two queries, because tantivy prunes a
plain union of terms (WAND) and skips through a plain conjunction. The queries of recent searches are cached
with the snapshot: parsing a query and looking up its terms costs as much as searching a small index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import TypeAlias

from tantivy import FieldType, Occur, Query, Schema, Searcher

from groundwire.engine.index.search_index import Analyzers
from groundwire.engine.retrieve.filters import date_range, parse_domain_entries
from groundwire.engine.retrieve.query import LONGEST_QUERY, ParsedQuery, joined_pairs, parse_query
from groundwire.engine.words import synonyms
from groundwire.model import SearchOptions
from groundwire.model.value import value

Clause: TypeAlias = tuple[Occur, Query]
Forms: TypeAlias = tuple[Query, ...]

_MUST, _SHOULD = Occur.Must, Occur.Should
_CACHED_WORDS = 4096
_MOST_ENDINGS = 64
_SYNONYM_WEIGHT = 0.4
"""Boost of synonyms, relative to the words of the query. Chosen on the judged collections."""


@value
class QueryBuilder:
    """Builds queries for one searcher."""

    searcher: Searcher
    schema: Schema
    analysis: Analyzers
    forms: Callable[[str], Forms]
    """A word or phrase in every form that occurs in the index."""

    def queries(self, parsed: ParsedQuery, options: SearchOptions) -> Iterator[Query]:
        """The queries to run, one after the other, until enough is found."""
        required = self._required(parsed) if parsed.phrases or parsed.prefixes else []
        words = [forms for forms in map(self.forms, parsed.words) if forms]
        if not all(required) or not (required or words):
            return
        needed = [(_MUST, _any_of(forms)) for forms in required] if required else []
        optional = self._optional(parsed)
        light = self._all_forms(parsed.light) if parsed.light else []
        for filters in self._filters(options):
            if len(words) > 1 or light:
                yield _all_of(words, [*optional, *light], [*needed, *filters])
            yield _some_of([*chain.from_iterable(words), *optional], needed, filters)

    def filtered(self, field: str, values: Sequence[int], options: SearchOptions) -> Iterator[Query]:
        """Queries for the documents with one of some numbers in a field that the filters admit; for all that
        they admit without numbers. With a language, first for those in it."""
        wanted = Query.term_set_query(self.schema, field, values) if values else Query.all_query()
        for filters in self._filters(options):
            yield Query.boolean_query([(_MUST, wanted), *filters])

    def _required(self, parsed: ParsedQuery) -> list[Forms]:
        """Required phrases and prefixes, each in one of its forms."""
        return [*map(self.forms, parsed.phrases), *map(self._endings, parsed.prefixes)]

    def _optional(self, parsed: ParsedQuery) -> list[Query]:
        """Optional terms: names whole and in parts, adjacent words as one name, synonyms."""
        found = self._names(parsed.names) if parsed.names else []
        found += self._all_forms((*parsed.parts, *joined_pairs(parsed.words)))
        synonymous = (self._all_forms(synonyms(word)) for word in parsed.words)
        return [*found, *(_best_of(forms) for forms in synonymous if forms)]

    def _all_forms(self, words: Iterable[str]) -> list[Query]:
        return [*chain.from_iterable(map(self.forms, words))]

    def _names(self, names: Iterable[str]) -> list[Query]:
        """Dotted names, each as one term."""
        terms = [term for name in names for term in self.analysis.name(name)]
        known = self.searcher.doc_freq
        return [Query.term_query(self.schema, "text", term, "freq") for term in terms if known("text", term)]

    def _endings(self, prefix: str) -> Forms:
        """The words with a prefix. Chinese and Japanese characters are words of their own."""
        terms = self.analysis.plain(prefix)
        if len(terms) != 1:
            return self.forms(prefix)
        found = self.searcher.terms_with_prefix("words", terms[0], limit=_MOST_ENDINGS)
        return tuple(self._exactly("words", word) for word, _ in found)

    def _filters(self, options: SearchOptions) -> list[list[Clause]]:
        """Filter clauses; with a language, first the passages in it, then all."""
        if not is_filtered(options):
            return [[]]
        allowed, blocked = (
            parse_domain_entries(options.allowed_domains),
            parse_domain_entries(options.blocked_domains),
        )
        filters: list[Clause] = []
        if options.allowed_domains:
            hosts = _any_of([self._exactly("host", host) for host in allowed.all_hosts])
            filters.append((_MUST, Query.const_score_query(hosts, 0.0)))
        filters += [(Occur.MustNot, self._exactly("host", host)) for host in blocked.hosts]
        first, last = date_range(options.since, options.until)
        if first is not None or last is not None:
            dates = Query.range_query(self.schema, "published", FieldType.Integer, first, last)
            filters.append((_MUST, Query.const_score_query(dates, 0.0)))
        language = options.language.partition("-")[0].lower()
        if not language:
            return [filters]
        in_language = Query.const_score_query(self._exactly("language", language), 0.0)
        return [[*filters, (_MUST, in_language)], filters]

    def _exactly(self, field: str, term: str) -> Query:
        return Query.term_query(self.schema, field, term, "basic")


def is_filtered(options: SearchOptions) -> bool:
    """Do the options restrict the passages?"""
    domains = options.allowed_domains or options.blocked_domains
    return bool(domains or options.since or options.until or options.language)


def make_query_builder(searcher: Searcher, schema: Schema, analysis: Analyzers) -> QueryBuilder:
    """A builder for a searcher, with a cache of word forms: queries share most of their words."""
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


def _all_of(words: list[Forms], optional: list[Query], needed: list[Clause]) -> Query:
    clauses = [(_MUST, _any_of(forms)) for forms in words]
    clauses += [(_SHOULD, query) for query in optional]
    return Query.boolean_query([*clauses, *needed])


def _some_of(words: list[Query], needed: list[Clause], filters: list[Clause]) -> Query:
    if needed:
        # A phrase or a prefix is enough; the words improve the ranking.
        return Query.boolean_query([*needed, *filters, *((_SHOULD, word) for word in words)])
    return Query.boolean_query([(_MUST, _any_of(words)), *filters]) if filters else _any_of(words)


def _best_of(synonymous: list[Query]) -> Query:
    """The best match of a word's synonyms: a passage with many of them is not more about the word."""
    best = synonymous[0] if len(synonymous) == 1 else Query.disjunction_max_query(synonymous)
    return Query.boost_query(best, _SYNONYM_WEIGHT)


def _any_of(queries: Sequence[Query]) -> Query:
    return queries[0] if len(queries) == 1 else Query.boolean_query([(_SHOULD, query) for query in queries])


CachedQueries: TypeAlias = Callable[[str, SearchOptions], Iterable[Query]]
"""The queries for a search, one after the other, until enough is found."""

_CACHED_QUERIES = 256
_NO_FILTERS = SearchOptions()


def cached_queries(builder: QueryBuilder) -> CachedQueries:
    """Caches the queries of recent searches. Searches with filters vary too much to be cached."""

    @lru_cache(_CACHED_QUERIES)
    def unfiltered(query: str) -> tuple[Query, ...]:
        return tuple(builder.queries(parse_query(query), _NO_FILTERS))

    def queries(query: str, options: SearchOptions) -> Iterable[Query]:
        if is_filtered(options):
            return builder.queries(parse_query(query), options)
        return unfiltered(query[:LONGEST_QUERY])

    return queries
