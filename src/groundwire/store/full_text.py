"""How each database keeps words and finds them: SQLite by FTS5, PostgreSQL by a GIN index.

A row says whose words it holds, so that a search passes over everybody else's; the session has the last word
on it. Later rows are told first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import LiteralString

from groundwire.model.value import value

TOKENIZER_VERSION = 1
"""Of the rules here; it rises together with a step that empties what was kept by others."""
LONGEST = 100
"""Signs of a word that count."""
MOST = 900_000
"""Bytes of one message that can be found; PostgreSQL takes a megabyte of them."""

_ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PIECE = re.compile(f"[{_ALONE}]|[^\\W_{_ALONE}]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_QUOTES = str.maketrans(dict.fromkeys("„“”«»", '"'))
_ASKED = re.compile(r'"([^"]*)("?)|([^\s"]+)')


def folded(text: str) -> str:
    """A text in which equal words are written alike."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", plain))


def tokenize(text: str) -> list[str]:
    """The words of a text in their order."""
    return [word[:LONGEST] for word in _PIECE.findall(folded(text))]


def indexed_words(text: str) -> str:
    """The words of a text as a line, as much of it as is kept."""
    line = " ".join(tokenize(text))
    data = line.encode()
    return line if len(data) <= MOST else data[:MOST].decode(errors="ignore").rpartition(" ")[0]


@value
class TextQuery:
    """What somebody looks for."""

    words: tuple[str, ...] = ()
    """All of them must be there."""
    begun: str = ""
    """How one more word begins: the last one, which may not be complete."""
    phrases: tuple[str, ...] = ()
    """What must stand together, between blanks."""

    def __bool__(self) -> bool:
        return bool(self.words or self.begun)

    def holds(self, line: str) -> bool:
        """Do the phrases stand in a line of words?"""
        return all(phrase in f" {line} " for phrase in self.phrases)


def parse_query(text: str) -> TextQuery:
    """What a text asks for: words, "phrases" between quotation marks, and the beginning of the last word."""
    asked = list(_asked(text.translate(_QUOTES)))
    whole = [word for words, complete in asked for word in (words if complete else words[:-1])]
    begun = next((words[-1] for words, complete in asked if not complete), "")
    phrases = (
        " " + " ".join(words) + (" " if complete else "") for words, complete in asked if len(words) > 1
    )
    return TextQuery(tuple(dict.fromkeys(whole)), begun, tuple(phrases))


def _asked(text: str) -> Iterator[tuple[list[str], bool]]:
    """What must stand together, and whether it is complete."""
    matches = [
        (words, match) for match in _ASKED.finditer(text) if (words := tokenize(match[1] or match[3] or ""))
    ]
    for number, (words, match) in enumerate(matches, 1):
        yield words, number < len(matches) or bool(match[2])


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
    query: Callable[[TextQuery, str], str]


def owner_token(owner: str) -> str:
    """An owner as a word."""
    return "o" + sha256(owner.encode("utf-8", "replace")).hexdigest()[:24]


_UPSERT: LiteralString = """
INSERT INTO groundwire_words (message, owner, words) VALUES (:message, :owner, :words)
ON CONFLICT (message) DO UPDATE SET words = excluded.words
"""


def _in_fts5(wanted: TextQuery, owner: str) -> str:
    words = [f'"{word}"' for word in wanted.words]
    if wanted.begun:
        words.append(f'"{wanted.begun}" *')
    return f'owner : "{owner}" AND words : ({" AND ".join(words)})'


def _in_tsquery(wanted: TextQuery, _: str) -> str:
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
