"""Extracts from pages are shown as plain text everywhere; in Markdown, dunder names are not emphasis."""

from __future__ import annotations

import re
from html import unescape

import pytest

from groundwire.chat.export import footnoted
from groundwire.engine.compose.answer import compose
from groundwire.engine.compose.events import composition_events
from groundwire.engine.pages import EngineResult, Passage
from groundwire.faces.cli.output import as_markdown, as_text
from groundwire.faces.web.answers import view_of
from groundwire.faces.web.markdown import render_text
from groundwire.faces.web.pages import Pages
from groundwire.model import Answer, Citation, Evidence, Source, Span, Text, assemble
from groundwire.store.base import StoredMessage
from groundwire.text.markdown import PLAIN_TEXT_EXTRAS

TEXTS = Pages().texts["en"]
NAMES = (
    "object.__init__ is called after __new__ for *args and **kwargs of f(*args, **kwargs).",
    "2 * 3 * 4 is 24 and a*b*c is a product, not emphasis.",
    "Use `x` and <b>tags</b> & entities like &lt; as they are.",
    "A list [1] and a [link](https://a.example/) stay what they are.",
    "_private and trailing_ and snake_case.",
)
TAG = re.compile(r'<a class="chip".*?</a>|<span class="card".*?</span></span></span>|<[^>]*>', re.DOTALL)


def answer_of(*sentences: str, extras: bool = True) -> Answer:
    text = "\n\n".join(sentences)
    page = Source("https://docs.example/", "Docs")
    citations = []
    for sentence in sentences:
        start = text.index(sentence)
        citations.append(Citation(Span(start, start + len(sentence)), (Evidence(page, sentence),)))
    return Answer((Text(text, extras=PLAIN_TEXT_EXTRAS if extras else {}),), tuple(citations), finish="stop")


def blocks_of(answer: Answer) -> list[str]:
    view = view_of(StoredMessage("m", "s", answer), TEXTS)
    assert view.whole == ""
    return [unescape(re.sub(r'<span class="cite">.*', "", block)) for block in view.blocks]


def test_markdown_characters_of_page_text_are_shown_on_the_page() -> None:
    assert blocks_of(answer_of(*NAMES)) == [f"<p>{sentence}" for sentence in NAMES]


def test_every_sentence_keeps_its_chip() -> None:
    view = view_of(StoredMessage("m", "s", answer_of(*NAMES)), TEXTS)
    assert all(block.count('class="chip"') == 1 for block in view.blocks)
    assert len(view.blocks) == len(NAMES)


def test_markdown_characters_of_page_text_are_shown_in_markdown() -> None:
    for rendered in (footnoted(answer_of(*NAMES)), as_markdown(answer_of(*NAMES))):
        shown = [
            unescape(re.sub(r"<[^>]*>", "", block))
            for block in render_text(rendered, (), (), lambda _, __: "").blocks
        ]
        for sentence, block in zip(NAMES, shown, strict=False):
            assert block.startswith(sentence)


def test_markdown_characters_of_page_text_are_shown_in_the_terminal() -> None:
    rendered = as_text(answer_of(*NAMES))
    assert all(f"{sentence}[1]" in rendered for sentence in NAMES)


def test_an_extract_of_an_engine_is_marked_as_plain_text() -> None:
    text = "object.__init__ is called after the instance has been created by __new__."
    passage = Passage(url="https://docs.example/", title="object.__init__", text=text, start=0)
    composition = compose("what does object.__init__ do", (passage,))
    composed = assemble(
        composition_events("what does object.__init__ do", EngineResult((passage,)), composition)
    )
    assert "object.__init__" in composed.text
    assert any("object.__init__" in block for block in blocks_of(composed))
    nothing = assemble(
        composition_events("__what__ is *this*", EngineResult(()), compose("__what__ is *this*", ()))
    )
    assert any("__what__ is *this*" in block for block in blocks_of(nothing))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("call object.__init__ first", "<p>call object.__init__ first</p>"),
        ("the __init__ method", "<p>the __init__ method</p>"),
        ("__setup__() runs", "<p>__setup__() runs</p>"),
        ('if __name__ == "__main__":', '<p>if __name__ == "__main__":</p>'),
        (
            "**Note:** `__init__` and **__init__**",
            "<p><strong>Note:</strong> <code>__init__</code> and <strong>__init__</strong></p>",
        ),
        ("__really important__ words", "<p><strong>really important</strong> words</p>"),
        ("__important__ words", "<p><strong>important</strong> words</p>"),
        ("**bold** and _soft_", "<p><strong>bold</strong> and <em>soft</em></p>"),
    ],
)
def test_in_markdown_of_a_model_only_dunder_names_are_not_emphasis(text: str, html: str) -> None:
    assert render_text(text, (), (), lambda _, __: "").blocks == (html,)


def test_an_address_of_this_machine_is_shown_and_leads_to_the_stored_page() -> None:
    page = Source("local:python/3.11.7/math.sqrt", "math.sqrt")
    answer = Answer((Text("Yes."),), (Citation(Span(0, 4), (Evidence(page, "Yes."),)),), finish="stop")
    view = view_of(StoredMessage("m", "s", answer), TEXTS)
    assert 'href="/page?url=local%3Apython%2F3.11.7%2Fmath.sqrt&amp;quote=Yes.#quote"' in view.blocks[0]
    assert 'href="local:' not in view.blocks[0]
    assert [(source.href, source.host) for source in view.cited] == [("", page.url)]
