"""A gateway with search engines and no model: it answers searches and refuses other requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from groundwire.model import Event, Finished, Source, Started, TextDelta
from groundwire.testing.answers import answer_events
from tests.faces.gateway.asgi_client import SMALLEST_REQUESTS, AsgiResponse, post_json
from tests.faces.gateway.clients.test_claude_code import body as side_request
from tests.faces.gateway.scripted_backend import ScriptedBackend, app_for

PAGE = Source("https://a.example/x", "A")
ANSWER: tuple[Event, ...] = (Started("1", "", "local"), *answer_events("It is so.", PAGE, query="q")[1:])
SENTENCE = "no model can answer without searching"
SEARCH: dict[str, dict[str, Any]] = {
    "anthropic_messages": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    "openai_responses": {"tools": [{"type": "web_search"}]},
    "openai_chat": {"web_search_options": {}},
    "gemini": {"tools": [{"googleSearch": {}}]},
    "gemini_interactions": {"tools": [{"type": "google_search"}]},
}
VENDOR_MODELS = {
    "anthropic_messages": "claude-opus-4-8",
    "openai_responses": "gpt-5.5",
    "openai_chat": "gpt-5.5",
    "gemini": "gemini-3-flash-preview",
    "gemini_interactions": "gemini-3-flash-preview",
}
by_dialect = pytest.mark.parametrize("dialect", SMALLEST_REQUESTS)


def post(folder: Path, dialect: str, model: str, **more: Any) -> tuple[AsgiResponse, ScriptedBackend]:
    backend = ScriptedBackend(*ANSWER, usable=("local", "web"))
    path, body = SMALLEST_REQUESTS[dialect]
    named = {"model": model} if "model" in body else {}
    answer = post_json(app_for(backend, folder), path.replace("auto", model), {**body, **named, **more})
    return answer, backend


def message_in(answer: AsgiResponse) -> str:
    error = answer.json["error"]
    return str(error["message"])


@by_dialect
@pytest.mark.parametrize("named", ["vendor", "auto"])
def test_a_request_without_search_is_refused_in_its_dialect(tmp_path: Path, dialect: str, named: str) -> None:
    answer, backend = post(tmp_path, dialect, VENDOR_MODELS[dialect] if named == "vendor" else "auto")
    assert answer.status == 400
    assert SENTENCE in message_in(answer)
    assert "groundwire doctor" in message_in(answer)
    assert backend.calls == []


@by_dialect
def test_a_request_with_search_is_answered(tmp_path: Path, dialect: str) -> None:
    answer, backend = post(tmp_path, dialect, VENDOR_MODELS[dialect], **SEARCH[dialect])
    assert answer.status == 200
    assert b"It is so." in answer.body
    assert len(backend.calls) == 1


@by_dialect
def test_an_engine_named_as_the_model_is_used(tmp_path: Path, dialect: str) -> None:
    answer, backend = post(tmp_path, dialect, "local")
    assert answer.status == 200
    assert backend.calls[0][:2] == ("local", "")


def test_a_search_model_implies_search(tmp_path: Path) -> None:
    answer, _ = post(tmp_path, "openai_chat", "gpt-4o-search-preview")
    assert answer.status == 200


def test_claude_code_s_own_search_is_answered_and_its_main_turn_is_refused(tmp_path: Path) -> None:
    backend = ScriptedBackend(*ANSWER, usable=("local",))
    gateway = app_for(backend, tmp_path)
    assert post_json(gateway, "/v1/messages?beta=true", side_request(stream=False)).status == 200
    main = {
        "model": "claude-opus-4-8",
        "max_tokens": 64000,
        "stream": True,
        "messages": [{"role": "user", "content": "Write me a haiku."}],
        "tools": [{"name": "WebSearch", "input_schema": {"type": "object"}}],
    }
    refused = post_json(gateway, "/v1/messages?beta=true", main)
    assert refused.status == 400
    assert refused.json["type"] == "error"
    assert refused.json["error"]["type"] == "invalid_request_error"
    assert SENTENCE in refused.json["error"]["message"]


def test_a_usable_model_answers_without_search(tmp_path: Path) -> None:
    backend = ScriptedBackend(
        Started("1", "m", "gemini"), TextDelta(0, "Hi."), Finished(), usable=("gemini", "local")
    )
    path, body = SMALLEST_REQUESTS["openai_chat"]
    assert post_json(app_for(backend, tmp_path), path, body).status == 200


def warnings_of(answer: AsgiResponse) -> list[str]:
    shown: list[dict[str, str]] = json.loads(answer.headers.get("x-groundwire-warnings", "[]"))
    return [item["message"] for item in shown if item["code"] == "ignored_by_engine"]


@pytest.mark.parametrize("stream", [True, False])
def test_what_an_engine_does_not_use_is_reported(tmp_path: Path, stream: bool) -> None:
    answer, _ = post(
        tmp_path,
        "openai_chat",
        "gpt-5.5",
        stream=stream,
        web_search_options={},
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "one?"},
            {"role": "assistant", "content": "One."},
            {"role": "user", "content": "two?"},
        ],
        tools=[{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        response_format={"type": "json_object"},
        max_tokens=10,
        temperature=0.5,
        stop=["x"],
    )
    (message,) = warnings_of(answer)
    for name in (
        "functions",
        "system text",
        "earlier messages",
        "the output format",
        "max_output_tokens",
        "temperature",
        "stop",
    ):
        assert name in message


def test_a_plain_question_has_no_such_warning(tmp_path: Path) -> None:
    answer, _ = post(tmp_path, "openai_responses", "local")
    assert answer.status == 200
    assert warnings_of(answer) == []


def test_a_model_that_answers_has_no_such_warning(tmp_path: Path) -> None:
    backend = ScriptedBackend(Started("1", "m", "gemini"), *ANSWER[1:], usable=("gemini", "local"))
    path, body = SMALLEST_REQUESTS["openai_chat"]
    answer = post_json(app_for(backend, tmp_path), path, {**body, "max_tokens": 5, "web_search_options": {}})
    assert answer.status == 200
    assert warnings_of(answer) == []
