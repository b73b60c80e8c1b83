"""Span repair: offsets are accepted if the text confirms them, else corrected, else dropped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.model import Span
from groundwire.text.offsets import from_points
from groundwire.text.spans import anchor_kind, is_link, locate_link, locate_quote
from tests.model.strategies import cases, texts
from tests.text.test_links import HOSTILE

URL = "https://a.example/x"
LINK = f"([a.example]({URL}))"


def fragment(text: str, span: Span | None) -> str | None:
    return None if span is None else text[span.start : span.end]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (LINK, "marker"),
        (f"[a.example]({URL})", "marker"),
        (f"[[1]]({URL})", "marker"),
        (f"[A [nested] label]( {URL}?utm_source=openai )", "marker"),
        ("[Nile](https://w.example/Nile_(river))", "marker"),
        ("[1]", "marker"),
        ("[1][23]", "marker"),
        ("【3:2†source】", "marker"),
        ("【3:2†source】【4:0†source】", "marker"),
        ("A claim.", "claim"),
        ("", "claim"),
        (f"A claim. {LINK}", "claim"),
        (f"{LINK}.", "claim"),
        (URL, "claim"),
        ("[text]", "claim"),
        ("[12345]", "claim"),
        ("[1] ", "claim"),
        ("[a](javascript:x)", "claim"),
        ("【注】", "claim"),
        ("[1]\n", "claim"),
        (f"{LINK}\n", "claim"),
    ],
)
def test_a_marker_is_distinguished_from_a_claim(text: str, kind: str) -> None:
    assert anchor_kind(text) == kind


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (LINK, True),
        (f"[a]({URL}?utm_source=openai)", True),
        (f"[a]({URL}/deeper)", False),
        (f"{LINK}.", False),
        (f" {LINK}", False),
        (f"[a.example]({URL}))", False),
        (URL, False),
        ("", False),
    ],
)
def test_text_that_is_one_link_to_the_url_is_a_link(text: str, answer: bool) -> None:
    assert is_link(text, URL) is answer


def test_offsets_of_the_link_are_accepted() -> None:
    text = f"Fact {LINK} and fact {LINK}."
    second = text.rindex("(", 0, text.rindex("["))
    assert locate_link(text, second, second + len(LINK), URL) == Span(second, second + len(LINK))


def test_offsets_of_a_claim_that_contains_its_link_are_accepted() -> None:
    text = f"First. Fact {LINK}. Last."
    assert locate_link(text, 7, 7 + len(f"Fact {LINK}."), URL) == Span(7, 7 + len(f"Fact {LINK}."))


def test_a_url_with_tracking_parameters_matches_its_link_without_them() -> None:
    text = f"Fact {LINK}."
    assert locate_link(text, 5, 5 + len(LINK), f"{URL}?utm_source=openai") == Span(5, 5 + len(LINK))


@pytest.mark.parametrize("before", ["😀", "😀😀", "😀" * 30, "𠮷 and 👩\u200d👩\u200d👧 "])
@pytest.mark.parametrize("after", ["", ".", " ", ") more text that goes on for a while", f" {LINK}"])
@pytest.mark.parametrize("link", [LINK, f"[A]({URL})", f"[[1]]({URL})"])
def test_offsets_in_utf16_units_are_understood(before: str, after: str, link: str) -> None:
    text = f"{before} Fact {link}{after}"
    start = len(f"{before} Fact ")
    low, high = from_points(text, [start, start + len(link)], "utf16")
    assert locate_link(text, low, high, URL) == Span(start, start + len(link))


@pytest.mark.parametrize("shift", [-3, -1, 1, 2, 5])
def test_offsets_that_miss_the_link_are_corrected(shift: int) -> None:
    text = f"Some fact {LINK} and so on."
    start = text.index(LINK)
    assert locate_link(text, start + shift, start + len(LINK) + shift, URL) == Span(start, start + len(LINK))


def test_of_several_links_the_nearest_is_chosen() -> None:
    text = f"{LINK} one, {LINK} two, {LINK} three"
    second = text.index(LINK, 1)
    assert locate_link(text, second + 4, second + 9, URL) == Span(second, second + len(LINK))


def test_a_link_to_another_page_of_the_host_does_not_confirm_the_offsets() -> None:
    text = f"[A]({URL}/deeper) and later [A]({URL})."
    right = text.index(f"[A]({URL})")
    assert locate_link(text, 0, len(f"[A]({URL}/deeper)"), URL) == Span(right, right + len(f"[A]({URL})"))


def test_in_a_text_without_links_the_offsets_decide() -> None:
    assert locate_link("A plain claim.", 2, 13, URL) == Span(2, 13)


@pytest.mark.parametrize(
    ("start", "end"), [(0, 0), (5, 5), (5, 3), (-1, 4), (0, 100), (100, 200), (10**30, 10**31)]
)
def test_impossible_offsets_without_a_link_have_no_span(start: int, end: int) -> None:
    assert locate_link("A plain claim.", start, end, URL) is None


def test_offsets_beyond_the_end_find_the_link() -> None:
    text = f"Fact {LINK}"
    assert locate_link(text, 500, 600, URL) == Span(5, 5 + len(LINK))


@cases(300)
@given(texts(), st.integers(-3, 60), st.integers(-3, 60), texts(3))
def test_the_span_of_a_link_lies_within_the_text(text: str, start: int, end: int, url: str) -> None:
    span = locate_link(text, start, end, url)
    assert span is None or 0 <= span.start < span.end <= len(text)


def test_a_quote_at_its_offsets_is_accepted_though_it_occurs_twice() -> None:
    assert locate_quote("one two one", 8, 11, "one") == Span(8, 11)


def test_a_quote_with_wrong_offsets_is_found_if_it_occurs_once() -> None:
    assert locate_quote("one two three", 5, 8, "two") == Span(4, 7)


def test_a_quote_that_occurs_twice_and_not_at_its_offsets_has_no_span() -> None:
    assert locate_quote("one two one", 3, 6, "one") is None


def test_a_quote_that_overlaps_itself_is_ambiguous() -> None:
    assert locate_quote("aaa", 5, 7, "aa") is None


def test_a_missing_quote_has_no_span() -> None:
    assert locate_quote("one two", 0, 3, "three") is None
    assert locate_quote("", 0, 3, "three") is None


@pytest.mark.parametrize(
    ("start", "end", "span"),
    [(0, 3, Span(0, 3)), (0, 7, Span(0, 7)), (3, 3, None), (-1, 3, None), (0, 8, None), (5, 3, None)],
)
def test_without_a_quote_only_possible_offsets_are_accepted(start: int, end: int, span: Span | None) -> None:
    assert locate_quote("one two", start, end, "") == span


def test_negative_offsets_do_not_count_from_the_end() -> None:
    assert locate_quote("one two two", -3, 11, "two") is None


@cases(300)
@given(texts(), st.integers(-5, 60), st.integers(-5, 60), texts(2))
def test_the_span_of_a_quote_contains_the_quote(text: str, start: int, end: int, quote: str) -> None:
    span = locate_quote(text, start, end, quote)
    if span is not None:
        assert 0 <= span.start <= span.end <= len(text)
        assert not quote or fragment(text, span) == quote


@pytest.mark.parametrize("index", range(len(HOSTILE)))
def test_hostile_texts_are_checked_in_linear_time(index: int) -> None:
    text = HOSTILE[index]
    assert anchor_kind(text + "x") in ("claim", "marker")
    assert locate_link(text, 1, len(text) - 1, "https://nowhere.example") == Span(1, len(text) - 1)
