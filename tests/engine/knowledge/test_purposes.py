"""Questions in everyday words match the purposes of names and pages."""

from __future__ import annotations

import pytest

from groundwire.engine.knowledge.purposes import Purpose, PurposeIndex, purpose_index
from groundwire.engine.words import query_terms


def purpose(target: str, phrase: str) -> Purpose:
    return Purpose(target, phrase, frozenset(query_terms(phrase)), frozenset({target}))


def test_a_phrase_that_covers_more_of_the_question_is_better() -> None:
    index = PurposeIndex([purpose("a", "copy a file"), purpose("b", "copy"), purpose("c", "move a file")])
    assert next(match.target for match in index.match("copy a file")) == "a"


def test_a_phrase_with_words_that_the_question_lacks_is_worse() -> None:
    index = PurposeIndex([purpose("a", "copy a zip file"), purpose("b", "copy a file")])
    best, other = index.match("copy a file")
    assert (best.target, other.target) == ("b", "a")
    assert 0 < other.similarity < best.similarity <= 1


def test_an_empty_question_matches_nothing() -> None:
    assert purpose_index().match("") == []


@pytest.mark.parametrize(
    ("question", "target"),
    [
        ("square root of a number", "math.sqrt"),
        ("pause for some seconds", "time.sleep"),
        ("Quadratwurzel", "math.sqrt"),
    ],
)
def test_the_tables_are_read(question: str, target: str) -> None:
    assert target in [match.target for match in purpose_index().match(question)]
