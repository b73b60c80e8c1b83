"""Sessions are exported as Markdown with footnotes, and as JSON that can be decoded."""

from __future__ import annotations

import json
import re

from markdown_it import MarkdownIt

from groundwire.chat.answers import stopped
from groundwire.chat.export import footnoted, session_as_json, session_as_markdown
from groundwire.chat.turns import SessionTurns
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
CONVERSATION = SessionTurns(
    Session("s", "a", "", "What\nis it?"),
    Agent("a", {"en": "Helper", "de": "Helfer"}),
    (
        StoredMessage("q", "s", Message("user", (Text("What?\nReally?"),)), number=1),
        StoredMessage("r", "s", ANSWER, "p", number=2),
    ),
)


def test_claims_have_footnotes_with_their_sources() -> None:
    text = footnoted(ANSWER)
    body, _, notes = text.partition("\n\n")
    assert body == "First claim.[^1] Second claim[^1][^2] [1]."
    assert notes.splitlines() == [r"[^1]: One \[page\] \<b\> <https://a.example/one>", "[^2]: Two"]


def test_every_footnote_of_a_session_is_defined_once() -> None:
    later = StoredMessage("r2", "s", ANSWER, "p", number=4)
    text = "".join(session_as_markdown(replace(CONVERSATION, turns=(*CONVERSATION.turns, later)), "de"))
    used = set(re.findall(r"\[\^([\d-]+)\](?!:)", text))
    defined = re.findall(r"^\[\^([\d-]+)\]:", text, re.MULTILINE)
    assert used == set(defined)
    assert len(defined) == len(set(defined))
    assert "<b>" not in MarkdownIt("commonmark", {"html": False}).render(text)
    assert text.startswith("# What is it?\n\n> What?\n> Really?\n\n**Helfer**")


def test_an_interrupted_answer_is_exported_as_interrupted() -> None:
    turns = (
        *CONVERSATION.turns[:1],
        replace(CONVERSATION.turns[1], content=replace(ANSWER, error=stopped())),
    )
    assert "**Helper** (stopped)" in "".join(session_as_markdown(replace(CONVERSATION, turns=turns)))


def test_the_json_export_contains_everything_that_is_stored() -> None:
    body = json.loads("".join(session_as_json(CONVERSATION)))
    assert [decode(item["content"]) for item in body["messages"]] == [
        turn.content for turn in CONVERSATION.turns
    ]
    assert (body["version"], body["title"]) == (1, "What\nis it?")
    assert json.loads("".join(session_as_json(replace(CONVERSATION, turns=()))))["messages"] == []


def test_no_export_contains_invisible_characters() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    flag = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
    hostile = f"\x1b]0;owned\x07 \u202eexe.txt {hidden}{flag}\x9b31m"
    source = Source("https://a.example/", f"Title {hostile}")
    answer = Answer(
        (Text(f"Claim {hostile}."),), (Citation(Span(0, 5), (Evidence(source, hostile),)),), finish="stop"
    )
    ask_repeatedly = replace(
        CONVERSATION,
        session=Session("s", "a", "", f"Subject {hostile}"),
        turns=(
            StoredMessage("q", "s", Message("user", (Text(hostile),)), number=1),
            StoredMessage("r", "s", answer, "p", number=2),
        ),
    )
    unseen = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
    markdown, body = "".join(session_as_markdown(ask_repeatedly)), "".join(session_as_json(ask_repeatedly))
    assert unseen.search(markdown) is None
    assert unseen.search(body) is None
    assert hidden not in markdown
    assert hidden not in body
    assert markdown.count(flag) == 4
    assert decode(json.loads(body)["messages"][1]["content"]) == answer


def test_an_address_of_this_machine_is_code_in_a_footnote() -> None:
    page = Source("local:groundwire/chat.md", "The chat page")
    answer = Answer((Text("Yes."),), (Citation(Span(0, 4), (Evidence(page),)),), finish="stop")
    assert footnoted(answer).splitlines()[-1] == "[^1]: The chat page `local:groundwire/chat.md`"
