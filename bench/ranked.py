"""Contenders of the ranking benchmarks: the embedded index and engine, plain FTS5, plain tantivy; and nDCG.

FTS5 and tantivy index title and text as they come with default tokenizers and default ranking; FTS5 gets the
words joined by OR, tantivy's lenient query parser the text as it is.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import tantivy

from groundwire.engine.dense.build import complete_vectors
from groundwire.engine.dense.location import open_stage
from groundwire.engine.index.location import open_index
from groundwire.engine.pages import Page
from groundwire.engine.retrieve.rank import find_passages
from groundwire.model import SearchOptions

Search: TypeAlias = Callable[[str], list[str]]
"""From a query to the addresses of documents, best first."""

DEPTH = 10


class Document(NamedTuple):
    """What is searched: the address that results name, a title and a text."""

    url: str
    title: str
    text: str
    language: str = "en"


def ours(folder: Path, documents: Sequence[Document]) -> Search:
    """The embedded index."""
    index = open_index(folder)
    index.put(Page(item.url, item.title, item.text, language=item.language) for item in documents)

    def search(query: str) -> list[str]:
        return list(dict.fromkeys(passage.url for passage in index.search(query, limit=2 * DEPTH)))

    return search


def fts5(folder: Path, documents: Sequence[Document]) -> Search:
    """SQLite's full-text index, ranked by its BM25."""
    store = sqlite3.connect(folder / "fts5")
    store.execute("CREATE VIRTUAL TABLE t USING fts5(url UNINDEXED, title, text)")
    rows = ((item.url, item.title, item.text) for item in documents)
    store.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)

    def search(query: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"[^\W_]+", query))
        found = store.execute("SELECT url FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?", (words, DEPTH))
        return [url for (url,) in found]

    return search


def bare_tantivy(folder: Path, documents: Sequence[Document]) -> Search:
    """Tantivy without anything around it."""
    fields = tantivy.SchemaBuilder().add_text_field("url", stored=True, tokenizer_name="raw")
    index = tantivy.Index(fields.add_text_field("title").add_text_field("text").build(), str(folder))
    writer = index.writer(50_000_000, 1)
    for item in documents:
        writer.add_document(tantivy.Document(url=item.url, title=item.title, text=item.text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()

    def search(query: str) -> list[str]:
        searcher = index.searcher()
        parsed, _ = index.parse_query_lenient(query, ["title", "text"])
        return [searcher.doc(at)["url"][0] for _, at in searcher.search(parsed, DEPTH, count=False).hits]

    return search


def by_meaning(folder: Path, documents: Sequence[Document]) -> Search:
    """The embedded engine with all vectors: fused by words and meaning. Without the extra, by words alone."""
    index = open_index(folder / "index")
    index.put(Page(item.url, item.title, item.text, language=item.language) for item in documents)
    complete_vectors(index)
    stage = open_stage(index)

    def search(query: str) -> list[str]:
        found = find_passages(index, query, SearchOptions(), 2 * DEPTH, stage)
        return list(dict.fromkeys(passage.url for passage in found.passages))

    return search


def by_words(folder: Path, documents: Sequence[Document]) -> Search:
    """The embedded engine without vectors."""
    index = open_index(folder / "index")
    index.put(Page(item.url, item.title, item.text, language=item.language) for item in documents)

    def search(query: str) -> list[str]:
        found = find_passages(index, query, SearchOptions(), 2 * DEPTH)
        return list(dict.fromkeys(passage.url for passage in found.passages))

    return search


Build: TypeAlias = Callable[[Path, Sequence[Document]], Search]
ENGINES: dict[str, Build] = {
    "groundwire": ours,
    "FTS5": fts5,
    "tantivy": bare_tantivy,
}
FUSED_ENGINES: dict[str, Build] = {"engine by words": by_words, "engine by words and meaning": by_meaning}


def build_all(
    root: Path, documents: Sequence[Document], engines: Mapping[str, Build] = ENGINES
) -> dict[str, Search]:
    """Every contender over the same documents, each in a folder of its own."""
    searches: dict[str, Search] = {}
    for name, build in engines.items():
        folder = root / name
        folder.mkdir(parents=True)
        searches[name] = build(folder, documents)
    return searches


def ndcg(gains: Sequence[float], ideal: Sequence[float]) -> float:
    """nDCG of the gains in the order found, against the gains in the best order."""
    best = discounted(sorted(ideal, reverse=True)[:DEPTH])
    return discounted(gains[:DEPTH]) / best if best else 0.0


def discounted(gains: Sequence[float]) -> float:
    """Discounted cumulative gain."""
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))
