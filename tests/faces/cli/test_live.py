"""Live rendering of an answer on a terminal, and its final state."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from groundwire.dialects.registry import dialect
from groundwire.faces.cli.live import LiveRenderer, Status, describe
from groundwire.faces.cli.output import write_sources
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Finished,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    assemble,
)
from groundwire.text.annotate import NumberWriter, annotate_numbers
from groundwire.text.markdown import PLAIN_TEXT_EXTRAS
from tests.faces.fakes import CITIES, COLOGNE, LATE, SEARCHED, Bench
from tests.faces.screen import Screen


class LiveTerminal:
    """A live renderer with a terminal emulator."""

    def __init__(self, columns: int = 80, rows: int = 24, **env: str) -> None:
        self.bench = Bench(terminal=True, env={"COLUMNS": str(columns), **env})
        self.bench.err = self.bench.out
        self.bench.console.stderr = self.bench.out
        self.bench.console.size = lambda: (columns, rows)  # type: ignore[method-assign]
        self.screen = Screen(columns, rows)
        self.live = LiveRenderer(self.bench.console, Status(self.bench.console, lambda: 0.0))
        self._read = 0

    def look(self) -> str:
        """The text on the screen."""
        written = self.bench.stdout
        self.screen.feed(written[self._read :].replace("\n", "\r\n"))
        self._read = len(written)
        return self.screen.text

    def show(self, events: Sequence[Event]) -> list[str]:
        """Render events; returns the screen after each."""
        views = []
        for event in events:
            self.live.feed(event)
            views.append(self.look())
        return views

    def finish(self, events: Iterable[Event]) -> str:
        """Finish the answer and list the sources; returns the final screen."""
        answer = assemble(events)
        order = self.live.finish(answer)
        self.live.end(blank_line=bool(order.sources))
        write_sources(self.bench.console, order, self.live.unplaced, answer)
        return self.look()


def test_words_appear_as_they_arrive() -> None:
    terminal = LiveTerminal()
    views = terminal.show([Started(), TextDelta(0, "One two th"), TextDelta(0, "ree four.")])
    assert views[1] == "One two"
    assert views[2] == "One two three"


def test_the_search_status_is_shown_and_erased() -> None:
    terminal = LiveTerminal()
    views = terminal.show([*SEARCHED, TextDelta(2, "Köln liegt am Rhein.\n")])
    assert "Searching…" in views[0]
    assert "Searching: Einwohner Köln" in views[1]
    assert views[-1] == "Köln liegt am Rhein."


def test_a_search_in_the_middle_begins_a_new_paragraph() -> None:
    terminal = LiveTerminal()
    call = SearchCall("s1", ("where",))
    events = (
        TextDelta(0, "I will look."),
        TextSettled(0),
        SearchStarted(1, "s1"),
        SearchCalled(1, call),
        SearchReturned(2, SearchResult("s1", (COLOGNE,))),
        TextDelta(3, "Here it is."),
        Finished(),
    )
    terminal.show(events)
    assert terminal.finish(events).startswith("I will look.\n\nHere it is.\n\nFound, but")


def test_numbers_that_arrive_with_their_claim_are_written_immediately() -> None:
    terminal = LiveTerminal()
    events = (
        TextDelta(0, "It is large."),
        Cited(Citation(Span(0, 12), (Evidence(CITIES), Evidence(COLOGNE)))),
        TextSettled(0),
        TextDelta(1, " It is old."),
        Cited(Citation(Span(12, 23), (Evidence(COLOGNE),))),
        TextSettled(1),
        Finished(),
    )
    views = terminal.show(events)
    assert views[3] == "It is large.[1][2] It is"
    end = terminal.finish(events)
    assert end == (
        "It is large.[1][2] It is old.[2]\n\nSources\n"
        "[1] Großstädte\n    https://statistik.example/staedte\n"
        "[2] Köln in Zahlen\n    https://stadt.example/koeln"
    )
    assert "\x1b[J" not in terminal.bench.stdout


@pytest.mark.parametrize("cut", [10, 20, 40, 60, 75])
def test_inline_source_links_become_numbers_before_they_are_shown(cut: int) -> None:
    link = "([stadt.example](https://stadt.example/koeln))"
    text = f"Köln ist groß {link}. Und alt."
    start = text.index(link)
    cited = Cited(Citation(Span(start, start + len(link)), (Evidence(COLOGNE),), "marker"))
    events: list[Event] = [TextDelta(0, text[:cut]), TextDelta(0, text[cut:])]
    events.insert(1 if cut >= start + len(link) else 2, cited)
    events += [TextSettled(0), Finished()]
    terminal = LiveTerminal()
    views = terminal.show(events)
    assert not any("stadt.example" in view for view in views)
    assert terminal.finish(events).startswith("Köln ist groß [1]. Und alt.\n\nSources")
    assert "\x1b[J" not in terminal.bench.stdout


def test_a_link_that_is_not_cited_is_shown_unchanged() -> None:
    events = (
        TextDelta(0, "See [docs](https://d.example) for "),
        TextDelta(0, "more."),
        TextSettled(0),
        Finished(),
    )
    terminal = LiveTerminal()
    terminal.show(events)
    assert terminal.finish(events) == "See [docs](https://d.example) for more."


def test_late_numbers_are_inserted_while_the_answer_is_on_the_screen() -> None:
    terminal = LiveTerminal()
    views = terminal.show(LATE)
    assert views[5].startswith("Köln hat 1,1 Mio. Einwohner")
    assert terminal.finish(LATE) == (
        "Köln hat 1,1 Mio. Einwohner 🏙️[1][2]. Es liegt am Rhein.[2]\n\nSources\n"
        "[1] Köln in Zahlen\n    https://stadt.example/koeln\n"
        "[2] Großstädte\n    https://statistik.example/staedte"
    ).replace("\ufe0f", "")


def test_numbers_that_arrive_too_late_are_listed_with_their_claims() -> None:
    terminal = LiveTerminal(columns=40, rows=2)
    terminal.show(LATE)
    assert terminal.finish(LATE) == (
        "Köln hat 1,1 Mio. Einwohner 🏙. Es liegt\nam Rhein.[1]\n\nSources\n"
        "[1] Großstädte\n    https://statistik.example/staedte\n    “Köln hat 1,1 Mio. Einwohner 🏙”\n"
        "[2] Köln in Zahlen\n    https://stadt.example/koeln\n    “Köln hat 1,1 Mio. Einwohner 🏙”"
    )


def test_nothing_is_rewritten_after_the_terminal_changed_its_size() -> None:
    terminal = LiveTerminal()
    terminal.show(LATE)
    terminal.bench.console.size = lambda: (40, 24)  # type: ignore[method-assign]
    terminal.finish(LATE)
    assert "\x1b[J" not in terminal.bench.stdout


def test_bold_words_and_headings_are_never_shown_half() -> None:
    text = "# A title\n\nThis is **very bold** and `code` here.\n"
    events = [TextDelta(0, char) for char in text]
    terminal = LiveTerminal()
    views = terminal.show(events)
    assert not any("*" in view or "`" in view or "#" in view for view in views)
    assert terminal.finish([*events, Finished()]) == "A title\n\nThis is very bold and code here."


def test_an_open_bracket_does_not_buffer_the_rest_of_the_text() -> None:
    terminal = LiveTerminal()
    views = terminal.show([TextDelta(0, "[ " + "word " * 200)])
    assert "word word" in views[0]


def test_internal_marker_characters_of_a_provider_are_not_shown() -> None:
    events = (TextDelta(0, "True 【3:2†sou"), TextDelta(0, "rce】. Yes"), TextSettled(0), Finished())
    terminal = LiveTerminal()
    views = terminal.show(events)
    assert not any("【" in view for view in views)
    assert terminal.finish(events) == "True . Yes"


def test_control_characters_of_the_answer_do_nothing() -> None:
    hostile = "a\x1b[2Jb\x9b31mc\x07\x1b]52;c;aGk=\x07 \u202ed\r"
    source = Source("https://e.example/\x1b[31m", "T\x1b]0;x\x07itle")
    events = (TextDelta(0, hostile), Cited(Citation(Span(0, 3), (Evidence(source),))), Finished())
    terminal = LiveTerminal(FORCE_HYPERLINK="1")
    terminal.show(events)
    terminal.finish(events)
    assert terminal.screen.unknown == []
    assert "\x07" not in terminal.bench.stdout
    assert "\u202e" not in terminal.bench.stdout


STREAMS = [
    ("anthropic_messages", "anthropic/search-sonnet37.sse"),
    ("openai_responses", "openai-responses/stream-2026-05-gpt41-ggplot-2.sse"),
    ("openai_responses", "openai-responses/stream-vercel-gpt5mini-many-actions.sse"),
    ("openai_responses", "openai-responses/stream-2026-05-sources-typescript.sse"),
    ("openai_responses", "openai-responses/stream-two-searches-gpt52.sse"),
    ("gemini", "gemini/search-stream-2.5-flash-prism.sse"),
    ("gemini", "gemini/search-stream-2.5-flash-1chunk.sse"),
]


@pytest.mark.parametrize(("name", "path"), STREAMS)
@pytest.mark.parametrize("columns", [40, 90])
def test_the_final_screen_has_the_whole_answer(recordings: Path, name: str, path: str, columns: int) -> None:
    data = (recordings / path).read_bytes()
    decoder = dialect(name).decoder()
    events = [event for at in range(0, len(data), 500) for event in decoder.feed(data[at : at + 500])]
    events += decoder.close()
    terminal = LiveTerminal(columns, rows=500, NO_COLOR="1")
    terminal.show(events)
    shown = terminal.finish(events).partition("\nSources\n")[0]
    answer = assemble(events)
    numbers: dict[str, int] = {}
    for citation in answer.citations:
        for item in citation.evidence:
            numbers.setdefault(item.source.url, len(numbers) + 1)
    expected = annotate_numbers(
        answer.text, answer.citations, NumberWriter(lambda source: numbers[source.url]), strip=True
    ).text
    assert re.sub(r"\s", "", shown) == re.sub(r"[\s\ufe0f]", "", expected)
    assert max(map(len, shown.splitlines())) <= columns


def test_an_extract_is_printed_as_it_is_on_the_page() -> None:
    text = "object.__init__ takes `self` and **kwargs**."
    terminal = LiveTerminal()
    events: list[Event] = [
        Started(),
        ExtrasSeen(0, PLAIN_TEXT_EXTRAS),
        TextDelta(0, text),
        TextSettled(0),
        Finished("stop"),
    ]
    terminal.show(events)
    terminal.live.finish(assemble(events))
    assert text in terminal.look()


def test_the_status_line_is_overwritten_and_erased() -> None:
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


async def test_a_long_wait_shows_the_elapsed_time() -> None:
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

    await asyncio.wait_for(main(), 20)
    assert "⠙ Asking… (12 s)" in bench.stderr


def test_a_long_status_is_truncated_to_the_width_of_the_terminal() -> None:
    bench = Bench(terminal=True, env={"COLUMNS": "40", "NO_COLOR": "1"})
    Status(bench.console, lambda: 0.0).show("Searching: " + "long " * 50)
    assert len(bench.stderr.removeprefix("\r\x1b[2K")) <= 40


def test_a_query_of_a_provider_cannot_move_the_cursor() -> None:
    bench = Bench(terminal=True, env={"NO_COLOR": "1"})
    Status(bench.console, lambda: 0.0).show("Searching: a\x1b[2J\nb\x07")
    assert bench.stderr == "\r\x1b[2K⠋ Searching: a[2J b"


async def test_without_a_terminal_no_status_is_written() -> None:
    bench = Bench()
    status = Status(bench.console, lambda: 0.0)
    status.show("Asking…")
    await asyncio.wait_for(status.spin(), 20)
    status.clear()
    assert bench.stderr == ""


def test_a_terminal_of_another_encoding_gets_ascii_characters() -> None:
    bench = Bench(terminal=True, env={"NO_COLOR": "1"})
    bench.err.encoding = "latin-1"
    Status(bench.console, lambda: 0.0).show("Asking")
    assert bench.stderr == "\r\x1b[2K- Asking"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (SearchStarted(0, "s"), "Searching…"),
        (SearchCalled(0, SearchCall("s", ("a", "b"))), "Searching: a · b"),
        (SearchCalled(0, SearchCall("s")), "Searching…"),
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
