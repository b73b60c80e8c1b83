"""Full-text search over 100,000 chat messages in SQLite and PostgreSQL, compared with a scan.

Run with `python bench/history.py [MESSAGES]`. A message has about 110 words whose frequencies follow Zipf's
law. Nine in ten messages belong to the owner who searches. An absent word shows the cost of an empty result.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import accumulate
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))

import psycopg
from postgres import vocabulary
from tests.servers.postgres import PostgresServer

from groundwire.dialects.json import dump_json
from groundwire.model import Answer, Message, Text
from groundwire.model.json import encode
from groundwire.store.base import Store
from groundwire.store.migrations import ON_POSTGRES, ON_SQLITE
from groundwire.store.postgres import open_postgres
from groundwire.store.sqlite import open_sqlite

OWNERS = 10
TURNS = 20
"""Messages in a session."""
ROUNDS = 100
KINDS: dict[str, tuple[str, tuple[tuple[int, int], ...]]] = {
    "an absent word": ("qqqqq{}", ((0, 50_000),)),
    "1 rare word": ("{}", ((5_000, 20_000),)),
    "1 common word": ("{}", ((5, 50),)),
    "2 words": ("{} {}", ((50, 500), (500, 2_000))),
    "a prefix": ("{:.4}", ((500, 5_000),)),
    "2 letters": ("{:.2}", ((0, 5_000),)),
    '"a phrase"': ('"{} {}"', ((5, 50), (5, 50))),
}
"""The form of each query, and the frequency ranks of its words."""
SESSION = "INSERT INTO groundwire_sessions VALUES (?, 'a', ?, 'A session', '2026-01-01', '2026-01-01')"
MESSAGE = """INSERT INTO groundwire_messages (id, session, number, body, provider, created, words)
VALUES (?, ?, ?, ?, '', ?, ?)"""
SCAN = """SELECT m.id FROM groundwire_messages AS m
JOIN groundwire_sessions AS s ON s.id = m.session
JOIN groundwire_words AS w ON w.message = m.id
WHERE s.owner = 'searcher' AND w.words LIKE ? ORDER BY m.created DESC LIMIT 50"""


def sessions(count: int) -> Iterator[tuple[str, str]]:
    return (
        (f"s{number}", "other" if number % OWNERS == 0 else "searcher") for number in range(count // TURNS)
    )


def messages(words: list[str], count: int) -> Iterator[tuple[object, ...]]:
    rng = random.Random(2)
    # `choices` would add the weights up again for every message.
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    for number in range(count):
        text = " ".join(rng.choices(words, cum_weights=weights, k=110))
        content = Message("user", (Text(text),)) if number % 2 == 0 else Answer((Text(text),), finish="stop")
        body = dump_json(encode(content))
        yield f"m{number}", f"s{number // TURNS}", number % TURNS, body, f"2026-01-{number:08}", text


def print_times(name: str, search: Callable[[str], object], queries: list[str]) -> None:
    times = []
    for query in queries:
        began = perf_counter()
        search(query)
        times.append((perf_counter() - began) * 1000)
    times.sort()
    worst = times[int(len(times) * 0.99)] if len(times) >= 100 else times[-1]
    print(f"  {name:20} p50 {times[len(times) // 2]:8.2f} ms   p99 {worst:8.2f} ms")


def measure(name: str, open_it: Callable[[], Store], scan: Callable[[str], object], words: list[str]) -> None:
    began = perf_counter()
    store = open_it()
    print(f"{name}: search words filled in after {perf_counter() - began:.1f} s")
    with store:
        for kind, (form, ranks) in KINDS.items():
            rng = random.Random(kind)
            queries = [form.format(*(words[rng.randrange(*rank)] for rank in ranks)) for _ in range(ROUNDS)]
            print_times(kind, lambda text: store.find_messages(text, "searcher"), queries)
    print_times("a scan (LIKE)", scan, [f"%{word}%" for word in random.Random(3).sample(words[5_000:], 5)])


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    words = vocabulary(random.Random(1))
    rows = list(messages(words, count))
    with ExitStack() as stack:
        path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "history.db"
        open_sqlite(path, ON_SQLITE[:2]).close()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executemany(SESSION, sessions(count))
            connection.executemany(MESSAGE, rows)
        plain = stack.enter_context(closing(sqlite3.connect(path)))
        measure(
            "SQLite", lambda: open_sqlite(path), lambda text: plain.execute(SCAN, [text]).fetchall(), words
        )
        server = PostgresServer()
        stack.callback(server.close)
        address = server.database()
        open_postgres(address, ON_POSTGRES[:2]).close()
        with psycopg.connect(address) as opened:
            opened.cursor().executemany(SESSION.replace("?", "%s"), list(sessions(count)))
            opened.cursor().executemany(MESSAGE.replace("?", "%s"), rows)
        client = stack.enter_context(psycopg.connect(address, autocommit=True))
        find = SCAN.replace("?", "%s")
        measure(
            "PostgreSQL",
            lambda: open_postgres(address),
            lambda text: client.execute(find, [text]).fetchall(),
            words,
        )


if __name__ == "__main__":
    main()
