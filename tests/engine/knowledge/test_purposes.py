"""Questions in everyday words match the purposes of names and pages."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine import compiled
from groundwire.engine.compiled import keep_tables
from groundwire.engine.knowledge import purposes
from groundwire.engine.knowledge.purposes import (
    OPPOSED,
    AnalysedPhrase,
    closeness,
    compile_purposes,
    purpose_index,
    soft_maximum,
)
from groundwire.engine.words import query_terms


def purpose(target: str, phrase: str) -> AnalysedPhrase:
    return AnalysedPhrase(target, phrase, frozenset(query_terms(phrase)), frozenset({target}))


def test_a_phrase_that_covers_more_of_the_question_is_better() -> None:
    index = compile_purposes([purpose("a", "copy a file"), purpose("b", "copy"), purpose("c", "move a file")])
    assert next(match.target for match in index.match("copy a file")) == "a"


def test_a_phrase_with_words_that_the_question_lacks_is_worse() -> None:
    index = compile_purposes([purpose("a", "copy a zip file"), purpose("b", "copy a file")])
    best, other = index.match("copy a file")
    assert (best.target, other.target) == ("b", "a")
    assert 0 < other.similarity < best.similarity <= 1


def test_a_phrase_that_says_the_opposite_counts_less() -> None:
    index = compile_purposes([purpose("set", "set the time of a file"), purpose("get", "time of a file")])
    assert [match.target for match in index.match("get the time of a file")] == ["get", "set"]
    assert [match.target for match in index.match("set the time of a file")] == ["set", "get"]
    both = compile_purposes(
        [purpose("a", "set the clock of a file"), purpose("b", "set, get the clock of a file")]
    )
    assert [match.target for match in both.match("get the clock of a file")] == ["b", "a"]


def test_a_phrase_that_affirms_what_the_question_denies_counts_less() -> None:
    index = compile_purposes([purpose("rmdir", "delete an empty folder"), purpose("x", "move files")])
    (affirmed,) = index.match("delete an empty folder")
    (denied,) = index.match("delete a folder that is not empty")
    assert denied.similarity == pytest.approx(OPPOSED * affirmed.similarity)


def test_a_name_in_a_phrase_is_known() -> None:
    index = compile_purposes([purpose("modules", "the __pycache__ folder")])
    assert index.mentions("__pycache__")
    assert not index.mentions("__cache__")


def test_the_phrases_of_a_target_cover_a_question_together() -> None:
    index = compile_purposes(
        [purpose("a", "hash of a file"), purpose("a", "large data in chunks"), purpose("b", "large file")]
    )
    found = {match.target: match for match in index.match("hash a large file in chunks")}
    assert found["a"].coverage == pytest.approx(1.0)
    assert found["b"].similarity <= found["b"].coverage < 1.0


def test_several_phrases_that_match_count_more_than_one() -> None:
    index = compile_purposes(
        [
            purpose("one", "read a file"),
            purpose("many", "read a log"),
            purpose("many", "read a table"),
            purpose("many", "read a letter"),
        ]
    )
    found = {match.target: match for match in index.match("read a book")}
    assert found["one"].similarity == pytest.approx(found["many"].similarity, rel=0.2)
    assert found["one"].strength == pytest.approx(found["one"].similarity)
    assert found["many"].strength > found["many"].similarity
    assert next(iter(found)) == "many"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0.05, 0.5))
def test_a_soft_maximum_is_at_least_the_maximum_and_that_of_one_value_is_the_value(
    similarities: list[float], softness: float
) -> None:
    together = soft_maximum(similarities, softness)
    highest = max(similarities)
    assert highest - 1e-9 <= together <= highest + softness * math.log(len(similarities)) + 1e-9
    assert soft_maximum([highest], softness) == pytest.approx(highest, abs=1e-9)


def test_many_weak_matches_count_no_more_than_a_few() -> None:
    assert soft_maximum([0.3] * 100, 0.1) == soft_maximum([0.3] * 8, 0.1)


def test_a_target_is_close_if_several_phrases_about_it_are() -> None:
    index = compile_purposes(
        [
            purpose("by chance", "set the time of a file"),
            *(purpose("by chance", phrase) for phrase in ("copy a photo", "touch", "make it look older")),
            purpose("meant", "when was a file changed"),
            purpose("meant", "time of the last change of a file"),
            purpose("meant", "newest file by time"),
        ]
    )
    compared = index.compare("time of a file")
    assert 0 < compared.closeness("by chance") < compared.closeness("meant") < 1
    assert compared.closeness("no such target") == 0.0
    assert "meant" in index
    assert "no such target" not in index


@given(st.lists(st.floats(0, 1), max_size=20))
def test_closeness_is_the_mean_of_the_three_highest_similarities(similarities: list[float]) -> None:
    padded = sorted([*similarities, 0.0, 0.0, 0.0])[-3:]
    assert closeness(similarities) == pytest.approx(sum(padded) / 3)


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


def test_the_kept_index_matches_like_the_compiled_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "_KEPT_IN", [])
    made = purpose_index.__wrapped__()
    keep_tables(tmp_path)
    assert purpose_index.__wrapped__().terms == made.terms
    monkeypatch.setattr(purposes, "_analysed", None)  # nothing is analysed again
    kept = purpose_index.__wrapped__()
    assert (kept.phrases, kept.targets, kept.terms, kept.records) == (
        made.phrases,
        made.targets,
        made.terms,
        made.records,
    )
    assert kept.match("walk a directory tree") == made.match("walk a directory tree")
    assert kept.purposes[0].phrase
