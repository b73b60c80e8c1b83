"""The embedded index beside bare FTS5 and bare tantivy: the same passages, the same queries, in one run.

Synthetic text with Zipf's law over 50,000 words, of which the first are real stop words. All three return the
address and the text of the best 20 passages. The bare engines get the words of a question as they are; ours
knows which carry no weight. `2 terms AND` is asked so that ours, too, stops at passages with both; of four
terms ours looks for passages with all of them first. Time is the wall's, and the process's beside it: the
second tells what a query costs where others use the machine too.

    python bench/index.py             10,000 and 100,000 passages
    python bench/index.py --large     and 1,000,000
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from statistics import quantiles
from time import perf_counter, process_time
from typing import TypeAlias

import tantivy

from groundwire.engine.index.open import open_index
from groundwire.engine.index.words import STOP_WORDS
from groundwire.engine.pages import Page

Search: TypeAlias = Callable[[str, list[str]], int]
Taken: TypeAlias = tuple[list[float], list[float]]
Built: TypeAlias = tuple[Search, float, int]

LIMIT = 20
QUERIES = 60
ROUNDS = 5
WORDS_IN_PASSAGE = 110
_STOP = sorted(STOP_WORDS["en"])[:60]
VOCABULARY = _STOP + [
    f"{a}{b}{c}" for a in "bdfgklmnprst" for b in ("al", "en", "or", "ud") for c in range(1042)
]
_WEIGHTS = list(accumulate(1 / rank for rank in range(1, len(VOCABULARY) + 1)))
# Ranks of the words that queries are made of: the first 60 are stop words.
KINDS = {
    "1 common term": (1, 60, 160),
    "2 terms AND": (2, 60, 160),
    "4 terms OR": (4, 60, 2000),
    "question": (3, 60, 5000),
}


def passages(count: int) -> Iterator[str]:
    chance = random.Random(7)
    for _ in range(count):
        yield " ".join(chance.choices(VOCABULARY, cum_weights=_WEIGHTS, k=WORDS_IN_PASSAGE)) + "."


def queries(kind: str) -> list[list[str]]:
    chance = random.Random(11)
    number, first, last = KINDS[kind]
    return [chance.sample(VOCABULARY[first:last], number) for _ in range(QUERIES)]


def asked(kind: str, words: list[str]) -> list[str]:
    """The words as somebody types them."""
    return ["how", "do", "i", *words, "in", "the"] if kind == "question" else words


def ours(folder: Path, count: int) -> Built:
    index = open_index(folder)
    start = perf_counter()
    index.put(
        Page(f"https://example.org/{n}", "", text, language="en") for n, text in enumerate(passages(count))
    )
    taken = perf_counter() - start

    def search(kind: str, words: list[str]) -> int:
        return len(index.search(" ".join(asked(kind, words)), limit=LIMIT))

    return search, taken, size(folder)


def fts5(folder: Path, count: int) -> Built:
    store = sqlite3.connect(folder / "fts5")
    store.execute("CREATE VIRTUAL TABLE t USING fts5(url UNINDEXED, text)")
    start = perf_counter()
    rows = ((f"https://example.org/{n}", text) for n, text in enumerate(passages(count)))
    store.executemany("INSERT INTO t VALUES (?, ?)", rows)
    store.commit()
    taken = perf_counter() - start

    def search(kind: str, words: list[str]) -> int:
        joined = (" AND " if kind == "2 terms AND" else " OR ").join(asked(kind, words))
        found = store.execute(
            "SELECT url, text FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?", (joined, LIMIT)
        )
        return len(found.fetchall())

    return search, taken, size(folder)


def bare_tantivy(folder: Path, count: int) -> Built:
    builder = tantivy.SchemaBuilder().add_text_field("url", stored=True, tokenizer_name="raw")
    schema = builder.add_text_field("text", stored=True).build()
    index = tantivy.Index(schema, str(folder))
    start = perf_counter()
    writer = index.writer(50_000_000, 1)
    for n, text in enumerate(passages(count)):
        writer.add_document(tantivy.Document(url=f"https://example.org/{n}", text=text))
    writer.commit()
    writer.wait_merging_threads()
    taken = perf_counter() - start
    index.reload()

    def search(kind: str, words: list[str]) -> int:
        searcher = index.searcher()
        occur = tantivy.Occur.Must if kind == "2 terms AND" else tantivy.Occur.Should
        terms = [
            (occur, tantivy.Query.term_query(schema, "text", word, "freq")) for word in asked(kind, words)
        ]
        query = terms[0][1] if len(terms) == 1 else tantivy.Query.boolean_query(terms)
        found = [searcher.doc(address) for _, address in searcher.search(query, LIMIT, count=False).hits]
        return len([(document["url"][0], document["text"][0]) for document in found])

    return search, taken, size(folder)


ENGINES: dict[str, Callable[[Path, int], Built]] = {"groundwire": ours, "FTS5": fts5, "tantivy": bare_tantivy}


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measured(searches: dict[str, Search], kind: str) -> dict[str, Taken]:
    """Milliseconds of each query, of the wall and of the process, the best of some rounds; the engines take
    turns."""
    times: dict[str, Taken] = {name: ([], []) for name in searches}
    for words in queries(kind):
        best = {name: (float("inf"), float("inf")) for name in searches}
        for _ in range(ROUNDS):
            for name, search in searches.items():
                start, used = perf_counter(), process_time()
                search(kind, words)
                taken = ((perf_counter() - start) * 1000, (process_time() - used) * 1000)
                best[name] = (min(best[name][0], taken[0]), min(best[name][1], taken[1]))
        for name, (wall, process) in best.items():
            times[name][0].append(wall)
            times[name][1].append(process)
    return times


def compare(count: int) -> dict[tuple[str, str], float]:
    characters = sum(len(text) for text in passages(min(count, 10_000))) * count / min(count, 10_000)
    medians: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory() as home:
        built: dict[str, Built] = {}
        for name, build in ENGINES.items():
            folder = Path(home) / name
            folder.mkdir()
            built[name] = build(folder, count)
        print(f"\n{count:,} passages, {characters / 1e6:.0f} MB of text\n")
        print("| engine | passages/s | disk / text |\n|---|--:|--:|")
        for name, (_, taken, disk) in built.items():
            print(f"| {name} | {count / taken:,.0f} | {disk / characters:.2f} |")
        print(
            "\n| query | engine | p50 ms | p99 ms | CPU p50 ms | p50, ours to the better bare | CPU, same |"
            "\n|---|---|--:|--:|--:|--:|--:|"
        )
        for kind in KINDS:
            times = measured({name: search for name, (search, _, _) in built.items()}, kind)
            p50 = {
                name: (quantiles(wall, n=100)[49], quantiles(cpu, n=100)[49])
                for name, (wall, cpu) in times.items()
            }
            better = [min(p50[name][which] for name in ENGINES if name != "groundwire") for which in (0, 1)]
            for name, (wall, _) in times.items():
                medians[kind, name], cpu = p50[name]
                ratios = [f"{found / least:.2f}" for found, least in zip(p50[name], better, strict=True)]
                shown = ratios if name == "groundwire" else ["", ""]
                p99 = quantiles(wall, n=100)[98]
                print(
                    f"| {kind} | {name} | {p50[name][0]:.3f} | {p99:.3f} | {cpu:.3f} | {' | '.join(shown)} |"
                )
    return medians


def main() -> None:
    counts = [10_000, 100_000, *([1_000_000] if "--large" in sys.argv else [])]
    medians = {count: compare(count) for count in counts}
    print(f"\nGrowth of the p50 from {counts[0]:,} to {counts[-1]:,} passages\n")
    print("| query | " + " | ".join(ENGINES) + " |\n|---|" + "--:|" * len(ENGINES))
    for kind in KINDS:
        growth = [medians[counts[-1]][kind, name] / medians[counts[0]][kind, name] for name in ENGINES]
        print(f"| {kind} | " + " | ".join(f"{times:.1f}x" for times in growth) + " |")


if __name__ == "__main__":
    main()
