"""Topics of the language reference, in the words of their pages."""

from __future__ import annotations

import sys

import pytest

from groundwire.engine.compose.answer import compose
from groundwire.engine.knowledge.language_reference import page_text, topic_pages
from groundwire.engine.pages import Passage

DOCS = f"https://docs.python.org/{sys.version_info.major}.{sys.version_info.minor}/"


def test_each_method_that_a_topic_explains_has_its_own_anchor() -> None:
    pages = {page.url: page for page in topic_pages()}
    joined = pages[f"{DOCS}library/stdtypes.html#str.join"]
    assert joined.text.startswith("str.join(iterable)\n\nReturn a string which is the concatenation")
    assert "str.join" not in pages[f"{DOCS}library/stdtypes.html#string-methods"].text
    statement = pages[f"{DOCS}reference/compound_stmts.html#the-for-statement"]
    assert statement.title.startswith("The for statement — loop over ")
    assert "***" not in statement.text


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ('The "with" statement wraps *code* and **more**.', "The with statement wraps code and more."),
        ('Literals with marks inside: "m.__dict__["a"] = 1" is one.', ""),
        ('As follows:\n\n   print("so")\n\nEnd.', 'As follows:\n\n   print("so")\n\nEnd.'),
        ('for_stmt ::= "for" target', 'for_stmt ::= "for" target'),
        ('Note:\n\n  It is "so".', "It is so."),
        ('An unclear "quotation.', ""),
        ("See also: another page.", ""),
        (
            '+-----+------+\n| a   | b    |\n|=====|======|\n| "c" | long |\n|     | text |\n+-----+------+',
            "a  b\nc  long text",
        ),
    ],
)
def test_marks_that_are_not_on_the_page_are_removed(topic: str, text: str) -> None:
    assert page_text(topic).strip() == text


def test_an_item_of_a_list_inside_a_description_is_quoted_without_its_mark() -> None:
    topic = (
        "Dictionaries can be created by several means:\n\n"
        "   * Use a comma-separated list of pairs\n\n"
        '   * Use a dict comprehension: "{}", "{x: x ** 2 for x in range(10)}"'
    )
    passage = Passage("https://docs.example/", "Dictionaries", page_text(topic), 0, score=1.0)
    citations = compose("use a dict comprehension", [passage]).citations
    quotes = [item.quote for citation in citations for item in citation.evidence]
    assert any("Use a dict comprehension" in quote for quote in quotes)
    assert not any(quote.strip().startswith("*") for quote in quotes)
