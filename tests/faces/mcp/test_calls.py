"""Tool calls: the allow-list of `fetch`, progress notifications, invisible characters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config.load import load
from groundwire.dialects.json import dump_json
from groundwire.dialects.registry import dialect
from groundwire.engine.pages import Page
from groundwire.faces.mcp import calls as module
from groundwire.faces.mcp.calls import FetchAllowList, ProgressReporter, ToolOutput, run_tool
from groundwire.faces.mcp.server import _result
from groundwire.model import (
    Answer,
    JsonObject,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    TextDelta,
    assemble,
)
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.mcp.served import Library, environment

pytestmark = pytest.mark.server


def test_an_id_is_known_to_every_process_with_the_same_secret() -> None:
    name = FetchAllowList(b"one").add("https://a.example/x.y?z=1")
    assert FetchAllowList(b"one").resolve(name) == "https://a.example/x.y?z=1"
    assert FetchAllowList(b"other").resolve(name) == ""


def test_a_bare_url_is_accepted_by_the_process_that_found_it() -> None:
    allow_list = FetchAllowList(b"one")
    allow_list.add("https://a.example/")
    assert allow_list.resolve("https://a.example/") == "https://a.example/"
    assert FetchAllowList(b"one").resolve("https://a.example/") == ""


def test_the_least_recently_found_urls_are_forgotten_first() -> None:
    allow_list = FetchAllowList(b"one", limit=2)
    for url in ("https://a.example", "https://b.example", "https://a.example", "https://c.example"):
        allow_list.add(url)
    assert [bool(allow_list.resolve(f"https://{name}.example")) for name in "abc"] == [True, False, True]


@given(st.text(max_size=80))
def test_urls_that_were_not_found_are_not_allowed(name: str) -> None:
    allow_list = FetchAllowList(b"one")
    allow_list.add("https://a.example/")
    assert allow_list.resolve(name) == ("https://a.example/" if name == "https://a.example/" else "")


def test_an_id_cannot_be_reused_for_another_url() -> None:
    allow_list = FetchAllowList(b"one")
    signature = allow_list.add("https://a.example/").partition(".")[0]
    assert allow_list.resolve(f"{signature}.http://169.254.169.254/") == ""


BOUND = 10.0


class NotificationRecorder:
    """Records progress notifications, and wakes waiting tests."""

    def __init__(self) -> None:
        self.notifications: list[tuple[float, str]] = []
        self._changed = asyncio.Event()

    async def send(self, progress: float, total: float | None, message: str) -> None:
        assert total is None
        self.notifications.append((progress, message))
        self._changed.set()

    async def until(self, enough: Callable[[], bool]) -> None:
        async with asyncio.timeout(BOUND):
            while not enough():
                self._changed.clear()
                await self._changed.wait()

    @property
    def last(self) -> str:
        return self.notifications[-1][1] if self.notifications else ""


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.0)


async def test_each_step_of_a_search_is_reported() -> None:
    async def work() -> list[str]:
        recorder = NotificationRecorder()
        progress = ProgressReporter(recorder.send, heartbeat=BOUND)
        reporting = asyncio.create_task(progress.run())
        for event, message in (
            (SearchCalled(0, SearchCall("s", ("Einwohner\nKöln",))), "Searching: Einwohner Köln"),
            (SearchReturned(1, SearchResult("s", (Source("https://a.example"),))), "Found 1 source"),
            (TextDelta(2, "Köln"), "Writing the answer"),
        ):
            progress.observe(event)
            await recorder.until(lambda message=message: recorder.last == message)  # type: ignore[misc]
        reporting.cancel()
        assert [number for number, _ in recorder.notifications] == [1, 2, 3]
        return [message for _, message in recorder.notifications]

    assert (await work())[-1] == "Writing the answer"


async def test_keep_alives_are_sent_while_nothing_happens() -> None:
    recorder = NotificationRecorder()
    reporting = asyncio.create_task(ProgressReporter(recorder.send, heartbeat=0.001).run())
    await recorder.until(lambda: len(recorder.notifications) >= 5)
    reporting.cancel()
    assert [number for number, _ in recorder.notifications[:5]] == [1, 2, 3, 4, 5]
    assert {message for _, message in recorder.notifications} == {"Asking"}


async def test_many_text_deltas_are_reported_once() -> None:
    recorder = NotificationRecorder()
    progress = ProgressReporter(recorder.send, heartbeat=BOUND)
    reporting = asyncio.create_task(progress.run())
    for _ in range(1000):
        progress.observe(TextDelta(0, "word "))
    await recorder.until(lambda: recorder.last == "Writing the answer")
    for _ in range(1000):
        progress.observe(TextDelta(0, "word "))
    progress.observe(SearchCalled(1, SearchCall("s", ("more",))))
    await recorder.until(lambda: recorder.last == "Searching: more")
    reporting.cancel()
    assert len(recorder.notifications) == 2


HIDDEN = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
HOSTILE = f"\x1b[31m\u202e{HIDDEN}\u200b"
URL = "https://a.example/"
UNSEEN = (HIDDEN[0], "\x1b", "\u202e", "\u200b")


async def called(home: Path, name: str, query: str) -> ToolOutput:
    source = Source(URL, f"Title{HOSTILE}", excerpts=(f"Passage{HOSTILE}",))
    # "[1]" in the text makes the result contain the numbers that were inserted, and their positions.
    script = answer("gemini", answer_events(f"A{HOSTILE} claim [1] holds.", source, query="q"))
    async with Upstream([script]) as upstream:
        env = environment(upstream, home)
        library = Library(load(env, str(home), str(home)), env=env)
        async with library:
            library.web = {URL: Page(URL, f"Title{HOSTILE}", f"Text{HOSTILE}")}
            allow_list = FetchAllowList(b"secret")
            arguments: JsonObject = {"query": query} if query else {"id": allow_list.add(URL)}
            return await run_tool(library, allow_list, name, arguments, lambda _: None)


@pytest.mark.parametrize(("name", "query"), [("websearch_gemini", "q"), ("search", "q"), ("fetch", "")])
async def test_results_have_no_invisible_characters(tmp_path: Path, name: str, query: str) -> None:
    result = await called(tmp_path, name, query)
    assert not result.failed
    shown = (
        result.text
        + dump_json(result.structured)
        + repr([(link.title, link.passage) for link in result.links])
    )
    assert "Title" in shown
    assert [char for char in UNSEEN if char in shown] == []


async def test_spans_of_citations_are_shifted(tmp_path: Path) -> None:
    result = await called(tmp_path, "websearch_gemini", "q")
    read = assemble(dialect("websearch").decode_response(result.structured))
    assert read.text == "A[31m claim [1] holds."
    assert [citation.span for citation in read.citations] == [(len(read.text), len(read.text))]


async def test_pages_of_this_machine_are_found_and_read(tmp_path: Path) -> None:
    page = Page("local:python/3.11.7/math.sqrt", "math.sqrt", "Return the square root of x.")
    links = [*module._links(Answer(), (Source(page.url, page.title),))]
    assert [link.url for link in links] == [page.url]
    async with Upstream([]) as upstream:
        env = environment(upstream, tmp_path)
        library = Library(load(env, str(tmp_path), str(tmp_path)), env=env)
        async with library:
            library.web = {page.url: page}
            addresses = FetchAllowList(b"secret")
            arguments: JsonObject = {"id": addresses.add(page.url)}
            found = await run_tool(library, addresses, "fetch", arguments, lambda _: None)
    assert found.structured["text"] == page.text
    # A resource link is for a client to open.
    assert [block.type for block in _result(found, links=True).content] == ["text"]
