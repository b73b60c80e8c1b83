"""A conversation continues with another provider: evidence stays readable, and secrets stay private."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from groundwire.client import Groundwire
from groundwire.commands.http_app import create_app
from groundwire.config.schema import Config
from groundwire.model import Source
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.asgi_client import LOCAL, post_json, send_request
from tests.faces.gateway.scripted_backend import ScriptedBackend, app_for
from tests.faces.gateway.serving import provider_at

pytestmark = pytest.mark.server

TARGETS = ("anthropic_messages", "openai_responses", "openai_chat", "gemini", "gemini_interactions")
PAGE = Source("https://a.example/x", "A page", excerpts=("It is so, says the page.",))
FIRST = answer_events("It is so.", PAGE, query="what?")
FIRST_QUESTION = {"role": "user", "content": "what?"}
NEXT_QUESTION = {"role": "user", "content": "And now?"}
ENCRYPTED = "RW5jcnlwdGVkIGJ5IEFudGhyb3BpYw"


def after_messages(folder: Path) -> dict[str, Any]:
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    body: dict[str, Any] = {"model": "gemini", "max_tokens": 9, "messages": [FIRST_QUESTION], "tools": tools}
    content = post_json(app_for(ScriptedBackend(*FIRST), folder), "/v1/messages", body).json["content"]
    return {**body, "messages": [FIRST_QUESTION, {"role": "assistant", "content": content}, NEXT_QUESTION]}


def after_anthropic(_: Path) -> dict[str, Any]:
    """A history with blocks of Anthropic itself."""
    found = {
        "type": "web_search_result",
        "url": PAGE.url,
        "title": PAGE.title,
        "encrypted_content": ENCRYPTED,
        "page_age": None,
    }
    citation = {
        "type": "web_search_result_location",
        "url": PAGE.url,
        "title": PAGE.title,
        "encrypted_index": ENCRYPTED,
        "cited_text": "It is so, says the page.",
    }
    content = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "what?"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found]},
        {"type": "text", "text": "It is so.", "citations": [citation]},
    ]
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    turns = [FIRST_QUESTION, {"role": "assistant", "content": content}, NEXT_QUESTION]
    return {"model": "x", "max_tokens": 9, "messages": turns, "tools": tools}


def after_responses(folder: Path) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "gemini", "input": [FIRST_QUESTION], "tools": [{"type": "web_search"}]}
    output = post_json(app_for(ScriptedBackend(*FIRST), folder), "/v1/responses", body).json["output"]
    return {**body, "input": [FIRST_QUESTION, *output, NEXT_QUESTION]}


def after_chat(folder: Path) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "gemini", "messages": [FIRST_QUESTION], "web_search_options": {}}
    message = post_json(app_for(ScriptedBackend(*FIRST), folder), "/v1/chat/completions", body).json[
        "choices"
    ][0]["message"]
    return {**body, "messages": [FIRST_QUESTION, message, NEXT_QUESTION]}


def after_gemini(folder: Path) -> dict[str, Any]:
    first = {"role": "user", "parts": [{"text": "what?"}]}
    body: dict[str, Any] = {"contents": [first], "tools": [{"googleSearch": {}}]}
    path = "/v1beta/models/gemini:generateContent"
    content = post_json(app_for(ScriptedBackend(*FIRST), folder), path, body).json["candidates"][0]["content"]
    return {**body, "contents": [first, content, {"role": "user", "parts": [{"text": "And now?"}]}]}


CLIENTS = {
    "anthropic_messages": ("/v1/messages", after_messages),
    "anthropic itself": ("/v1/messages", after_anthropic),
    "openai_responses": ("/v1/responses", after_responses),
    "openai_chat": ("/v1/chat/completions", after_chat),
    "gemini": ("/v1beta/models/{}:generateContent", after_gemini),
}
WITHOUT_CITATIONS = frozenset({"gemini"})
"""Their clients do not send citations back, only the text."""


async def bodies_sent(path: str, body: dict[str, Any], folder: Path) -> dict[str, str]:
    """The request bodies that the providers receive, by dialect."""
    sent: dict[str, str] = {}
    async with AsyncExitStack() as stack:
        upstreams = {
            name: await stack.enter_async_context(Upstream(answer(name, answer_events("Still so.", PAGE))))
            for name in TARGETS
        }
        providers = {f"to_{name}": provider_at(name, upstream.url) for name, upstream in upstreams.items()}
        config = Config(providers, data_dir=str(folder))
        groundwire = await stack.enter_async_context(Groundwire(config, env={"HOME": str(folder)}))
        gateway = create_app(groundwire, {})
        head = {**LOCAL, "content-type": "application/json"}
        for name, upstream in upstreams.items():
            data = json.dumps({**body, "model": f"to_{name}/model-1"}).encode()
            reply = await send_request(gateway, "POST", path.format(f"to_{name}%2Fmodel-1"), head, data)
            assert reply.status == 200, (name, reply.body)
            sent[name] = json.dumps(json.loads(upstream.requests[0].body), ensure_ascii=False)
    return sent


@pytest.mark.parametrize("client", CLIENTS)
def test_the_next_provider_can_read_the_evidence(tmp_path: Path, client: str) -> None:
    path, after = CLIENTS[client]
    sent = asyncio.run(bodies_sent(path, after(tmp_path), tmp_path))
    for name, body in sent.items():
        assert "It is so." in body
        assert "And now?" in body
        assert (PAGE.url in body) or client in WITHOUT_CITATIONS, name
        assert "gw1." not in body, name
        assert (ENCRYPTED in body) is (client == "anthropic itself" and name == "anthropic_messages"), name
