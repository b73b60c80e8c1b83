"""The index in PostgreSQL, for any number of gateways at once.

Readers never wait. Writers take turns batch by batch, so that two who put the same pages cannot disagree;
each batch is one transaction. What PostgreSQL cannot keep in a text (NUL, half surrogates) becomes U+FFFD.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from time import monotonic
from types import TracebackType
from typing import LiteralString, Self, cast

from groundwire.engine.index.base import PageInfo, Stats, Stored
from groundwire.engine.index.cut import SHORTEST
from groundwire.engine.index.postgres_query import (
    FIELDS,
    FREQUENCIES,
    MOST_RANKED,
    PER_PAGE,
    PHRASES,
    SEARCH,
    STEMS,
    Asked,
    asked,
    lexemes,
    phrase_words,
    restrictions,
    words_to_stem,
)
from groundwire.engine.index.postgres_rows import page_key, page_row, sound
from groundwire.engine.index.postgres_schema import COMPONENT, STEPS
from groundwire.engine.index.postgres_write import write_pages
from groundwire.engine.index.question import Question, read_question
from groundwire.engine.pages import Page, Passage
from groundwire.model import SearchOptions
from groundwire.transport.postgres import PostgresConnection, PostgresPool, closed_on_error, migrate

BATCH = 100
_POOL = 20
_LEAST_POOL = 200
_STATISTICS_SECONDS = 60.0


class PostgresIndex:
    """Implements `Index` on the database at an address (`postgresql://…`)."""

    def __init__(self, address: str) -> None:
        self._connections = PostgresPool(address)
        self._shares: Mapping[str, float] = {}
        self._shares_until = 0.0
        with closed_on_error(self._connections):
            self._format = migrate(self._connections, COMPONENT, STEPS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def put(self, pages: Iterable[Page]) -> Stored:
        """Add or renew pages. Each batch is durable and found when it is done."""
        total = Stored()
        source = iter(pages)
        while batch := list(islice(source, BATCH)):
            with self._connections.transaction() as connection:
                stored = write_pages(connection, [page_row(page) for page in batch])
            total = _sum(total, stored)
        if total.added or total.updated or total.duplicates:
            self._renew_statistics(total)
        return total

    def remove(self, *, urls: Iterable[str] = (), collection: str = "") -> int:
        """Forget pages by address, or a whole collection; says how many there were."""
        with self._connections.transaction() as connection:
            return connection.execute(_REMOVE, [[page_key(url) for url in urls], sound(collection)]).rowcount

    def page(self, url: str) -> Page | None:
        """The page as it was stored."""
        with self._connections.statements() as connection:
            row = connection.execute(_PAGE, [page_key(url)]).fetchone()
        return None if row is None else Page(*cast("tuple[str, ...]", row))

    def search(self, query: str, options: SearchOptions | None = None, limit: int = 20) -> list[Passage]:
        """Best passages first: those with every word, then those with the rarer ones."""
        question, options = read_question(query), options or SearchOptions()
        if not question or limit <= 0:
            return []
        values = {**restrictions(options), "limit": limit, "pool": max(_LEAST_POOL, limit * _POOL)}
        with self._connections.statements() as connection:
            wanted = _asked(connection, question, self._known_shares(connection))
            if wanted is None:
                return []
            found: list[Passage] = []
            for match, titled in _attempts(wanted, options):
                found = _found(connection, wanted, {**values, "match": match, "titled": titled})
                if len(found) >= limit:
                    break
        return found

    def pages(self, collection: str = "", prefix: str = "") -> Iterator[PageInfo]:
        """What is stored, by address; read as it is asked for."""
        with self._connections.transaction() as connection, connection.cursor("groundwire_listing") as cursor:
            cursor.execute(_LISTING, [sound(collection), sound(collection), sound(prefix)])
            for row in cursor:
                yield PageInfo(*cast("tuple[str, str, str, int, str, str]", row))

    def stats(self) -> Stats:
        """How much is stored."""
        with self._connections.transaction() as connection:
            counted = connection.execute(_SIZES).fetchone() or (0, 0)
            collections = connection.execute(_COLLECTIONS).fetchall()
        groups = tuple((str(name), cast("int", number)) for name, number in collections)
        passages, size = cast("tuple[int, int]", counted)
        return Stats(sum(number for _, number in groups), passages, size, groups, self._format)

    def _known_shares(self, connection: PostgresConnection) -> Mapping[str, float]:
        """How common the commonest words are, as of a minute ago at most."""
        now = monotonic()
        if now > self._shares_until:
            rows = connection.execute(FREQUENCIES).fetchall()
            self._shares = {str(word): cast("float", share) for word, share in rows}
            self._shares_until = now + _STATISTICS_SECONDS
        return self._shares

    def _renew_statistics(self, stored: Stored) -> None:
        """Ranking reads the planner's statistics, which PostgreSQL renews in its own time."""
        with self._connections.transaction() as connection:
            row = connection.execute(_KNOWN_PAGES).fetchone()
            known = cast("float", row[0]) if row else -1.0
            if (stored.added + stored.updated + stored.duplicates) * 5 > known:
                connection.execute("ANALYZE groundwire_pages, groundwire_passages")
                connection.execute("SELECT gin_clean_pending_list('groundwire_passages_words')")
                connection.execute("SELECT gin_clean_pending_list('groundwire_pages_titled')")
                self._shares_until = 0.0


def _asked(connection: PostgresConnection, question: Question, shares: Mapping[str, float]) -> Asked | None:
    """The question with stems and weights; None where nothing is left of it."""
    phrases = ""
    if question.phrases:
        row = connection.execute(PHRASES, [phrase_words(question)]).fetchone()
        phrases = str(row[0] or "") if row else ""
        if not phrases:
            return None
    words = words_to_stem(question)
    stems = connection.execute(STEMS, [words]).fetchall() if words else []
    known = [lexemes(str(word), cast("Sequence[list[str] | None]", forms)) for word, *forms in stems]
    return asked(question, known, shares, phrases)


def _attempts(wanted: Asked, options: SearchOptions) -> list[tuple[str | None, str | None]]:
    """What to look for, and in which titles, until enough is found.

    What has every word is best, unless a language goes before; and of that, what has one in its title.
    """
    narrow = [(wanted.all, wanted.titled), (wanted.all, None)] if wanted.all and not options.language else []
    return list(dict.fromkeys([*narrow, (wanted.any, None)]))


def _found(connection: PostgresConnection, wanted: Asked, values: dict[str, object]) -> list[Passage]:
    parameters = {
        **values,
        "fields": FIELDS,
        "queries": wanted.queries,
        "weights": wanted.weights,
        "bonus": sum(wanted.weights) + 1.0,
        "all": wanted.all,
        "prefixes": wanted.prefixes,
        "per_page": PER_PAGE,
        "short": SHORTEST,
        "most": MOST_RANKED,
    }
    rows = connection.execute(SEARCH, parameters).fetchall()
    return [Passage(*cast("tuple[str, str, str, int, float, str, str]", row)) for row in rows]


def _sum(one: Stored, other: Stored) -> Stored:
    return Stored(
        one.added + other.added,
        one.updated + other.updated,
        one.unchanged + other.unchanged,
        one.duplicates + other.duplicates,
    )


_REMOVE: LiteralString = """
DELETE FROM groundwire_pages WHERE key = ANY(%s) OR (collection <> '' AND collection = %s)
"""
_PAGE: LiteralString = """
SELECT url, title, text, published, language, collection FROM groundwire_pages WHERE key = %s
"""
_LISTING: LiteralString = """
SELECT url, title, collection, length(text), published, language FROM groundwire_pages
WHERE (%s = '' OR collection = %s) AND starts_with(url, %s) ORDER BY url COLLATE "C", id
"""
_SIZES: LiteralString = """
SELECT (SELECT count(*) FROM groundwire_passages),
    pg_total_relation_size('groundwire_pages') + pg_total_relation_size('groundwire_passages')
"""
_COLLECTIONS: LiteralString = """
SELECT collection, count(*) FROM groundwire_pages GROUP BY collection ORDER BY collection COLLATE "C"
"""
_KNOWN_PAGES: LiteralString = "SELECT reltuples FROM pg_class WHERE oid = 'groundwire_pages'::regclass"
