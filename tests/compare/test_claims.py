"""Claims of several answers: agreed, contradicted, or of one provider only."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.compare.claims import group_claims
from groundwire.compare.comparison import ClaimGroup
from tests.compare.answers import contribution

URL = "https://a.example/page"


def groups_of(*sentences: str) -> tuple[ClaimGroup, ...]:
    """One claim of each provider."""
    return group_claims([contribution(f"p{at}", (text, URL)) for at, text in enumerate(sentences)])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Nile is 6,650 km long.", "The Nile has a length of 6650 kilometres."),
        ("Richard Hipp wrote SQLite in 2000.", "SQLite was written by Richard Hipp in 2000."),
        ("Die Brücke wurde 1883 eröffnet.", "Eröffnet wurde die Brücke 1883."),
        ("SQLite is in the public domain.", "SQLite is in the public domain."),
    ],
)
def test_claims_that_say_the_same_are_agreed(one: str, other: str) -> None:
    (group,) = groups_of(one, other)
    assert group.agreement == "agreed"
    assert [side.provider for side in group.sides] == ["p0", "p1"]


@pytest.mark.parametrize(
    ("one", "other", "one_says", "other_says"),
    [
        ("The Nile is 6,650 km long.", "The Nile is 6,853 km long.", "6,650", "6,853"),
        ("The tower was finished in 1889.", "The tower was finished in 1887.", "1889", "1887"),
        (
            "The company was founded by Anna Berg in Oslo.",
            "The company was founded by Karl Lund in Oslo.",
            "Anna Berg",
            "Karl Lund",
        ),
    ],
)
def test_another_number_or_name_in_the_same_place_is_a_contradiction(
    one: str, other: str, one_says: str, other_says: str
) -> None:
    (group,) = groups_of(one, other)
    assert group.agreement == "contradicted"
    (difference,) = group.differences
    assert one_says.split(maxsplit=1)[0] in difference.one_says
    assert other_says.split(maxsplit=1)[0] in difference.other_says


def test_a_negation_is_a_contradiction() -> None:
    (group,) = groups_of(
        "The White Nile begins at Lake Victoria.", "The White Nile does not begin at Lake Victoria."
    )
    assert group.agreement == "contradicted"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Nile is 6,650 km long.", "The Nile flows through eleven countries."),
        ("SQLite is a database library.", "The release of PostgreSQL 18 was in September 2025."),
        ("The Nile is 6,650 km long.", "The Amazon carries more water than any other river."),
    ],
)
def test_claims_about_other_things_stay_apart(one: str, other: str) -> None:
    assert [group.agreement for group in groups_of(one, other)] == ["single", "single"]


def test_three_providers_two_of_which_agree_are_one_group() -> None:
    (group,) = groups_of(
        "The Nile is 6,650 km long.",
        "The Nile has a length of 6650 kilometres.",
        "The Nile is 6,853 km long.",
    )
    assert group.agreement == "contradicted"
    assert len(group.sides) == 3


def test_contradictions_come_first_and_single_claims_last() -> None:
    one = contribution(
        "one",
        ("SQLite is in the public domain.", URL),
        ("The Nile is 6,650 km long.", URL),
        ("Basalt is a volcanic rock.", URL),
    )
    other = contribution(
        "other", ("SQLite is in the public domain.", URL), ("The Nile is 6,853 km long.", URL)
    )
    assert [group.agreement for group in group_claims([one, other])] == ["contradicted", "agreed", "single"]


def test_a_claim_names_its_sources_once() -> None:
    one = contribution(
        "one",
        ("The Nile is 6,650 km long.", "https://a.example/x"),
        ("The Nile is 6,650 km long.", "https://b.example/y"),
        ("The Nile is 6,650 km long.", "https://a.example/x?utm_source=openai"),
    )
    (group,) = group_claims([one])
    assert group.sides[0].urls == ("https://a.example/x", "https://b.example/y")


SENTENCES = (
    "The Nile is 6,650 km long.",
    "The Nile is 6,853 km long.",
    "The Nile has a length of 6650 kilometres.",
    "SQLite is in the public domain.",
    "Richard Hipp wrote SQLite in 2000.",
    "The White Nile begins at Lake Victoria.",
)
ANSWERS = st.lists(st.sampled_from(SENTENCES), max_size=4, unique=True)


@settings(max_examples=40, deadline=None)
@given(answers=st.lists(ANSWERS, min_size=1, max_size=4))
def test_every_claim_is_in_exactly_one_group(answers: list[list[str]]) -> None:
    contributions = [
        contribution(f"p{at}", *((text, URL) for text in answer)) for at, answer in enumerate(answers)
    ]
    groups = group_claims(contributions)
    grouped = sorted((side.provider, side.text) for group in groups for side in group.sides)
    assert grouped == sorted((f"p{at}", text) for at, answer in enumerate(answers) for text in answer)
    for group in groups:
        providers = [side.provider for side in group.sides]
        assert len(providers) == len(set(providers))
    assert group_claims(contributions) == groups
