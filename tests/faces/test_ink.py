"""Markdown and numbers on a terminal."""

from __future__ import annotations

import pytest

from groundwire.faces.cli.console import BOLD, CYAN, DIM
from groundwire.faces.cli.style import Run, Styler
from groundwire.model import Citation, Evidence, Source, Span
from groundwire.text.annotate import NumberWriter, Placeholders, annotate_numbers

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
def test_markdown_is_shown_where_the_terminal_can(text: str, runs: list[Run]) -> None:
    assert FULL.runs(text, {}) == runs


@pytest.mark.parametrize("text", ["a **bold** word", "`code`", "## Title", "see [docs](https://d.example)"])
def test_markdown_stands_as_written_where_it_cannot(text: str) -> None:
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


def test_brackets_of_the_answer_s_own_words_are_no_numbers() -> None:
    assert FULL.runs("array[1]", {1: SOURCE.url}) == [Run("array[1]")]


def test_a_number_leads_nowhere_that_is_not_the_web() -> None:
    assert numbered(FULL, "claim", 5, "javascript:alert(1)")[1].url == ""


def test_a_hash_in_the_middle_of_a_line_is_no_heading() -> None:
    assert FULL.runs("# 5", {}, at_line_start=False) == [Run("# 5")]


def test_placeholders_are_found_again_between_the_words() -> None:
    assert PLACEHOLDERS.pattern.split(marked("one two", 3)) == ["one", "7", " two"]


def test_plain_text_is_written_as_it_is_beside_its_numbers() -> None:
    text = "## object.__init__: `self` and **kwargs** <b> [x](https://d.example/)"
    styler = Styler(colored=True, linked=True, is_plain=True)
    assert styler.runs(text, {}) == [Run(text)]
    assert numbered(styler, text, len(text)) == [Run(text), Run("[7]", DIM, SOURCE.url)]
