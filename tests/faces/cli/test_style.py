"""Markdown and numbers on a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.faces.cli.console import BOLD, CYAN, DIM, wrap_words
from groundwire.faces.cli.style import (
    LineWriter,
    Run,
    Styler,
    align_columns,
    shorten,
    split_columns,
    text_width,
)
from groundwire.model import Citation, Evidence, Source, Span
from groundwire.text.annotate import NumberWriter, Placeholders, annotate_numbers
from tests.faces.screen import Screen

PLAIN = Styler()
FULL = Styler(colored=True, linked=True)
SOURCE = Source("https://a.example/x", "A")


PLACEHOLDERS = Placeholders("")


def marked(text: str, end: int) -> str:
    citations = [Citation(Span(0, end), (Evidence(SOURCE),))]
    return annotate_numbers(text, citations, NumberWriter(lambda _: 7, PLACEHOLDERS)).text


def numbered(styler: Styler, text: str, end: int, url: str = SOURCE.url) -> list[Run]:
    return styler.runs(marked(text, end), {7: url}, placeholders=PLACEHOLDERS)


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("plain", [Run("plain")]),
        ("a **bold** word", [Run("a "), Run("bold", BOLD), Run(" word")]),
        ("`code`", [Run("code", CYAN)]),
        ("## Title\ntext", [Run("Title", BOLD), Run("\ntext")]),
        ("see [docs](https://d.example/a_(b))", [Run("see "), Run("docs", "", "https://d.example/a_(b)")]),
        ("2**3 and 2 ** 3", [Run("2**3 and 2 ** 3")]),
        ("a * b", [Run("a * b")]),
        ("[x](javascript:alert)", [Run("[x](javascript:alert)")]),
        ("C# is", [Run("C# is")]),
    ],
)
def test_markdown_is_styled_if_the_terminal_supports_it(text: str, runs: list[Run]) -> None:
    assert FULL.runs(text, {}) == runs


@pytest.mark.parametrize("text", ["a **bold** word", "`code`", "## Title", "see [docs](https://d.example)"])
def test_markdown_is_printed_unchanged_without_styles(text: str) -> None:
    assert "".join(run.text for run in PLAIN.runs(text, {})) == text
    assert all(not run.style and not run.url for run in PLAIN.runs(text, {}))


def test_a_number_is_a_link_to_its_source() -> None:
    assert numbered(FULL, "claim", 5) == [Run("claim"), Run("[7]", DIM, SOURCE.url)]


def test_a_number_inside_bold_words_is_still_a_number() -> None:
    assert numbered(FULL, "**claim**", 7) == [
        Run("claim", BOLD),
        Run("[7]", DIM, SOURCE.url),
    ]
    assert "".join(run.text for run in numbered(PLAIN, "**claim**", 7)) == "**claim[7]**"


def test_brackets_in_the_text_are_not_source_numbers() -> None:
    assert FULL.runs("array[1]", {1: SOURCE.url}) == [Run("array[1]")]


def test_a_number_links_to_web_addresses_only() -> None:
    assert numbered(FULL, "claim", 5, "javascript:alert(1)")[1].url == ""


def test_a_hash_in_the_middle_of_a_line_is_not_a_heading() -> None:
    assert FULL.runs("# 5", {}, at_line_start=False) == [Run("# 5")]


def test_placeholders_are_found_between_words() -> None:
    assert PLACEHOLDERS.pattern.split(marked("one two", 3)) == ["one", "7", " two"]


def test_plain_text_is_printed_unchanged_except_for_numbers() -> None:
    text = "## object.__init__: `self` and **kwargs** <b> [x](https://d.example/)"
    styler = Styler(colored=True, linked=True, is_plain=True)
    assert styler.runs(text, {}) == [Run(text)]
    assert numbered(styler, text, len(text)) == [Run(text), Run("[7]", DIM, SOURCE.url)]


def written(*texts: str, width: int = 20) -> tuple[str, LineWriter]:
    out: list[str] = []
    lines = LineWriter(width, out.append)
    for text in texts:
        lines.feed([Run(text)])
    lines.close()
    return "".join(out), lines


def test_lines_are_broken_between_words() -> None:
    assert written("the quick brown fox jumps over")[0] == "the quick brown fox\njumps over"


def test_wrapping_does_not_depend_on_how_the_text_is_chunked() -> None:
    text = "the quick **brown** fox\n\n- jumps over the lazy dog again\n"
    assert written(*text)[0] == written(text)[0]


def test_list_items_have_a_hanging_indent() -> None:
    assert written("- the quick brown fox\n1. jumps over the lazy dog")[0] == (
        "- the quick brown\n  fox\n1. jumps over the\n   lazy dog"
    )


def test_a_word_that_is_too_long_is_broken() -> None:
    assert written("https://example.com/a/long/path")[0] == "https://example.com/\na/long/path"


def test_indentation_is_kept() -> None:
    assert written("    code here")[0] == "    code here"


def test_paragraphs_are_separated_by_at_most_one_blank_line_and_none_at_the_top() -> None:
    assert written("\n\na\n\n\n\nb")[0] == "a\n\nb"


def test_a_marker_stays_on_the_line_of_its_word() -> None:
    out: list[str] = []
    lines = LineWriter(10, out.append)
    lines.feed([Run("one two six"), Run("[1]"), Run(" ten")])
    lines.close()
    assert "".join(out) == "one two\nsix[1] ten"


def test_wide_characters_may_be_wrapped_anywhere_and_have_width_two() -> None:
    assert written("東京の人口は約1400万人です。", width=10)[0] == "東京の人口\nは約1400万\n人です。"


def test_a_requested_blank_line_is_written_once() -> None:
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


def test_an_indent_wider_than_the_screen_is_dropped() -> None:
    out, lines = written(" \t\t1", width=8)
    assert out == "       1"
    assert lines.rows == 0


def test_styles_and_links_have_no_width() -> None:
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


def test_words_stay_whole_when_lines_are_broken() -> None:
    address = "https://docs.example/a/very/long/address"
    assert wrap_words(f"see {address} for more", 12) == ["see", address, "for more"]
    assert wrap_words("  two words of a note", 12) == ["  two words", "of a note"]
    assert wrap_words("fits", 4) == ["fits"]
    assert wrap_words("", 4) == [""]


def test_a_table_fits_the_terminal() -> None:
    rows = [("NAME", "READY", "WHY"), ("gemini", "no", "set a variable or store a key with the command")]
    assert list(align_columns(rows, 42)) == [
        "NAME    READY  WHY",
        "gemini  no     set a variable or store a",
        "               key with the command",
    ]
    assert list(align_columns(rows, 30))[2:] == ["    set a variable or store a", "    key with the command"]
    wide = [("NAME", "ONE", "TWO", "THREE"), ("gemini", "yes", "no", "yes")]
    assert list(split_columns(wide, 16)) == [
        [("NAME", "ONE", "TWO"), ("gemini", "yes", "no")],
        [("NAME", "THREE"), ("gemini", "yes")],
    ]
    assert list(split_columns(wide, 100)) == [wide]
