"""The standalone search of Codex."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from groundwire.config.schema import Config, GatewaySettings
from groundwire.errors import RateLimited, UnsupportedFeature
from groundwire.faces.gateway.clients.codex import decode
from groundwire.model import Location, Source
from groundwire.testing.answers import answer_events
from tests.faces.gateway.asgi_client import post_json
from tests.faces.gateway.scripted_backend import ScriptedBackend, app_for

PAGE = Source("https://groundwire.test/a", "Release", excerpts=("Groundwire 4.2 came out.",))
ANSWER = answer_events("It came out.", PAGE, query="release")
PATH = "/v1/alpha/search"


def body(*queries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": "thread",
        "model": "gpt-5.1",
        "input": [{"type": "message", "role": "user", "content": []}],
        "commands": {"search_query": list(queries), "response_length": "short"},
        "settings": {"allowed_callers": ["direct"], "external_web_access": True},
        "max_output_tokens": 2500,
        **more,
    }


def test_codex_gets_a_text_for_its_model_and_results_to_refer_to(tmp_path: Path) -> None:
    backend = ScriptedBackend(*ANSWER)
    answer = post_json(app_for(backend, tmp_path), PATH, body({"q": "groundwire release 2031"}))
    assert answer.status == 200
    assert answer.json["encrypted_output"] is None
    assert answer.json["output"] == (
        'Search results for "groundwire release 2031":\nIt came out.[1]\n'
        "[1] turn0search0: Release (https://groundwire.test/a)"
    )
    assert answer.json["results"] == [
        {
            "type": "text_result",
            "ref_id": "turn0search0",
            "url": PAGE.url,
            "title": "Release",
            "snippet": "Groundwire 4.2 came out.",
        }
    ]


def test_several_queries_are_several_searches_with_consecutive_references(tmp_path: Path) -> None:
    backend = ScriptedBackend(*ANSWER)
    found = post_json(app_for(backend, tmp_path), PATH, body({"q": "one"}, {"q": "two"})).json
    assert sorted(request.query for _, _, request in backend.calls) == ["one", "two"]
    assert [item["ref_id"] for item in found["results"]] == ["turn0search0", "turn0search1"]
    assert "[1] turn0search1: Release" in found["output"]


def test_settings_and_query_fields_become_search_options() -> None:
    settings = {
        "external_web_access": False,
        "filters": {"allowed_domains": ["groundwire.test", "b.test"]},
        "user_location": {"type": "approximate", "country": "DE", "city": "Berlin"},
    }
    request = decode(
        body({"q": "x", "recency": 30, "domains": ["docs.groundwire.test", "evil.test"]}, settings=settings),
        1_900_000_000.0,
    )
    options = request.queries[0].options
    assert options.live is False
    assert options.allowed_domains == ("docs.groundwire.test",)
    assert options.location == Location("DE", city="Berlin")
    assert (options.since, options.until) == ("2030-02-15T17:46:40Z", "2030-03-17T17:46:40Z")
    assert options.context_size == "low"


def test_a_query_cannot_extend_the_users_list_of_sites() -> None:
    settings = {"filters": {"allowed_domains": ["a.test"]}}
    request = decode(body({"q": "x", "domains": ["evil.test"]}, settings=settings), 0.0)
    assert request.queries[0].options.allowed_domains == ("a.test",)


def test_the_configured_search_target_is_used(tmp_path: Path) -> None:
    backend = ScriptedBackend(*ANSWER, usable=("openai", "local"))
    config = Config(gateway=GatewaySettings(search="local"))
    post_json(app_for(backend, tmp_path, config), PATH, body({"q": "x"}))
    assert backend.calls[0][:2] == ("local", "")


def test_an_unsupported_command_is_named_in_the_output(tmp_path: Path) -> None:
    commands = {"open": [{"ref_id": "turn0search0"}]}
    answer = post_json(app_for(ScriptedBackend(*ANSWER), tmp_path), PATH, body(commands=commands))
    assert answer.status == 200
    assert answer.json["output"] == "Not available here: open. Use search_query."


def test_a_restriction_that_is_not_supported_is_named_in_the_output(tmp_path: Path) -> None:
    answer = post_json(
        app_for(ScriptedBackend(UnsupportedFeature("no live=false")), tmp_path), PATH, body({"q": "x"})
    )
    assert answer.status == 200
    assert "The search failed: no live=false" in answer.json["output"]
    assert answer.json["results"] == []


def test_a_retryable_error_keeps_its_status_in_the_responses_dialect(tmp_path: Path) -> None:
    answer = post_json(app_for(ScriptedBackend(RateLimited("slow")), tmp_path), PATH, body({"q": "x"}))
    assert answer.status == 429
    assert answer.json["error"]["message"] == "slow"


def test_no_query_and_no_command_is_an_error(tmp_path: Path) -> None:
    assert post_json(app_for(ScriptedBackend(*ANSWER), tmp_path), PATH, body({"q": " "})).status == 400


def test_the_output_is_not_longer_than_requested(tmp_path: Path) -> None:
    answer = post_json(
        app_for(ScriptedBackend(*ANSWER), tmp_path), PATH, body({"q": "x"}, max_output_tokens=5)
    )
    assert len(answer.json["output"]) == 20
