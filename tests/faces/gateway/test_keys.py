"""Scopes and roles of keys on the routes of the gateway, and `/v1/keys`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from jsonschema import Draft202012Validator

from groundwire.commands.http_app import GATEWAY_ROUTES
from groundwire.faces.gateway.openapi import openapi_document
from groundwire.model.access import ROLES, ROUTE_GROUPS, KeyRights, KeyScope, Role
from groundwire.server.app import HttpApp
from groundwire.server.keys import KeyFile
from groundwire.server.routes import Route
from tests.faces.gateway.asgi_client import (
    LOCAL,
    SMALLEST_REQUESTS,
    AsgiResponse,
    FixedBackend,
    app_in,
    send_request,
)
from tests.faces.gateway.serving import running_server

JSON = {"content-type": "application/json"}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
NOTIFICATION = {"jsonrpc": "2.0", "method": "notifications/initialized"}
"""A body that MCP accepts at once; for the other routes it is an incomplete request."""
ACCEPT = {"accept": "application/json, text/event-stream"}
MESSAGE = {"model": "gemini", "max_tokens": 9, "messages": [{"role": "user", "content": "q?"}]}


def key_for(folder: Path, rights: KeyRights, name: str = "") -> str:
    return KeyFile(str(folder)).create(name, 0, rights)[0]


def call(
    app: HttpApp, method: str, path: str, key: str, body: Mapping[str, Any] | None = None, **headers: str
) -> AsgiResponse:
    data = b"" if body is None else json.dumps(body).encode()
    head = {**LOCAL, **JSON, "authorization": f"Bearer {key}", **headers}
    return asyncio.run(send_request(app, method, path, head, data))


def filled(route: Route) -> str:
    return route.path.replace("{model}", "gemini").replace("{id}", "key_00000000")


# Route groups and roles, generated from the route table


def test_every_route_that_needs_a_key_has_a_group_and_every_group_has_a_route(tmp_path: Path) -> None:
    routes = [route for route in app_in(tmp_path).routes.routes if route.access == "key"]
    assert {route.group for route in routes} == {*ROUTE_GROUPS} - {"page"}


@pytest.mark.parametrize("group", ROUTE_GROUPS)
def test_a_key_opens_the_routes_of_its_groups_and_no_others(tmp_path: Path, group: str) -> None:
    app = app_in(tmp_path)
    key = key_for(tmp_path, KeyRights("owner", scope=KeyScope(routes=(group,))))
    for route in app.routes.routes:
        if route.access == "key":
            status = call(app, route.method, filled(route), key, NOTIFICATION, **ACCEPT).status
            assert (status == 403) is (route.group != group), (route.method, route.path, status)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_opens_the_routes_that_need_no_more(tmp_path: Path, role: Role) -> None:
    app = app_in(tmp_path)
    key = key_for(tmp_path, KeyRights(role))
    for route in app.routes.routes:
        if route.access == "key":
            status = call(app, route.method, filled(route), key, NOTIFICATION, **ACCEPT).status
            refused = ROLES.index(role) < ROLES.index(route.role)
            assert (status == 403) is refused, (route.method, route.path, status)


REFUSALS: Mapping[str, Mapping[str, Any]] = {
    "anthropic_messages": {"type": "permission_error"},
    "openai_responses": {"type": "invalid_request_error", "param": None, "code": None},
    "openai_chat": {"type": "invalid_request_error", "param": None, "code": "forbidden_for_key"},
    "gemini": {"code": 403, "status": "PERMISSION_DENIED"},
    "gemini_interactions": {"code": "invalid_request"},
}


@pytest.mark.parametrize("dialect", sorted(SMALLEST_REQUESTS))
def test_a_refusal_has_the_form_of_the_dialect(tmp_path: Path, dialect: str) -> None:
    app = app_in(tmp_path)
    key = key_for(tmp_path, KeyRights(scope=KeyScope(routes=("models",))))
    path, body = SMALLEST_REQUESTS[dialect]
    found = call(app, "POST", path, key, body)
    assert found.status == 403
    error = found.json["error"]
    assert error["message"] == "this API key may use only these groups of paths: models"
    assert {**error, **REFUSALS[dialect]} == error


@pytest.mark.server
async def test_the_official_clients_read_a_refusal_as_one_of_permission(tmp_path: Path) -> None:
    key = key_for(tmp_path, KeyRights(scope=KeyScope(models=("gemini-*",))))
    async with (
        running_server(app_in(tmp_path)) as (url, _),
        anthropic.AsyncAnthropic(base_url=url, api_key=key, max_retries=0) as claude,
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as gpt,
    ):
        with pytest.raises(anthropic.PermissionDeniedError, match="may not use the model 'gemini/x'"):
            await claude.messages.create(
                model="gemini/x", max_tokens=9, messages=[{"role": "user", "content": "q?"}]
            )
        with pytest.raises(openai.PermissionDeniedError, match="may not use the model 'gemini/x'"):
            await gpt.responses.create(model="gemini/x", input="q?")


# Providers, models and searches


def test_a_key_sees_and_uses_only_its_providers(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    free, narrow = (
        key_for(tmp_path, KeyRights()),
        key_for(tmp_path, KeyRights(scope=KeyScope(providers=("anthropic",)))),
    )
    assert [model["id"] for model in call(app, "GET", "/v1/models", free).json["data"]] == [
        "auto",
        "gemini/gemini-1",
    ]
    assert call(app, "GET", "/v1/models", narrow).json["data"] == []
    found = call(app, "GET", "/v1/models", narrow, None, **{"anthropic-version": "2023-06-01"})
    assert found.json["first_id"] is None
    for path, body in (
        ("/v1/messages", MESSAGE),
        ("/v1/messages/count_tokens", MESSAGE),
        ("/v1beta/models/gemini:countTokens", {"contents": []}),
        ("/v1/search", {"query": "q?", "provider": "gemini"}),
        ("/v1/alpha/search", {"model": "gemini", "commands": {"search_query": [{"q": "q?"}]}}),
    ):
        assert call(app, "POST", path, free, body).status == 200, path
        refused = call(app, "POST", path, narrow, body)
        assert refused.status in (400, 403), (path, refused)
    assert call(app, "GET", "/v1/models/gemini", narrow).status == 403


def test_a_key_uses_only_models_that_match_its_patterns(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    key = key_for(tmp_path, KeyRights(scope=KeyScope(models=("gemini-2*",))))
    statuses = {
        name: call(app, "POST", "/v1/messages", key, {**MESSAGE, "model": name}).status
        for name in ("gemini-2.5-pro", "gemini/gemini-2", "gemini-3", "gemini", "auto")
    }
    assert statuses == {
        "gemini-2.5-pro": 200,
        "gemini/gemini-2": 200,
        "gemini-3": 403,
        "gemini": 403,
        "auto": 403,
    }


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/v1/chat/completions", {"models": ["gemini-1", "claude-opus"]}),
        ("/v1/responses", {"input": "q?", "models": ["claude-opus"]}),
        ("/v1/responses", {"input": "q?", "tools": [{"type": "image_generation", "model": "gpt-image"}]}),
    ],
)
def test_a_second_model_in_the_request_must_match_too(
    tmp_path: Path, path: str, more: dict[str, Any]
) -> None:
    app = app_in(tmp_path)
    key = key_for(tmp_path, KeyRights(scope=KeyScope(models=("gemini-*",))))
    assert call(app, "POST", path, key, {**MESSAGE, "input": "q?"}).status == 200
    assert call(app, "POST", path, key, {**MESSAGE, **more}).status == 403


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", {**MESSAGE, "tools": [SEARCH]}),
        (
            "/v1/messages",
            {
                **MESSAGE,
                "tools": [SEARCH],
                "messages": [{"role": "user", "content": "Perform a web search for the query: q"}],
            },
        ),
        ("/v1/responses", {"model": "gemini", "input": "q?", "tools": [{"type": "web_search"}]}),
        ("/v1/chat/completions", {**MESSAGE, "web_search_options": {}}),
        (
            "/v1beta/models/gemini:generateContent",
            {"contents": [{"parts": [{"text": "q?"}]}], "tools": [{"google_search": {}}]},
        ),
        ("/v1/search", {"query": "q?"}),
        ("/v1/alpha/search", {"model": "gemini", "commands": {"search_query": [{"q": "q?"}]}}),
    ],
)
def test_a_key_without_search_gets_403_for_every_search(
    tmp_path: Path, path: str, body: dict[str, Any]
) -> None:
    app = app_in(tmp_path)
    key = key_for(tmp_path, KeyRights(scope=KeyScope(may_search=False)))
    refused = call(app, "POST", path, key, body)
    assert refused.status == 403, refused
    assert b"may not search the web" in refused.body
    assert isinstance(app.groundwire, FixedBackend)
    assert app.groundwire.requests == []


def test_searches_get_the_domains_of_the_key(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    backend = app.groundwire
    assert isinstance(backend, FixedBackend)
    key = key_for(tmp_path, KeyRights(scope=KeyScope(allowed_domains=("a.example",))))
    tool = {**SEARCH, "allowed_domains": ["docs.a.example", "b.example"]}
    assert call(app, "POST", "/v1/messages", key, {**MESSAGE, "tools": [tool]}).status == 200
    assert backend.requests[-1].search is not None
    assert backend.requests[-1].search.allowed_domains == ("docs.a.example",)
    tool = {**SEARCH, "allowed_domains": ["b.example"]}
    assert call(app, "POST", "/v1/messages", key, {**MESSAGE, "tools": [tool]}).status == 403


def test_a_scope_holds_for_requests_with_an_idempotency_key_too(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    key = key_for(tmp_path, KeyRights(scope=KeyScope(may_search=False)))
    body = {**MESSAGE, "tools": [SEARCH]}
    assert call(app, "POST", "/v1/messages", key, body, **{"idempotency-key": "1"}).status == 403


def test_a_changed_scope_holds_at_once(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    keys = KeyFile(str(tmp_path))
    key, record = keys.create("", 0)
    owner = key_for(tmp_path, KeyRights("owner"))
    assert call(app, "POST", "/v1/messages", key, MESSAGE).status == 200
    assert call(app, "PATCH", f"/v1/keys/{record.id}", owner, {"providers": ["anthropic"]}).status == 200
    assert call(app, "POST", "/v1/messages", key, MESSAGE).status == 403


# /v1/keys


def test_keys_are_created_listed_changed_and_revoked(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    owner = key_for(tmp_path, KeyRights("owner"))
    made = call(app, "POST", "/v1/keys", owner, {"name": "ci", "usd_per_day": 2.5, "owner": "acme"})
    assert (made.status, made.json["usd_per_day"]) == (200, "2.5")
    key, key_id = made.json["key"], made.json["id"]
    document: Any = openapi_document(GATEWAY_ROUTES)
    schema = {"$ref": "#/components/schemas/ApiKey", "components": document["components"]}
    Draft202012Validator(schema).validate(made.json)
    assert call(app, "GET", "/v1/models", key).status == 200
    listed = call(app, "GET", "/v1/keys", owner)
    assert [entry["name"] for entry in listed.json["keys"]] == ["", "ci"]
    assert key.encode() not in listed.body
    assert b"sha256" not in listed.body
    changed = call(app, "PATCH", f"/v1/keys/{key_id}", owner, {"usd_per_day": None, "models": ["gemini-*"]})
    assert (changed.json["usd_per_day"], changed.json["models"]) == (None, ["gemini-*"])
    assert call(app, "GET", f"/v1/keys/{key_id}", owner).json == changed.json
    assert call(app, "DELETE", f"/v1/keys/{key_id}", owner).json["revoked"]
    assert call(app, "GET", "/v1/models", key).status == 401
    admin = call(app, "POST", "/v1/keys", owner, {"role": "admin"}).json
    child = call(app, "POST", "/v1/keys", admin["key"], {"name": "child"}).json
    assert child["created_by"] == admin["id"]
    assert call(app, "DELETE", f"/v1/keys/{admin['id']}?keep_children=perhaps", owner).status == 400
    kept = call(app, "DELETE", f"/v1/keys/{admin['id']}?keep_children=true", owner)
    assert (kept.json["revoked_with_it"], call(app, "GET", "/v1/models", child["key"]).status) == ([], 200)
    ended = call(app, "DELETE", f"/v1/keys/{admin['id']}", owner)
    assert ended.json["revoked_with_it"] == [child["id"]]
    assert call(app, "GET", "/v1/models", child["key"]).status == 401


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/keys", {"usd_per_day": "much"}, 400),
        ("POST", "/v1/keys", {"allowed_routes": ["/*"]}, 400),
        ("POST", "/v1/keys", {"user_role": "owner"}, 400),
        ("POST", "/v1/keys", {"name": 1}, 400),
        ("POST", "/v1/keys", {"role": "owner"}, 403),
        ("POST", "/v1/keys", {"owner": "zeta"}, 403),
        ("PATCH", "/v1/keys/{mine}", {"role": "owner"}, 403),
        ("PATCH", "/v1/keys/{mine}", {"owner": ""}, 403),
        ("PATCH", "/v1/keys/{mine}", {"providers": None}, 200),
        ("PATCH", "/v1/keys/{theirs}", {"may_search": False}, 404),
        ("GET", "/v1/keys/{theirs}", None, 404),
        ("DELETE", "/v1/keys/{theirs}", None, 404),
        ("GET", "/v1/keys/key_00000000", None, 404),
    ],
)
def test_cve_2026_47101_and_47102_no_field_raises_the_rights_of_a_key(
    tmp_path: Path, method: str, path: str, body: dict[str, Any] | None, status: int
) -> None:
    app = app_in(tmp_path)
    keys = KeyFile(str(tmp_path))
    rights = KeyRights("admin", "acme", scope=KeyScope(providers=("gemini",)))
    key, mine = keys.create("mine", 0, rights)
    _, theirs = keys.create("theirs", 0, KeyRights("member", "zeta"))
    found = call(app, method, path.format(mine=mine.id, theirs=theirs.id), key, body)
    assert found.status == status, found
    after = {entry.id: entry for entry in keys.entries()}
    assert after[mine.id].rights == rights
    assert after[theirs.id] == theirs
    assert len(after) == 2


def test_the_same_404_answers_for_an_unknown_key_and_for_one_of_another_owner(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    _, theirs = KeyFile(str(tmp_path)).create("theirs", 0, KeyRights("member", "zeta"))
    key = key_for(tmp_path, KeyRights("owner", "acme"))

    def answer(key_id: str) -> Any:
        body = call(app, "GET", f"/v1/keys/{key_id}", key).json
        return {**body, "request_id": ""}

    assert answer(theirs.id) == answer("key_00000000")


def test_every_gateway_route_of_the_table_is_covered_by_the_matrix() -> None:
    assert {route.role for route in GATEWAY_ROUTES} == {"member", "admin"}
