"""The embedded index next to plain FTS5 and plain tantivy: the same passages, the same queries, in one run.

The text is synthetic: word frequencies follow Zipf's law over 50,000 words, of which the first are real stop
words. It is generated before the measurement starts. All three return URL, title and text of the best 20
passages. FTS5 and tantivy search the text alone, with all words of a question; groundwire drops stop words.
`2 terms AND` queries make groundwire return only passages with both terms. For four terms, groundwire first
looks for passages with all of them. `repeated` is the best of several rounds, with warm caches in every
engine; `first` is the first round. Both wall time and CPU time are shown: CPU time is less affected by other
load.

    python bench/index.py             10,000 and 100,000 passages
    python bench/index.py --small     10,000
    python bench/index.py --large     and 1,000,000
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate, islice, product
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import NamedTuple, TypeAlias

import tantivy

from groundwire.engine.index.location import open_index
from groundwire.engine.pages import Page
from groundwire.engine.words import stop_words

Search: TypeAlias = Callable[[str, list[str]], int]
Seconds: TypeAlias = tuple[float, float]
Built: TypeAlias = tuple[Search, Seconds, int]

LIMIT = 20
QUERIES = 60
ROUNDS = 9
ROUNDS_TIMEOUT = 0.1
"""Seconds after which an engine gets no more rounds of a query."""
WORDS_IN_PASSAGE = 110
_STOP = sorted(stop_words("en"))[:60]
_SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
VOCABULARY = _STOP + ["".join(word) for word in islice(product(_SYLLABLES, repeat=3), 0, 300_000, 6)]
_WEIGHTS = list(accumulate(1 / rank for rank in range(1, len(VOCABULARY) + 1)))
# Number of words in a query, and the frequency ranks they are drawn from. The first 60 ranks are stop words.
KINDS = {
    "1 common term": (1, 60, 160),
    "2 terms AND": (2, 60, 160),
    "4 terms OR": (4, 60, 2000),
    "question": (3, 60, 5000),
}


def write_passages(path: Path, count: int) -> None:
    """Write one passage per line."""
    rng = random.Random(7)
    with path.open("w", encoding="ascii") as lines:
        for _ in range(count):
            drawn = rng.choices(VOCABULARY, cum_weights=_WEIGHTS, k=WORDS_IN_PASSAGE)
            lines.write(" ".join(drawn) + ".\n")


def pages(path: Path) -> Iterator[tuple[str, str, str]]:
    """URL, title and text."""
    with path.open(encoding="ascii") as lines:
        for number, line in enumerate(lines):
            yield f"https://example.org/{number}", f"Page {number}", line[:-1]


def queries(kind: str) -> list[list[str]]:
    rng = random.Random(11)
    number, first, last = KINDS[kind]
    return [rng.sample(VOCABULARY[first:last], number) for _ in range(QUERIES)]


def typed(kind: str, words: list[str]) -> list[str]:
    """The query as a user types it."""
    return ["how", "do", "i", *words, "in", "the"] if kind == "question" else words


def clocks() -> Seconds:
    """Wall time, and CPU time of the process with all its threads."""
    return perf_counter(), process_time()


def elapsed(start: Seconds) -> Seconds:
    wall, process = clocks()
    return wall - start[0], process - start[1]


def ours(folder: Path, source: Path) -> Built:
    index = open_index(folder)
    start = clocks()
    index.put(Page(url, title, text, language="en") for url, title, text in pages(source))
    taken = elapsed(start)

    def search(kind: str, words: list[str]) -> int:
        return len(index.search(" ".join(typed(kind, words)), limit=LIMIT))

    return search, taken, size(folder)


def fts5(folder: Path, source: Path) -> Built:
    store = sqlite3.connect(folder / "fts5")
    store.execute("CREATE VIRTUAL TABLE t USING fts5(url UNINDEXED, title UNINDEXED, text)")
    start = clocks()
    store.executemany("INSERT INTO t VALUES (?, ?, ?)", pages(source))
    store.commit()
    taken = elapsed(start)

    def search(kind: str, words: list[str]) -> int:
        joined = (" AND " if kind == "2 terms AND" else " OR ").join(typed(kind, words))
        found = store.execute(
            "SELECT url, title, text FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?", (joined, LIMIT)
        )
        return len(found.fetchall())

    return search, taken, size(folder)


def plain_tantivy(folder: Path, source: Path) -> Built:
    builder = tantivy.SchemaBuilder().add_text_field("url", stored=True, tokenizer_name="raw")
    builder = builder.add_text_field("title", stored=True, tokenizer_name="raw", index_option="basic")
    schema = builder.add_text_field("text", stored=True).build()
    index = tantivy.Index(schema, str(folder))
    start = clocks()
    writer = index.writer(50_000_000, 1)
    for url, title, text in pages(source):
        writer.add_document(tantivy.Document(url=url, title=title, text=text))
    writer.commit()
    writer.wait_merging_threads()
    taken = elapsed(start)
    index.reload()

    @cache
    def query(kind: str, words: tuple[str, ...]) -> tantivy.Query:
        occur = tantivy.Occur.Must if kind == "2 terms AND" else tantivy.Occur.Should
        terms = [(occur, tantivy.Query.term_query(schema, "text", word, "freq")) for word in words]
        return terms[0][1] if len(terms) == 1 else tantivy.Query.boolean_query(terms)

    def search(kind: str, words: list[str]) -> int:
        searcher = index.searcher()
        made = query(kind, tuple(typed(kind, words)))
        found = []
        for _, address in searcher.search(made, LIMIT, count=False).hits:
            first = searcher.doc(address).get_first
            found.append((first("url"), first("title"), first("text")))
        return len(found)

    return search, taken, size(folder)


ENGINES: dict[str, Callable[[Path, Path], Built]] = {
    "groundwire": ours,
    "FTS5": fts5,
    "tantivy": plain_tantivy,
}


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class QueryTimes(NamedTuple):
    """Milliseconds of each query: wall time, CPU time, and wall time of the first run."""

    wall: list[float]
    process: list[float]
    first: list[float]


def measure(searches: dict[str, Search], kind: str) -> dict[str, QueryTimes]:
    """Measures the queries of a kind; the engines take turns."""
    times = {name: QueryTimes([], [], []) for name in searches}
    for words in queries(kind):
        rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in searches}
        for _ in range(ROUNDS):
            for name, search in searches.items():
                if sum(wall for wall, _ in rounds[name]) > ROUNDS_TIMEOUT * 1000:
                    continue
                start = clocks()
                search(kind, words)
                wall, process = elapsed(start)
                rounds[name].append((wall * 1000, process * 1000))
        for name, taken in rounds.items():
            times[name].wall.append(min(wall for wall, _ in taken))
            times[name].process.append(min(process for _, process in taken))
            times[name].first.append(taken[0][0])
    return times


def report(kind: str, times: dict[str, QueryTimes]) -> dict[str, float]:
    """Print a row per engine, ours with its ratio to the faster plain one; return the median wall times."""
    medians = {name: [median(figures) for figures in taken] for name, taken in times.items()}
    least = [min(medians[name][which] for name in ENGINES if name != "groundwire") for which in range(3)]
    for name, found in medians.items():
        ratios = [f"{own / best:.2f}" for own, best in zip(found, least, strict=True)]
        shown = " | ".join(ratios if name == "groundwire" else ["", "", ""])
        p99 = quantiles(times[name].wall, n=100)[98]
        wall, process, first = found
        print(f"| {kind} | {name} | {wall:.3f} | {p99:.3f} | {process:.3f} | {first:.3f} | {shown} |")
    return {name: found[0] for name, found in medians.items()}


def compare(count: int) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as home:
        source = Path(home) / "passages"
        write_passages(source, count)
        built: dict[str, Built] = {}
        for name, build in ENGINES.items():
            folder = Path(home) / name
            folder.mkdir()
            built[name] = build(folder, source)
        characters = source.stat().st_size - count
        print(f"\n{count:,} passages, {characters / 1e6:.0f} MB of text\n")
        print("| engine | passages/s | passages per CPU s | disk / text |\n|---|--:|--:|--:|")
        for name, (_, (wall, process), disk) in built.items():
            print(f"| {name} | {count / wall:,.0f} | {count / process:,.0f} | {disk / characters:.2f} |")
        print(
            "\n| query | engine | repeated p50 ms | p99 | CPU p50 | first p50"
            " | ratio to the faster plain engine: repeated | CPU | first |\n"
            "|---|---|--:|--:|--:|--:|--:|--:|--:|"
        )
        searches = {name: search for name, (search, _, _) in built.items()}
        return {kind: report(kind, measure(searches, kind)) for kind in KINDS}


def main() -> None:
    counts = [10_000, 100_000, 1_000_000][: 1 if "--small" in sys.argv else 3 if "--large" in sys.argv else 2]
    medians = [compare(count) for count in counts]
    if len(counts) == 1:
        return
    print(f"\nGrowth of the p50 from {counts[0]:,} to {counts[-1]:,} passages\n")
    print("| query | " + " | ".join(ENGINES) + " |\n|---|" + "--:|" * len(ENGINES))
    for kind in KINDS:
        growth = [medians[-1][kind][name] / medians[0][kind][name] for name in ENGINES]
        print(f"| {kind} | " + " | ".join(f"{times:.1f}x" for times in growth) + " |")


if __name__ == "__main__":
    main()
