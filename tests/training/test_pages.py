"""The pages that the cross-encoder is trained on, and the examples that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest
from training.pages import (
    FOLDER,
    Asked,
    TrainingPage,
    asked_questions,
    foreign_groups,
    make_groups,
    parse_pages,
    read_pages,
)

FILE = """@ Vans
# Booking
Book a van with:
- your name
- the date

```
# a comment, not a heading
van book --date 2026-05-01
```
+ how do i book a van
+ van reservation
# Fuel
Return it with a full tank.
+ who pays for petrol
- what colour are the vans
- how many seats
@ Bikes
# Keys
They are at the desk.
+ where are the keys
- how heavy is a bike
"""


def test_a_file_has_pages_with_sections_and_questions() -> None:
    vans, bikes = parse_pages(FILE)
    booking, fuel = vans.sections
    assert (vans.title, bikes.title) == ("Vans", "Bikes")
    assert booking.heading == "Booking"
    assert "- your name" in booking.text
    assert "# a comment, not a heading" in booking.text
    assert booking.questions == ("how do i book a van", "van reservation")
    assert fuel.questions == ("who pays for petrol",)
    assert vans.unanswered == ("what colour are the vans", "how many seats")
    assert vans.passage(fuel) == "Vans. Fuel. Return it with a full tank."


def similarities(pages: Sequence[TrainingPage]) -> Callable[[str], list[float]]:
    """The number of words that a question shares with each section."""
    texts = [page.passage(section).lower().split() for page in pages for section in page.sections]
    return lambda question: [float(len(set(question.split()).intersection(text))) for text in texts]


@pytest.mark.parametrize("organisation", ["", "handbook"], ids=["alone", "of one organisation"])
@pytest.mark.parametrize("seed", range(5))
def test_only_the_section_above_a_question_answers_it(seed: int, organisation: str) -> None:
    pages = [page._replace(organisation=organisation) for page in parse_pages(FILE)]
    questions = asked_questions(pages)
    answers = {
        question: page.passage(section)
        for page in pages
        for section in page.sections
        for question in section.questions
    }
    made = list(make_groups(pages, questions, similarities(pages), Random(seed)))
    assert [group.question for group in made] == [item.question for item in questions]
    for group in made:
        assert group.is_answered == (group.question in answers)
        assert group.passages.count(answers.get(group.question, "")) == group.is_answered
        assert len(set(group.passages)) == len(group.passages)
        if group.is_answered:
            assert group.passages[0] == answers[group.question]


def test_a_question_without_an_answer_comes_with_the_most_similar_section_of_its_organisation() -> None:
    pages = list(parse_pages(FILE))
    asked = [Asked("what colour are the vans with a full tank", 0, None)]
    (group,) = make_groups(pages, asked, similarities(pages), Random(1))
    assert group.passages[0] == pages[0].passage(pages[0].sections[1])
    assert not any(passage.startswith("Bikes") for passage in group.passages)


@pytest.mark.parametrize("seed", range(5))
def test_sections_of_another_organisation_do_not_answer_a_question(seed: int) -> None:
    vans, bikes = parse_pages(FILE)
    pages = [vans._replace(organisation="one"), bikes._replace(organisation="other")]
    questions = asked_questions(pages)[:3]
    made = list(foreign_groups(pages, questions, similarities(pages), Random(seed)))
    assert {group.question for group in made} <= {item.question for item in questions}
    assert {group.passages for group in made} == {(bikes.passage(bikes.sections[0]),)}
    assert not any(group.is_answered for group in made)
    # A section that is as similar as the answer may be another answer.
    alike = [vans._replace(organisation="one"), vans._replace(organisation="other")]
    assert list(foreign_groups(alike, questions[2:], similarities(alike), Random(seed))) == []


def test_pages_that_are_alone_are_of_no_other_organisation() -> None:
    pages = list(parse_pages(FILE))
    assert list(foreign_groups(pages, asked_questions(pages), similarities(pages), Random(1))) == []


def test_german_pages_and_questions_are_read_in_english() -> None:
    text = "@ Urlaub\n# Antrag\nDer Antrag ist bei der Leitung zu stellen und wird bis Freitag entschieden.\n"
    (page,) = parse_pages(text + "+ wie stelle ich einen Antrag\n- wer ist die Leitung\n")
    assert page.passage(page.sections[0]).startswith("vacation leave. application request. the application")
    assert [item.question.split()[0] for item in asked_questions([page])] == ["how", "who"]


def test_every_page_has_questions_with_an_answer_and_without() -> None:
    pages = read_pages(sorted(FOLDER.glob("*.txt")))
    assert len({page.title for page in pages}) > 0.98 * len(pages)
    for page in pages:
        sections, unanswered = ((4, 5), (4, 10)) if page.organisation else ((4,), (6,))
        assert len(page.sections) in sections, page.title
        assert all(section.text and len(section.questions) in (3, 4) for section in page.sections), page.title
        assert len(page.unanswered) in unanswered, page.title
