"""The index in PostgreSQL, for any number of gateways at once.

Readers never wait. Writers take turns batch by batch, so that two writers of the same pages stay consistent;
each batch is one transaction. What PostgreSQL cannot store in a text (NUL, lone surrogates) becomes U+FFFD.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from threading import Lock
from time import monotonic
from types import TracebackType
from typing import LiteralString, NamedTuple, Self, cast

from groundwire.engine.dense.encoder import SentenceEncoder
from groundwire.engine.dense.stored_vectors import VectorSink, VectorSource
from groundwire.engine.dense.texts import PASSAGES, VectorKey, passage_text, vector_key
from groundwire.engine.index.base import PageInfo, PassageStore, Stats, Stored, StoredText
from groundwire.engine.index.postgres_query import (
    ADMITTED_KEYS,
    BY_VECTOR,
    FIELDS,
    FREQUENCIES,
    MOST_RANKED,
    PER_PAGE,
    PHRASES,
    SEARCH,
    STEMS,
    PostgresQuery,
    build_query,
    lexemes,
    phrase_words,
    restrictions,
    words_to_stem,
)
from groundwire.engine.index.postgres_tables import (
    COMPONENT,
    STEPS,
    PageRow,
    page_fields,
    page_key,
    page_keys,
    page_row,
    passage_rows,
    storable_text,
)
from groundwire.engine.index.postgres_vectors import PostgresVectors, prepare_vectors, writing
from groundwire.engine.pages import SHORTEST_PASSAGE, Page, Passage
from groundwire.engine.retrieve.query import ParsedQuery, parse_query
from groundwire.model import SearchOptions
from groundwire.transport.postgres import PostgresConnection, PostgresPool, closed_on_error, migrate

# Advisory lock of one batch: "gw index" in bytes.
_WRITER_LOCK = int.from_bytes(b"gw index")


def write_pages(connection: PostgresConnection, rows: Sequence[PageRow]) -> Stored:
    """Adds or updates pages within a transaction; of several versions of a page the last one is stored."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", [_WRITER_LOCK])
    latest = {row.key: row for row in rows}
    known = {
        cast("bytes", key): cast("bytes", mark)
        for key, mark in connection.execute(_KNOWN, [list(latest)]).fetchall()
    }
    changed = [row for row in latest.values() if known.get(row.key) != row.hash]
    new = [row for row in changed if row.key not in known]
    connection.execute("DELETE FROM groundwire_pages WHERE key = ANY(%s)", [[row.key for row in changed]])
    copies = _copies(connection, new)
    _insert(connection, changed)
    return Stored(len(new) - copies, len(changed) - len(new), len(rows) - len(changed), copies)


def _copies(connection: PostgresConnection, new: Sequence[PageRow]) -> int:
    """How many of the new pages have the same words as another page."""
    worded = [row.fingerprint for row in new if row.page.text.strip()]
    found = connection.execute(_SAME_WORDS, [worded]).fetchall()
    known = {cast("int", number) for (number,) in found}
    return sum(number in known for number in worded) + sum(
        1 for at, number in enumerate(worded) if number not in known and number in worded[:at]
    )


def _insert(connection: PostgresConnection, rows: Sequence[PageRow]) -> None:
    if not rows:
        return
    known = [(row, page_fields(row.page)) for row in rows]
    fields = [
        (
            row.key,
            row.hash,
            row.fingerprint,
            *(getattr(row.page, name) for name in _FIELDS),
            shared.configuration,
            shared.title,
        )
        for row, shared in known
    ]
    inserted = connection.execute(_INSERT_PAGES, [list(column) for column in zip(*fields, strict=True)])
    ids = {cast("bytes", key): cast("int", number) for key, number in inserted.fetchall()}
    passages = [
        (
            ids[row.key],
            passage.start,
            passage.length,
            row.fingerprint,
            shared.configuration,
            shared.title,
            f"{shared.address} {passage.headings}",
            passage.parts,
            passage.body,
            passage.names,
            " ".join(shared.hosts),
            shared.place,
            shared.language,
            shared.published_timestamp,
            passage.anchor,
            passage.section,
            passage.outline,
            passage.vector,
        )
        for row, shared in known
        for passage in passage_rows(row.page)
    ]
    if passages:
        connection.execute(_INSERT_PASSAGES, [list(column) for column in zip(*passages, strict=True)])


_FIELDS = ("url", "title", "text", "published", "language", "collection", "outline")
_KNOWN: LiteralString = "SELECT key, hash FROM groundwire_pages WHERE key = ANY(%s)"
_SAME_WORDS: LiteralString = """
SELECT DISTINCT fingerprint FROM groundwire_pages WHERE fingerprint = ANY(%s::bigint[])
"""
_INSERT_PAGES: LiteralString = """
INSERT INTO groundwire_pages
    (key, hash, fingerprint, url, title, text, published, language, collection, outline, titled)
SELECT key, hash, fingerprint, url, title, text, published, language, collection, outline,
    strip(to_tsvector(configuration, words))
FROM unnest(%s::bytea[], %s::bytea[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[],
    %s::text[], %s::text[], %s::text[], %s::regconfig[], %s::text[])
    AS page(key, hash, fingerprint, url, title, text, published, language, collection, outline, configuration,
        words)
RETURNING key, id
"""
_INSERT_PASSAGES: LiteralString = """
INSERT INTO groundwire_passages
    (page, start, length, fingerprint, words, forms, hosts, place, language, published_at, anchor, section,
        outline, vector)
SELECT page, start, length, fingerprint,
    setweight(to_tsvector(configuration, title), 'A') || setweight(to_tsvector(configuration, address), 'B')
        || setweight(to_tsvector(configuration, body), 'D')
        || setweight(to_tsvector(configuration, parts), 'C')
        || array_to_tsvector(string_to_array(names, ' ')),
    strip(to_tsvector('pg_catalog.simple', concat_ws(' ', title, address, body))),
    string_to_array(hosts, ' '), place, language, published_at, anchor, section, outline, vector
FROM unnest(%s::bigint[], %s::integer[], %s::integer[], %s::bigint[], %s::regconfig[], %s::text[], %s::text[],
    %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::text[],
    %s::text[], %s::text[], %s::bigint[])
    AS passage(page, start, length, fingerprint, configuration, title, address, parts, body, names, hosts,
        place, language, published_at, anchor, section, outline, vector)
"""


BATCH = 100
_POOL = 20
_LEAST_POOL = 200
_STATISTICS_SECONDS = 60.0
_TEXTS_AT_ONCE = 1000


class PostgresIndex:
    """Implements `Index` in a database (`postgresql://…`).

    With a folder on this machine, next to which encoders keep prepared files, it can be searched by meaning.
    """

    notice = ""

    def __init__(self, address: str, folder: Path | None = None) -> None:
        self._connections = PostgresPool(address)
        self._folder = folder
        self._preparing = Lock()
        self._problem: str | None = None
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
        """Adds or updates pages. Each batch is durable and searchable when it is committed."""
        total = Stored()
        source = iter(pages)
        while batch := list(islice(source, BATCH)):
            with self._connections.transaction() as connection:
                stored = write_pages(connection, [page_row(page) for page in batch])
            total += stored
        if total.added or total.updated or total.duplicates:
            self._renew_statistics(total)
        return total

    def remove(self, *, urls: Iterable[str] = (), collection: str = "") -> int:
        """Removes pages by URL, or a whole collection; returns their number."""
        with self._connections.transaction() as connection:
            return connection.execute(
                _REMOVE, [[page_key(url) for url in urls], storable_text(collection)]
            ).rowcount

    def page(self, url: str) -> Page | None:
        """The page as it was stored, by its URL or the URL of one of its sections."""
        own, of_page = page_keys(url)
        with self._connections.statements() as connection:
            row = connection.execute(_PAGE, [[own, of_page], own]).fetchone()
        return None if row is None else Page(*cast("tuple[str, ...]", row))

    def words_with_prefix(self, prefix: str) -> list[tuple[str, int]]:  # noqa: ARG002  see `Index`
        """Empty: PostgreSQL lists the words of a column only by reading all of it."""
        return []

    def search(self, query: str, options: SearchOptions | None = None, limit: int = 20) -> list[Passage]:
        """Best passages first: those with every word, then those with the rarer ones."""
        parsed, options = parse_query(query), options or SearchOptions()
        if not parsed or limit <= 0:
            return []
        values = {**restrictions(options), "limit": limit, "pool": max(_LEAST_POOL, limit * _POOL)}
        with self._connections.statements() as connection:
            wanted = _postgres_query(connection, parsed, self._known_shares(connection))
            if wanted is None:
                return []
            found: list[Passage] = []
            for match, titled in _attempts(wanted, options):
                found = _found(connection, wanted, {**values, "match": match, "titled": titled})
                if len(found) >= limit:
                    break
        return found

    def pages(self, collection: str = "", prefix: str = "") -> Iterator[PageInfo]:
        """Lists the stored pages by URL, with a server-side cursor."""
        with self._connections.transaction() as connection, connection.cursor("groundwire_listing") as cursor:
            cursor.execute(
                _LISTING, [storable_text(collection), storable_text(collection), storable_text(prefix)]
            )
            for row in cursor:
                yield PageInfo(*cast("tuple[str, str, str, int, str, str]", row))

    def stats(self) -> Stats:
        """Counts pages, passages and bytes."""
        with self._connections.transaction() as connection:
            counted = connection.execute(_SIZES).fetchone() or (0, 0)
            collections = connection.execute(_COLLECTIONS).fetchall()
        groups = tuple((str(name), cast("int", number)) for name, number in collections)
        passages, size = cast("tuple[int, int]", counted)
        pages = sum(number for _, number in groups)
        return Stats(pages, passages, size, groups, self._format, self._vectors())

    def passage_store(self) -> PassageStore | None:
        """Passages by the keys of their vectors; None without a folder, and without the extension."""
        if self._folder is None:
            return None
        with self._preparing:
            if self._problem is None:
                self._problem = prepare_vectors(self._connections)
        return None if self._problem else self

    @property
    def folder(self) -> Path:
        """The folder on this machine."""
        return self._folder or Path()

    def has_vectors(self, encoder: str) -> bool:
        """Are there vectors of passages that an encoder with this name made?"""
        return PostgresVectors(self._connections, encoder, PASSAGES).now() is not None

    def vector_source(self, encoder: SentenceEncoder, what: str) -> VectorSource:
        """The vectors of an encoder."""
        return PostgresVectors(self._connections, encoder.name, what)

    def writing_vectors(self, encoder: SentenceEncoder, what: str) -> AbstractContextManager[VectorSink]:
        """Writes vectors."""
        return writing(self._connections, encoder, what)

    def texts(self) -> Iterator[StoredText]:
        """What is encoded of all passages, the newest first. Passages of an earlier version get the keys of
        their vectors."""
        before = (_ABOVE_ALL_IDS, 0)
        while True:
            with self._connections.transaction() as connection:
                rows = connection.execute(_TEXTS, [*before, _TEXTS_AT_ONCE]).fetchall()
                found = [
                    _PassageText(*cast("tuple[int, int, str, str, str, str, bool]", row)) for row in rows
                ]
                lacking = [item for item in found if not item.has_key]
                keys = [vector_key(item.encoded()) for item in lacking]
                places = [item.page for item in lacking], [item.start for item in lacking]
                if lacking:
                    connection.execute(_SET_KEYS, [*places, keys])
            if not found:
                return
            yield from (StoredText(item.encoded(), item.language, item.url) for item in found)
            before = (found[-1].page, found[-1].start)

    def passages(
        self, scored: Sequence[tuple[VectorKey, float]], options: SearchOptions, limit: int
    ) -> list[Passage]:
        """The passages with these vectors and scores that a search may return, best first."""
        if not scored or limit <= 0:
            return []
        keys, scores = zip(*scored, strict=True)
        values = {"keys": list(keys), "scores": list(scores), "per_page": PER_PAGE, "limit": limit}
        with self._connections.statements() as connection:
            rows = connection.execute(BY_VECTOR, {**restrictions(options), **values}).fetchall()
        return [_passage(row) for row in rows]

    def admitted_keys(self, options: SearchOptions, limit: int) -> list[VectorKey]:
        """The keys of some passages that the filters admit, at most `limit`."""
        with self._connections.statements() as connection:
            rows = connection.execute(ADMITTED_KEYS, {**restrictions(options), "limit": limit}).fetchall()
        return [cast("VectorKey", key) for (key,) in rows]

    def _vectors(self) -> tuple[tuple[str, int], ...]:
        """The encoders that have vectors, and of how many passages."""
        if self.passage_store() is None:
            return ()
        with self._connections.statements() as connection:
            rows = connection.execute(_ENCODED, [PASSAGES]).fetchall()
        return tuple((str(name), cast("int", number)) for name, number in rows)

    def _known_shares(self, connection: PostgresConnection) -> Mapping[str, float]:
        """Frequencies of the most common words, at most a minute old."""
        now = monotonic()
        if now > self._shares_until:
            rows = connection.execute(FREQUENCIES).fetchall()
            self._shares = {str(word): cast("float", share) for word, share in rows}
            self._shares_until = now + _STATISTICS_SECONDS
        return self._shares

    def _renew_statistics(self, stored: Stored) -> None:
        """Updates the planner's statistics, which ranking reads and PostgreSQL updates only from time to
        time."""
        with self._connections.transaction() as connection:
            row = connection.execute(_KNOWN_PAGES).fetchone()
            known = cast("float", row[0]) if row else -1.0
            if (stored.added + stored.updated + stored.duplicates) * 5 > known:
                connection.execute("ANALYZE groundwire_pages, groundwire_passages")
                connection.execute("SELECT gin_clean_pending_list('groundwire_passages_words')")
                connection.execute("SELECT gin_clean_pending_list('groundwire_pages_titled')")
                self._shares_until = 0.0


def _postgres_query(
    connection: PostgresConnection, parsed: ParsedQuery, shares: Mapping[str, float]
) -> PostgresQuery | None:
    """The query with stems and weights; None if nothing is left of it."""
    phrases = ""
    if parsed.phrases:
        row = connection.execute(PHRASES, [phrase_words(parsed)]).fetchone()
        phrases = str(row[0] or "") if row else ""
        if not phrases:
            return None
    words = words_to_stem(parsed)
    stems = connection.execute(STEMS, [words]).fetchall() if words else []
    known = [lexemes(str(word), cast("Sequence[list[str] | None]", forms)) for word, *forms in stems]
    return build_query(parsed, known, shares, phrases)


def _attempts(wanted: PostgresQuery, options: SearchOptions) -> list[tuple[str | None, str | None]]:
    """The queries to run, and the titles to restrict them to, until enough is found.

    Passages with every word are best, unless a language takes precedence; of these, pages with one in the
    title.
    """
    narrow = [(wanted.all, wanted.titled), (wanted.all, None)] if wanted.all and not options.language else []
    return list(dict.fromkeys([*narrow, (wanted.any, None)]))


def _found(connection: PostgresConnection, wanted: PostgresQuery, values: dict[str, object]) -> list[Passage]:
    parameters = {
        **values,
        "fields": FIELDS,
        "queries": wanted.queries,
        "weights": wanted.weights,
        "bonus": sum(wanted.weights) + 1.0,
        "all": wanted.all,
        "prefixes": wanted.prefixes,
        "per_page": PER_PAGE,
        "short": SHORTEST_PASSAGE,
        "most": MOST_RANKED,
    }
    return [_passage(row) for row in connection.execute(SEARCH, parameters).fetchall()]


def _passage(row: tuple[object, ...]) -> Passage:
    return Passage(*cast("tuple[str, str, str, int, float, str, str, str, str]", row))


_ABOVE_ALL_IDS = 1 << 62


class _PassageText(NamedTuple):
    """A passage with the title of its page, and whether the key of its vector is stored."""

    page: int
    start: int
    url: str
    title: str
    text: str
    language: str
    has_key: bool

    def encoded(self) -> str:
        """What is encoded of it."""
        return passage_text(self.title, self.text)


_TEXTS: LiteralString = """
SELECT passage.page, passage.start, page.url, page.title,
    substring(page.text FROM passage.start + 1 FOR passage.length), passage.language,
    passage.vector IS NOT NULL
FROM groundwire_passages AS passage JOIN groundwire_pages AS page ON page.id = passage.page
WHERE (passage.page, passage.start) < (%s, %s)
ORDER BY passage.page DESC, passage.start DESC
LIMIT %s
"""
_SET_KEYS: LiteralString = """
UPDATE groundwire_passages AS passage SET vector = key.vector
FROM unnest(%s::bigint[], %s::integer[], %s::bigint[]) AS key(page, start, vector)
WHERE passage.page = key.page AND passage.start = key.start
"""
_ENCODED: LiteralString = """
SELECT split_part(vectors.encoder, '/', 1), count(*)
FROM groundwire_passages AS passage JOIN groundwire_vectors AS vectors ON vectors.key = passage.vector
WHERE vectors.kind = %s GROUP BY vectors.encoder ORDER BY vectors.encoder
"""


_REMOVE: LiteralString = """
DELETE FROM groundwire_pages WHERE key = ANY(%s) OR (collection <> '' AND collection = %s)
"""
_PAGE: LiteralString = """
SELECT url, title, text, published, language, collection, outline FROM groundwire_pages
WHERE key = ANY(%s) ORDER BY key = %s DESC LIMIT 1
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
