"""Output formats, the source list and the footer."""

from __future__ import annotations

import json

import pytest

from groundwire.errors import RateLimited
from groundwire.faces.cli.output import (
    SearchQuestion,
    as_json,
    as_line,
    as_markdown,
    as_raw,
    as_text,
    encode_answer,
    write_footer,
    write_sources,
)
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Failed,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Text,
    TextDelta,
    Usage,
    Warned,
    assemble,
)
from groundwire.model.json import decode
from groundwire.text.sources import SourceNumberer
from tests.faces.fakes import COLOGNE, FIRST, LATE, SECOND, TEXT, Bench
from tests.faces.screen import Screen

QUESTION = SearchQuestion("how many?", "auto")
ANSWER = assemble(LATE)


def test_json_has_every_documented_field() -> None:
    body = json.loads(as_json(ANSWER, QUESTION))
    assert list(body) == [
        *("version", "query", "text", "citations", "sources", "searches", "grounded", "warnings", "usage"),
        *("provider", "model", "finish", "error"),
    ]
    assert body["version"] == 1
    assert (body["query"], body["text"], body["grounded"]) == ("how many?", TEXT, True)
    assert body["citations"] == [
        {"start": FIRST.start, "end": FIRST.end, "anchor": "claim", "sources": [0, 1], "quotes": []},
        {"start": SECOND.start, "end": SECOND.end, "anchor": "claim", "sources": [1], "quotes": []},
    ]
    assert body["sources"][0] == {
        "url": COLOGNE.url,
        "title": "Köln in Zahlen",
        "domain": "stadt.example",
        "state": "cited",
    }
    assert body["searches"] == [{"query": "Einwohner Köln", "kind": "search", "state": "done"}]
    assert body["usage"]["input_tokens"] == 1200
    assert (body["provider"], body["model"], body["finish"]) == ("gemini", "gemini-2.5-flash", "stop")
    assert body["error"] is None


def test_spans_count_code_points_of_the_text() -> None:
    body = json.loads(as_json(ANSWER, QUESTION))
    first = body["citations"][0]
    assert body["text"][first["start"] : first["end"]] == "Köln hat 1,1 Mio. Einwohner 🏙️"


def test_an_error_has_a_code_and_a_message() -> None:
    body = encode_answer(Answer(error=RateLimited("slow down")), QUESTION)
    assert body["error"] == {
        "code": "UPSTREAM_RATE_LIMITED",
        "message": "slow down",
        "retryable": True,
        "advice": "Wait a moment, or choose another provider with --provider.",
    }


def test_json_names_the_requested_provider_even_if_it_failed() -> None:
    assert encode_answer(Answer(), SearchQuestion("q", "gemini", "m"))["provider"] == "gemini"
    assert encode_answer(Answer(), SearchQuestion("q", "gemini", "m"))["model"] == "m"


def test_json_has_the_warnings() -> None:
    body = encode_answer(Answer(warnings=(Warned("option_ignored", "no city"),)), QUESTION)
    assert body["warnings"] == [{"code": "option_ignored", "message": "no city"}]


def test_a_feed_without_a_url_is_still_a_source() -> None:
    weather = Source("", "Weather", "cited")
    answer = Answer((Text("Sunny"),), (Citation(Span(0, 5), (Evidence(weather),)),))
    body = encode_answer(answer, QUESTION)
    assert body["citations"] == [{"start": 0, "end": 5, "anchor": "claim", "sources": [0], "quotes": []}]
    assert as_markdown(answer) == "Sunny[1]\n\n## Sources\n\n1. Weather"


@pytest.mark.parametrize("event", [*LATE, Failed(RateLimited("x"))])
def test_an_event_is_one_line_that_can_be_read_back(event: TextDelta) -> None:
    line = as_line(event)
    assert "\n" not in line
    assert decode(json.loads(line)) == event


def test_text_output_has_numbers_and_a_source_list() -> None:
    assert as_text(ANSWER) == (
        "Köln hat 1,1 Mio. Einwohner 🏙️[1][2]. Es liegt am Rhein.[2]\n\nSources:\n"
        "[1] Köln in Zahlen (https://stadt.example/koeln)\n"
        "[2] Großstädte (https://statistik.example/staedte)"
    )


def test_markdown_output_has_linked_numbers() -> None:
    assert as_markdown(ANSWER) == (
        "Köln hat 1,1 Mio. Einwohner 🏙️[[1]](https://stadt.example/koeln)"
        "[[2]](https://statistik.example/staedte). Es liegt am Rhein."
        "[[2]](https://statistik.example/staedte)\n\n## Sources\n\n"
        "1. [Köln in Zahlen](https://stadt.example/koeln)\n"
        "2. [Großstädte](https://statistik.example/staedte)"
    )


def test_titles_and_urls_cannot_break_markdown() -> None:
    source = Source("https://w.example/a_(b)", "A [b](javascript:x) *c*", "cited")
    answer = Answer((Text("Yes"),), (Citation(None, (Evidence(source),)),))
    assert as_markdown(answer).endswith(r"1. [A \[b\](javascript:x) \*c\*](https://w.example/a_%28b%29)")


def test_raw_output_is_the_text_alone() -> None:
    assert as_raw(ANSWER) == TEXT


@pytest.mark.parametrize("form", [as_text, as_markdown, as_raw, lambda answer: as_json(answer, QUESTION)])
def test_no_output_format_has_control_characters(form: object) -> None:
    source = Source("https://e.example/", "T\x1b[2J", "cited")
    answer = Answer((Text("a\x1b]52;c;x\x07b\x9bc\u202e"),), (Citation(Span(0, 1), (Evidence(source),)),))
    assert callable(form)
    assert not set(form(answer)) & set("\x1b\x07\x9b\u202e")


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


def test_a_source_has_a_title_and_a_url() -> None:
    bench = Bench(terminal=True)
    assert sources_on(bench, Source("https://a.example/x", "A")) == "Sources\n[1] A\n    https://a.example/x"


def test_a_url_is_printed_if_links_are_not_supported() -> None:
    assert LONG in "".join(sources_on(Bench(terminal=True), Source(LONG, "A")).split())


def test_a_long_linked_url_is_shown_as_its_domain() -> None:
    bench = Bench(terminal=True, env={"FORCE_HYPERLINK": "1"})
    assert sources_on(bench, Source(LONG, "A")) == "Sources\n[1] A\n    redirect.example"
    assert f"\x1b]8;;{LONG}\x1b\\A" in bench.stdout


def test_a_source_without_a_url_is_listed_without_one() -> None:
    assert sources_on(Bench(terminal=True), Source("", "Weather")) == "Sources\n[1] Weather"


def test_a_url_that_is_not_a_web_address_is_not_shown() -> None:
    bench = Bench(terminal=True, env={"FORCE_HYPERLINK": "1"})
    assert sources_on(bench, Source("javascript:alert(1)", "A")) == "Sources\n[1] A"


def test_pages_that_are_not_cited_are_not_listed_as_sources() -> None:
    bench = Bench(terminal=True, env={"NO_COLOR": "1"})
    page = Source("https://a.example/x", "A")
    write_sources(bench.console, order_of(page), [], Answer((Text("A"),)))
    assert bench.stdout.startswith("Found, but not cited\n[1] A\n")


def test_without_sources_there_is_no_list() -> None:
    bench = Bench(terminal=True)
    write_sources(bench.console, SourceNumberer(), [], Answer())
    assert bench.stdout == ""


def footer_of(answer: Answer, *, terminal: bool = True) -> list[str]:
    bench = Bench(terminal=terminal, env={"NO_COLOR": "1"})
    write_footer(bench.console, answer, SearchQuestion("q", "gemini"), 1.25)
    return bench.stderr.splitlines()


def test_the_footer_has_the_known_searches_tokens_and_cost() -> None:
    parts = (SearchCall("s", ("a", "b")), SearchResult("s"), SearchCall("t", ("a",)), Text("Yes."))
    cited = (Citation(None, (Evidence(Source("https://a.example", "A")),)),)
    answer = Answer(parts, cited, Usage(input_tokens=1234, output_tokens=5, searches=2, cost=0.5))
    assert footer_of(answer) == [
        "",
        "Searched: a · b",
        "gemini · 2 searches · 1,234 tokens in, 5 out · $0.5000 · 1.2 s",
    ]
    assert footer_of(Answer((Text("Yes."),), cited)) == ["", "gemini · 1.2 s"]


@pytest.mark.parametrize(
    ("usage", "shown"),
    [(Usage(1, 1, cost=0.0), "free"), (Usage(1, 1), "cost unknown"), (Usage(1, 1, cost=0.00004), "$0.0000")],
)
def test_the_footer_tells_free_answers_from_those_without_a_known_price(usage: Usage, shown: str) -> None:
    cited = (Citation(None, (Evidence(Source("https://a.example", "A")),)),)
    assert f" · {shown} · " in footer_of(Answer((Text("Yes."),), cited, usage))[-1]


def test_in_a_pipe_the_footer_has_only_warnings() -> None:
    answer = Answer((Text("Yes."),), warnings=(Warned("x", "no\ncity"),), finish="length")
    assert footer_of(answer, terminal=False) == [
        "Not grounded: nothing in this answer names a source.",
        "The answer was cut off: it reached the limit of its length.",
        "Warning: no city",
    ]


def test_how_a_question_was_understood_is_not_a_warning() -> None:
    cited = (Citation(None, (Evidence(Source("https://a.example", "A")),)),)
    notice = Warned("query_corrected", "Showing results for “delete a file”.")
    answer = Answer((Text("Yes."),), cited, warnings=(notice,))
    assert footer_of(answer, terminal=False) == [notice.message]


def test_a_long_list_of_queries_is_shortened() -> None:
    parts = (SearchCall("s", tuple(f"q{number}" for number in range(9))), Text("Yes."))
    assert any("q5 and 3 more" in line for line in footer_of(Answer(parts)))


LOCAL = Source("local:python/3.11.7/math.sqrt", "math.sqrt", "cited")


def test_an_address_of_this_machine_is_written_and_not_linked() -> None:
    bench = Bench(terminal=True, env={"FORCE_HYPERLINK": "1"})
    assert sources_on(bench, LOCAL) == f"Sources\n[1] math.sqrt\n    {LOCAL.url}"
    assert "\x1b]8;" not in bench.stdout


def test_markdown_has_an_address_of_this_machine_as_code() -> None:
    answer = Answer((Text("Yes"),), (Citation(Span(0, 3), (Evidence(LOCAL),)),))
    assert as_markdown(answer) == f"Yes[1]\n\n## Sources\n\n1. math.sqrt (`{LOCAL.url}`)"
    assert as_text(answer).endswith(f"[1] math.sqrt ({LOCAL.url})")
