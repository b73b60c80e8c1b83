"""Questions in everyday words match the purposes of names and pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.engine import compiled
from groundwire.engine.compiled import keep_tables
from groundwire.engine.knowledge import purposes
from groundwire.engine.knowledge.purposes import AnalysedPhrase, compile_purposes, purpose_index
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


def test_the_phrases_of_a_target_cover_a_question_together() -> None:
    index = compile_purposes(
        [purpose("a", "hash of a file"), purpose("a", "large data in chunks"), purpose("b", "large file")]
    )
    found = {match.target: match for match in index.match("hash a large file in chunks")}
    assert found["a"].coverage == pytest.approx(1.0)
    assert found["b"].similarity <= found["b"].coverage < 1.0


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
