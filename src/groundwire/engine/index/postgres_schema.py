"""The tables of the index in PostgreSQL.

A page is kept whole. A passage is a range of its text in code points, with the words found in it: of the
title weighing A, of the address B, parts of names C, of the text D. `forms` has them unstemmed, for prefixes.
`titled` has the words of a title once for the whole page.
"""

from __future__ import annotations

from groundwire.transport.migrations import Migration

COMPONENT = "index"

STEPS = (
    Migration(
        1,
        (
            """
            CREATE TABLE groundwire_pages (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                key bytea NOT NULL UNIQUE,
                hash bytea NOT NULL,
                fingerprint bigint NOT NULL,
                url text NOT NULL,
                title text NOT NULL,
                text text NOT NULL,
                published text NOT NULL,
                language text NOT NULL,
                collection text NOT NULL
            )
            """,
            "CREATE INDEX groundwire_pages_collection ON groundwire_pages (collection)",
            "CREATE INDEX groundwire_pages_fingerprint ON groundwire_pages (fingerprint)",
            """
            CREATE TABLE groundwire_passages (
                page bigint NOT NULL REFERENCES groundwire_pages ON DELETE CASCADE,
                start integer NOT NULL,
                length integer NOT NULL,
                words tsvector NOT NULL,
                forms tsvector NOT NULL,
                hosts text[] NOT NULL,
                place text NOT NULL,
                fingerprint bigint NOT NULL,
                language text NOT NULL,
                published_at bigint,
                PRIMARY KEY (page, start)
            )
            """,
            # Every ranking reads the words, so they stay in the row and the forms make room for them.
            "ALTER TABLE groundwire_passages ALTER COLUMN words SET STORAGE MAIN",
            "ALTER TABLE groundwire_passages ALTER COLUMN forms SET STORAGE EXTERNAL",
            "CREATE INDEX groundwire_passages_words ON groundwire_passages USING gin (words, forms, hosts)",
        ),
    ),
    Migration(
        2,
        (
            "ALTER TABLE groundwire_pages ADD COLUMN titled tsvector NOT NULL DEFAULT ''",
            """
            UPDATE groundwire_pages SET titled = strip(ts_filter(opening.words, '{a}'))
            FROM (
                SELECT DISTINCT ON (page) page, words FROM groundwire_passages ORDER BY page, start
            ) AS opening
            WHERE opening.page = id
            """,
            "CREATE INDEX groundwire_pages_titled ON groundwire_pages USING gin (titled)",
        ),
    ),
)
