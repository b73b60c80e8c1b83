"""Full-text search of messages: tokeniser, query parser, and the statements of SQLite (FTS5) and PostgreSQL
(GIN).

Tokens are the same in every database. Case, accents and the width of characters make no difference, `ß` is
`ss`. In scripts without blanks every character is a token, so that text is found as a sequence of characters.

A row holds the owner of its tokens, so that a search skips all rows of others; the owner of the session is
checked as well. Results are ordered by age, the newest first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import LiteralString

from groundwire.model.value import value

TOKENIZER_VERSION = 1
"""Version of the tokeniser; it rises together with a migration that empties the index."""
MAX_TOKEN = 100
"""Characters of a token; the rest is cut off."""
MAX_INDEXED = 900_000
"""Bytes of one message that are indexed; PostgreSQL allows a megabyte."""

_SINGLE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_TOKEN = re.compile(f"[{_SINGLE}]|[^\\W_{_SINGLE}]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_QUOTES = str.maketrans(dict.fromkeys("„“”«»", '"'))
_TERM = re.compile(r'"([^"]*)("?)|([^\s"]+)')


def fold(text: str) -> str:
    """Fold case, accents and width, so that equal words have equal spelling."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", plain))


def tokenize(text: str) -> list[str]:
    """The tokens of a text in order."""
    return [word[:MAX_TOKEN] for word in _TOKEN.findall(fold(text))]


def indexed_words(text: str) -> str:
    """The tokens of a text, separated by blanks, up to the limit."""
    line = " ".join(tokenize(text))
    data = line.encode()
    return line if len(data) <= MAX_INDEXED else data[:MAX_INDEXED].decode(errors="ignore").rpartition(" ")[0]


@value
class TextQuery:
    """A parsed search query."""

    words: tuple[str, ...] = ()
    """Tokens that must all occur."""
    prefix: str = ""
    """The prefix of one more token: the last one of the query, which may be incomplete."""
    phrases: tuple[str, ...] = ()
    """Sequences of tokens that must occur, with blanks around them."""

    def __bool__(self) -> bool:
        return bool(self.words or self.prefix)

    def holds(self, line: str) -> bool:
        """Do all phrases occur in a line of tokens?"""
        return all(phrase in f" {line} " for phrase in self.phrases)


def parse_query(text: str) -> TextQuery:
    """Parse a query: words, "phrases" in quotation marks, and the prefix of the last word."""
    terms = list(_terms(text.translate(_QUOTES)))
    whole = [word for words, complete in terms for word in (words if complete else words[:-1])]
    prefix = next((words[-1] for words, complete in terms if not complete), "")
    phrases = (
        " " + " ".join(words) + (" " if complete else "") for words, complete in terms if len(words) > 1
    )
    return TextQuery(tuple(dict.fromkeys(whole)), prefix, tuple(phrases))


def _terms(text: str) -> Iterator[tuple[list[str], bool]]:
    """The tokens of each word or phrase, and whether it is complete."""
    matches = [
        (words, match) for match in _TERM.finditer(text) if (words := tokenize(match[1] or match[3] or ""))
    ]
    for number, (words, match) in enumerate(matches, 1):
        yield words, number < len(matches) or bool(match[2])


@value
class FullText:
    """The statements of one database, and its query syntax."""

    put: tuple[LiteralString, ...]
    """Index the `:words` of a `:message` of `:owner`, replacing earlier ones."""
    forget: tuple[LiteralString, ...]
    """Run before the messages of a `:session` from `:number` on are deleted."""
    filled: tuple[LiteralString, ...]
    """Run after many messages were indexed at once."""
    find: LiteralString
    query: Callable[[TextQuery, str], str]


def owner_token(owner: str) -> str:
    """An owner as a token of the index."""
    return "o" + sha256(owner.encode("utf-8", "replace")).hexdigest()[:24]


_UPSERT: LiteralString = """
INSERT INTO groundwire_words (message, owner, words) VALUES (:message, :owner, :words)
ON CONFLICT (message) DO UPDATE SET words = excluded.words
"""


def _fts5_query(query: TextQuery, owner: str) -> str:
    words = [f'"{word}"' for word in query.words]
    if query.prefix:
        words.append(f'"{query.prefix}" *')
    return f'owner : "{owner}" AND words : ({" AND ".join(words)})'


def _tsquery(query: TextQuery, _: str) -> str:
    words = [f"'{word}'" for word in query.words]
    if query.prefix:
        words.append(f"'{query.prefix}':*")
    return " & ".join(words)


# FTS5 needs the words that it deletes: its table has no content of its own.
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
        SELECT 'delete', place, idx.owner, idx.words FROM groundwire_words AS idx
        JOIN groundwire_messages AS msg ON msg.id = idx.message
        WHERE msg.session = :session AND msg.number >= :number
        """,
    ),
    ("INSERT INTO groundwire_found (groundwire_found) VALUES ('optimize')",),
    """
    SELECT msg.id, msg.session, msg.body, msg.provider, msg.created, msg.number, idx.words, idx.place
    FROM groundwire_found AS found
    CROSS JOIN groundwire_words AS idx ON idx.place = found.rowid
    CROSS JOIN groundwire_messages AS msg ON msg.id = idx.message
    CROSS JOIN groundwire_sessions AS ses ON ses.id = msg.session
    WHERE groundwire_found MATCH :query AND found.rowid < :place
        AND ses.owner = :owner AND idx.owner = :mark
        AND (:phrase = '' OR ' ' || idx.words || ' ' LIKE '%' || :phrase || '%')
    ORDER BY found.rowid DESC LIMIT :limit
    """,
    _fts5_query,
)
# A common word is found among the latest rows at once. Only if it is not, all rows are looked up by the
# index: without this, the planner scans all rows for a word that does not occur.
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
    SELECT msg.id, msg.session, msg.body, msg.provider, msg.created, msg.number, idx.words, idx.place
    FROM (SELECT place FROM found ORDER BY place DESC LIMIT :limit) AS chosen
    JOIN groundwire_words AS idx ON idx.place = chosen.place
    JOIN groundwire_messages AS msg ON msg.id = idx.message
    JOIN groundwire_sessions AS ses ON ses.id = msg.session AND ses.owner = :owner
    ORDER BY idx.place DESC
    """,
    _tsquery,
)
