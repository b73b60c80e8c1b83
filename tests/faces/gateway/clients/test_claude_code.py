"""Claude Code's WebSearch tool, as its versions send it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage

from groundwire.config.schema import Config, GatewaySettings, ProviderSettings
from groundwire.errors import (
    GroundwireError,
    InvalidArguments,
    MissingCredential,
    RateLimited,
    UnsupportedFeature,
)
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    ToolChoice,
    Verbatim,
)
from tests.faces.gateway.asgi_client import AsgiResponse, post_json
from tests.faces.gateway.scripted_backend import ScriptedBackend, app_for

QUERY = "groundwire release\n2031: what is new?"
OLD = "You are an assistant for performing a web search tool use"
NEW = (
    "You run a web search for another Claude model, which is waiting on the result and can search again. "
    "Search once, then reply with a brief summary of the results."
)
FORCED = {"type": "tool", "name": "web_search"}
VERSIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "1.0.100": (OLD, {}),
    "2.1.50": (OLD, {"thinking": {"type": "adaptive"}}),
    "2.1.197": (OLD, {"tool_choice": FORCED, "thinking": {"type": "disabled"}}),
    "2.1.280": (OLD, {"tool_choice": {"type": "auto"}}),
    "2.1.325": (NEW, {"tool_choice": {"type": "auto"}}),
}
ONE = Source("https://one.example/", "One", excerpts=("About one.",))
TWO = Source("https://two.example/", "Two")
TEXT = "It is new. It is good."
MARKED = "It is new.[1] It is good.\n\nSources:\n[1] One (https://one.example/)"
"""Claude Code passes the text of all text blocks to its model, without their citations."""
GEMINI: tuple[Event, ...] = (
    Started("1", "gemini-1", "gemini"),
    TextDelta(0, TEXT),
    SearchCalled(1, SearchCall("s", ("release 2031",))),
    SearchReturned(2, SearchResult("s", (ONE, TWO))),
    Cited(Citation(Span(0, 10), (Evidence(ONE),))),
    TextSettled(0),
    Finished(),
)
"""Gemini reports its searches after the text."""


def body(version: str = "2.1.325", *, stream: bool = True, **tool: object) -> dict[str, Any]:
    system, more = VERSIONS[version]
    prompt = f"Perform a web search for the query: {QUERY}"
    return {
        "model": "claude-opus-4-8",
        "messages": [{"role": "user", "content": [{"type": "text", "text": prompt}]}],
        "system": [
            {"type": "text", "text": "x-anthropic-billing-header: cc_version=2;"},
            {"type": "text", "text": system},
        ],
        "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 8, **tool}],
        "max_tokens": 64000,
        "stream": stream,
        **more,
    }


def blocks(answer: AsgiResponse, *, stream: bool) -> list[dict[str, Any]]:
    """The content blocks, streamed or not."""
    assert answer.status == 200
    if not stream:
        AnthropicMessage.model_validate(answer.json)
        content: list[dict[str, Any]] = answer.json["content"]
        return content
    found: list[dict[str, Any]] = []
    for frame in answer.body.decode().split("\n\n"):
        event = json.loads(frame.partition("data: ")[2] or "{}")
        if event.get("type") == "content_block_start":
            found.append(event["content_block"])
        delta = event.get("delta", {})
        if delta.get("type") == "text_delta":
            found[-1]["text"] += delta["text"]
        if delta.get("type") == "input_json_delta" and delta["partial_json"]:
            found[-1]["input"] = json.loads(delta["partial_json"])
    return found


def search(
    folder: Path, script: Sequence[Event | GroundwireError], *, stream: bool = True, **settings: Any
) -> tuple[list[dict[str, Any]], ScriptedBackend]:
    backend = ScriptedBackend(*script, usable=("gemini", "local"))
    gateway = app_for(backend, folder, Config(gateway=GatewaySettings(**settings)))
    return blocks(post_json(gateway, "/v1/messages?beta=true", body(stream=stream)), stream=stream), backend


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_gets_a_search_and_its_result_before_the_text(
    tmp_path: Path, version: str, stream: bool
) -> None:
    backend = ScriptedBackend(*GEMINI)
    answer = post_json(app_for(backend, tmp_path), "/v1/messages?beta=true", body(version, stream=stream))
    call, result, *texts = blocks(answer, stream=stream)
    assert (call["type"], call["name"]) == ("server_tool_use", "web_search")
    assert call["input"] == {"query": "release 2031"}
    assert (result["type"], result["tool_use_id"]) == ("web_search_tool_result", call["id"])
    assert [(item["title"], item["url"]) for item in result["content"]] == [
        ("One", ONE.url),
        ("Two", TWO.url),
    ]
    assert {block["type"] for block in texts} == {"text"}
    assert "".join(block["text"] for block in texts) == MARKED
    assert answer.headers["x-groundwire-provider"] == "gemini"


def test_the_search_target_gets_only_the_query_and_must_search(tmp_path: Path) -> None:
    _, backend = search(tmp_path, GEMINI)
    ((_, _, request),) = backend.calls
    assert request.query == QUERY
    assert request.tool_choice == ToolChoice("search")
    assert request.search is not None
    assert request.search.max_uses == 8


def test_domains_reach_the_search_target(tmp_path: Path) -> None:
    backend = ScriptedBackend(*GEMINI)
    post_json(app_for(backend, tmp_path), "/v1/messages", body(allowed_domains=["one.example"]))
    search = backend.calls[0][2].search
    assert search is not None
    assert search.allowed_domains == ("one.example",)


def test_the_configured_search_target_has_priority(tmp_path: Path) -> None:
    _, backend = search(tmp_path, GEMINI, search="local")
    assert backend.calls[0][:2] == ("local", "")


def test_a_model_that_cannot_search_is_not_used(tmp_path: Path) -> None:
    backend = ScriptedBackend(*GEMINI, usable=("anthropic", "gemini"))
    config = Config({"anthropic": ProviderSettings(search="none")})
    post_json(app_for(backend, tmp_path, config), "/v1/messages", body())
    assert backend.calls[0][:2] == ("auto", "")


def test_the_models_own_target_is_used_if_it_searches(tmp_path: Path) -> None:
    backend = ScriptedBackend(*GEMINI, usable=("anthropic", "gemini"))
    post_json(app_for(backend, tmp_path), "/v1/messages", body())
    assert backend.calls[0][:2] == ("anthropic", "claude-opus-4-8")


def test_with_the_feature_disabled_it_is_an_ordinary_request(tmp_path: Path) -> None:
    _, backend = search(tmp_path, GEMINI, search="none")
    assert backend.calls[0][2].query.startswith("Perform a web search")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnsupportedFeature("gemini cannot honour blocked_domains"), "unavailable"),
        (InvalidArguments("allowed_domains: 'x y' is not a domain"), "invalid_tool_input"),
        (MissingCredential("no key"), "unavailable"),
    ],
)
def test_an_error_that_a_retry_cannot_fix_is_the_result_of_the_search(
    tmp_path: Path, error: GroundwireError, code: str, stream: bool
) -> None:
    (call, result, text), _ = search(tmp_path, [error], stream=stream)
    assert call["input"]["query"] == QUERY
    assert result["content"] == {"type": "web_search_tool_result_error", "error_code": code}
    assert error.message in text["text"]


@pytest.mark.parametrize("stream", [True, False])
def test_a_retryable_error_keeps_its_status(tmp_path: Path, stream: bool) -> None:
    gateway = app_for(ScriptedBackend(RateLimited("slow down")), tmp_path)
    assert post_json(gateway, "/v1/messages", body(stream=stream)).status == 429


def test_too_many_domains_are_reported_as_the_result_of_the_search(tmp_path: Path) -> None:
    gateway = app_for(ScriptedBackend(*GEMINI), tmp_path)
    names = [f"d{number}.example" for number in range(101)]
    found = blocks(post_json(gateway, "/v1/messages", body(allowed_domains=names)), stream=True)
    assert found[1]["content"]["error_code"] == "invalid_tool_input"


@pytest.mark.parametrize("stream", [True, False])
def test_every_search_has_one_result_even_if_the_provider_reports_none(tmp_path: Path, stream: bool) -> None:
    responses: list[Event] = [
        Started("1", "gpt"),
        SearchCalled(0, SearchCall("a", ("first",))),
        SearchCalled(1, SearchCall("b", ("second",))),
        TextDelta(2, TEXT),
        Cited(Citation(Span(0, 10), (Evidence(ONE),))),
        TextSettled(2),
        Finished(),
    ]
    found, _ = search(tmp_path, responses, stream=stream)
    kinds = [block["type"] for block in found]
    assert kinds[:4] == ["server_tool_use", "web_search_tool_result"] * 2
    assert set(kinds[4:]) == {"text"}
    assert [len(block["content"]) for block in found if "content" in block] == [1, 0]


def test_pages_known_only_from_citations_become_results_of_a_search_for_the_query(tmp_path: Path) -> None:
    chat: list[Event] = [
        Started(),
        TextDelta(0, TEXT),
        Cited(Citation(Span(0, 10), (Evidence(ONE),))),
        Finished(),
    ]
    (call, result, *_), _ = search(tmp_path, chat)
    assert call["input"] == {"query": QUERY}
    assert [item["url"] for item in result["content"]] == [ONE.url]


def test_an_answer_without_a_search_reports_none(tmp_path: Path) -> None:
    found, _ = search(tmp_path, [Started(), TextDelta(0, TEXT), Finished()])
    assert [block["type"] for block in found] == ["text"]


def test_a_response_of_anthropic_is_passed_through_unchanged(tmp_path: Path) -> None:
    backend = ScriptedBackend(Verbatim(b"event: ping\ndata: {}\n\n"), *GEMINI)
    assert post_json(app_for(backend, tmp_path), "/v1/messages", body()).body == b"event: ping\ndata: {}\n\n"
    assert backend.calls[0][2].wire is not None


@pytest.mark.parametrize(
    "change",
    [
        {"messages": [{"role": "user", "content": "Perform a web search for the query:"}]},
        {"messages": [{"role": "user", "content": "Please. Perform a web search for the query: x"}]},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}, {"name": "f", "input_schema": {}}]},
        {"tools": []},
    ],
)
def test_requests_that_only_look_similar_are_not_changed(tmp_path: Path, change: dict[str, Any]) -> None:
    backend = ScriptedBackend(*GEMINI)
    post_json(app_for(backend, tmp_path), "/v1/messages", {**body(stream=False), **change})
    assert backend.calls[0][2].tool_choice != ToolChoice("search")
