"""An answer as a text to read."""

from __future__ import annotations

from groundwire.model import Answer, Citation, Evidence, SearchResult, Source, Span, Text
from groundwire.text.markdown import render_answer, render_body, render_sources
from groundwire.text.sources import number_answer, number_sources

A = Source("https://a.example/x", "Page A")
B = Source("https://b.example/y", "")


def cited(text: str, *citations: Citation) -> Answer:
    return Answer((Text(text),), citations)


def test_text_numbers_and_the_list_of_sources() -> None:
    answer = cited(
        "One. Two.",
        Citation(Span(0, 4), (Evidence(A),)),
        Citation(Span(5, 9), (Evidence(B), Evidence(A))),
    )
    assert render_answer(answer) == (
        "One.[1] Two.[1][2]\n\nSources:\n[1] Page A (https://a.example/x)\n[2] b.example (https://b.example/y)"
    )


def test_without_sources_the_text_stands_alone() -> None:
    assert render_answer(cited("One.")) == "One."


def test_a_citation_of_the_whole_answer_is_in_the_list() -> None:
    answer = cited("One.", Citation(None, (Evidence(A),)))
    assert render_answer(answer) == "One.\n\nSources:\n[1] Page A (https://a.example/x)"


def test_what_was_found_is_listed_if_nothing_is_cited() -> None:
    answer = Answer((SearchResult("s", (A,)), Text("One.")))
    assert render_answer(answer) == "One.\n\nSources:\n[1] Page A (https://a.example/x)"


def test_a_link_that_stands_for_its_source_becomes_a_number() -> None:
    link = "([a.example](https://a.example/x?utm_source=openai))"
    answer = cited(
        f"One {link}.",
        Citation(
            Span(4, 4 + len(link)), (Evidence(Source("https://a.example/x?utm_source=openai")),), "marker"
        ),
    )
    assert render_answer(answer).startswith("One [1].\n\nSources:")


def test_one_page_under_two_addresses_has_one_number() -> None:
    answer = cited(
        "One. Two.",
        Citation(Span(0, 4), (Evidence(A),)),
        Citation(Span(5, 9), (Evidence(Source("https://www.a.example/x#part")),)),
    )
    assert render_body(answer, number_answer(answer)) == "One.[1] Two.[1]"


def test_leaked_signs_are_taken_out_and_numbers_stay_in_place() -> None:
    answer = cited(
        "One 【3:2†source】. Two\ue200cite\ue202turn0\ue201.", Citation(Span(4, 16), (Evidence(A),), "marker")
    )
    assert render_body(answer, number_answer(answer)) == "One [1]. Two."


def test_commentary_and_answer_stand_apart() -> None:
    answer = Answer(
        (Text("Let me look.", "commentary"), Text("It is ", "final_answer"), Text("so.", "final_answer"))
    )
    assert render_answer(answer) == "Let me look.\n\nIt is so."


def test_a_citation_behind_a_break_stands_where_its_claim_ends() -> None:
    answer = Answer(
        (Text("Looking.", "commentary"), Text("It is so.", "final_answer")),
        (Citation(Span(8, 17), (Evidence(A),)), Citation(Span(0, 8), (Evidence(B),))),
    )
    assert render_body(answer, number_sources([A, B])) == "Looking.[2]\n\nIt is so.[1]"


def test_a_feed_without_an_address_is_listed_by_name() -> None:
    assert render_sources([Source("", "oai-weather"), A]) == (
        "Sources:\n[1] oai-weather\n[2] Page A (https://a.example/x)"
    )


def test_a_title_cannot_break_the_list() -> None:
    assert render_sources([Source("https://a.example", "One\n[2] Fake\r\n(x)")]) == (
        "Sources:\n[1] One [2] Fake (x) (https://a.example)"
    )
