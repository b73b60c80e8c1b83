"""Quotes: verbatim, nearly, hidden, or not there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groundwire.verify.pages import PageText, PreparedPage
from groundwire.verify.passages import check_quote

TEXT = (
    "The “old” tower is 324\u00a0metres tall – with its antenna. It was paint\u00aded in 2019.\n\n"
    "Visitors pay nothing on Mondays. The lift is slow."
)
PAGE = PreparedPage(PageText(TEXT, hidden="The lift is dangerous and old."))


def test_typography_and_white_space_do_not_matter() -> None:
    fact = check_quote('The "old" tower is 324 metres tall - with its antenna.', PAGE)
    assert (fact.verdict, fact.place) == ("verbatim", "text")
    assert fact.found == "The “old” tower is 324\u00a0metres tall – with its antenna"
    assert check_quote("It was painted in 2019. Visitors pay nothing", PAGE).verdict == "verbatim"


def test_parts_around_an_ellipsis_follow_each_other() -> None:
    assert check_quote("The “old” tower […] with its antenna", PAGE).verdict == "verbatim"
    assert check_quote("with its antenna … The “old” tower", PAGE).verdict != "verbatim"


def test_a_changed_word_is_shown_next_to_the_word_of_the_page() -> None:
    fact = check_quote("Visitors pay little on Mondays. The lift is slow.", PAGE)
    assert fact.verdict == "nearly"
    assert fact.changes == (("little", "nothing"),)
    assert fact.found == "Visitors pay nothing on Mondays. The lift is slow"


def test_other_text_is_absent_and_hidden_text_is_named() -> None:
    assert check_quote("Fresh oysters arrive every Friday morning.", PAGE).verdict == "absent"
    assert check_quote("The lift is dangerous and old.", PAGE).verdict == "hidden"
    assert check_quote("…", PAGE).verdict == "none"


WORDS = st.lists(
    st.sampled_from(["tower", "old", "the", "1,204", "Köln", "is", "naïve"]), min_size=1, max_size=12
)


@given(WORDS, WORDS, WORDS)
def test_every_part_of_a_page_is_found_verbatim(before: list[str], part: list[str], after: list[str]) -> None:
    page = PreparedPage(PageText(" ".join([*before, *part, *after])))
    fact = check_quote(" ".join(part), page)
    assert fact.verdict == "verbatim"
    assert fact.found.split() == part
