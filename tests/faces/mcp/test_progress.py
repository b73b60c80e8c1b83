"""What a waiting client is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from groundwire.faces.mcp import calls as module
from groundwire.faces.mcp.calls import ProgressReporter
from groundwire.model import SearchCall, SearchCalled, SearchResult, SearchReturned, Source, TextDelta

BOUND = 10.0


class Ear:
    """Hears what is told, and wakes whoever waits for it."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, str]] = []
        self._news = asyncio.Event()

    async def send(self, progress: float, total: float | None, message: str) -> None:
        assert total is None
        self.heard.append((progress, message))
        self._news.set()

    async def until(self, enough: Callable[[], bool]) -> None:
        async with asyncio.timeout(BOUND):
            while not enough():
                self._news.clear()
                await self._news.wait()

    @property
    def last(self) -> str:
        return self.heard[-1][1] if self.heard else ""


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.0)


def test_each_step_of_a_search_is_told() -> None:
    async def work() -> list[str]:
        ear = Ear()
        progress = ProgressReporter(ear.send, heartbeat=BOUND)
        telling = asyncio.create_task(progress.run())
        for event, message in (
            (SearchCalled(0, SearchCall("s", ("Einwohner\nKöln",))), "Searching: Einwohner Köln"),
            (SearchReturned(1, SearchResult("s", (Source("https://a.example"),))), "Found 1 source"),
            (TextDelta(2, "Köln"), "Writing the answer"),
        ):
            progress.observe(event)
            await ear.until(lambda message=message: ear.last == message)  # type: ignore[misc]
        telling.cancel()
        assert [number for number, _ in ear.heard] == [1, 2, 3]
        return [message for _, message in ear.heard]

    assert asyncio.run(work())[-1] == "Writing the answer"


def test_signs_of_life_come_while_nothing_happens() -> None:
    async def work() -> None:
        ear = Ear()
        telling = asyncio.create_task(ProgressReporter(ear.send, heartbeat=0.001).run())
        await ear.until(lambda: len(ear.heard) >= 5)
        telling.cancel()
        assert [number for number, _ in ear.heard[:5]] == [1, 2, 3, 4, 5]
        assert {message for _, message in ear.heard} == {"Asking"}

    asyncio.run(work())


def test_a_flood_of_words_is_told_once() -> None:
    async def work() -> None:
        ear = Ear()
        progress = ProgressReporter(ear.send, heartbeat=BOUND)
        telling = asyncio.create_task(progress.run())
        for _ in range(1000):
            progress.observe(TextDelta(0, "word "))
        await ear.until(lambda: ear.last == "Writing the answer")
        for _ in range(1000):
            progress.observe(TextDelta(0, "word "))
        progress.observe(SearchCalled(1, SearchCall("s", ("more",))))
        await ear.until(lambda: ear.last == "Searching: more")
        telling.cancel()
        assert len(ear.heard) == 2

    asyncio.run(work())
