"""Queries built from questions, and their cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from tantivy import Query

from groundwire.engine.index.location import open_index
from groundwire.engine.pages import Page
from groundwire.engine.retrieve.query import LONGEST_QUERY, ParsedQuery
from groundwire.engine.retrieve.query_builder import CachedQueries, QueryBuilder, cached_queries
from groundwire.engine.words import synonyms
from groundwire.model import SearchOptions

PLAIN = SearchOptions()


class ReaderThread:
    """A fake query builder that records the questions."""

    def __init__(self) -> None:
        self.read: list[tuple[str, ...]] = []

    def queries(self, question: ParsedQuery, options: SearchOptions) -> Iterator[Query]:
        """Return the same query for every question."""
        self.read.append(question.words)
        yield Query.empty_query()


@pytest.fixture
def reader() -> ReaderThread:
    return ReaderThread()


@pytest.fixture
def ask(reader: ReaderThread) -> CachedQueries:
    return cached_queries(cast("QueryBuilder", reader))


def test_a_repeated_question_is_cached(ask: CachedQueries, reader: ReaderThread) -> None:
    queries = [[*ask(query, PLAIN)] for query in ("red tower", "blue tower", "red tower")]
    assert queries[0] == queries[2]
    assert reader.read == [("red", "tower"), ("blue", "tower")]


def test_options_without_a_restriction_share_the_cache_entry(
    ask: CachedQueries, reader: ReaderThread
) -> None:
    for options in (
        PLAIN,
        SearchOptions(max_uses=3, live=True),
        SearchOptions(extras={"anthropic": {"a": []}}),
    ):
        assert [*ask("tower", options)]
    assert reader.read == [("tower",)]


@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(allowed_domains=("a.example",)),
        SearchOptions(blocked_domains=("a.example",)),
        SearchOptions(since="2024-05-01"),
        SearchOptions(until="2024-05-01"),
        SearchOptions(language="de"),
    ],
)
def test_a_restricted_query_is_not_cached(
    ask: CachedQueries, reader: ReaderThread, options: SearchOptions
) -> None:
    for each in (PLAIN, options, PLAIN, options):
        assert [*ask("tower", each)]
    assert reader.read == [("tower",)] * 3


def test_only_the_part_of_a_long_question_that_is_read_is_the_cache_key(
    ask: CachedQueries, reader: ReaderThread
) -> None:
    start = "tower ".ljust(LONGEST_QUERY)
    assert [*ask(f"{start} red", PLAIN)] == [*ask(f"{start} blue", PLAIN)]
    assert reader.read == [("tower",)]


def test_only_the_latest_questions_are_cached(ask: CachedQueries, reader: ReaderThread) -> None:
    for number in range(2000):
        ask(f"tower{number}", PLAIN)
    ask("tower1999", PLAIN)
    ask("tower0", PLAIN)
    assert reader.read[2000:] == [("tower0",)]


def test_a_repeated_query_sees_later_writes(tmp_path: Path) -> None:
    page = Page("https://a.example/", "Lighthouse", "The lighthouse on the cliff is white.")

    with open_index(tmp_path / "index") as index, open_index(tmp_path / "index") as writer:
        assert index.search("white lighthouse") == []
        writer.put([page])
        assert [found.url for found in index.search("white lighthouse")] == [page.url]
        assert index.search("white lighthouse", SearchOptions(blocked_domains=("a.example",))) == []
        writer.remove(urls=[page.url])
        assert index.search("white lighthouse") == []


def test_many_synonyms_of_a_word_count_less_than_the_word(tmp_path: Path) -> None:
    index = open_index(tmp_path)
    others = synonyms("remove")
    padding = " ".join(f"x{number}" for number in range(1, len(others)))
    pages = {"word": f"Tower remove {padding}.", "synonyms": f"Tower {' '.join(others)}."}
    pages["neither"] = f"Bridge {padding}."  # no page has all words of the query
    index.put(Page(f"https://a.example/{name}", "Page", text) for name, text in pages.items())
    found = index.search("remove tower bridge", PLAIN, 3)
    names = [passage.url.rpartition("/")[2] for passage in found]
    assert names.index("word") < names.index("synonyms")
