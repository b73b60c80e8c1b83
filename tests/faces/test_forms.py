"""The forms that programs read."""

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
)
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Failed,
    Source,
    Span,
    Text,
    TextDelta,
    Warned,
    assemble,
)
from groundwire.model.json import decode
from tests.faces.fakes import COLOGNE, FIRST, LATE, SECOND, TEXT

ASKED = SearchQuestion("how many?", "auto")
ANSWER = assemble(LATE)


def test_json_has_every_field_that_users_know() -> None:
    body = json.loads(as_json(ANSWER, ASKED))
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
    body = json.loads(as_json(ANSWER, ASKED))
    first = body["citations"][0]
    assert body["text"][first["start"] : first["end"]] == "Köln hat 1,1 Mio. Einwohner 🏙️"


def test_an_error_says_what_programs_and_people_need() -> None:
    body = encode_answer(Answer(error=RateLimited("slow down")), ASKED)
    assert body["error"] == {
        "code": "UPSTREAM_RATE_LIMITED",
        "message": "slow down",
        "retryable": True,
        "advice": "Wait a moment, or choose another provider with --provider.",
    }


def test_the_provider_that_was_asked_for_is_named_even_when_it_failed() -> None:
    assert encode_answer(Answer(), SearchQuestion("q", "gemini", "m"))["provider"] == "gemini"
    assert encode_answer(Answer(), SearchQuestion("q", "gemini", "m"))["model"] == "m"


def test_warnings_are_told() -> None:
    body = encode_answer(Answer(warnings=(Warned("option_ignored", "no city"),)), ASKED)
    assert body["warnings"] == [{"code": "option_ignored", "message": "no city"}]


def test_a_feed_without_an_address_is_still_a_source() -> None:
    weather = Source("", "Weather", "cited")
    answer = Answer((Text("Sunny"),), (Citation(Span(0, 5), (Evidence(weather),)),))
    body = encode_answer(answer, ASKED)
    assert body["citations"] == [{"start": 0, "end": 5, "anchor": "claim", "sources": [0], "quotes": []}]
    assert as_markdown(answer) == "Sunny[1]\n\n## Sources\n\n1. Weather"


@pytest.mark.parametrize("event", [*LATE, Failed(RateLimited("x"))])
def test_an_event_is_one_line_that_can_be_read_back(event: TextDelta) -> None:
    line = as_line(event)
    assert "\n" not in line
    assert decode(json.loads(line)) == event


def test_text_to_read_has_numbers_and_their_list() -> None:
    assert as_text(ANSWER) == (
        "Köln hat 1,1 Mio. Einwohner 🏙️[1][2]. Es liegt am Rhein.[2]\n\nSources:\n"
        "[1] Köln in Zahlen (https://stadt.example/koeln)\n"
        "[2] Großstädte (https://statistik.example/staedte)"
    )


def test_markdown_has_numbers_that_are_links() -> None:
    assert as_markdown(ANSWER) == (
        "Köln hat 1,1 Mio. Einwohner 🏙️[[1]](https://stadt.example/koeln)"
        "[[2]](https://statistik.example/staedte). Es liegt am Rhein."
        "[[2]](https://statistik.example/staedte)\n\n## Sources\n\n"
        "1. [Köln in Zahlen](https://stadt.example/koeln)\n"
        "2. [Großstädte](https://statistik.example/staedte)"
    )


def test_markdown_cannot_be_broken_by_titles_and_addresses() -> None:
    source = Source("https://w.example/a_(b)", "A [b](javascript:x) *c*", "cited")
    answer = Answer((Text("Yes"),), (Citation(None, (Evidence(source),)),))
    assert as_markdown(answer).endswith(r"1. [A \[b\](javascript:x) \*c\*](https://w.example/a_%28b%29)")


def test_raw_is_the_words_alone() -> None:
    assert as_raw(ANSWER) == TEXT


@pytest.mark.parametrize("form", [as_text, as_markdown, as_raw, lambda answer: as_json(answer, ASKED)])
def test_no_form_carries_control_characters(form: object) -> None:
    source = Source("https://e.example/", "T\x1b[2J", "cited")
    answer = Answer((Text("a\x1b]52;c;x\x07b\x9bc\u202e"),), (Citation(Span(0, 1), (Evidence(source),)),))
    assert callable(form)
    assert not set(form(answer)) & set("\x1b\x07\x9b\u202e")
