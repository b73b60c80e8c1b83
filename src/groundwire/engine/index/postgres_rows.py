"""Pages as the rows they become in PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256

from groundwire.engine.index.cut import cut, trimmed
from groundwire.engine.index.domains import hosts_above
from groundwire.engine.index.moments import published_at
from groundwire.engine.index.records import key_of
from groundwire.engine.index.words import (
    address_words,
    fingerprint,
    guessed_language,
    name_parts,
    names_in,
    plain_words,
    split_names,
)
from groundwire.engine.pages import Page
from groundwire.model.value import field_names, replace, value
from groundwire.text.urls import canonical_url

# What PostgreSQL cannot keep in a text. One sign for one sign, so that positions stay.
_UNKEPT = re.compile("[\x00\ud800-\udfff]")
_LONGEST_WORD = 200
_CONFIGURATIONS = {"en": "english", "de": "german"}
# Scripts that put no space between words: every two signs that stand together are looked up as one.
_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+)")


@value
class PageRow:
    """A page with what is looked up by."""

    page: Page
    key: bytes
    hash: bytes
    fingerprint: int


@value
class PassageRow:
    """A passage: where it stands, and its words by field, parted by spaces."""

    start: int
    length: int
    body: str
    parts: str
    names: str


@value
class Shared:
    """What all passages of a page have in common."""

    configuration: str
    title: str
    address: str
    hosts: list[str]
    place: str
    """Host and path."""
    language: str
    published_at: int | None


def page_row(page: Page) -> PageRow:
    """The row of a page, in signs that can be kept."""
    kept = replace(page, **{name: sound(getattr(page, name)) for name in field_names(Page)})
    said = "\x00".join(getattr(kept, name) for name in field_names(Page))
    return PageRow(kept, page_key(page.url), sha256(said.encode()).digest(), fingerprint(kept.text))


def sound(text: str) -> str:
    """A text as PostgreSQL can take it."""
    return _UNKEPT.sub("\ufffd", text)


def page_key(url: str) -> bytes:
    """Equal for addresses of the same page, and short whatever their length."""
    return sha256(key_of(url).encode()).digest()


def shared_by_passages(page: Page) -> Shared:
    """What is looked up by, of the page as a whole."""
    language = page.language[:2].casefold() or guessed_language(page.text)
    hosts = hosts_above(page.url)
    path = canonical_url(page.url).partition("?")[0].partition("/")[2]
    return Shared(
        _CONFIGURATIONS.get(language, "simple"),
        lookup_text(f"{page.title} {split_names(page.title)}"),
        lookup_text(address_words(page.url)),
        hosts,
        f"{hosts[0] if hosts else ''}/{path}",
        language,
        published_at(page.published),
    )


def passage_rows(page: Page) -> Iterator[PassageRow]:
    """The passages of a page; one without words has none."""
    in_title = names_in(page.title)
    for start, end in cut(page.text):
        before, words = trimmed(page.text[start:end])
        if words:
            names = names_in(words)
            yield PassageRow(
                start + before,
                len(words),
                lookup_text(words),
                lookup_text(
                    " ".join(part for name in names if not name.islower() for part in name_parts(name))
                ),
                " ".join({name.casefold()[:_LONGEST_WORD] for name in (*in_title, *names)}),
            )


def lookup_text(text: str) -> str:
    """The words of a text as they are looked up, parted by spaces, so that no parser sees more in them."""
    return " ".join(piece for word in plain_words(text) for piece in lookup_words(word))


def lookup_words(word: str) -> list[str]:
    """A word as it is looked up: itself as far as words go, unless its script parts no words."""
    word = word[:_LONGEST_WORD]
    if word.isascii():
        return [word]
    return [piece for run in _UNSPACED.split(word) if run for piece in _pairs(run)]


def _pairs(run: str) -> list[str]:
    if not _UNSPACED.match(run) or len(run) == 1:
        return [run]
    return [run[at : at + 2] for at in range(len(run) - 1)]
