"""Spelling correction from the words of the index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine.retrieve.spelling import Speller, edit_distance, make_dictionary, typing_cost

WORDS = {
    "dictionary": 40,
    "comprehension": 12,
    "comprehensive": 2,
    "break": 60,
    "early": 9,
    "loop": 50,
    "once": 1,
}


def words_with_prefix(prefix: str) -> list[tuple[str, int]]:
    return [(word, count) for word, count in WORDS.items() if word.startswith(prefix)]


def corrected(query: str) -> str:
    return Speller(words_with_prefix).correct(query, lambda word: word == "kotlin")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("dictonary comprehention", "dictionary comprehension"),
        ("braek out of a loop erly", "break out of a loop early"),
        ("dictionary loop", "dictionary loop"),
        ("kotlin loop", "kotlin loop"),
        ("a loop in Dictonary", "a loop in Dictonary"),
        ("loops that breaked", "loops that breaked"),
        ("dict.lop() and `lop`", "dict.lop() and `lop`"),
        ("xyzzy", "xyzzy"),
        ("onse", "onse"),
    ],
    ids=[
        "two letters",
        "swapped letters",
        "known",
        "another word",
        "name",
        "other forms of known words",
        "code",
        "nothing similar",
        "too rare",
    ],
)
def test_only_unknown_plain_words_are_replaced(query: str, expected: str) -> None:
    assert corrected(query) == expected


def test_words_that_are_spelt_correctly_are_not_replaced_by_words_of_the_index() -> None:
    dictionary = make_dictionary({"break"}, {}, ["lisbon", "manage", "leap", "party", "lop"])
    speller = Speller(words_with_prefix, dictionary)
    for query in ("leap", "leaps", "managing", "lisbon", "breaks", "parties", "lopping"):
        assert speller.correct(query, lambda word: False) == query
    # A form that no word has, and a word that is in no list.
    assert [*speller.suggestions("brea")] == ["break"]
    assert [*speller.suggestions("liop")] == ["loop"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("sommerfest", "sommerfest"),
        ("sommerzeut", "sommerzeit"),
        ("sommrezeit", "sommerzeit"),
        ("sommarzeet", "sommerzeit"),
        ("sommezeitt", "sommerzeit"),
    ],
    ids=["two other letters", "neighbour", "swapped letters", "vowels", "missing and doubled letters"],
)
def test_a_word_with_two_letters_that_are_seldom_confused_is_another_word(typed: str, expected: str) -> None:
    speller = Speller(lambda prefix: [("sommerzeit", 30)] if "sommerzeit".startswith(prefix) else [])
    assert speller.correct(f"wann ist {typed}", lambda _: False) == f"wann ist {expected}"


DICTIONARY = make_dictionary(
    ["spend", "where"], {"notimplementederror": "NotImplementedError", "gather": "gather"}
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("spend", "spend"),
        ("wehre", "where"),
        ("NotImplmentedError", "NotImplementedError"),
        ("asyncio.gahter", "asyncio.gather"),
        ("earlyloop", "early loop"),
        ("nreak", "break"),
        ("hwo loop", "how loop"),
    ],
    ids=[
        "correct",
        "no page has it",
        "camel case",
        "dotted",
        "joined",
        "neighbour of the initial",
        "question word",
    ],
)
def test_the_dictionary_has_words_and_names(query: str, expected: str) -> None:
    speller = Speller(words_with_prefix, DICTIONARY)
    assert speller.correct(query, lambda _: False) == expected


def test_suggestions_are_given_for_unknown_words_only() -> None:
    speller = Speller(words_with_prefix, DICTIONARY)
    assert next(iter(speller.suggestions("comprehensio"))) == "comprehension"
    assert list(speller.suggestions("loop")) == []


@pytest.mark.parametrize(
    ("typed", "likelier", "other"),
    [("wher", "where", "when"), ("brake", "brkae", "broke"), ("looop", "loop", "looks")],
)
def test_slips_of_the_finger_cost_less_than_other_letters(typed: str, likelier: str, other: str) -> None:
    assert typing_cost(typed, likelier) < typing_cost(typed, other)


@pytest.mark.parametrize(
    ("one", "other", "distance"), [("ab", "ba", 1), ("abc", "abc", 0), ("abc", "xyz", 3)]
)
def test_swapped_neighbours_are_one_edit(one: str, other: str, distance: int) -> None:
    assert edit_distance(one, other, 2) == distance


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_the_distance_is_symmetric_and_bounded(one: str, other: str) -> None:
    distance = edit_distance(one, other, 2)
    assert distance == edit_distance(other, one, 2) <= 3
    assert (distance == 0) == (one == other)
    assert distance >= min(3, abs(len(one) - len(other)))
