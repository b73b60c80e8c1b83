"""Answers rendered as Markdown."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from groundwire.model import Answer, Citation, Evidence, SearchResult, Source, Span, Text
from groundwire.text.markdown import (
    PLAIN_TEXT_EXTRAS,
    escape_markdown,
    is_plain_text,
    render_answer,
    render_body,
    render_sources,
)
from groundwire.text.sources import number_answer, number_sources

A = Source("https://a.example/x", "Page A")
B = Source("https://b.example/y", "")


def cited(text: str, *citations: Citation) -> Answer:
    return Answer((Text(text),), citations)


def test_text_numbers_and_the_list_of_sources() -> None:
    answer = cited(
        "One. Two.",
        Citation(Span(0, 4), (Evidence(A),)),
        Citation(Span(5, 9), (Evidence(B), Evidence(A))),
    )
    assert render_answer(answer) == (
        "One.[1] Two.[1][2]\n\nSources:\n[1] Page A (https://a.example/x)\n[2] b.example (https://b.example/y)"
    )


def test_without_sources_the_text_has_no_list() -> None:
    assert render_answer(cited("One.")) == "One."


def test_a_citation_of_the_whole_answer_is_in_the_list() -> None:
    answer = cited("One.", Citation(None, (Evidence(A),)))
    assert render_answer(answer) == "One.\n\nSources:\n[1] Page A (https://a.example/x)"


def test_what_was_found_is_listed_if_nothing_is_cited() -> None:
    answer = Answer((SearchResult("s", (A,)), Text("One.")))
    assert render_answer(answer) == "One.\n\nSources:\n[1] Page A (https://a.example/x)"


def test_a_link_in_place_of_its_source_becomes_a_number() -> None:
    link = "([a.example](https://a.example/x?utm_source=openai))"
    answer = cited(
        f"One {link}.",
        Citation(
            Span(4, 4 + len(link)), (Evidence(Source("https://a.example/x?utm_source=openai")),), "marker"
        ),
    )
    assert render_answer(answer).startswith("One [1].\n\nSources:")


def test_one_page_with_two_urls_has_one_number() -> None:
    answer = cited(
        "One. Two.",
        Citation(Span(0, 4), (Evidence(A),)),
        Citation(Span(5, 9), (Evidence(Source("https://www.a.example/x/")),)),
    )
    assert render_body(answer, number_answer(answer)) == "One.[1] Two.[1]"


def test_sections_of_one_page_have_numbers_of_their_own() -> None:
    answer = cited(
        "One. Two.",
        Citation(Span(0, 4), (Evidence(Source("https://a.example/x#one", "One")),)),
        Citation(Span(5, 9), (Evidence(Source("https://a.example/x#two", "Two")),)),
    )
    assert render_body(answer, number_answer(answer)) == "One.[1] Two.[2]"


def test_leaked_markers_are_removed_and_numbers_stay_in_position() -> None:
    answer = cited(
        "One 【3:2†source】. Two\ue200cite\ue202turn0\ue201.", Citation(Span(4, 16), (Evidence(A),), "marker")
    )
    assert render_body(answer, number_answer(answer)) == "One [1]. Two."


def test_commentary_and_answer_are_separated() -> None:
    answer = Answer(
        (Text("Let me look.", "commentary"), Text("It is ", "final_answer"), Text("so.", "final_answer"))
    )
    assert render_answer(answer) == "Let me look.\n\nIt is so."


def test_a_citation_after_a_break_is_at_the_end_of_its_claim() -> None:
    answer = Answer(
        (Text("Looking.", "commentary"), Text("It is so.", "final_answer")),
        (Citation(Span(8, 17), (Evidence(A),)), Citation(Span(0, 8), (Evidence(B),))),
    )
    assert render_body(answer, number_sources([A, B])) == "Looking.[2]\n\nIt is so.[1]"


def test_a_feed_without_a_url_is_listed_by_name() -> None:
    assert render_sources([Source("", "oai-weather"), A]) == (
        "Sources:\n[1] oai-weather\n[2] Page A (https://a.example/x)"
    )


def test_a_title_cannot_break_the_list() -> None:
    assert render_sources([Source("https://a.example", "One\n[2] Fake\r\n(x)")]) == (
        "Sources:\n[1] One [2] Fake (x) (https://a.example)"
    )


TEXTS = (
    "object.__init__: called after __new__()",
    "f(*args, **kwargs) and 2 * 3 * 4 and a*b*c",
    "use `x` or ``y`` and ```",
    "x < y > z <b>bold</b> <https://a.example/> &lt; &amp; & &#65;",
    "[link](https://a.example/) ![image](x) [ref] [1]: https://b.example/",
    "# no heading",
    "- no list\n+ nor this\n* nor that\n1. nor one\n2) nor two",
    "> no quote",
    "title\n=====\nother\n-----",
    "   no code\n\tnor this",
    "text\n    no code, because it continues a paragraph",
    "text\n\n    code\n      *more* <b> &amp; \\x\n\ntext",
    "| no | table |\n|----|-------|\n| at | all   |",
    "a | b\n--- | ---\n1 | 2",
    "~~not struck~~ and ~this~",
    "back\\slash \\* \\",
    "snake_case and _leading and trailing_ and __",
    "***\n___\n---",
    "~~~\nno fence\n~~~",
    "first\n\nsecond\n\n\nthird",
)


def shown(markdown: str) -> str:
    """The text of rendered Markdown."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    rendered = parser.render(markdown)
    assert re.findall(r"<(?!/?p>|br />|/?pre>|/?code>)[^>]*>", rendered) == []
    return html.unescape(re.sub(r"<[^>]*>", "", rendered))


def words(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize("text", TEXTS)
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    escaped, _ = escape_markdown(text)
    assert words(shown(escaped)) == words(text)


def test_indented_lines_after_a_blank_line_are_code_as_it_is() -> None:
    text = "Run:\n\n    x = a[0] * b_\n      <tag> & `y`\n\n    z\n\nThen *stop*."
    escaped, place = escape_markdown(text)
    rendered = MarkdownIt("commonmark").render(escaped)
    assert "<pre><code>x = a[0] * b_\n  &lt;tag&gt; &amp; `y`\n\nz\n</code></pre>" in rendered
    assert "<p>Then *stop*.</p>" in rendered
    assert escaped[place(text.index("    x")) : place(text.index("\n\nThen"))] in text


@given(st.text(alphabet="ab1_*`[]()<>&#;-+=|~\\.!:/ \n\t", max_size=60))
def test_any_plain_text_is_shown_as_it_is(text: str) -> None:
    escaped, _ = escape_markdown(text)
    assert words(shown(escaped)) == words(text)


@given(st.text(alphabet="ab1_*`[]<>&#;-+ \n", max_size=40))
def test_every_offset_is_mapped_to_its_character(text: str) -> None:
    escaped, map_offset = escape_markdown(text)
    assert (map_offset(0), map_offset(len(text))) == (0, len(escaped))
    for index, character in enumerate(text):
        piece = escaped[map_offset(index) : map_offset(index + 1)]
        assert piece in (character, f"\\{character}", "&#32;")


def test_names_stay_readable_in_the_source() -> None:
    assert escape_markdown("snake_case, a & b, 3.14, well-known: yes!")[0] == (
        "snake_case, a & b, 3.14, well-known: yes!"
    )


def test_an_answer_is_plain_if_all_its_text_is() -> None:
    assert is_plain_text(Answer((Text("a", extras=PLAIN_TEXT_EXTRAS), Text(""))))
    assert not is_plain_text(Answer((Text("a", extras=PLAIN_TEXT_EXTRAS), Text("b"))))
    assert not is_plain_text(Answer())
