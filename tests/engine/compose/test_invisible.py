"""Signs that nobody sees: gone from the answer, kept in the quote, and no place moves because of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine.compose.answer import compose
from groundwire.engine.compose.polishing import polish, visible
from groundwire.text.offsets import from_points, to_points
from tests.engine.compose.passages import check, passage
from tests.model.strategies import cases

WORDS = ("The", "harbour", "of", "Brig", "has", "twelve", "piers", "and", "👩\u200d👧", "Zürich", "東京", "𝒳")
SIGNS = (
    "\u200b",
    "\u200d",
    "\u202e",
    "\u2066",
    "\ufeff",
    "\u00ad",
    "\U000e0041",
    "\U000e0101",
    "\ufe0f",
    "\x1b",
    "\ue200",
)


def check_places(sentences: list[list[tuple[str, str]]]) -> None:
    """Write the words with the signs between them, compose, and count every span in three units."""
    said = " ".join(" ".join(word + sign for word, sign in sentence) + "." for sentence in sentences)
    pages = [passage(f"The harbour of Brig {said}")]
    answer = compose("harbour Brig piers", pages)
    assert answer.found
    check(answer, pages)
    assert visible(answer.text) == answer.text
    for citation in answer.citations:
        assert citation.span is not None
        assert answer.text[citation.span.start : citation.span.end] == polish(citation.evidence[0].quote)
        for unit in ("utf8", "utf16"):
            there = from_points(answer.text, citation.span, unit)
            assert to_points(answer.text, there, unit) == list(citation.span)


_SENTENCES = st.lists(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(("", *SIGNS))), min_size=2, max_size=8),
    min_size=1,
    max_size=4,
)


@cases(300)
@given(_SENTENCES)
def test_no_place_moves_because_of_what_nobody_sees(sentences: list[list[tuple[str, str]]]) -> None:
    check_places(sentences)


@pytest.mark.thorough
@cases(10_000)
@given(_SENTENCES)
def test_no_place_moves_in_ten_thousand_cases(sentences: list[list[tuple[str, str]]]) -> None:
    check_places(sentences)
