"""The pages that the cross-encoder is trained on, and the examples that are made of them."""

from __future__ import annotations

from random import Random

from training.pages import FOLDER, examples, parse_pages, read_pages

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


def test_only_the_section_above_a_question_answers_it() -> None:
    pages = list(parse_pages(FILE))
    answers = {
        (question, page.passage(section))
        for page in pages
        for section in page.sections
        for question in section.questions
    }
    for seed in range(20):
        made = examples(pages, Random(seed))
        assert {(item.question, item.passage) for item in made if item.is_answer} == answers
        others = {(item.question, item.passage) for item in made if not item.is_answer}
        assert others.isdisjoint(answers)
        assert {"what colour are the vans", "how heavy is a bike"} <= {question for question, _ in others}


def test_every_page_has_questions_with_an_answer_and_without() -> None:
    pages = read_pages(sorted(FOLDER.glob("*.txt")))
    assert len({page.title for page in pages}) > 0.98 * len(pages)
    for page in pages:
        assert len(page.sections) == 4, page.title
        assert all(section.text and len(section.questions) == 3 for section in page.sections), page.title
        assert len(page.unanswered) == 6, page.title
