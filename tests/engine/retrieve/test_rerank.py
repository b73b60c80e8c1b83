"""The evidence about a passage that the second stage of ranking weighs."""

from __future__ import annotations

import pytest

from groundwire.engine.knowledge.addresses import local_address
from groundwire.engine.pages import Passage
from groundwire.engine.retrieve.rerank import (
    BY_MEANING,
    BY_WORDS,
    PassageFeatures,
    name_depth,
    named_share,
    page_support,
    passage_score,
    title_match,
)

WEIGHTS = {"walk": (5.0, True), "directori": (4.0, True)}


def passage(url: str, title: str, score: float = 0.0) -> Passage:
    return Passage(url, title, "text", 0, score=score)


@pytest.mark.parametrize(
    ("title", "share"),
    [("os.walk — Python", 0.5), ("walk", 1.0), ("Walking — directories", 1.0), ("json.dumps — Python", 0.0)],
)
def test_the_words_of_the_title_are_compared_with_the_question(title: str, share: float) -> None:
    assert title_match(passage("https://a.example/", title), WEIGHTS) == share


def test_only_documented_names_have_a_depth() -> None:
    shallow, deep = (
        name_depth(passage(local_address(name), f"{name} — Python")) for name in ("os", "os.path.join")
    )
    assert shallow == 0.0
    assert deep > 0.0
    assert name_depth(passage("https://works.example/", "release.notes.2024 — works")) == 0.0
    assert name_depth(passage(local_address("x"), "lxml 6.1.0 — a package")) == 0.0


def test_a_name_in_the_question_counts_less_if_it_is_an_everyday_word() -> None:
    words = frozenset(("namedtuple", "vs", "open"))
    unusual, everyday, absent = (
        named_share(passage(local_address(name), f"{name} — Python"), words)
        for name in ("collections.namedtuple", "webbrowser.open", "os.walk")
    )
    assert 1.0 == unusual > everyday > absent == 0.0
    assert named_share(passage("https://works.example/", "open"), words) == 0.0


def test_the_sections_of_a_page_support_each_other() -> None:
    found = page_support(
        [
            passage("https://a.example/p#one", "P", 2.0),
            passage("https://a.example/p#two", "P", 1.0),
            passage("https://a.example/q", "Q", 1.0),
        ]
    )
    assert found == [0.75, 0.75, 0.25]
    assert page_support([passage("https://a.example/p", "P", -1.0)]) == [0.0]


@pytest.mark.parametrize("weights", [BY_WORDS, BY_MEANING], ids=["words", "meaning"])
def test_more_evidence_gives_a_higher_score(weights: PassageFeatures) -> None:
    some = PassageFeatures(0.5, 0.5, 0.5, 0.5, 0.0, 0.5, 0.5, 0.5, 0.3)
    for name in ("lexical", "coverage", "own_coverage", "support", "described", "closeness"):
        assert passage_score(some._replace(**{name: 1.0}), weights) > passage_score(some, weights)
