"""From a question to what PostgreSQL is asked.

PostgreSQL ranks without knowing how rare a word is. Here each word weighs as much as it is rare, as far as
the statistics of the planner tell, and repetition counts less and less; that is BM25 but for small print.
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
"""What a word weighs in the text, in a name, in the address and in the title."""
PER_PAGE = 3
MOST_RANKED = 20_000
"""Of a word that stands in more passages than this, so many are ranked."""
_NAME_WEIGHT = 6.0
_PART_WEIGHT = 1.0
_PHRASE_WEIGHT = 4.0
_COMMON, _RARE = 0.1, 0.02
_EVERYWHERE = 0.03
"""The share of passages from which on reading them all takes too long."""

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

# The planner's own statistics: the share of passages that the commonest words stand in. The number behind
# the last of them is the smallest; a word that is not listed is rarer than that.
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

# Ranking reads every candidate; of words that stand nearly everywhere, not all are ranked.
SEARCH: LiteralString = """
WITH candidates AS (
    SELECT passage.* FROM groundwire_passages AS passage
    WHERE (%(match)s::tsquery IS NULL OR passage.words @@ %(match)s::tsquery)
        AND (%(titled)s::tsquery IS NULL OR passage.page = ANY(
            ARRAY(SELECT id FROM groundwire_pages WHERE titled @@ %(titled)s::tsquery)))
        AND (%(prefixes)s::tsquery IS NULL OR passage.forms @@ %(prefixes)s::tsquery)
        AND (%(allowed)s::text[] IS NULL OR passage.hosts && %(allowed)s::text[])
        AND (%(allowed_paths)s::text[] IS NULL OR passage.hosts && %(allowed_hosts)s::text[]
            OR passage.place ~ ANY(%(allowed_paths)s::text[]))
        AND NOT passage.hosts && %(blocked_hosts)s::text[]
        AND NOT passage.place ~ ANY(%(blocked_paths)s::text[])
        AND (%(since)s::bigint IS NULL OR passage.published_at >= %(since)s::bigint)
        AND (%(until)s::bigint IS NULL OR passage.published_at <= %(until)s::bigint)
    LIMIT %(most)s
), ranked AS (
    SELECT passage.page, passage.start, passage.length, passage.fingerprint,
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
SELECT page.url, page.title, substring(page.text FROM best.start + 1 FOR best.length),
    best.start, best.score, page.published, page.language
FROM best JOIN groundwire_pages AS page ON page.id = best.page
ORDER BY best.score DESC, best.page, best.start
"""


@value
class Lexemes:
    """A word of the question in all the forms in which passages may have it."""

    forms: tuple[str, ...]
    stop: bool
    """Is it left out of the passages of some language?"""


@value
class PostgresQuery:
    """A question in the words of PostgreSQL. All values are texts of the types they are cast to."""

    all: str | None
    """What has every word, and is better than anything that has not."""
    titled: str | None
    """What the titles of the best pages have, where too many passages have every word."""
    any: str | None
    prefixes: str | None
    queries: list[str]
    weights: list[float]


def words_to_stem(question: ParsedQuery) -> list[str]:
    """The words whose stems are needed."""
    return list(dict.fromkeys(piece for word in question.words for piece in lookup_words(word)))


def lexemes(word: str, stems: Sequence[list[str] | None]) -> Lexemes:
    """A word and its stems; where a language has no stem for it, it is a stop word there."""
    forms = dict.fromkeys([form for stem in stems for form in stem or []] + [word])
    return Lexemes(tuple(forms), any(stem == [] for stem in stems))


def build_query(
    question: ParsedQuery, words: Sequence[Lexemes], shares: Mapping[str, float], phrases: str
) -> PostgresQuery:
    """What to look for and how to weigh it. `shares` tells how common words are, and under `""` how common
    at most the others; `phrases` is what must be there in any case."""
    weighed = [(_either(word.forms), _share(word, shares)) for word in words]
    needed = [_either(word.forms) for word in words if not word.stop]
    rare = [query for query, share in weighed if share < _COMMON]
    found_by = rare if any(share < _RARE for _, share in weighed) else [query for query, _ in weighed]
    # A query of several forms is ranked by their mean; a passage has one of them.
    terms = [
        (query, -log(share) * len(word.forms)) for word, (query, share) in zip(words, weighed, strict=True)
    ]
    terms += [(_either([name]), _NAME_WEIGHT) for name in question.names]
    terms += [(_either(lookup_words(part)), _PART_WEIGHT) for part in question.parts]
    terms += [(phrases, _PHRASE_WEIGHT)] if phrases else []
    prefixes = [f"{quoted(word)}:*" for prefix in question.prefixes for word in lookup_words(prefix)]
    must = [f"({phrases})"] if phrases else []
    return PostgresQuery(
        " & ".join([*must, *needed]) if needed else None,
        " | ".join(needed) if _is_everywhere(question, words, shares) else None,
        " & ".join(must) or " | ".join(found_by) or None,
        " & ".join(prefixes) or None,
        [query for query, _ in terms],
        [weight for _, weight in terms],
    )


def quoted(lexeme: str) -> str:
    """A lexeme as a text search query has it."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def phrase_words(question: ParsedQuery) -> list[str]:
    """The phrases as words parted by spaces."""
    return [lookup_text(phrase) for phrase in question.phrases]


def restrictions(options: SearchOptions) -> dict[str, object]:
    """The domain lists and dates of the options, as the statement wants them."""
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


def _is_everywhere(question: ParsedQuery, words: Sequence[Lexemes], shares: Mapping[str, float]) -> bool:
    """Do so many passages have every word that only titles tell them apart? A name would tell more."""
    needed = [_share(word, shares) for word in words if not word.stop]
    more = question.names or question.parts or question.phrases or question.prefixes
    return bool(needed) and not more and prod(needed) >= _EVERYWHERE


def _either(forms: Sequence[str]) -> str:
    return f"({' | '.join(map(quoted, forms))})"


def _share(word: Lexemes, shares: Mapping[str, float]) -> float:
    """How much of the passages have a word, guessed where it is not known."""
    known = [shares[form] for form in word.forms if form in shares]
    return min(sum(known) or shares.get("", 0.002) / 2, 0.95)


def _patterns(entries: DomainEntries) -> list[str]:
    """Host and path of the entries that have a path, as regular expressions for both."""
    return [rf"^(?:[^/]*\.)?{re.escape(host)}/{form.pattern}" for host, form in entries.paths]
