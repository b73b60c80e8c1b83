"""Pages are indexed in batches; pages read before an interruption are stored and counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from groundwire.engine.crawl.crawler import BatchIndexer, CrawlTally, SkipReason
from groundwire.engine.crawl.results import CrawledPage, CrawlResult, SkippedSource
from groundwire.engine.index.location import open_index
from groundwire.engine.pages import Page
from groundwire.errors import ConfigError
from tests.engine.knowledge.memory import MemoryIndex


def page(number: int) -> Page:
    return Page(f"https://a.example/{number}", f"Page {number}", f"The words of page number {number}.")


async def pages(count: int) -> AsyncGenerator[CrawlResult, None]:
    for number in range(count):
        yield CrawledPage(page(number))


def store(
    index: MemoryIndex, outcomes: AsyncGenerator[CrawlResult, None], seconds: float = 0.0
) -> tuple[CrawlTally, list[str]]:
    calls: list[str] = []
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += seconds
        return now

    indexer = BatchIndexer(index, lambda: calls.append("checkpoint"), lambda *_: None, clock)
    return asyncio.run(asyncio.wait_for(indexer.store(outcomes), 30)), calls


def test_two_hundred_pages_make_a_batch() -> None:
    index = MemoryIndex()
    tally, calls = store(index, pages(450))
    assert index.puts == [200, 200, 50]
    assert (tally.stored.added, tally.pages, tally.waiting) == (450, 450, 0)
    assert calls == ["checkpoint"] * 3


def test_slow_pages_do_not_wait_for_a_batch_to_be_full() -> None:
    index = MemoryIndex()
    store(index, pages(10), seconds=0.9)
    assert len(index.puts) > 3
    assert sum(index.puts) == 10


def test_reasons_are_counted_with_examples_the_most_frequent_first() -> None:
    async def outcomes() -> AsyncGenerator[CrawlResult, None]:
        yield SkippedSource("a", "rare", network=True)
        for number in range(5):
            yield SkippedSource(f"b{number}", "frequent")

    tally, _ = store(MemoryIndex(), outcomes())
    assert tally.skipped == (SkipReason("frequent", 5, ("b0", "b1", "b2")), SkipReason("rare", 1, ("a",)))
    assert (tally.network, tally.pages) == (1, 0)


async def test_pages_read_before_an_interruption_are_stored() -> None:
    index = MemoryIndex()
    calls: list[str] = []

    async def outcomes() -> AsyncGenerator[CrawlResult, None]:
        async for outcome in pages(7):
            yield outcome
        await asyncio.sleep(60)

    async def run() -> CrawlTally:
        indexer = BatchIndexer(index, lambda: calls.append("checkpoint"), lambda *_: None)
        task = asyncio.create_task(indexer.store(outcomes()))
        while indexer.tally().waiting < 7:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return indexer.tally()

    tally = await asyncio.wait_for(run(), 30)
    assert (tally.stored.added, tally.waiting, len(index.stored)) == (7, 0, 7)
    assert calls == ["checkpoint"]


async def test_no_checkpoint_is_written_for_pages_that_the_index_rejected() -> None:
    index = MemoryIndex()
    index.fails_after = 1
    calls: list[str] = []
    indexer = BatchIndexer(index, lambda: calls.append("checkpoint"), lambda *_: None)
    with pytest.raises(ConfigError):
        await asyncio.wait_for(indexer.store(pages(450)), 30)
    assert calls == ["checkpoint"]
    assert indexer.tally().stored.added == 200


async def test_a_second_time_nothing_changes_in_the_real_index(tmp_path: Path) -> None:
    for expected in ((30, 0), (0, 30)):
        with open_index(tmp_path / "index") as index:
            indexer = BatchIndexer(index, lambda: None, lambda *_: None)
            tally = await asyncio.wait_for(indexer.store(pages(30)), 60)
            assert (tally.stored.added, tally.stored.unchanged) == expected
