"""Agents are imported from the JSON of apps and exported to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from groundwire.chat.agents import (
    id_for,
    names_google,
    options_of,
    pick,
    preferred,
    read_app,
    title_of,
    write_app,
)
from groundwire.chat.questions import ChatQuestion, Controls, OutsideAgent, domains_in, options_for
from groundwire.config.schema import ProviderSettings
from groundwire.errors import ClientWireError, UnsupportedFeature
from groundwire.model import Location, SearchOptions
from groundwire.model.value import replace
from groundwire.store.base import Agent
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.chat.scripted_chat import answer_in, answered, open_chat
from tests.faces.gateway.serving import provider_at

pytestmark = pytest.mark.server

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
def test_invalid_apps_are_refused_with_a_reason(text: str) -> None:
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
def test_the_language_follows_the_accept_language_header(header: str, language: str) -> None:
    assert preferred(header) == language


def test_the_id_of_a_new_agent_is_derived_from_its_name() -> None:
    assert id_for(Agent("", {"en": "Über-Helper 2!"}), set()) == "uber-helper-2"
    assert id_for(Agent("", {"de": "日本"}), {"agent"}) == "agent-2"


def test_the_title_of_a_session_is_its_first_question() -> None:
    assert title_of("What\n is  this?") == "What is this?"
    long = title_of("word " * 40)
    assert len(long) <= 60
    assert long.endswith("word…")


OPENAI = {
    "type": "web_search",
    "filters": {"allowed_domains": ["python.org", "sqlite.org"], "blocked_domains": ["wiki.python.org"]},
    "user_location": {"type": "approximate", "country": "DE", "city": "Köln", "timezone": "Europe/Berlin"},
    "external_web_access": False,
    "search_context_size": "low",
}
SEED = {"id": "webSearch", "isSpecialTool": True, "filters": {"allowed_domains": ["python.org"]}}
ANTHROPIC = {"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["a.org"], "max_uses": 3}


def app(*tools: object) -> str:
    return json.dumps({"id": "a", "name": {"en": "A"}, "models": [], "tools": list(tools)})


@pytest.mark.parametrize(
    ("tool", "options"),
    [
        ("webSearch", SearchOptions()),
        (
            OPENAI,
            SearchOptions(
                ("python.org", "sqlite.org"),
                ("wiki.python.org",),
                Location("DE", "", "Köln", "Europe/Berlin"),
                context_size="low",
                live=False,
            ),
        ),
        (SEED, SearchOptions(("python.org",))),
        (ANTHROPIC, SearchOptions(("a.org",), max_uses=3)),
        (
            {"type": "openrouter:web_search", "parameters": {"allowed_domains": ["b.org"]}},
            SearchOptions(("b.org",)),
        ),
        ({"type": "web_search", "user_location": None, "filters": None}, SearchOptions()),
        ({"google_search": {}}, SearchOptions()),
    ],
)
def test_a_search_tool_is_read_with_its_options_and_exported_unchanged(
    tool: object, options: SearchOptions
) -> None:
    agent = read_app(app("calculator", tool))
    assert agent.web_search
    assert options_of(agent) == options
    assert write_app(agent)["tools"] == ["calculator", tool]


@pytest.mark.parametrize(
    ("tool", "path"),
    [
        (5, "$.tools[1]"),
        (["webSearch"], "$.tools[1]"),
        ({"type": "web_search", "filters": []}, "$.tools[1].filters"),
        (
            {"type": "web_search", "filters": {"allowed_domains": ["not a domain"]}},
            "$.tools[1].filters.allowed",
        ),
        ({"type": "web_search", "external_web_access": "no"}, "$.tools[1].external_web_access"),
        ({"id": "webSearch", "user_location": {"city": 7}}, "$.tools[1].user_location.city"),
    ],
)
def test_an_error_in_a_search_tool_has_its_json_path(tool: object, path: str) -> None:
    with pytest.raises(ClientWireError) as caught:
        read_app(app("calculator", tool))
    assert caught.value.path.startswith(path)


def test_tools_that_are_not_searches_are_unchanged() -> None:
    tools: list[Any] = ["calculator", {"type": "function", "name": "web_searcher"}, {"id": "sheets"}, None]
    agent = read_app(app(*tools))
    assert not agent.web_search
    assert write_app(agent)["tools"] == tools


def test_a_question_can_narrow_the_sites_of_an_agent_but_not_widen_them() -> None:
    agent = SearchOptions(("python.org",), ("wiki.python.org",), live=False)
    configured = SearchOptions(blocked_domains=("spam.example",), max_uses=4)
    plain = options_for(Controls(), agent, configured)
    assert (plain.allowed_domains, plain.live, plain.max_uses) == (("python.org",), False, 4)
    assert plain.blocked_domains == ("spam.example", "wiki.python.org")
    narrowed = options_for(Controls(("docs.python.org", "sqlite.org")), agent, configured)
    assert narrowed.allowed_domains == ("docs.python.org",)
    with pytest.raises(OutsideAgent, match=r"python\.org"):
        options_for(Controls(("sqlite.org",)), agent, configured)
    assert options_for(Controls(("sqlite.org",)), SearchOptions(), configured).allowed_domains == (
        "sqlite.org",
    )


def test_a_typed_url_is_reduced_to_its_domain() -> None:
    assert domains_in("https://docs.python.org/ , http://sqlite.org/docs") == (
        "docs.python.org",
        "sqlite.org/docs",
    )


async def ask_with(folder: Path, dialect: str, *tools: object) -> tuple[list[str], str]:
    """The codes of the warnings, and the body that was sent."""
    async with (
        Upstream(answer(dialect, answer_events("So it is."))) as upstream,
        open_chat(folder, {"p": provider_at(dialect, upstream.url)}) as chat,
    ):
        agent = await chat.save_agent(read_app(app(*tools)), "")
        turn = await answered(chat, ChatQuestion("What?", "", agent=agent.id))
        return [warning.code for warning in answer_in(turn.answer).warnings], upstream.requests[
            0
        ].body.decode()


async def test_the_options_of_an_app_reach_the_provider(tmp_path: Path) -> None:
    async with (
        Upstream(answer("openai_responses", answer_events("So."))) as upstream,
        open_chat(tmp_path, {"openai": ProviderSettings(base_url=f"{upstream.url}/v1")}) as chat,
    ):
        agent = await chat.save_agent(read_app(app(OPENAI)), "")
        await answered(chat, ChatQuestion("What?", "", agent=agent.id))
        (tool,) = json.loads(upstream.requests[0].body)["tools"]
        assert tool["filters"] == OPENAI["filters"]
        assert tool["user_location"]["city"] == "Köln"
        assert tool["external_web_access"] is False


async def test_a_restriction_of_an_app_that_a_provider_cannot_honour_is_refused(tmp_path: Path) -> None:
    async with (
        Upstream(answer("openai_responses", answer_events("So."))) as upstream,
        open_chat(tmp_path, {"p": provider_at("openai_responses", upstream.url)}) as chat,
    ):
        agent = await chat.save_agent(read_app(app(OPENAI)), "")
        turn = await answered(chat, ChatQuestion("What?", "", agent=agent.id))
        assert isinstance(answer_in(turn.answer).error, UnsupportedFeature)
        assert not upstream.requests


@pytest.mark.parametrize(
    ("tools", "dialect", "warned"),
    [
        (["googleSearch"], "openai_responses", True),
        ([{"google_search": {}}], "anthropic_messages", True),
        (["googleSearch"], "gemini", False),
        (["webSearch"], "openai_responses", False),
        (["webSearch", "googleSearch"], "openai_responses", False),
    ],
)
async def test_a_search_other_than_the_one_an_agent_names_is_a_warning(
    tools: list[object], dialect: str, warned: bool, tmp_path: Path
) -> None:
    codes, _ = await ask_with(tmp_path, dialect, *tools)
    assert ("other_search" in codes) == warned


async def test_an_agent_that_names_google_and_no_provider_is_answered_by_gemini(tmp_path: Path) -> None:
    async with (
        Upstream(answer("openai_responses", answer_events("So."))) as other,
        Upstream(answer("gemini", answer_events("So."))) as google,
        open_chat(tmp_path, _providers(other.url, google.url)) as chat,
    ):
        agent = await chat.save_agent(read_app(app("googleSearch")), "")
        assert names_google(agent)
        turn = await answered(chat, ChatQuestion("What?", "", agent=agent.id))
        assert turn.answer.provider == "g"
        assert not other.requests


def _providers(other: str, google: str) -> dict[str, ProviderSettings]:
    return {"p": provider_at("openai_responses", other), "g": provider_at("gemini", google)}
