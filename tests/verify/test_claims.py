"""Claims: which text a citation stands for, and what a page has of it."""

from __future__ import annotations

import pytest

from groundwire.model import Citation, Evidence, Source, Span
from groundwire.verify.claims import AnswerClaims, check_claim, plain_claim
from groundwire.verify.facts import ClaimVerdict
from groundwire.verify.pages import PageText, PreparedPage

EVIDENCE = (Evidence(Source("https://a.example/")),)


def verdict(claim: str, *sentences: str, **fields: str) -> ClaimVerdict:
    return check_claim(claim, PreparedPage(PageText("\n\n".join(sentences), **fields))).verdict


def claim_of(text: str, marked: str, anchor: str = "claim") -> str:
    start = text.index(marked)
    span = Span(start, start + len(marked))
    return AnswerClaims(text).claim(Citation(span, EVIDENCE, "marker" if anchor == "marker" else "claim"))


def test_a_claim_is_the_marked_text_without_markup() -> None:
    text = "## Height\n\n- The **tower** is [324 m](https://a.example/x) tall.[1] It is old."
    assert claim_of(text, text[11:-11]) == "The tower is 324 m tall."


@pytest.mark.parametrize("marker", ["([a.example](https://a.example/x))", "[1]", "【4:0†source】"])
def test_a_marker_stands_for_the_sentence_before_it(marker: str) -> None:
    text = f"It is old. The tower is 324 m tall. {marker} More follows here."
    assert claim_of(text, marker, "marker") == "The tower is 324 m tall."
    inside = f"It is old. The tower is 324 m tall {marker}. More follows here."
    assert claim_of(inside, marker, "marker").startswith("The tower is 324 m tall")
    second = f"The tower is 324 m tall. {marker} [2]"
    assert claim_of(second, "[2]", "marker") == "The tower is 324 m tall."


def test_a_word_or_a_point_stands_for_its_sentence() -> None:
    text = "It is old. The tower is 324 m tall. More follows here."
    assert claim_of(text, "324 m") == "The tower is 324 m tall."
    at = text.index(" More")
    assert AnswerClaims(text).claim(Citation(Span(at, at), EVIDENCE)) == "The tower is 324 m tall."


def test_a_citation_of_the_whole_answer_marks_no_claim() -> None:
    assert AnswerClaims("Some text is here.").claim(Citation(None, EVIDENCE)) == ""
    assert verdict("", "Some text is here.") == "no_claim"


def test_links_that_only_name_their_site_are_no_words() -> None:
    assert plain_claim("It rains. ([news.example](https://news.example/a))") == "It rains."


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The tower is 324 metres tall.", "verbatim"),
        ("As of 2024, the tower is 324 metres tall, with its antenna.", "verbatim"),
        ("It is not true that the tower is 324 metres tall.", "negated"),
        ("It is a myth that the tower is 324 metres tall.", "unproven"),
        ("If the tower is 324 metres tall, it casts a long shadow.", "unproven"),
        ("Is it true that the tower is 324 metres tall?", "unproven"),
        ("The tower is not 324 metres tall.", "negated"),
        ("The tower is 300 metres tall.", "other_value"),
        ("Cats sleep for most of the day.", "absent"),
    ],
)
def test_the_sentence_around_a_claim_counts(sentence: str, expected: ClaimVerdict) -> None:
    assert verdict("The tower is 324 metres tall.", sentence) == expected


def test_a_true_and_an_absurd_claim_never_have_the_same_verdict() -> None:
    page = ("Aspirin relieves headaches.", "It was first made in 1897 by Felix Hoffmann.")
    true = verdict("Aspirin relieves headaches.", *page)
    absurd = [
        "Aspirin does not relieve headaches.",
        "It was first made in 1797 by Felix Hoffmann.",
        "It was first made in 1897 by Otto Hoffmann.",
        "Purple unicorns compose symphonies.",
    ]
    assert true == "verbatim"
    assert true not in {verdict(claim, *page) for claim in absurd}
    assert {verdict(claim, *page) for claim in absurd} == {"negated", "other_value", "other_name", "absent"}


def test_the_same_words_in_another_order_are_not_support() -> None:
    assert verdict("The man bit the big dog.", "The big dog bit the man.") == "unproven"


def test_a_value_that_is_said_elsewhere_about_the_same_is_not_contradicted() -> None:
    page = ("In 2021 the tower had 5,000 visitors.", "In 2022 the tower had 7,000 visitors.")
    assert verdict("In 2022 the tower had 7,000 visitors.", *page) == "verbatim"
    assert verdict("The tower had 7,000 visitors in 2022.", *page) == "unproven"


def test_relative_dates_and_ranges_are_not_contradicted() -> None:
    claim = "The men's team won the student cup in 2019."
    page = "The men's team won the student cup this year, as in 2018."
    assert verdict(claim, page) == "partial"
    assert (
        verdict("The festival premiere was on May 19, 2016.", "The festival premiere is May 11-22.")
        == "partial"
    )


def test_short_forms_of_names_are_not_contradicted() -> None:
    assert verdict("The firm was founded by Albert Stone.", "The firm was founded by Al Stone.") == "partial"


def test_claim_and_page_in_different_languages_cannot_be_compared() -> None:
    page = ("Der Turm ist sehr alt und wurde von den Bürgern der Stadt gebaut, die dafür lange sparten.",)
    fact = check_claim(
        "The tower is very old and was built by the citizens of the town.", PreparedPage(PageText(*page))
    )
    assert fact.verdict == "unproven"
    assert "different languages" in fact.statements[0].note


def test_one_wrong_sentence_makes_the_claim_wrong_and_one_absent_sentence_makes_it_partial() -> None:
    page = ("The tower is 324 metres tall.", "It was built by Anna Berg.")
    assert verdict("The tower is 324 metres tall. It was built by Olga Berg.", *page) == "other_name"
    assert verdict("The tower is 324 metres tall. Zebras play chess at night.", *page) == "partial"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"hidden": "The tower is 324 metres tall."}, "hidden_only"),
        ({"title": "The tower is 324 metres tall."}, "heading_only"),
        ({"aside": "The tower is 324 metres tall."}, "verbatim"),
    ],
)
def test_the_place_of_the_text_counts(fields: dict[str, str], expected: ClaimVerdict) -> None:
    fact = check_claim(
        "The tower is 324 metres tall.", PreparedPage(PageText("Cats sleep for most of the day.", **fields))
    )
    assert fact.verdict == expected
    assert fact.statements[0].place in ("hidden", "title", "aside")


def test_facts_name_what_is_there_and_what_is_not() -> None:
    fact = check_claim(
        "The copper tower in Bergen has 12 bells.", PreparedPage(PageText("The tower has twelve bells."))
    )
    statement = fact.statements[0]
    assert fact.verdict == "partial"
    assert set(statement.found) == {"tower", "bells", "12"}
    assert set(statement.missing) == {"copper", "Bergen"}
    assert statement.passage == "The tower has twelve bells."
