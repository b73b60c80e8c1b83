"""The typing errors of the generator are the same in every run, and most of them are corrected."""

from __future__ import annotations

from groundwire.engine.knowledge.purposes import purpose_index
from groundwire.engine.retrieve.interpret import speller
from tests.engine.misspellings import misspelt
from tests.engine.question_sets import load_questions

QUESTIONS = [
    " ".join(question.text.split())
    for question in load_questions("tuning", "python")
    if question.kind in ("how_to", "concept", "comparison", "multi_part")
]


def test_errors_are_random_and_the_same_in_every_run() -> None:
    for question in QUESTIONS:
        assert misspelt(question, 1) == misspelt(question, 1)
    changed = [question for question in QUESTIONS if misspelt(question, 1) != question]
    assert len(changed) > 0.9 * len(QUESTIONS)
    assert any(misspelt(question, 1) != misspelt(question, 2) for question in QUESTIONS)


def test_most_misspelt_words_are_corrected_by_the_words_of_purposes_alone() -> None:
    known = {word for purpose in purpose_index().purposes for word in purpose.phrase.lower().split()}
    correct = speller(lambda prefix: [(word, 9) for word in known if word.startswith(prefix)])
    restored = wrong = 0
    for question in QUESTIONS:
        typed = misspelt(question).lower().split()
        words = correct.correct(" ".join(typed), lambda _: False).split()
        for written, before, after in zip(question.lower().split(), typed, words, strict=False):
            if written != before:
                restored += written == after
                wrong += written != after
    assert restored > 2 * wrong
