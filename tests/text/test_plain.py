"""Plain text becomes Markdown that shows it as it is, and spans move with it."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from groundwire.model import Answer, Text
from groundwire.text.markdown import PLAIN_TEXT_EXTRAS, escape_markdown, is_plain_text

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
    "    no code\n\tnor this",
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
    """The words of rendered Markdown."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    rendered = parser.render(markdown)
    assert re.findall(r"<(?!/?p>|br />)[^>]*>", rendered) == []
    return html.unescape(re.sub(r"<[^>]*>", "", rendered))


def words(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize("text", TEXTS)
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    escaped, _ = escape_markdown(text)
    assert words(shown(escaped)) == words(text)


@given(st.text(alphabet="ab1_*`[]()<>&#;-+=|~\\.!:/ \n\t", max_size=60))
def test_whatever_plain_text_holds_is_shown_as_it_is(text: str) -> None:
    escaped, _ = escape_markdown(text)
    assert words(shown(escaped)) == words(text)


@given(st.text(alphabet="ab1_*`[]<>&#;-+ \n", max_size=40))
def test_every_position_moves_to_where_its_character_went(text: str) -> None:
    escaped, place = escape_markdown(text)
    assert (place(0), place(len(text))) == (0, len(escaped))
    for index, character in enumerate(text):
        piece = escaped[place(index) : place(index + 1)]
        assert piece in (character, f"\\{character}", "&#32;")


def test_names_stay_readable_in_the_source() -> None:
    assert escape_markdown("snake_case, a & b, 3.14, well-known: yes!")[0] == (
        "snake_case, a & b, 3.14, well-known: yes!"
    )


def test_an_answer_is_plain_if_all_its_text_is() -> None:
    assert is_plain_text(Answer((Text("a", extras=PLAIN_TEXT_EXTRAS), Text(""))))
    assert not is_plain_text(Answer((Text("a", extras=PLAIN_TEXT_EXTRAS), Text("b"))))
    assert not is_plain_text(Answer())
