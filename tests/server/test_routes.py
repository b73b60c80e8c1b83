"""Routes: paths, methods, required access, and errors for unknown paths."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.commands.http_app import GATEWAY_ROUTES
from groundwire.errors import TurnedAway
from groundwire.model.access import KeyRights
from groundwire.server.keys import KeyFile
from groundwire.server.routes import RouteTable
from tests.faces.gateway.asgi_client import LOCAL, SMALLEST_REQUESTS, app_in, send_request
from tests.figures import Figures

PUBLIC = {"/", "/docs", "/docs/", "/docs/{path}", "/openapi.json", "/healthz", "/readyz", "/api/hello"}
"""All that may be seen without a key. A path is added here on purpose, never by accident."""


def test_only_these_paths_are_public() -> None:
    assert {route.path for route in GATEWAY_ROUTES if route.access == "public"} == PUBLIC


def _filled(path: str) -> str:
    return path.replace("{model}", "auto").replace("{path}", "cli.html")


def _spellings(path: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """A path as an attacker might write it to get past a comparison of paths."""
    paths = (
        *(path, f"{path}/", f"/{path}", f"{path}?", f"{path}?key=x", f"{path}#x", f"{path}%20", f"{path}%00"),
        *(f"{path};x=1", f"{path}.json", f"{path}/..", f"{path}/../healthz", f"/healthz/..{path}"),
        *(f"/healthz/%2e%2e{path}", f"/./{path[1:]}", f"/docs/../{path[1:]}", f"{path}//", path.upper()),
        *(path.replace("/v1", "/V1"), path.replace("/", "//"), path.replace("/", "%2f"), "/%2e" + path),
        *(path.replace("m", "%6d"), path.replace("s", "%73"), path.replace("/", "\\"), f"{path}\t"),
        *(f"/healthz{path}", f"{path}/healthz", f"{path}?/healthz", f"{path}%3F/healthz", f"/public{path}"),
    )
    for one in paths:
        yield "", one, {}
    for method in (
        "GET",
        "POST",
        "HEAD",
        "OPTIONS",
        "PUT",
        "PATCH",
        "DELETE",
        "TRACE",
        "CONNECT",
        "get",
        "X",
    ):
        yield method, path, {}
    for headers in (
        {"x-forwarded-for": "127.0.0.1"},
        {"x-original-url": "/healthz"},
        {"x-rewrite-url": "/healthz"},
        {"x-http-method-override": "GET"},
        {"x-forwarded-host": "localhost"},
        {"forwarded": "for=127.0.0.1;host=localhost"},
        {"authorization": "Bearer "},
        {"authorization": "Basic eDp4"},
        {"authorization": "Bearer null"},
        {"x-api-key": ""},
        {"cookie": "key=x"},
        {"content-type": "text/plain"},
        {"transfer-encoding": "chunked"},
    ):
        yield "", path, headers


PATHS = [*dict.fromkeys(route.path for route in GATEWAY_ROUTES), "/mcp"]


# Pages of the documentation are public in every spelling.
@pytest.mark.parametrize("path", [path for path in PATHS if path != "/docs/{path}"])
async def test_without_a_key_only_public_paths_answer(tmp_path: Path, path: str, figures: Figures) -> None:
    gateway = app_in(tmp_path)
    KeyFile(str(tmp_path)).create("user", 0)
    methods = [route.method for route in gateway.routes.routes if route.path == path]
    attempts = [
        (method or usual, spelling, headers)
        for usual in methods
        for method, spelling, headers in _spellings(_filled(path))
    ]
    assert len(attempts) >= 50

    async def ask() -> list[tuple[str, str, int]]:
        found = []
        for method, spelling, headers in attempts:
            answer = await send_request(gateway, method, spelling, {**LOCAL, **headers}, b"{}")
            if answer.status < 401 and spelling.partition("?")[0] not in PUBLIC:
                found.append((method, spelling, answer.status))
        return found

    open_doors = await ask()
    figures.add("S11", "requests without a key", len(attempts), part=path)
    figures.add("S11", "answered although the path is not public", len(open_doors), part=path)
    assert open_doors == []


def test_every_route_of_a_gateway_is_in_the_table(tmp_path: Path) -> None:
    paths = {route.path for route in app_in(tmp_path).routes.routes}
    assert paths == {"/mcp", *(route.path for route in GATEWAY_ROUTES)}
    assert all(route.access == "key" for route in app_in(tmp_path).routes.routes if route.path == "/mcp")


def test_with_a_key_every_route_answers(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    keys = KeyFile(str(tmp_path))
    key, _ = keys.create("user", 0, KeyRights("owner"))
    _, other = keys.create("other", 0)
    for route in GATEWAY_ROUTES:
        head = {**LOCAL, "x-api-key": key}
        path = _filled(route.path).replace("{id}", other.id)
        answer = asyncio.run(send_request(gateway, route.method, path, head, b"{}"))
        if route.path.startswith("/v1/responses/{id}"):
            assert b"there is no response" in answer.body
            continue
        if route.path == "/v1/conversations/{id}":
            assert b"Conversations are not stored" in answer.body
            continue
        assert answer.status not in (401, 403, 404, 405, 421, 500), (route.path, answer)


@pytest.mark.parametrize(
    ("method", "path", "found", "names"),
    [
        (
            "POST",
            "/v1beta/models/a:generateContent",
            "/v1beta/models/{model}:generateContent",
            {"model": "a"},
        ),
        ("POST", "/v1/models/x/y:generateContent", "/v1/models/{model}:generateContent", {"model": "x/y"}),
        ("POST", "/v1/models/x%2Fy:countTokens", "/v1/models/{model}:countTokens", {"model": "x/y"}),
        ("GET", "/v1/models/ollama/llama3:8b", "/v1/models/{model}", {"model": "ollama/llama3:8b"}),
        ("GET", "/v1/models/", "", {}),
        ("HEAD", "/v1/models", "/v1/models", {}),
        ("HEAD", "/", "/", {}),
        ("HEAD", "/api/hello", "/api/hello", {}),
        ("GET", "/v1/message", "", {}),
    ],
)
def test_a_path_leads_to_its_route(method: str, path: str, found: str, names: dict[str, str]) -> None:
    routes = RouteTable(GATEWAY_ROUTES)
    if not found:
        with pytest.raises(TurnedAway, match="nothing at this path"):
            routes.find(method, path)
        return
    match = routes.find(method, path)
    assert (match.route.path, dict(match.params), match.allowed_methods) == (found, names, "")


@pytest.mark.parametrize("dialect", SMALLEST_REQUESTS)
async def test_a_wrong_method_gets_the_allowed_ones(tmp_path: Path, dialect: str) -> None:
    path, _ = SMALLEST_REQUESTS[dialect]
    answer = await send_request(app_in(tmp_path), "DELETE", path, LOCAL)
    assert answer.status == 405
    assert "POST" in answer.headers["allow"]
    assert "error" in answer.json


async def test_the_openapi_document_and_the_page_about_it_list_every_route(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    openapi = (await send_request(gateway, "GET", "/openapi.json", LOCAL)).json
    assert openapi["openapi"].startswith("3.1")
    listed = {(method.upper(), path) for path, entry in openapi["paths"].items() for method in entry}
    assert listed == {(route.method, route.path) for route in gateway.routes.routes}
    keyless = {
        path for path, entry in openapi["paths"].items() for item in entry.values() if not item["security"]
    }
    assert keyless == PUBLIC
    page = await send_request(gateway, "GET", "/docs/http-api.html", LOCAL)
    assert all(route.path in page.body.decode() for route in GATEWAY_ROUTES)


def test_every_route_has_a_description() -> None:
    assert [
        route.path for route in GATEWAY_ROUTES if not route.about.endswith(".") and "?" not in route.about
    ] == []


@pytest.mark.parametrize("with_key", [True, False], ids=["key", "no key"])
async def test_no_response_can_be_taken_for_a_page_with_other_scripts(tmp_path: Path, with_key: bool) -> None:
    """A response is data, or a page whose policy allows only the scripts of the gateway, and no frame."""
    gateway = app_in(tmp_path)
    key, _ = KeyFile(str(tmp_path)).create("user", 0)
    for route in GATEWAY_ROUTES:
        head = {**LOCAL, **({"x-api-key": key} if with_key else {}), "accept": "text/html"}
        answer = await send_request(gateway, route.method, _filled(route.path) + "?x=<script>", head, b"<b>")
        kind = answer.headers.get("content-type", "").partition(";")[0]
        assert "access-control-allow-origin" not in answer.headers
        if kind == "text/html":
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
            assert "unsafe" not in answer.headers["content-security-policy"]
        else:
            assert kind in ("application/json", "text/event-stream", "text/plain"), route.path
