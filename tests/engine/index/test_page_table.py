"""The page table: blocks of text, and stores of earlier formats."""

from __future__ import annotations

import random
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.engine.index import page_table
from groundwire.engine.index.base import Index
from groundwire.engine.index.embedded import REBUILT
from groundwire.engine.index.location import open_index
from groundwire.engine.index.page_table import STEPS, add_pages, load_page, page_key, transaction, upgrade
from groundwire.engine.outline import Block, encode_outline
from groundwire.engine.pages import Page, split_passages
from groundwire.engine.words import fingerprint, joined_tokens
from groundwire.errors import ConfigError

OUTLINE = encode_outline([Block("heading", 0, 5, 1), Block("paragraph", 7, 20)])
TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)
NUMBERS = st.integers(0, 8)


def open_store(path: Path, steps: tuple[page_table.Step, ...] = STEPS) -> sqlite3.Connection:
    store = page_table.connect(path)
    upgrade(store, steps)
    return store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = open_store(tmp_path / "pages.sqlite3")
    yield opened
    opened.close()


def url_of(number: int) -> str:
    return f"https://example.org/{number}"


def put(store: sqlite3.Connection, pages: list[Page]) -> None:
    with transaction(store):
        add_pages(store, pages)


def blocks(store: sqlite3.Connection) -> list[tuple[int, int]]:
    return store.execute("SELECT id, characters FROM blocks ORDER BY id").fetchall()


@given(
    st.lists(
        st.one_of(
            st.lists(st.tuples(NUMBERS, TEXTS, st.booleans()), min_size=1, max_size=9), st.sets(NUMBERS)
        )
    )
)
@settings(max_examples=60, deadline=None)
def test_pages_are_read_back_after_any_changes_and_no_block_is_more_than_half_empty(
    steps: list[list[tuple[int, str, bool]] | set[int]],
) -> None:
    store = sqlite3.connect(":memory:", isolation_level=None)
    upgrade(store)
    expected: dict[str, Page] = {}
    for step in steps:
        if isinstance(step, set):
            with transaction(store):
                page_table.remove_pages(store, [page_key(url_of(number)) for number in step], "")
            for number in step:
                expected.pop(url_of(number), None)
            continue
        pages = [
            Page(url_of(number), "", "Title\n\n" + "x" * 13 + text, outline=OUTLINE if outlined else "")
            for number, text, outlined in step
        ]
        put(store, pages)
        expected |= {page.url: page for page in pages}
    assert {page.url: page for _, page in page_table.pages_before(store, 1 << 62, 99)} == expected
    assert [load_page(store, page_key(url)) for url in expected] == list(expected.values())
    kept = sum(len(page.text) + len(page.outline) for page in expected.values())
    assert kept <= sum(characters for _, characters in blocks(store)) <= 2 * kept
    store.close()


def test_pages_that_are_stored_together_are_compressed_together(store: sqlite3.Connection) -> None:
    put(store, [Page(url_of(number), "", f"Page {number}. " + "Some words. " * 50) for number in range(800)])
    assert len(blocks(store)) == 2
    (size,) = store.execute("SELECT sum(length(data)) FROM blocks").fetchone()
    (characters,) = store.execute("SELECT sum(characters) FROM blocks").fetchone()
    assert size < characters / 10


@given(
    st.lists(st.sampled_from(["Tower", "größe", "naïve’s", "x" * 700, "東京。", "\n\n", ". ", "_", "ß"])).map(
        "".join
    )
)
@settings(max_examples=60, deadline=None)
def test_the_fingerprint_of_a_page_does_not_depend_on_its_passages(text: str) -> None:
    cut = page_table._cut(1, Page("https://example.org/", "", text))
    assert cut.words == page_table.short_fingerprint(joined_tokens(text))
    assert "".join(piece.text for piece in cut.pieces) == text


def test_the_space_of_removed_pages_is_given_back(tmp_path: Path) -> None:
    rng = random.Random(3)
    pages = [Page(url_of(n), "", rng.randbytes(2000).hex(), collection="big") for n in range(100)]
    with open_index(tmp_path) as index:
        index.put([Page(url_of(200), "", "Something zealous."), *pages])
        before = (tmp_path / "pages.sqlite3").stat().st_size
        index.remove(collection="big")
        assert (tmp_path / "pages.sqlite3").stat().st_size < before / 3
        assert [info.url for info in index.pages()] == [url_of(200)]
        assert urls(index, "zealous") == [url_of(200)]


def format_3(path: Path, pages: list[Page], following: int) -> None:
    """A store of format 3, with passages as rows."""
    store = open_store(path, STEPS[:3])
    for number, page in enumerate(pages, 1):
        key = page_table.canonical_key(page.url)
        store.execute(
            "INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(number, key, page.url, page.title, page.published, page.language, page.collection),
                *(page_table._hash(page), len(page.text), 1, fingerprint(page.text), page.outline),
            ),
        )
        for position, (start, end) in enumerate(split_passages(page.text, page.outline)):
            row = ((number << 24) + position, start, page.text[start:end], 0)
            store.execute("INSERT INTO passages VALUES (?, ?, ?, ?)", row)
    store.execute("UPDATE sqlite_sequence SET seq = ?", (following,))
    store.execute("UPDATE state SET folder = 1, analysis = 5, indexed = ?", (len(pages),))
    store.close()


def format_4(path: Path, pages: list[Page], following: int) -> None:
    """A store of format 4: all pages in one block, with their addresses in the rows."""
    store = open_store(path, STEPS[:4])
    start = 0
    for number, page in enumerate(pages, 1):
        key = blake2b(page_table.canonical_key(page.url).encode(), digest_size=16).digest()
        about = (page.url, page.title, page.published, page.language, page.collection)
        place = (1, start, len(page.outline), len(page.text))
        store.execute(
            "INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (number, key, *about, page_table._hash(page), fingerprint(page.text), 1, *place),
        )
        start += len(page.outline) + len(page.text)
    data = zlib.compress("".join(page.outline + page.text for page in pages).encode())
    store.execute("INSERT INTO blocks VALUES (1, ?, ?, ?)", (len(pages), start, data))
    store.execute("UPDATE sqlite_sequence SET seq = ?", (following,))
    store.execute("UPDATE state SET folder = 1, analysis = 5, indexed = ?", (len(pages),))
    store.close()


def urls(index: Index, query: str) -> list[str]:
    return [found.url for found in index.search(query)]


@pytest.mark.parametrize("earlier", [format_3, format_4])
def test_an_earlier_store_keeps_its_pages_and_is_searched_again(
    tmp_path: Path, earlier: Callable[[Path, list[Page], int], None]
) -> None:
    long = "\n\n".join(f"Paragraph {number} is about a tower. " * 20 for number in range(9))
    pages = [
        Page(url_of(1), "First", "Title\n\nAbout a lighthouse.", "2024-05-01", "en", "mine", OUTLINE),
        Page(url_of(2), "Größe", long, language="en", collection="mine"),
    ]
    earlier(tmp_path / "pages.sqlite3", pages, 40)
    with open_index(tmp_path) as index:
        assert index.notice == REBUILT
        assert [index.page(page.url) for page in pages] == pages
        assert index.put(pages).unchanged == 2
        assert [(info.url, info.title, info.published) for info in index.pages("mine")] == [
            (page.url, page.title, page.published) for page in pages
        ]
        assert urls(index, "lighthouse") == [url_of(1)]
        assert urls(index, "tower")[0] == url_of(2)
        index.put([Page(url_of(3), "Third", "Something zealous.")])
    with open_index(tmp_path) as index:
        assert index.notice == ""
    store = sqlite3.connect(tmp_path / "pages.sqlite3")
    # Ids of removed pages are never used again.
    assert store.execute("SELECT max(id) FROM pages").fetchone() == (41,)
    store.close()


def test_a_damaged_block_is_reported(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        index.put([Page(url_of(1), "First", "About a lighthouse.")])
    with sqlite3.connect(tmp_path / "pages.sqlite3") as store:
        store.execute("UPDATE blocks SET data = x'00'")
    store.close()
    with open_index(tmp_path) as index, pytest.raises(ConfigError, match="is damaged"):
        index.page(url_of(1))
