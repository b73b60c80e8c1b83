"""Tables of the index in PostgreSQL, and pages as rows of them.

A page is stored whole. A passage is a range of its text in code points, with its words: of the title with
weight A, of the URL and the headings above it B, parts of names C, of the text D, in German also the English
words for them. `forms` has them unstemmed, for prefixes. `titled` has the words of a title once for the whole
page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256

from groundwire.engine.dense.texts import VectorKey, passage_text, vector_key
from groundwire.engine.index.page_table import canonical_key
from groundwire.engine.pages import Page, Passage, page_passages
from groundwire.engine.retrieve.filters import host_and_parents, published_timestamp
from groundwire.engine.retrieve.translate import english_words
from groundwire.engine.words import (
    camel_parts,
    code_names,
    fingerprint,
    name_parts,
    split_cjk,
    text_language,
    tokenize,
    url_words,
)
from groundwire.model.value import field_names, replace, value
from groundwire.text.urls import canonical_url
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
            # Ranking reads the words, so they stay in the row and the forms are stored out of line.
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
    Migration(
        3,
        (
            "ALTER TABLE groundwire_pages ADD COLUMN outline text NOT NULL DEFAULT ''",
            "ALTER TABLE groundwire_passages ADD COLUMN anchor text NOT NULL DEFAULT ''",
            "ALTER TABLE groundwire_passages ADD COLUMN section text NOT NULL DEFAULT ''",
            "ALTER TABLE groundwire_passages ADD COLUMN outline text NOT NULL DEFAULT ''",
        ),
    ),
    # The key of the vector of a passage. Passages that are stored already get theirs when they are encoded.
    Migration(
        4,
        (
            "ALTER TABLE groundwire_passages ADD COLUMN vector bigint",
            "CREATE INDEX groundwire_passages_vector ON groundwire_passages (vector)",
        ),
    ),
    # German passages have English words too: pages that are added again are stored again.
    Migration(5, ("UPDATE groundwire_pages SET hash = '' WHERE language <> 'en'",)),
)


# What PostgreSQL cannot store in a text. Replaced one for one, so that offsets stay valid.
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")
_LONGEST_WORD = 200
_CONFIGURATIONS = {"en": "english", "de": "german"}


@value
class PageRow:
    """A page with its key, hash and fingerprint."""

    page: Page
    key: bytes
    hash: bytes
    fingerprint: int


@value
class PassageRow:
    """A passage: its range, and its words by field, separated by spaces."""

    start: int
    length: int
    body: str
    parts: str
    names: str
    headings: str
    anchor: str
    section: str
    outline: str
    vector: VectorKey


@value
class PageFields:
    """Fields that all passages of a page share."""

    configuration: str
    title: str
    address: str
    hosts: list[str]
    place: str
    """Host and path."""
    language: str
    published_timestamp: int | None


def page_row(page: Page) -> PageRow:
    """The row of a page, in characters that can be stored."""
    kept = replace(page, **{name: storable_text(getattr(page, name)) for name in field_names(Page)})
    # A page without an outline has the hash that it had before migration 3.
    hashed = field_names(Page) if page.outline else field_names(Page)[:-1]
    joined = "\x00".join(getattr(kept, name) for name in hashed)
    return PageRow(kept, page_key(page.url), sha256(joined.encode()).digest(), fingerprint(kept.text))


def storable_text(text: str) -> str:
    """The text in characters that PostgreSQL can store."""
    return _NOT_STORABLE.sub("\ufffd", text)


def page_key(url: str) -> bytes:
    """Equal for URLs of the same page, with a fixed length."""
    return sha256(canonical_key(url).encode()).digest()


def page_keys(url: str) -> list[bytes]:
    """The keys of a page that may have this URL, or a section with it; the first has precedence."""
    return [page_key(url), page_key(url.partition("#")[0])]


def page_fields(page: Page) -> PageFields:
    """The fields that all passages of a page share."""
    language = text_language(page.language, page.text)
    hosts = host_and_parents(page.url)
    path = canonical_url(page.url).partition("?")[0].partition("/")[2]
    return PageFields(
        _CONFIGURATIONS.get(language, "simple"),
        lookup_text(f"{page.title} {camel_parts(page.title)}"),
        lookup_text(url_words(page.url)),
        hosts,
        f"{hosts[0] if hosts else ''}/{path}",
        language,
        published_timestamp(page.published),
    )


def passage_rows(page: Page) -> Iterator[PassageRow]:
    """The passages of a page; those without words are left out."""
    in_title = code_names(page.title)
    for passage in page_passages(page):
        names = code_names(passage.text)
        own_heads = [line for line in passage.section.split("\n") if line not in page.title]
        yield PassageRow(
            passage.start,
            len(passage.text),
            lookup_text(f"{passage.text} {_english(page, passage)}"),
            lookup_text(" ".join(part for name in names if not name.islower() for part in name_parts(name))),
            " ".join({name.casefold()[:_LONGEST_WORD] for name in (*in_title, *names)}),
            lookup_text(" ".join(own_heads)),
            passage.url.removeprefix(page.url),
            passage.section,
            passage.outline,
            vector_key(passage_text(page.title, passage.text)),
        )


def _english(page: Page, passage: Passage) -> str:
    language = text_language(page.language, page.text)
    return english_words("\n".join((page.title, passage.section, passage.text)), language)


def lookup_text(text: str) -> str:
    """The tokens of a text separated by spaces, so that the parser of PostgreSQL finds nothing else in
    them."""
    return " ".join(piece for word in tokenize(text) for piece in lookup_words(word))


def lookup_words(word: str) -> list[str]:
    """The lookup forms of a token: itself, cut to the longest length, or the bigrams of a CJK run."""
    return split_cjk(word[:_LONGEST_WORD])
