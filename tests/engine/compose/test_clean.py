"""Page text in an answer: readable, on one line, with nothing hidden."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine.compose.answer import compose
from groundwire.engine.compose.clean import clean_sentence, visible
from groundwire.text.offsets import from_points, to_points
from tests.engine.compose.passages import check, passage
from tests.figures import Figures
from tests.model.strategies import cases

pytestmark = pytest.mark.server

HIDDEN = (
    "\u200b",
    "\u202e",
    "\u2066",
    "\ufeff",
    "\u00ad",
    "\x00",
    "\x1b",
    "\U000e0041",
    "\ufe0f",
    "\u200d",
    "\u2060",
    "\ue200",
)


@pytest.mark.parametrize(
    ("page", "answer"),
    [
        ("Serialize ``obj`` to a\n   ``str``.", "Serialize `obj` to a `str`."),
        ("See :func:`~json.dumps` and :py:class:`Foo <a.Foo>`.", "See `json.dumps` and `Foo`."),
        ("If *key* is **not** given.", "If key is not given."),
        ("Use 2*3 and a * b * c and *args.", "Use 2*3 and a * b * c and *args."),
        (
            "The [guide](https://a.example/(x)) says ![pic](https://evil.example/?q=1) so.",
            "The guide says pic so.",
        ),
        ("Read `the docs <https://a.example>`_ first.", "Read the docs first."),
        ("Paris is big.[12] Yes [3], and [^4] so.", "Paris is big. Yes, and so."),
        ("Take argv[1] and `x [2]`.", "Take argv[1] and `x [2]`."),
        ("It is 【4†source】 so.", "It is so."),
        ("<b>Bold</b> List<String> <img src=x onerror=1>", "Bold List<String>."),
        ("> quoted text", "quoted text."),
        ("Like this::", "Like this."),
        ("It is called so:", "It is called so."),
        ("no end", "no end."),
        ("(in brackets.)", "(in brackets.)"),
    ],
)
def test_markup_is_removed(page: str, answer: str) -> None:
    assert clean_sentence(page) == answer


def test_joiners_stay_where_scripts_and_emoji_need_them() -> None:
    for text in ("👩\u200d👩\u200d👧", "می\u200cخواهم", "🏳\ufe0f\u200d🌈", "क्\u200dष"):
        assert visible(text) == text


def test_joiners_between_plain_letters_are_removed() -> None:
    assert visible("pass\u200dword \u200c x") == "password  x"


def test_a_run_of_selectors_cannot_carry_a_message() -> None:
    assert visible("a" + "\ufe01\ufe05\ufe0f" * 9) == "a\ufe01"


@cases(150)
@given(
    st.lists(st.sampled_from([*HIDDEN, "a", "é", "日", " ", "\n", "*b*", "`c`", "[1]"]), max_size=20).map(
        "".join
    )
)
def test_hidden_characters_are_removed(text: str) -> None:
    shown = clean_sentence(text)
    assert not re.search(
        "[\u200b\u202a-\u202e\u2060-\u206f\ufeff\u00ad\U000e0000-\U000e0fff\ue000-\uf8ff]", shown
    )
    assert not any(unicodedata.category(character) == "Cc" for character in shown)
    assert visible(shown) == shown or "\u200d" in text or "\ufe0f" in text


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
    """Join the words with the characters between them, compose, and convert every span to three units."""
    text = " ".join(
        " ".join(word + character for word, character in sentence) + "." for sentence in sentences
    )
    pages = [passage(f"The harbour of Brig {text}")]
    answer = compose("harbour Brig piers", pages)
    assert answer.found
    check(answer, pages)
    assert visible(answer.text) == answer.text
    for citation in answer.citations:
        assert citation.span is not None
        assert answer.text[citation.span.start : citation.span.end] == clean_sentence(
            citation.evidence[0].quote
        )
        for unit in ("utf8", "utf16"):
            offsets = from_points(answer.text, citation.span, unit)
            assert to_points(answer.text, offsets, unit) == list(citation.span)


_SENTENCES = st.lists(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(("", *SIGNS))), min_size=2, max_size=8),
    min_size=1,
    max_size=4,
)


@cases(100)
@given(_SENTENCES)
def test_no_offset_moves_because_of_invisible_characters(sentences: list[list[tuple[str, str]]]) -> None:
    check_places(sentences)


@pytest.mark.thorough
def test_no_offset_moves_in_ten_thousand_cases(figures: Figures) -> None:
    checked = 0

    @cases(10_000)
    @given(_SENTENCES)
    def check_cases(sentences: list[list[tuple[str, str]]]) -> None:
        nonlocal checked
        check_places(sentences)
        checked += 1

    check_cases()
    figures.add("S7", "texts with invisible characters, all offsets right", checked)
