"""What stands around an answer."""

from __future__ import annotations

from groundwire.faces.cli.output import SearchQuestion, write_footer, write_sources
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Text,
    Usage,
    Warned,
)
from groundwire.text.sources import SourceNumberer
from tests.faces.fakes import Bench
from tests.faces.screen import Screen

LONG = "https://redirect.example/" + "x" * 100


def order_of(*sources: Source) -> SourceNumberer:
    order = SourceNumberer()
    for source in sources:
        order.number(source)
    return order


def sources_on(bench: Bench, *sources: Source) -> str:
    cited = tuple(Citation(Span(0, 1), (Evidence(source),)) for source in sources)
    write_sources(bench.console, order_of(*sources), [], Answer((Text("A"),), cited))
    screen = Screen()
    screen.feed(bench.stdout.replace("\n", "\r\n"))
    return screen.text


def test_a_source_has_a_title_and_an_address() -> None:
    bench = Bench(terminal=True)
    assert sources_on(bench, Source("https://a.example/x", "A")) == "Sources\n[1] A\n    https://a.example/x"


def test_an_address_that_cannot_be_clicked_is_written_out() -> None:
    assert LONG in "".join(sources_on(Bench(terminal=True), Source(LONG, "A")).split())


def test_a_long_address_that_can_be_clicked_is_told_by_its_domain() -> None:
    bench = Bench(terminal=True, env={"FORCE_HYPERLINK": "1"})
    assert sources_on(bench, Source(LONG, "A")) == "Sources\n[1] A\n    redirect.example"
    assert f"\x1b]8;;{LONG}\x1b\\A" in bench.stdout


def test_a_source_without_an_address_has_none() -> None:
    assert sources_on(Bench(terminal=True), Source("", "Weather")) == "Sources\n[1] Weather"


def test_an_address_that_is_not_the_web_s_is_not_shown() -> None:
    bench = Bench(terminal=True, env={"FORCE_HYPERLINK": "1"})
    assert sources_on(bench, Source("javascript:alert(1)", "A")) == "Sources\n[1] A"


def test_pages_that_were_only_found_are_not_called_sources() -> None:
    bench = Bench(terminal=True, env={"NO_COLOR": "1"})
    page = Source("https://a.example/x", "A")
    write_sources(bench.console, order_of(page), [], Answer((Text("A"),)))
    assert bench.stdout.startswith("Found, but not cited\n[1] A\n")


def test_without_sources_there_is_no_list() -> None:
    bench = Bench(terminal=True)
    write_sources(bench.console, SourceNumberer(), [], Answer())
    assert bench.stdout == ""


def noted(answer: Answer, *, terminal: bool = True) -> list[str]:
    bench = Bench(terminal=terminal, env={"NO_COLOR": "1"})
    write_footer(bench.console, answer, SearchQuestion("q", "gemini"), 1.25)
    return bench.stderr.splitlines()


def test_searches_tokens_and_cost_are_told_as_far_as_they_are_known() -> None:
    parts = (SearchCall("s", ("a", "b")), SearchResult("s"), SearchCall("t", ("a",)), Text("Yes."))
    cited = (Citation(None, (Evidence(Source("https://a.example", "A")),)),)
    answer = Answer(parts, cited, Usage(input_tokens=1234, output_tokens=5, searches=2, cost=0.5))
    assert noted(answer) == [
        "",
        "Searched: a · b",
        "gemini · 2 searches · 1,234 tokens in, 5 out · $0.5000 · 1.2 s",
    ]
    assert noted(Answer((Text("Yes."),), cited)) == ["", "gemini · 1.2 s"]


def test_in_a_pipe_only_what_must_be_known_is_told() -> None:
    answer = Answer((Text("Yes."),), warnings=(Warned("x", "no\ncity"),), finish="length")
    assert noted(answer, terminal=False) == [
        "Not grounded: nothing in this answer names a source.",
        "The answer was cut off: it reached the limit of its length.",
        "Warning: no city",
    ]


def test_many_queries_are_cut_short() -> None:
    parts = (SearchCall("s", tuple(f"q{number}" for number in range(9))), Text("Yes."))
    assert any("q5 and 3 more" in line for line in noted(Answer(parts)))
