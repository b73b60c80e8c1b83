"""The gate: which evidence speaks for and against an answer."""

from __future__ import annotations

import pytest

from groundwire.engine.pages import Passage
from groundwire.engine.retrieve.gate import (
    THRESHOLD,
    GateFeatures,
    coverage,
    gate_features,
    judged_probability,
    passage_terms,
    probability,
    word_weights,
)
from groundwire.engine.retrieve.interpret import Interpretation
from groundwire.engine.retrieve.rerank import BY_WORDS, PassageFeatures, passage_score
from groundwire.model.value import replace

WORDS = {"boiler": 3, "pressure": 5, "the": 900, "bar": 8, "java": 1}
PAGE = Passage("https://works.example/boiler", "Boiler", "The boiler runs at a pressure of 3 bar.", 0)
PYTHON = Passage("local:python/3.11.7/math.sqrt", "math.sqrt", "Return the square root of x.", 0)


def words_with_prefix(prefix: str) -> list[tuple[str, int]]:
    return [(word, count) for word, count in WORDS.items() if word.startswith(prefix)]


def features(query: str, *passages: Passage) -> GateFeatures:
    return gate_features(Interpretation(query), passages, word_weights(query, words_with_prefix))


def test_a_passage_that_has_all_words_answers() -> None:
    best = passage_score(PassageFeatures(lexical=1.0, coverage=1.0, own_coverage=1.0), BY_WORDS)
    found = features("What is the pressure of the boiler?", replace(PAGE, score=best))
    assert (found.coverage, found.own_coverage, found.unknown) == (1.0, 1.0, 0.0)
    assert probability(found) > THRESHOLD


def test_a_passage_that_has_none_of_the_words_does_not() -> None:
    assert probability(features("Who won the match yesterday?", PAGE)) < THRESHOLD
    assert probability(features("Anything?")) < THRESHOLD


def test_pages_of_the_user_are_told_apart_from_built_in_ones() -> None:
    found = features("square root", PYTHON)
    assert found.coverage == 1.0
    assert found.own_coverage == 0.0


def test_a_name_that_no_passage_has_speaks_against_an_answer() -> None:
    assert features("what does math.cbrt_fast do", PYTHON).missing_name == 1.0
    assert features("what does math.sqrt do", PYTHON).missing_name == 0.0
    # The page about it may be known only by its address.
    assert features("why is there a test of __name__", PYTHON).missing_name == 0.0
    assert features("why is there a test of __nam__", PYTHON).missing_name == 1.0
    assert features("sys.exit() or os._exit", PYTHON).missing_name == 0.0
    assert features("can I delete the __pycache__ folder", PYTHON).missing_name == 0.0
    assert features("read a settings.ini", PYTHON).missing_name == 0.0
    weights = word_weights("SomeError text", words_with_prefix)
    error = gate_features(Interpretation("SomeError text", "error"), (PYTHON,), weights)
    assert error.missing_name == 0.0


def test_another_technology_speaks_against_an_answer_unless_a_passage_names_it() -> None:
    assert features("boiler pressure in java", PAGE).foreign == 1.0
    java = Passage("https://works.example/java", "Java", "The boiler driver is written in Java.", 0)
    assert features("boiler pressure in java", PAGE, java).foreign == 0.0


def test_our_own_phrase_about_a_page_does_not_count_as_a_mention_nor_does_a_comparison() -> None:
    parsers = Passage("local:python/3.11.7/x.add", "x.add — subcommands like git", "Add a command.", 0)
    assert features("revert a git command", parsers).foreign == 1.0
    assert features("add a command like git has", parsers).foreign == 0.0
    assert features("add commands like git add / git commit", parsers).foreign == 0.0


@pytest.mark.parametrize(
    ("question", "foreign"),
    [
        ("boiler pressure in java?", 1.0),
        ("I come from Java, what is the boiler pressure", 0.0),
        ("split boiler pressure the way bash does it", 0.0),
        ("boiler equivalent of javascript pressure", 0.0),
        ("does the pressure go through the boiler", 0.0),
        ("boiler pressure in go", 1.0),
        ("how do I measure pressure in Go", 1.0),
        ("how does the boiler react to pressure", 0.0),
    ],
)
def test_a_technology_counts_if_the_question_is_about_it(question: str, foreign: float) -> None:
    assert features(question, PAGE).foreign == foreign


def test_a_version_of_python_that_no_passage_names_speaks_against_an_answer() -> None:
    news = Passage("https://docs.python.org/3.11/whatsnew/3.11.html", "What’s new in 3.11", "Faster.", 0)
    assert features("what is new in Python 3.19", news).foreign == 1.0
    assert features("what is new in python 3.11", news).foreign == 0.0


def test_what_the_cross_encoder_says_changes_the_probability() -> None:
    before = 0.7
    assert judged_probability(before, -3.0) < THRESHOLD < before < judged_probability(before, 3.0)
    assert 0 < judged_probability(0.0, -9.0) < judged_probability(1.0, 9.0) < 1


def test_a_german_passage_covers_a_question_in_english() -> None:
    weights = word_weights("where is the umbrella", lambda prefix: [])
    german = Passage("https://a.example/", "Garderobe", "Der Regenschirm ist im Keller und nicht hier.", 0)
    assert coverage(weights, passage_terms(german)) == 1.0
    assert coverage(weights, passage_terms(replace(german, language="en"))) == 0.0


def test_rare_words_weigh_more_and_an_index_without_a_word_list_knows_every_word() -> None:
    weights = word_weights("boiler bar", words_with_prefix)
    assert weights["boil"][0] > weights["bar"][0]
    assert all(is_known for _, is_known in word_weights("boiler bar", lambda _: []).values())


def test_more_evidence_is_more_probable() -> None:
    some, more = GateFeatures(coverage=0.5), GateFeatures(coverage=0.5, about=0.5)
    assert probability(some) < probability(more)
    assert probability(more) > probability(more._replace(unknown=1.0))


def test_a_page_of_the_user_that_is_far_ahead_speaks_for_an_answer() -> None:
    first, second = replace(PAGE, score=8.0), replace(PYTHON, score=2.0)
    assert features("What is the pressure?", first, second).own_margin == 0.75
    assert features("What is the pressure?", first, replace(first, url=f"{PAGE.url}#part")).own_margin == 1.0
    assert features("What is the pressure?", replace(second, score=8.0), first).own_margin == 0.0
    assert probability(GateFeatures(own_margin=0.5)) > probability(GateFeatures())
