"""Saved answers: what `groundwire search` printed can be read again."""

from __future__ import annotations

import pytest

from groundwire.dialects.json import dump_json
from groundwire.errors import ClientWireError
from groundwire.faces.cli.output import SearchQuestion, as_json, as_line
from groundwire.model import Answer, Citation, Evidence, Source, Span, Text, assemble
from groundwire.model.json import encode
from groundwire.verify.check import cited_urls
from groundwire.verify.saved import read_saved
from tests.faces.fakes import LATE, TEXT

ANSWER = assemble(LATE)


def spans(answer: Answer) -> list[tuple[Span | None, tuple[str, ...]]]:
    return [(item.span, tuple(one.source.url for one in item.evidence)) for item in answer.citations]


def test_a_json_object_has_text_citations_and_question() -> None:
    saved = read_saved(as_json(ANSWER, SearchQuestion("how many?", "gemini", "m")))
    assert saved.answer.text == TEXT
    assert spans(saved.answer) == spans(ANSWER)
    assert (saved.query, saved.provider) == ("how many?", "gemini")
    assert {source.url for source in saved.answer.sources} == {source.url for source in ANSWER.sources}


def test_lines_of_events_and_stored_answers_are_the_same_answer() -> None:
    lines = "\n".join(as_line(event) for event in LATE)
    assert read_saved(lines + "\n").answer == ANSWER
    assert (
        read_saved(lines + '\n{"version": 1, "type": "verification", "verification": {}}\n').answer == ANSWER
    )
    assert read_saved(dump_json(encode(ANSWER))).answer == ANSWER


@pytest.mark.parametrize(
    ("quotes", "expected"),
    [
        (["one", "two"], [("https://a.example/", "one"), ("https://b.example/", "two")]),
        (["one"], [("https://a.example/", "one"), ("https://b.example/", "one")]),
        ([], [("https://a.example/", ""), ("https://b.example/", "")]),
    ],
)
def test_quotes_without_a_source_are_looked_for_in_all(
    quotes: list[str], expected: list[tuple[str, str]]
) -> None:
    body = dump_json(
        {
            "version": 1,
            "text": "abc",
            "citations": [{"start": 0, "end": 3, "anchor": "claim", "sources": [0, 1], "quotes": [*quotes]}],
            "sources": [{"url": "https://a.example/"}, {"url": "https://b.example/"}],
        }
    )
    evidence = read_saved(body).answer.citations[0].evidence
    assert [(item.source.url, item.quote) for item in evidence] == expected


def test_spans_and_indices_outside_are_not_believed() -> None:
    body = dump_json(
        {
            "text": "abc",
            "citations": [
                {"start": 0, "end": 99, "sources": [0, 7, -1, True], "quotes": []},
                {"start": 2, "end": 1, "sources": []},
            ],
            "sources": [{"url": "https://a.example/"}],
        }
    )
    answer = read_saved(body).answer
    assert [citation.span for citation in answer.citations] == [None]
    assert cited_urls(answer) == ("https://a.example/",)


@pytest.mark.parametrize(
    "text", ["", "hello", "[]", "{}", '{"text": 1}', '{"type": "Nope", "version": 1}', "1"]
)
def test_anything_else_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(ClientWireError, match="groundwire search --json"):
        read_saved(text)


def test_an_answer_made_by_hand_can_be_saved() -> None:
    made = Answer((Text("Hi."),), (Citation(Span(0, 3), (Evidence(Source("https://a.example/"), "q"),)),))
    assert read_saved(as_json(made, SearchQuestion("q"))).answer.citations[0].evidence[0].quote == "q"
