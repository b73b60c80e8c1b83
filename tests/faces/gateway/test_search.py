"""`POST /v1/search`, and response forms of single endpoints."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from groundwire.commands.http_app import create_app
from groundwire.errors import GroundwireError, MissingCredential, Overloaded
from groundwire.model import Event, Request, Source, Warned
from groundwire.model.value import replace
from groundwire.server.app import HttpApp
from groundwire.server.response_writer import ResponseTimeouts
from groundwire.testing.answers import answer_events
from tests.faces.gateway.asgi_client import post_json
from tests.faces.gateway.scripted_backend import ScriptedBackend, app_for

PAGE = Source("https://a.example/x", "A")
ANSWER = answer_events("It is so.", PAGE, query="what?")


def test_a_query_returns_a_result_of_the_contract(tmp_path: Path) -> None:
    backend = ScriptedBackend(*ANSWER, usable=("gemini", "local"))
    body = {"query": "what?", "provider": "local", "allowed_domains": ["a.example"], "max_uses": 2}
    answer = post_json(app_for(backend, tmp_path), "/v1/search", body)
    assert answer.status == 200
    assert answer.json["llmContent"] == (
        'Web search results for "what?":\n\nIt is so.[1]\n\nSources:\n[1] A (https://a.example/x)'
    )
    assert answer.json["returnDisplay"] == 'Search results for "what?" returned.'
    assert answer.json["sources"] == [{"web": {"title": "A", "uri": "https://a.example/x"}}]
    provider, _, request = backend.calls[0]
    assert provider == "local"
    assert request.search is not None
    assert (request.search.allowed_domains, request.search.max_uses) == (("a.example",), 2)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"query": " "}, "INVALID_QUERY"),
        ({"query": "x", "allowd_domains": ["a"]}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "x", "provider": "unknown"}, "INVALID_TOOL_ARGUMENTS"),
        ({"query": "x", "since": "soon"}, "INVALID_TOOL_ARGUMENTS"),
        ([], "INVALID_TOOL_ARGUMENTS"),
    ],
)
def test_an_invalid_query_returns_an_error_of_the_contract(tmp_path: Path, body: object, kind: str) -> None:
    answer = post_json(app_for(ScriptedBackend(*ANSWER), tmp_path), "/v1/search", json.dumps(body).encode())
    assert answer.status == 400
    assert answer.json["error"]["type"] == kind


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (MissingCredential("no key"), 401, "MISSING_CREDENTIAL"),
        (Overloaded("down"), 503, "WEB_SEARCH_FAILED"),
    ],
)
def test_a_failed_search_has_an_error_status_and_the_error_of_the_contract(
    tmp_path: Path, error: GroundwireError, status: int, kind: str
) -> None:
    answer = post_json(app_for(ScriptedBackend(error), tmp_path), "/v1/search", {"query": "x"})
    assert (answer.status, answer.json["error"]["type"]) == (status, kind)


def test_warnings_are_in_the_headers_and_in_the_body(tmp_path: Path) -> None:
    backend = ScriptedBackend(Warned("option_ignored", "no since"), *ANSWER)
    answer = post_json(app_for(backend, tmp_path), "/v1/search", {"query": "x", "since": "7d"})
    assert "option_ignored" in answer.headers["x-groundwire-warnings"]
    assert answer.json["groundwire"]["warnings"][0]["code"] == "option_ignored"


STREAM = "/v1beta/models/gemini:streamGenerateContent"
REQUEST = {"contents": [{"parts": [{"text": "q"}]}], "tools": [{"googleSearch": {}}]}


def test_a_gemini_stream_without_sse_is_one_json_array(tmp_path: Path) -> None:
    backend = ScriptedBackend(*ANSWER)
    answer = post_json(app_for(backend, tmp_path), STREAM, REQUEST)
    assert answer.headers["content-type"] == "application/json"
    chunks = answer.json
    assert "".join(
        part["text"] for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]
    ) == ("It is so.")
    assert chunks[-1]["candidates"][0]["groundingMetadata"]["webSearchQueries"] == ["what?"]
    assert backend.calls[0][2].wire is None


def test_a_gemini_stream_with_sse_is_events(tmp_path: Path) -> None:
    answer = post_json(app_for(ScriptedBackend(*ANSWER), tmp_path), f"{STREAM}?alt=sse", REQUEST)
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.body.startswith(b"data: {")


class SlowBackend(ScriptedBackend):
    """Answers after a delay."""

    async def answer(
        self, request: Request, *, provider: str, model: str
    ) -> AsyncGenerator[Sequence[Event], None]:
        await asyncio.sleep(0.35)
        async for batch in super().answer(request, provider=provider, model=model):
            yield batch


def app_with_keep_alives(backend: ScriptedBackend, folder: Path) -> HttpApp:
    backend.config = replace(backend.config, data_dir=str(folder))
    return create_app(backend, {}, timeouts=ResponseTimeouts(head=0.05, ping=0.05))


WHOLE = "/v1beta/models/gemini:generateContent"


def test_a_slow_gemini_response_begins_with_whitespace(tmp_path: Path) -> None:
    answer = post_json(app_with_keep_alives(SlowBackend(*ANSWER), tmp_path), WHOLE, REQUEST)
    assert answer.status == 200
    assert answer.body.startswith(b" ")
    assert answer.json["candidates"][0]["content"]["parts"][0]["text"] == "It is so."


def test_an_error_after_the_whitespace_is_still_sent(tmp_path: Path) -> None:
    answer = post_json(app_with_keep_alives(SlowBackend(Overloaded("down")), tmp_path), WHOLE, REQUEST)
    assert (answer.status, answer.json["error"]["code"]) == (200, 503)


def test_a_quick_gemini_error_keeps_its_status(tmp_path: Path) -> None:
    assert post_json(app_for(ScriptedBackend(Overloaded("down")), tmp_path), WHOLE, REQUEST).status == 503


@pytest.mark.parametrize(
    ("path", "body", "keeps_alive"),
    [
        (
            "/v1/messages",
            {"model": "auto", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]},
            True,
        ),
        ("/v1/responses", {"model": "auto", "input": "q"}, True),
        ("/v1/chat/completions", {"model": "auto", "messages": [{"role": "user", "content": "q"}]}, True),
        (f"{STREAM}?alt=sse", {"contents": [{"parts": [{"text": "q"}]}]}, False),
    ],
)
def test_an_idle_stream_sends_keep_alives_in_dialects_that_allow_them(
    tmp_path: Path, path: str, body: dict[str, object], keeps_alive: bool
) -> None:
    answer = post_json(
        app_with_keep_alives(SlowBackend(*ANSWER), tmp_path),
        path,
        {**body, **({"stream": True} if keeps_alive else {})},
    )
    assert (b": keep-alive\n" in answer.body) is keeps_alive
