"""Normal form of texts, and the map back to the original."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.verify.normal import normal_text

LETTERS = st.text(st.sampled_from("aZé e\u0301ﬁ½ß„“’–\u00ad\u200b\t\n 1.5中\u00a0\U0001f1e9🙂{"), max_size=60)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("„Köln“  –\n\tam Rhein", '"Köln" - am Rhein'),
        ("co\u00adoper\u200bation", "cooperation"),
        ("cafe\u0301", "café"),
        ("ﬁnal", "final"),
        ("it’s `x`", "it's 'x'"),
        ("10\u00a0000\u202f€", "10 000 €"),
    ],
)
def test_variants_of_one_text_have_one_form(text: str, normal: str) -> None:
    assert normal_text(text).text == normal


@given(LETTERS)
def test_the_form_is_stable(text: str) -> None:
    once = normal_text(text).text
    assert normal_text(once).text.replace("'", "") == once.replace("'", "")


@given(LETTERS, st.integers(0, 60), st.integers(0, 60))
def test_a_range_leads_back_to_a_range_with_the_same_form(text: str, one: int, other: int) -> None:
    normal = normal_text(text)
    start, end = sorted((min(one, len(normal.text)), min(other, len(normal.text))))
    first, last = normal.original(start, end)
    assert 0 <= first <= last <= len(text)
    part = normal.text[start:end].strip()
    # The original range is never smaller than what it stands for; characters are not cut into pieces.
    assert part in normal_text(text[first:last]).text or not part


@given(st.text(st.characters(min_codepoint=33, max_codepoint=95), max_size=40), st.data())
def test_plain_text_maps_to_itself(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    normal = normal_text(text)
    assert normal.text == text
    assert start == end or normal.original(start, end) == (start, end)


def test_composed_letters_are_not_split() -> None:
    text = "a" + unicodedata.normalize("NFD", "é") + "b"
    normal = normal_text(text)
    assert normal.original(1, 2) == (1, 3)
