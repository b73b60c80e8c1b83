"""Sessions leave as Markdown with footnotes, and as JSON that can be read again."""

from __future__ import annotations

import json
import re

from markdown_it import MarkdownIt

from groundwire.chat.exporting import as_json, as_markdown, footnoted
from groundwire.chat.states import stopped
from groundwire.chat.turns import Conversation
from groundwire.model import Answer, Citation, Evidence, Message, Source, Span, Text
from groundwire.model.json import decode
from groundwire.model.value import replace
from groundwire.store.base import Agent, Session, StoredMessage

A = Source("https://a.example/one", "One [page] <b>")
B = Source("javascript:alert(1)", "Two")
ANSWER = Answer(
    (Text("First claim. Second claim [1]."),),
    (
        Citation(Span(0, 12), (Evidence(A, "quoted"),)),
        Citation(Span(13, 25), (Evidence(B), Evidence(A))),
    ),
    finish="stop",
)
TALK = Conversation(
    Session("s", "a", "", "What\nis it?"),
    Agent("a", {"en": "Helper", "de": "Helfer"}),
    (
        StoredMessage("q", "s", Message("user", (Text("What?\nReally?"),)), number=1),
        StoredMessage("r", "s", ANSWER, "p", number=2),
    ),
)


def test_claims_have_footnotes_and_footnotes_their_sources() -> None:
    text = footnoted(ANSWER)
    body, _, notes = text.partition("\n\n")
    assert body == "First claim.[^1] Second claim[^1][^2] [1]."
    assert notes.splitlines() == [r"[^1]: One \[page\] \<b\> <https://a.example/one>", "[^2]: Two"]


def test_every_footnote_of_a_session_is_defined_once() -> None:
    later = StoredMessage("r2", "s", ANSWER, "p", number=4)
    text = "".join(as_markdown(replace(TALK, turns=(*TALK.turns, later)), "de"))
    used = set(re.findall(r"\[\^([\d-]+)\](?!:)", text))
    defined = re.findall(r"^\[\^([\d-]+)\]:", text, re.MULTILINE)
    assert used == set(defined)
    assert len(defined) == len(set(defined))
    assert "<b>" not in MarkdownIt("commonmark", {"html": False}).render(text)
    assert text.startswith("# What is it?\n\n> What?\n> Really?\n\n**Helfer**")


def test_an_answer_that_broke_off_is_exported_as_such() -> None:
    turns = (*TALK.turns[:1], replace(TALK.turns[1], content=replace(ANSWER, error=stopped())))
    assert "**Helper** (stopped)" in "".join(as_markdown(replace(TALK, turns=turns)))


def test_json_holds_everything_that_is_kept() -> None:
    body = json.loads("".join(as_json(TALK)))
    assert [decode(item["content"]) for item in body["messages"]] == [turn.content for turn in TALK.turns]
    assert (body["version"], body["title"]) == (1, "What\nis it?")
    assert json.loads("".join(as_json(replace(TALK, turns=()))))["messages"] == []
