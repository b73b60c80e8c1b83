"""Every declaration of a search enables it, and the response uses the client's own form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groundwire.model import Source
from groundwire.testing.answers import answer_events
from tests.faces.gateway.asgi_client import post_json
from tests.faces.gateway.scripted_backend import ScriptedBackend, app_for

PAGE = Source("https://a.example/x", "A")
ANSWER = answer_events("It is so.", PAGE, query="what?")

MESSAGES = [{"role": "user", "content": "q"}]
ANTHROPIC: dict[str, Any] = {"model": "gemini/x", "max_tokens": 9, "messages": MESSAGES}
RESPONSES: dict[str, Any] = {"model": "gemini/x", "input": "q"}
CHAT: dict[str, Any] = {"model": "gemini/x", "messages": MESSAGES}
GEMINI: dict[str, Any] = {"contents": [{"parts": [{"text": "q"}]}]}
GENERATE = "/v1beta/models/gemini:generateContent"

SPELLINGS: list[tuple[str, dict[str, Any]]] = [
    *(
        ("/v1/messages", {**ANTHROPIC, "tools": [{"type": kind, "name": "web_search", "max_uses": 3}]})
        for kind in ("web_search_20250305", "web_search_20260209", "web_search_29990101")
    ),
    *(
        ("/v1/responses", {**RESPONSES, "tools": [{"type": kind}]})
        for kind in (
            "web_search",
            "web_search_2025_08_26",
            "web_search_preview",
            "web_search_preview_2025_03_11",
            "openrouter:web_search",
        )
    ),
    ("/v1/responses", {**RESPONSES, "plugins": [{"id": "web"}]}),
    ("/v1/responses", {**RESPONSES, "tools": [{"type": "web_search", "external_web_access": False}]}),
    ("/v1/chat/completions", {**CHAT, "web_search_options": {}}),
    ("/v1/chat/completions", {**CHAT, "tools": [{"type": "openrouter:web_search"}]}),
    ("/v1/chat/completions", {**CHAT, "tools": [{"type": "web_search"}]}),
    ("/v1/chat/completions", {**CHAT, "plugins": [{"id": "web", "max_results": 3}]}),
    ("/v1/chat/completions", {**CHAT, "search_domain_filter": ["a.example"]}),
    ("/v1/chat/completions", {**CHAT, "model": "gemini/x:online"}),
    ("/v1/chat/completions", {**CHAT, "model": "gpt-4o-search-preview"}),
    *(
        (GENERATE, {**GEMINI, "tools": [{name: {}}]})
        for name in ("googleSearch", "google_search", "googleSearchRetrieval", "google_search_retrieval")
    ),
    (GENERATE.replace("v1beta", "v1"), {**GEMINI, "tools": [{"googleSearch": {}}]}),
    (
        "/v1beta/interactions",
        {"model": "gemini/x", "input": "q", "tools": [{"type": "google_search"}]},
    ),
]


@pytest.mark.parametrize(("path", "body"), SPELLINGS)
def test_every_spelling_turns_search_on_and_is_answered_with_the_page(
    tmp_path: Path, path: str, body: dict[str, Any]
) -> None:
    backend = ScriptedBackend(*ANSWER)
    answer = post_json(app_for(backend, tmp_path), path, body)
    assert answer.status == 200
    assert backend.calls[0][2].search is not None
    assert backend.calls[0][2].tools == ()
    assert PAGE.url.encode() in answer.body


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", ANTHROPIC),
        ("/v1/messages", {**ANTHROPIC, "tools": [{"name": "web_search", "input_schema": {}}]}),
        ("/v1/responses", RESPONSES),
        ("/v1/responses", {**RESPONSES, "tools": [{"type": "function", "name": "web_search"}]}),
        ("/v1/chat/completions", CHAT),
        ("/v1/chat/completions", {**CHAT, "plugins": [{"id": "web", "enabled": False}]}),
        (GENERATE, GEMINI),
        (GENERATE, {**GEMINI, "tools": [{"functionDeclarations": [{"name": "google_search"}]}]}),
    ],
)
def test_without_a_search_tool_there_is_no_search(tmp_path: Path, path: str, body: dict[str, Any]) -> None:
    backend = ScriptedBackend(*ANSWER)
    assert post_json(app_for(backend, tmp_path), path, body).status == 200
    assert backend.calls[0][2].search is None
