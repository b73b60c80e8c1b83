"""Agents come from the JSON of apps and go back to it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from groundwire.chat.agents import id_for, pick, preferred, read_app, title_of, write_app
from groundwire.errors import ClientWireError
from groundwire.model.value import replace
from groundwire.store.base import Agent

APP: dict[str, Any] = {
    "id": "web-helper",
    "name": {"en": "Web helper", "de": "Web-Helfer"},
    "description": {"en": "Looks things up", "de": "Schlägt nach"},
    "systemPrompt": {"en": "Cite your sources.", "de": "Nenne deine Quellen."},
    "models": ["gpt-5", "gpt-5-mini"],
    "tools": ["calculator", "webSearch"],
    "ui": {"theme": "dark", "showModelSelector": False},
}


def test_an_app_is_exported_as_it_was_imported() -> None:
    assert write_app(read_app(json.dumps(APP))) == APP


def test_an_app_with_a_search_tool_makes_an_agent_that_searches() -> None:
    agent = read_app(json.dumps(APP))
    assert agent.web_search
    assert agent.model == "gpt-5"
    assert pick(agent.prompt, "de") == "Nenne deine Quellen."
    assert read_app(json.dumps({**APP, "tools": ["googleSearch"]})).web_search
    assert not read_app(json.dumps({**APP, "tools": ["calculator"]})).web_search


def test_switching_search_changes_nothing_but_the_search_tool() -> None:
    agent = read_app(json.dumps(APP))
    assert write_app(replace(agent, web_search=False)) == {**APP, "tools": ["calculator"]}
    silent = read_app(json.dumps({**APP, "tools": ["calculator"]}))
    assert write_app(replace(silent, web_search=True)) == APP


def test_search_is_off_unless_an_app_has_its_tool() -> None:
    assert not read_app('{"id": "a", "name": "A"}').web_search
    assert not Agent("a", {"en": "A"}).web_search


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"id": "../up", "name": "A"}',
        '{"id": "a"}',
        '{"id": "a", "name": 3}',
        '{"id": "a", "name": {"en": []}}',
        '{"id": "a", "name": "A", "tools": "webSearch"}',
        "[" * 5000,
    ],
)
def test_what_is_no_app_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(ClientWireError):
        read_app(text)


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.5", "de"),
        ("fr,en;q=0.2,de;q=0.8", "de"),
        ("fr", "en"),
        ("de;q=0,en;q=0.1", "en"),
        ("de;q=x, en;q=2", "en"),
        ("<script>, de", "de"),
    ],
)
def test_the_page_speaks_what_the_browser_asks_for(header: str, language: str) -> None:
    assert preferred(header) == language


def test_a_new_agent_is_called_after_its_name() -> None:
    assert id_for(Agent("", {"en": "Über-Helper 2!"}), set()) == "uber-helper-2"
    assert id_for(Agent("", {"de": "日本"}), {"agent"}) == "agent-2"


def test_a_session_is_called_after_its_first_question() -> None:
    assert title_of("What\n is  this?") == "What is this?"
    long = title_of("word " * 40)
    assert len(long) <= 60
    assert long.endswith("word…")
