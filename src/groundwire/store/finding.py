"""How each database keeps words and finds them: SQLite by FTS5, PostgreSQL by a GIN index.

A row says whose words it holds, so that a search passes over everybody else's; the session has the last word
on it. Later rows are told first.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import LiteralString

from groundwire.model.value import value
from groundwire.store.words import Wanted


@value
class FullText:
    """The statements of one database, and its language for questions."""

    put: tuple[LiteralString, ...]
    """Keep the `:words` of a `:message` of `:owner`, in the place of others."""
    forget: tuple[LiteralString, ...]
    """Before the turns of a `:session` go from `:number` on."""
    filled: tuple[LiteralString, ...]
    """When much was kept at once."""
    find: LiteralString
    query: Callable[[Wanted, str], str]


def mark_of(owner: str) -> str:
    """An owner as a word."""
    return "o" + sha256(owner.encode("utf-8", "replace")).hexdigest()[:24]


_UPSERT: LiteralString = """
INSERT INTO groundwire_words (message, owner, words) VALUES (:message, :owner, :words)
ON CONFLICT (message) DO UPDATE SET words = excluded.words
"""


def _in_fts5(wanted: Wanted, owner: str) -> str:
    words = [f'"{word}"' for word in wanted.words]
    if wanted.begun:
        words.append(f'"{wanted.begun}" *')
    return f'owner : "{owner}" AND words : ({" AND ".join(words)})'


def _in_tsquery(wanted: Wanted, _: str) -> str:
    words = [f"'{word}'" for word in wanted.words]
    if wanted.begun:
        words.append(f"'{wanted.begun}':*")
    return " & ".join(words)


# FTS5 is told what it forgets: it keeps no words of its own.
SQLITE = FullText(
    (
        """
        INSERT INTO groundwire_found (groundwire_found, rowid, owner, words)
        SELECT 'delete', place, owner, words FROM groundwire_words WHERE message = :message
        """,
        _UPSERT,
        """
        INSERT INTO groundwire_found (rowid, owner, words)
        SELECT place, owner, words FROM groundwire_words WHERE message = :message
        """,
    ),
    (
        """
        INSERT INTO groundwire_found (groundwire_found, rowid, owner, words)
        SELECT 'delete', place, kept.owner, kept.words FROM groundwire_words AS kept
        JOIN groundwire_messages AS said ON said.id = kept.message
        WHERE said.session = :session AND said.number >= :number
        """,
    ),
    ("INSERT INTO groundwire_found (groundwire_found) VALUES ('optimize')",),
    """
    SELECT said.id, said.session, said.body, said.provider, said.created, said.number, kept.words, kept.place
    FROM groundwire_found AS found
    CROSS JOIN groundwire_words AS kept ON kept.place = found.rowid
    CROSS JOIN groundwire_messages AS said ON said.id = kept.message
    CROSS JOIN groundwire_sessions AS held ON held.id = said.session
    WHERE groundwire_found MATCH :query AND found.rowid < :place
        AND held.owner = :owner AND kept.owner = :mark
        AND (:phrase = '' OR ' ' || kept.words || ' ' LIKE '%' || :phrase || '%')
    ORDER BY found.rowid DESC LIMIT :limit
    """,
    _in_fts5,
)
# A common word is found among the latest rows at once. Only where it is not are all rows looked up by it:
# left to itself, the planner walks through everything for a word that nobody said.
POSTGRES = FullText(
    (_UPSERT,),
    (),
    ("ANALYZE groundwire_words",),
    """
    WITH late AS MATERIALIZED (
        SELECT place FROM (
            SELECT place, words, lexemes FROM groundwire_words
            WHERE owner = :mark AND place < :place ORDER BY place DESC LIMIT 1000
        ) AS latest
        WHERE lexemes @@ CAST(:query AS tsquery)
            AND (:phrase = '' OR strpos(' ' || words || ' ', :phrase) > 0)
    ),
    found AS MATERIALIZED (
        SELECT place FROM late WHERE (SELECT count(*) FROM late) >= :limit
        UNION ALL
        SELECT place FROM groundwire_words
        WHERE (SELECT count(*) FROM late) < :limit AND owner = :mark AND place < :place
            AND lexemes @@ CAST(:query AS tsquery)
            AND (:phrase = '' OR strpos(' ' || words || ' ', :phrase) > 0)
    )
    SELECT said.id, said.session, said.body, said.provider, said.created, said.number, kept.words, kept.place
    FROM (SELECT place FROM found ORDER BY place DESC LIMIT :limit) AS chosen
    JOIN groundwire_words AS kept ON kept.place = chosen.place
    JOIN groundwire_messages AS said ON said.id = kept.message
    JOIN groundwire_sessions AS held ON held.id = said.session AND held.owner = :owner
    ORDER BY kept.place DESC
    """,
    _in_tsquery,
)
