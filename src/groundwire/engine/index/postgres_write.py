"""Pages written to PostgreSQL, many in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString, cast

from groundwire.engine.index.base import Stored
from groundwire.engine.index.postgres_rows import PageRow, passage_rows, shared_by_passages
from groundwire.transport.postgres import PostgresConnection

# Held for one batch: "gw index" in bytes.
_WRITER_LOCK = int.from_bytes(b"gw index")


def write_pages(connection: PostgresConnection, rows: Sequence[PageRow]) -> Stored:
    """Add or renew pages within a transaction; of several versions of a page the last one stays."""
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
    """How many of the new pages say what another page says, word for word."""
    worded = [row.fingerprint for row in new if row.page.text.strip()]
    found = connection.execute(_SAME_WORDS, [worded]).fetchall()
    known = {cast("int", number) for (number,) in found}
    return sum(number in known for number in worded) + sum(
        1 for at, number in enumerate(worded) if number not in known and number in worded[:at]
    )


def _insert(connection: PostgresConnection, rows: Sequence[PageRow]) -> None:
    if not rows:
        return
    known = [(row, shared_by_passages(row.page)) for row in rows]
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
            shared.address,
            passage.parts,
            passage.body,
            passage.names,
            " ".join(shared.hosts),
            shared.place,
            shared.language,
            shared.published_at,
        )
        for row, shared in known
        for passage in passage_rows(row.page)
    ]
    if passages:
        connection.execute(_INSERT_PASSAGES, [list(column) for column in zip(*passages, strict=True)])


_FIELDS = ("url", "title", "text", "published", "language", "collection")
_KNOWN: LiteralString = "SELECT key, hash FROM groundwire_pages WHERE key = ANY(%s)"
_SAME_WORDS: LiteralString = """
SELECT DISTINCT fingerprint FROM groundwire_pages WHERE fingerprint = ANY(%s::bigint[])
"""
_INSERT_PAGES: LiteralString = """
INSERT INTO groundwire_pages
    (key, hash, fingerprint, url, title, text, published, language, collection, titled)
SELECT key, hash, fingerprint, url, title, text, published, language, collection,
    strip(to_tsvector(configuration, words))
FROM unnest(%s::bytea[], %s::bytea[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[],
    %s::text[], %s::text[], %s::regconfig[], %s::text[])
    AS page(key, hash, fingerprint, url, title, text, published, language, collection, configuration, words)
RETURNING key, id
"""
_INSERT_PASSAGES: LiteralString = """
INSERT INTO groundwire_passages
    (page, start, length, fingerprint, words, forms, hosts, place, language, published_at)
SELECT page, start, length, fingerprint,
    setweight(to_tsvector(configuration, title), 'A') || setweight(to_tsvector(configuration, address), 'B')
        || setweight(to_tsvector(configuration, body), 'D')
        || setweight(to_tsvector(configuration, parts), 'C')
        || array_to_tsvector(string_to_array(names, ' ')),
    strip(to_tsvector('pg_catalog.simple', concat_ws(' ', title, address, body))),
    string_to_array(hosts, ' '), place, language, published_at
FROM unnest(%s::bigint[], %s::integer[], %s::integer[], %s::bigint[], %s::regconfig[], %s::text[], %s::text[],
    %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[])
    AS passage(page, start, length, fingerprint, configuration, title, address, parts, body, names, hosts,
        place, language, published_at)
"""
