"""The line that says what is going on."""

from __future__ import annotations

import asyncio

import pytest

from groundwire.faces.cli.live import Status, describe
from groundwire.model import Event, SearchCall, SearchCalled, SearchStarted, TextDelta
from tests.faces.fakes import Bench
from tests.faces.screen import Screen


def test_the_line_is_written_over_and_taken_back() -> None:
    bench = Bench(terminal=True)
    status = Status(bench.console, lambda: 0.0)
    status.show("Asking…")
    status.show("Searching: x")
    screen = Screen()
    screen.feed(bench.stderr)
    assert screen.text == "⠋ Searching: x"
    status.clear()
    status.clear()
    screen = Screen()
    screen.feed(bench.stderr)
    assert screen.text == ""


def test_who_waits_long_is_told_how_long() -> None:
    now = [0.0]
    bench = Bench(terminal=True, env={"NO_COLOR": "1"})
    status = Status(bench.console, lambda: now[0])
    status.show("Asking…")
    now[0] = 12.3

    async def main() -> None:
        task = asyncio.create_task(status.spin())
        while "(12 s)" not in bench.stderr:
            await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(asyncio.wait_for(main(), 20))
    assert "⠙ Asking… (12 s)" in bench.stderr


def test_a_long_text_is_cut_to_the_terminal() -> None:
    bench = Bench(terminal=True, env={"COLUMNS": "40", "NO_COLOR": "1"})
    Status(bench.console, lambda: 0.0).show("Searching: " + "long " * 50)
    assert len(bench.stderr.removeprefix("\r\x1b[2K")) <= 40


def test_what_a_provider_searches_for_cannot_move_the_cursor() -> None:
    bench = Bench(terminal=True, env={"NO_COLOR": "1"})
    Status(bench.console, lambda: 0.0).show("Searching: a\x1b[2J\nb\x07")
    assert bench.stderr == "\r\x1b[2K⠋ Searching: a[2J b"


def test_without_a_terminal_nothing_is_said() -> None:
    bench = Bench()
    status = Status(bench.console, lambda: 0.0)
    status.show("Asking…")
    asyncio.run(asyncio.wait_for(status.spin(), 20))
    status.clear()
    assert bench.stderr == ""


def test_a_terminal_of_another_encoding_gets_plain_signs() -> None:
    bench = Bench(terminal=True, env={"NO_COLOR": "1"})
    bench.err.encoding = "latin-1"
    Status(bench.console, lambda: 0.0).show("Asking")
    assert bench.stderr == "\r\x1b[2K- Asking"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (SearchStarted(0, "s"), "Searching the web…"),
        (SearchCalled(0, SearchCall("s", ("a", "b"))), "Searching: a · b"),
        (SearchCalled(0, SearchCall("s")), "Searching the web…"),
        (
            SearchCalled(0, SearchCall("s", kind="open", url="https://a.example")),
            "Reading: https://a.example",
        ),
        (SearchCalled(0, SearchCall("s", kind="find", pattern="x")), "Reading a page…"),
        (TextDelta(0, "x"), ""),
    ],
)
def test_searching_and_reading_are_described(event: Event, words: str) -> None:
    assert describe(event) == words
