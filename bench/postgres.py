"""The index in PostgreSQL compared with the embedded one: the same pages and queries in one run.

`python bench/postgres.py [URL]` uses an empty database at that URL, or starts a server. The frequencies of
the words follow Zipf's law; a passage has about 800 characters.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.servers.postgres import PostgresServer

from groundwire.engine.index.base import Index
from groundwire.engine.index.location import open_index
from groundwire.engine.index.postgres import PostgresIndex
from groundwire.engine.pages import Page

SIZES = (10_000, 100_000)
PASSAGES_PER_PAGE = 5
WORDS = 50_000
ROUNDS = 40
KINDS: dict[str, tuple[tuple[int, int], ...]] = {
    "1 rare word": ((2_000, 20_000),),
    "1 common word": ((5, 50),),
    "2 words": ((50, 500), (500, 5_000)),
    "4 words": ((50, 500), (500, 5_000), (500, 5_000), (5_000, 20_000)),
    "a question": ((5, 50), (50, 500), (500, 5_000), (2_000, 20_000)),
    '"a phrase"': ((5, 50), (5, 50)),
    "a prefix*": ((500, 5_000),),
}


def vocabulary(rng: random.Random) -> list[str]:
    """Artificial words, the most frequent first."""
    syllables = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
    words = {"".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(2 * WORDS)}
    return rng.sample(sorted(words), WORDS)


def pages(words: list[str], passages: int, rng: random.Random) -> Iterator[Page]:
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    for number in range(passages // PASSAGES_PER_PAGE):
        drawn = rng.choices(words, cum_weights=weights, k=112 * PASSAGES_PER_PAGE)
        lines = [" ".join(drawn[at : at + 14]).capitalize() + "." for at in range(0, len(drawn), 14)]
        title = " ".join(rng.choices(words, cum_weights=weights, k=4))
        yield Page(f"https://site{number % 50}.example/{number}", title, " ".join(lines), language="en")


def make_queries(words: list[str], kind: str) -> list[str]:
    rng = random.Random(kind)
    queries = [" ".join(words[rng.randrange(*ranks)] for ranks in KINDS[kind]) for _ in range(ROUNDS)]
    if kind.startswith('"'):
        return [f'"{query}"' for query in queries]
    return [f"{query[:4]}*" for query in queries] if kind.endswith("*") else queries


def median_and_worst(search: Callable[[str], object], queries: list[str]) -> tuple[float, float]:
    """Median and worst of the rounds, in milliseconds."""
    times = []
    for query in queries:
        start = perf_counter()
        search(query)
        times.append((perf_counter() - start) * 1000)
    times.sort()
    return times[len(times) // 2], times[-1]


def main() -> None:
    with ExitStack() as stack:
        address = sys.argv[1] if len(sys.argv) > 1 else ""
        if not address:
            server = PostgresServer()
            stack.callback(server.close)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for size in SIZES:
            indexes: dict[str, Index] = {
                "embedded": stack.enter_context(open_index(folder / str(size))),
                "PostgreSQL": stack.enter_context(PostgresIndex(address or server.database())),
            }
            measure(indexes, size)


def measure(indexes: dict[str, Index], size: int) -> None:
    """Fill and query both."""
    words = vocabulary(random.Random(1))
    print(f"\n{size} passages\n\n| index | passages/s | MB |\n|---|--:|--:|")
    for name, index in indexes.items():
        start = perf_counter()
        index.put(pages(words, size, random.Random(2)))
        stats = index.stats()
        rate = stats.passages / (perf_counter() - start)
        print(f"| {name} | {rate:.0f} | {stats.bytes_on_disk / 1e6:.0f} |", flush=True)
    print(
        "\n| query | embedded ms p50 | worst | PostgreSQL ms p50 | worst | ratio |\n|---|--:|--:|--:|--:|--:|"
    )
    for kind in KINDS:
        queries = make_queries(words, kind)
        cells = {name: median_and_worst(index.search, queries) for name, index in indexes.items()}
        ratio = cells["PostgreSQL"][0] / cells["embedded"][0]
        numbers = " | ".join(f"{half:.1f} | {worst:.1f}" for half, worst in cells.values())
        print(f"| {kind} | {numbers} | {ratio:.1f} |", flush=True)


if __name__ == "__main__":
    main()
