"""Numbers, dates and times: what they mean, and whether two of them can both be right."""

from __future__ import annotations

import pytest

from groundwire.verify.quantities import Quantity, contradicts, says
from groundwire.verify.tokens import tokenize_text


def quantity(text: str) -> Quantity:
    found = [token.quantity for token in tokenize_text(text) if token.quantity is not None]
    assert len(found) == 1, found
    return found[0]


SAME = [
    ("1,204 patients", "1204 patients"),
    ("12.480 Einwohner", "12480 Einwohner"),
    ("12.480 Einwohner", "12,480 inhabitants"),
    ("1.234.567,5 Euro", "1,234,567.5 euros"),
    ("87,5 Kilometer", "87.5 km"),
    ("€412 million", "412 million euros"),
    ("1,2 Milliarden Euro", "1.2 billion euros"),
    ("38 percent", "38 %"),
    ("zwölf Pulse", "12 pulses"),
    ("twenty-one ships", "21 ships"),
    ("einundzwanzig Schiffe", "21 Schiffe"),
    ("four weeks", "4 Wochen"),
    ("12 March 2024", "March 12, 2024"),
    ("12. März 2024", "2024-03-12"),
    ("03.10.1998", "3. Oktober 1998"),
    ("am 3.10.1998", "3 October 1998"),
    ("12/03/2021", "12 March 2021"),
    ("12/03/2021", "December 3, 2021"),
    ("21:30", "21:30"),
    ("3,878,100 inhabitants", "3.9 million inhabitants"),
    ("2,317 people", "about 2,300 people"),
    ("one hundred and twenty nurses", "120 nurses"),
    ("a hundred ships", "100 ships"),
    ("zweihundertfünfzig Mühlen", "250 Mühlen"),
    ("hunderteinundzwanzig Mühlen", "121 Mühlen"),
    ("two hundred thousand people", "200,000 people"),
    ("two dozen bugs", "24 bugs"),
    ("the third theatre", "the 3rd theatre"),
    ("im dritten Stock", "the third floor"),
    ("a third of it", "ein Drittel davon"),
    ("two-thirds of it", "zwei Drittel"),
    ("half of it", "die Hälfte"),
    ("52.3 per cent", "52.3 %"),
    ("7.5 percentage points", "7,5 Prozentpunkte"),
    ("at 7.45 pm", "19:45"),
    ("um 8.30 Uhr", "8:30 a.m."),
    ("um 18 Uhr", "6 pm"),
    ("in the 1880s", "in 1884"),
    ("in Q3", "for Q3"),
    ("season 3", "the third season"),
]


@pytest.mark.parametrize(("page", "claim"), SAME)
def test_the_format_does_not_matter(page: str, claim: str) -> None:
    assert says(quantity(page), quantity(claim))
    assert not contradicts(quantity(page), quantity(claim))


@pytest.mark.parametrize(
    ("page", "claim"),
    [
        ("18,450 inhabitants", "28,450 inhabitants"),
        ("38 percent", "83 percent"),
        ("4 May 1911", "5 May 1911"),
        ("4 May 1911", "May 1912"),
        ("in 1243", "in 1342"),
        ("9 August 2017", "in 2007"),
        ("324 m", "330 m"),
        ("acht Euro", "zwölf Euro"),
        ("18:00", "19:00"),
        ("3.878 million inhabitants", "3.7 million inhabitants"),
        ("one hundred and twenty nurses", "one hundred and forty nurses"),
        ("some 2,500 people", "some 3,500 people"),
        ("the third theatre", "the fourth theatre"),
        ("14th century", "12th century"),
        ("ein Drittel", "ein Fünftel"),
        ("in the 1880s", "in the 1890s"),
        ("in Q3", "in Q1"),
        ("5 pm", "7 pm"),
    ],
)
def test_other_values_of_one_kind_contradict(page: str, claim: str) -> None:
    assert not says(quantity(page), quantity(claim))
    assert contradicts(quantity(page), quantity(claim))


@pytest.mark.parametrize(
    ("page", "claim"),
    [
        ("6 percent", "6 ships"),
        ("in 1911", "45 ships"),
        ("in 2021", "12 March 2021"),
        ("3.9 million", "3,878,100 inhabitants"),
        ("61 Millionen", "61 der Schulen"),
        ("12/03/2021", "5 December 2021"),
        ("18:00", "18 ships"),
        ("the third ship", "4 ships"),
        ("a third of the fleet", "the third ship"),
        ("6 percentage points", "6 percent"),
        ("in the 1880s", "in 1911"),
    ],
)
def test_what_cannot_be_compared_neither_agrees_nor_contradicts(page: str, claim: str) -> None:
    assert not says(quantity(page), quantity(claim))
    assert not contradicts(quantity(page), quantity(claim))


@pytest.mark.parametrize(
    "text", ["You may march on.", "one of the ships", "He is second to none.", "B2B and A4"]
)
def test_other_words_are_no_quantities(text: str) -> None:
    assert not [token for token in tokenize_text(text) if token.quantity is not None]


def test_versions_are_compared_digit_by_digit() -> None:
    assert says(quantity("Python 3.11.2"), quantity("version 3.11.2"))
    assert not says(quantity("Python 3.11.2"), quantity("version 3.11.4"))
