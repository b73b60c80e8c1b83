"""Exports, usage and history searches do not block the event loop."""

from __future__ import annotations

import asyncio
import gc
import json
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from statistics import quantiles
from time import perf_counter

import pytest

from groundwire.chat.questions import ChatQuestion
from groundwire.dialects.json import dump_json
from groundwire.model import Answer, Citation, Evidence, Message, SearchCall, SearchResult, Source, Span, Text
from groundwire.model.json import encode
from groundwire.model.value import replace
from groundwire.server.workers import tune_gc
from groundwire.store.base import Agent
from groundwire.store.migrations import ON_SQLITE
from groundwire.store.sqlite import open_sqlite
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Dribble
from groundwire.testing.upstream import Upstream, answer
from tests.chat.scripted_chat import answered
from tests.faces.gateway.serving import provider_at
from tests.faces.web.serving import running_page
from tests.figures import Figures
from tests.server.processes import running_serve

pytestmark = pytest.mark.server

LAG = 0.1
"""Seconds for which the event loop may be blocked."""
USAGE = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
INSERT INTO groundwire_usage
SELECT 'u' || i, date('now', '-' || (i % 89) || ' days') || 'T00:00:00', '', 'p' || (i % 7), 'm' || (i % 30),
    'chat', '', 1.0, i % 1000, i % 100, NULL, NULL, NULL, NULL, 1, NULL, 0.001 FROM n
"""
# The client runs in its own process, so that its work does not block the measured loop.
CLIENT = """
import json, sys, time, urllib.request
took = []
for path in sys.argv[2:]:
    began = time.perf_counter()
    with urllib.request.urlopen(sys.argv[1] + path, timeout=60) as response:
        size = len(response.read())
    took.append([path, size, time.perf_counter() - began])
print(json.dumps(took))
"""


def large_answer(number: int) -> Answer:
    sentences = [
        f"Sentence {place} of answer {number} describes something in **Köln**. " for place in range(60)
    ]
    sources = tuple(
        Source(f"https://example.com/{number}/{place}", f"Page {place}", extras={"p": {"blob": "x" * 400}})
        for place in range(10)
    )
    at, citations = 0, []
    for place, sentence in enumerate(sentences):
        evidence = (Evidence(sources[place % 10], sentence[:40]), Evidence(sources[(place + 7) % 10]))
        citations.append(Citation(Span(at, at + len(sentence) - 1), evidence))
        at += len(sentence)
    parts = (SearchCall("c", ("köln",)), SearchResult("c", sources), Text("".join(sentences)))
    return Answer(parts, tuple(citations), finish="stop", model="m")


def fill(path: Path, turns: int, others: int, usage: int) -> None:
    """Store a long session, many short ones, and many usage rows."""
    open_sqlite(path, ON_SQLITE[:2]).close()
    question = dump_json(encode(Message("user", (Text("What is there in Köln?"),))))
    bodies = [dump_json(encode(large_answer(number))) for number in range(20)]
    at = "2026-01-01T00:00:00+00:00"
    with closing(sqlite3.connect(path)) as connection, connection:
        sessions = [("long", "finder", "", "Long", at, at)]
        sessions += ((f"s{number}", "finder", "", f"No. {number}", at, at) for number in range(others // 20))
        connection.executemany("INSERT INTO groundwire_sessions VALUES (?, ?, ?, ?, ?, ?)", sessions)
        rows = [
            (f"l{number}", "long", number, bodies[number % 20] if number % 2 == 0 else question, "p", at, "")
            for number in range(1, turns + 1)
        ]
        rows += (
            (f"m{number}", f"s{number // 20}", number % 20, question, "", at, "")
            for number in range(others // 20 * 20)
        )
        connection.executemany("INSERT INTO groundwire_messages VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute(USAGE, [usage])
    open_sqlite(path).close()


class LoopLag:
    """Measures the lag of the event loop."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    async def watch(self) -> None:
        while True:
            began = perf_counter()
            await asyncio.sleep(0.005)
            self.seen.append(perf_counter() - began - 0.005)


@asynccontextmanager
async def measured_lag() -> AsyncIterator[LoopLag]:
    lags = LoopLag()
    task = asyncio.create_task(lags.watch())
    try:
        yield lags
    finally:
        task.cancel()
        await asyncio.wait([task])


async def fetched(url: str, *paths: str) -> list[tuple[str, int, float]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CLIENT, url, *paths, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return [(path, size, took) for path, size, took in json.loads(out)]


@pytest.fixture
def server_gc() -> Iterator[None]:
    """Use the garbage collector settings of the server."""
    before = gc.get_threshold()
    tune_gc()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def count(seconds: float) -> None:
    end = perf_counter() + seconds
    while perf_counter() < end:
        sum(range(1000))


PATHS = (
    "/chat/long/export.md",
    "/chat/long/export.json",
    "/usage?days=90",
    "/find?q=k%C3%B6ln",
    "/chat/long",
)


@pytest.mark.thorough
@pytest.mark.usefixtures("server_gc")
async def test_large_reads_never_block_the_event_loop(tmp_path: Path, figures: Figures) -> None:
    """Compared with a thread that only counts, which blocks the loop too on a busy machine."""
    fill(tmp_path / "chat.db", 1000, 20_000, 1_000_000)
    slow = replace(answer("openai_chat", answer_events("word " * 20_000)), dribble=Dribble(300, 0.02))
    worst: dict[str, float] = {}
    health: list[float] = []

    async def run() -> None:
        async with (
            Upstream(slow) as upstream,
            running_page(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as here,
        ):
            await here.chat.save_agent(Agent("plain", {"en": "Plain"}), "")
            answering = asyncio.create_task(answered(here.chat, ChatQuestion("Go on?", "", agent="plain")))
            await upstream.received(timeout=20)
            await asyncio.sleep(1)  # let the imports of the first answer finish
            async with measured_lag() as lags:
                await asyncio.to_thread(count, 5)
            worst["a thread that counts"] = max(lags.seen)
            for path in PATHS:
                async with measured_lag() as lags:
                    _, polled = await asyncio.gather(
                        fetched(here.url, path, path), fetched(here.url, *["/healthz"] * 300)
                    )
                worst[path] = max(lags.seen)
                health.extend(took for _, _, took in polled)
            answering.cancel()
            await asyncio.wait([answering])

    await run()
    idle = worst["a thread that counts"]
    figures.add("R19", "event loop blocked for at most", max(worst[path] for path in PATHS) * 1000, "ms")
    figures.add("R19", "by a thread that only counts", idle * 1000, "ms")
    figures.add("R19", "a check of the health meanwhile, 99 %", quantiles(health, n=100)[-1] * 1000, "ms")
    limit = max(LAG, 2 * worst["a thread that counts"])
    assert max(worst.values()) < limit, worst


async def time_to_start(folder: Path) -> float:
    """Seconds until a gateway with the store in a folder is ready."""
    began = perf_counter()
    provider = '[providers.p]\ndialect = "openai_chat"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
    async with running_serve(folder, config=provider) as gateway:
        ((_, size, _),) = await fetched(gateway.url, "/readyz")
        assert size
        return perf_counter() - began


@pytest.mark.thorough
async def test_a_large_store_does_not_delay_the_start(tmp_path: Path, figures: Figures) -> None:
    """Compared with a new store, because the time depends on the machine."""
    small, large = tmp_path / "small", tmp_path / "large"
    for folder in (small, large):
        (folder / "data").mkdir(parents=True)
    path = large / "data" / "groundwire.db"
    fill(path, 1000, 20_000, 1_000_000)
    empty = min([await time_to_start(small) for _ in range(3)])
    full = min([await time_to_start(large) for _ in range(3)])
    figures.add("R23", "size of a large store", path.stat().st_size / 2**20, "MB")
    figures.add("R23", "until a gateway with it is ready", full, "s")
    figures.add("R23", "with a new store", empty, "s")
    assert full <= 2 * empty + 0.5, (full, empty)
