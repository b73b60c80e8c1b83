"""Builds the PostgreSQL queries for a parsed query.

PostgreSQL ranks without inverse document frequency. Here each word is weighted by its rarity, as far as the
planner's statistics have it, and repetition saturates: an approximation of BM25.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import log, prod
from typing import LiteralString

from groundwire.engine.index.postgres_tables import lookup_text, lookup_words, storable_text
from groundwire.engine.retrieve.filters import DomainEntries, date_range, parse_domain_entries
from groundwire.engine.retrieve.query import ParsedQuery
from groundwire.model import SearchOptions
from groundwire.model.value import value

FIELDS = [0.4, 0.3, 0.5, 1.0]
"""Weights of a word in the text, in a name, in the URL and in the title. Chosen by hand, as all weights
below; `bench/postgres.py` measures the result."""
PER_PAGE = 3
MOST_RANKED = 20_000
"""The most passages that are ranked for one query: bounds the time for very common words."""
_NAME_WEIGHT = 6.0
_PART_WEIGHT = 1.0
_PHRASE_WEIGHT = 4.0
_COMMON, _RARE = 0.1, 0.02
_EVERYWHERE = 0.03
"""The share of passages from which on ranking all of them takes too long."""

STEMS: LiteralString = """
SELECT word, pg_catalog.ts_lexize('pg_catalog.english_stem', word),
    pg_catalog.ts_lexize('pg_catalog.german_stem', word)
FROM unnest(%s::text[]) AS word
"""

# A phrase as each language would have it, and all phrases together.
PHRASES: LiteralString = """
SELECT string_agg(format('(%%s)', phraseto_tsquery('pg_catalog.english', phrase)
    || phraseto_tsquery('pg_catalog.german', phrase) || phraseto_tsquery('pg_catalog.simple', phrase)), ' & ')
FROM unnest(%s::text[]) AS phrase
"""

# The planner's statistics: the share of passages that contain each of the most common words. The number after
# the last one is the smallest; a word that is not listed is rarer than that.
FREQUENCIES: LiteralString = """
WITH known AS MATERIALIZED (
    SELECT most_common_elems::text::text[] AS words, most_common_elem_freqs AS shares
    FROM pg_stats
    WHERE tablename = 'groundwire_passages' AND attname = 'words'
        AND schemaname = ANY(current_schemas(false))
)
SELECT '', shares[cardinality(words) + 1] FROM known
UNION ALL
SELECT common.word, common.share FROM known, unnest(known.words, known.shares) AS common(word, share)
WHERE common.word IS NOT NULL
"""

_ADMITTED: LiteralString = """(%(allowed)s::text[] IS NULL OR passage.hosts && %(allowed)s::text[])
        AND (%(allowed_paths)s::text[] IS NULL OR passage.hosts && %(allowed_hosts)s::text[]
            OR passage.place ~ ANY(%(allowed_paths)s::text[]))
        AND NOT passage.hosts && %(blocked_hosts)s::text[]
        AND NOT passage.place ~ ANY(%(blocked_paths)s::text[])
        AND (%(since)s::bigint IS NULL OR passage.published_at >= %(since)s::bigint)
        AND (%(until)s::bigint IS NULL OR passage.published_at <= %(until)s::bigint)"""

# Ranking reads every candidate; for very common words, not all are ranked.
SEARCH: LiteralString = (
    """
WITH candidates AS (
    SELECT passage.* FROM groundwire_passages AS passage
    WHERE (%(match)s::tsquery IS NULL OR passage.words @@ %(match)s::tsquery)
        AND (%(titled)s::tsquery IS NULL OR passage.page = ANY(
            ARRAY(SELECT id FROM groundwire_pages WHERE titled @@ %(titled)s::tsquery)))
        AND (%(prefixes)s::tsquery IS NULL OR passage.forms @@ %(prefixes)s::tsquery)
        AND """  # noqa: S608  constant text
    + _ADMITTED
    + """
    LIMIT %(most)s
), ranked AS (
    SELECT passage.page, passage.start, passage.length, passage.fingerprint, passage.anchor, passage.section,
        passage.outline,
        (
            SELECT coalesce(sum(term.weight * ts_rank(%(fields)s::real[], passage.words, term.query)), 0)
            FROM unnest(%(queries)s::text[]::tsquery[], %(weights)s::float8[]) AS term(query, weight)
        ) / (0.8 + greatest(passage.length, %(short)s) / 4000.0::float8) + 0.1
        + %(bonus)s * coalesce(passage.words @@ %(all)s::tsquery, false)::integer
        + 2 * %(bonus)s * coalesce(passage.language = %(language)s, false)::integer AS score
    FROM candidates AS passage
    ORDER BY score DESC, passage.page, passage.start
    LIMIT %(pool)s
), numbered AS (
    SELECT ranked.*,
        first_value(page) OVER (PARTITION BY fingerprint ORDER BY score DESC, page) AS shown,
        row_number() OVER (PARTITION BY page ORDER BY score DESC, start) AS number
    FROM ranked
), best AS (
    SELECT * FROM numbered
    WHERE page = shown AND number <= %(per_page)s
    ORDER BY score DESC, page, start
    LIMIT %(limit)s
)
SELECT page.url || best.anchor, page.title, substring(page.text FROM best.start + 1 FOR best.length),
    best.start, best.score, page.published, page.language, best.section, best.outline
FROM best JOIN groundwire_pages AS page ON page.id = best.page
ORDER BY best.score DESC, best.page, best.start
"""
)

# Passages by the keys of their vectors, by the same rules; those in the requested language come first.
BY_VECTOR: LiteralString = (
    """
WITH wanted AS (
    SELECT * FROM unnest(%(keys)s::bigint[], %(scores)s::float8[]) AS wanted(key, score)
), admitted AS (
    SELECT passage.page, passage.start, passage.length, passage.fingerprint, passage.anchor, passage.section,
        passage.outline, wanted.score, coalesce(passage.language = %(language)s, false) AS preferred,
        row_number() OVER (PARTITION BY wanted.key ORDER BY passage.page, passage.start) AS copy
    FROM wanted JOIN groundwire_passages AS passage ON passage.vector = wanted.key
    WHERE """  # noqa: S608  constant text
    + _ADMITTED
    + """
), numbered AS (
    SELECT admitted.*,
        first_value(page) OVER (PARTITION BY fingerprint ORDER BY preferred DESC, score DESC, page) AS shown,
        row_number() OVER (PARTITION BY page ORDER BY score DESC, start) AS number
    FROM admitted
    WHERE copy = 1
)
SELECT page.url || best.anchor, page.title, substring(page.text FROM best.start + 1 FOR best.length),
    best.start, best.score, page.published, page.language, best.section, best.outline
FROM numbered AS best JOIN groundwire_pages AS page ON page.id = best.page
WHERE best.page = best.shown AND best.number <= %(per_page)s
ORDER BY best.preferred DESC, best.score DESC, best.page, best.start
LIMIT %(limit)s
"""
)

ADMITTED_KEYS: LiteralString = (
    """
SELECT DISTINCT passage.vector FROM groundwire_passages AS passage
WHERE passage.vector IS NOT NULL AND """
    + _ADMITTED
    + """
LIMIT %(limit)s
"""
)


@value
class Lexemes:
    """A query word in all forms that passages may contain."""

    forms: tuple[str, ...]
    stop: bool
    """Is it a stop word in some language, and so not indexed?"""


@value
class PostgresQuery:
    """A query for PostgreSQL. All values are text of the types they are cast to."""

    all: str | None
    """Matches passages with every word, which rank above the rest."""
    titled: str | None
    """Restricts the titles if too many passages have every word."""
    any: str | None
    prefixes: str | None
    queries: list[str]
    weights: list[float]


def words_to_stem(parsed: ParsedQuery) -> list[str]:
    """The words to stem."""
    return list(dict.fromkeys(piece for word in parsed.words for piece in lookup_words(word)))


def lexemes(word: str, stems: Sequence[list[str] | None]) -> Lexemes:
    """A word and its stems; without a stem in a language, it is a stop word there."""
    forms = dict.fromkeys([form for stem in stems for form in stem or []] + [word])
    return Lexemes(tuple(forms), any(stem == [] for stem in stems))


def build_query(
    parsed: ParsedQuery, words: Sequence[Lexemes], shares: Mapping[str, float], phrases: str
) -> PostgresQuery:
    """Builds the query and its weights. `shares` has the frequency of common words, and under `""` the
    most of all other words; `phrases` is required."""
    weighted = [(_either(word.forms), _share(word, shares)) for word in words]
    needed = [_either(word.forms) for word in words if not word.stop]
    rare = [query for query, share in weighted if share < _COMMON]
    found_by = rare if any(share < _RARE for _, share in weighted) else [query for query, _ in weighted]
    # A query of several forms is ranked by their mean; a passage has one of them.
    terms = [
        (query, -log(share) * len(word.forms)) for word, (query, share) in zip(words, weighted, strict=True)
    ]
    terms += [(_either([name]), _NAME_WEIGHT) for name in parsed.names]
    terms += [(_either(lookup_words(part)), _PART_WEIGHT) for part in parsed.parts]
    terms += [(phrases, _PHRASE_WEIGHT)] if phrases else []
    prefixes = [f"{quoted(word)}:*" for prefix in parsed.prefixes for word in lookup_words(prefix)]
    must = [f"({phrases})"] if phrases else []
    return PostgresQuery(
        " & ".join([*must, *needed]) if needed else None,
        " | ".join(needed) if _is_everywhere(parsed, words, shares) else None,
        " & ".join(must) or " | ".join(found_by) or None,
        " & ".join(prefixes) or None,
        [query for query, _ in terms],
        [weight for _, weight in terms],
    )


def quoted(lexeme: str) -> str:
    """A lexeme quoted for a text search query."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def phrase_words(parsed: ParsedQuery) -> list[str]:
    """The phrases as words separated by spaces."""
    return [lookup_text(phrase) for phrase in parsed.phrases]


def restrictions(options: SearchOptions) -> dict[str, object]:
    """The domain lists and dates of the options as query parameters."""
    allowed = parse_domain_entries(map(storable_text, options.allowed_domains))
    blocked = parse_domain_entries(map(storable_text, options.blocked_domains))
    since, until = date_range(options.since, options.until)
    return {
        "allowed": list(allowed.all_hosts) if options.allowed_domains else None,
        "allowed_hosts": list(allowed.hosts),
        "allowed_paths": _patterns(allowed) or None,
        "blocked_hosts": list(blocked.hosts),
        "blocked_paths": _patterns(blocked),
        "since": since,
        "until": until,
        "language": storable_text(options.language[:2].casefold()) or None,
    }


def _is_everywhere(parsed: ParsedQuery, words: Sequence[Lexemes], shares: Mapping[str, float]) -> bool:
    """Do so many passages have every word that only titles distinguish them? Names would be more
    selective."""
    needed = [_share(word, shares) for word in words if not word.stop]
    more = parsed.names or parsed.parts or parsed.phrases or parsed.prefixes
    return bool(needed) and not more and prod(needed) >= _EVERYWHERE


def _either(forms: Sequence[str]) -> str:
    return f"({' | '.join(map(quoted, forms))})"


def _share(word: Lexemes, shares: Mapping[str, float]) -> float:
    """The share of passages with a word, estimated if it is not known."""
    known = [shares[form] for form in word.forms if form in shares]
    return min(sum(known) or shares.get("", 0.002) / 2, 0.95)


def _patterns(entries: DomainEntries) -> list[str]:
    """Host and path of the entries that have a path, as regular expressions for both."""
    return [rf"^(?:[^/]*\.)?{re.escape(host)}/{form.pattern}" for host, form in entries.paths]
