"""Lines on a terminal: broken between words, never wider than it, counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groundwire.faces.cli.style import LineWriter, Run, shorten, text_width
from tests.faces.screen import Screen


def written(*texts: str, width: int = 20) -> tuple[str, LineWriter]:
    out: list[str] = []
    lines = LineWriter(width, out.append)
    for text in texts:
        lines.feed([Run(text)])
    lines.close()
    return "".join(out), lines


def test_lines_are_broken_between_words() -> None:
    assert written("the quick brown fox jumps over")[0] == "the quick brown fox\njumps over"


def test_it_does_not_matter_where_the_pieces_are_cut() -> None:
    text = "the quick **brown** fox\n\n- jumps over the lazy dog again\n"
    assert written(*text)[0] == written(text)[0]


def test_items_of_a_list_hang() -> None:
    assert written("- the quick brown fox\n1. jumps over the lazy dog")[0] == (
        "- the quick brown\n  fox\n1. jumps over the\n   lazy dog"
    )


def test_a_word_that_is_too_long_is_broken() -> None:
    assert written("https://example.com/a/long/path")[0] == "https://example.com/\na/long/path"


def test_indentation_is_kept() -> None:
    assert written("    code here")[0] == "    code here"


def test_at_most_one_empty_line_stands_between_paragraphs_and_none_at_the_top() -> None:
    assert written("\n\na\n\n\n\nb")[0] == "a\n\nb"


def test_a_mark_stays_with_its_word() -> None:
    out: list[str] = []
    lines = LineWriter(10, out.append)
    lines.feed([Run("one two six"), Run("[1]"), Run(" ten")])
    lines.close()
    assert "".join(out) == "one two\nsix[1] ten"


def test_wide_signs_may_be_broken_anywhere_and_count_twice() -> None:
    assert written("東京の人口は約1400万人です。", width=10)[0] == "東京の人口\nは約1400万\n人です。"


def test_a_blank_line_can_be_asked_for_and_comes_once() -> None:
    out: list[str] = []
    lines = LineWriter(20, out.append)
    lines.blank()
    lines.feed([Run("a")])
    lines.blank()
    lines.blank()
    lines.feed([Run("b")])
    lines.end_line()
    lines.end_line()
    assert "".join(out) == "a\n\nb\n"
    assert lines.rows == 3


def test_an_indent_wider_than_the_screen_gives_way_to_the_word() -> None:
    out, lines = written(" \t\t1", width=8)
    assert out == "       1"
    assert lines.rows == 0


def test_styles_and_links_take_no_room() -> None:
    out: list[str] = []
    lines = LineWriter(10, out.append)
    lines.feed([Run("0123456789", "1", "https://a.example/long")])
    lines.close()
    screen = Screen(10)
    screen.feed("".join(out))
    assert screen.text == "0123456789"
    assert screen.links == [("0123456789", "https://a.example/long")]
    assert lines.rows == 0


@given(
    st.lists(st.text(alphabet=st.sampled_from("ab \n\t-1.京🏙️é\u0301\u200d"), max_size=40), max_size=8),
    st.integers(8, 40),
)
def test_no_line_is_too_wide_and_the_rows_are_counted(texts: list[str], width: int) -> None:
    out, lines = written(*texts, width=width)
    screen = Screen(width, 10_000)
    screen.feed(out.replace("\n", "\r\n"))
    assert lines.rows == out.count("\n") == screen.row
    assert all(text_width(line.rstrip()) <= width for line in out.split("\n"))
    assert "".join(out.split()) == "".join("".join(texts).split())


def test_a_text_is_shortened_to_columns() -> None:
    assert shorten("short", 5) == "short"
    assert shorten("too long", 5) == "too…"
    assert shorten("東京の人口", 6) == "東京…"
