"""Claims of search answers about realistic pages, in English and German."""

from __future__ import annotations

from tests.verify.labelled_pages import measure_answers

_KNOWN_MISSES = [
    # A title in front of both names, and a club that the sentence names otherwise.
    "Governor Luis Ortega declared a state of emergency.",
    "Der Verein hat 140 Mitglieder.",
]


def test_claims_of_search_answers_get_the_right_verdict() -> None:
    wrong = measure_answers("answer_pages")
    assert [claim for _, _, claim in wrong] == _KNOWN_MISSES
    assert all(given == "paraphrased" for _, given, _ in wrong), "a miss stays open, it is no false alarm"


def test_claims_on_pages_that_were_written_later_get_the_right_verdict() -> None:
    assert measure_answers("answer_check_pages") == []
