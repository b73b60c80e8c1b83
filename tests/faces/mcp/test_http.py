"""MCP over HTTP, with the official client and with raw requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

import aiohttp
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, MCPError
from mcp.types import ResourceLink
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from groundwire.engine.pages import Page
from groundwire.faces.mcp import server
from groundwire.faces.mcp.calls import ProgressReporter
from groundwire.model import Source
from groundwire.testing.answers import answer_events
from groundwire.testing.script import answer, json_response
from groundwire.tools import TOOLS
from tests.faces.mcp.served import ANSWER, COLOGNE, SILENT, TEXT, RunningMcpServer, served

pytestmark = pytest.mark.server

BOUND = 30.0
MODES: tuple[Literal["auto", "legacy"], ...] = ("auto", "legacy")
"""The protocol version without sessions, and the one that begins with `initialize`."""
ACCEPT = {"accept": "application/json, text/event-stream"}


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(_awaited(work), BOUND))


async def _awaited(work: Callable[[], Awaitable[None]]) -> None:
    await work()


@pytest.mark.parametrize("mode", MODES)
def test_tools_are_listed_with_the_exact_schemas_of_the_registry(
    mode: Literal["auto", "legacy"], tmp_path: Path
) -> None:
    async def work() -> None:
        async with served(tmp_path) as here, Client(here.url, mode=mode) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(listed) == {
            *("websearch", "websearch_gemini", "websearch_web", "websearch_local", "geminisearch"),
            *("search", "fetch", "verify_citations"),
        }
        for name in TOOLS.keys() & listed.keys():
            assert listed[name].input_schema == TOOLS[name].parameters()
            assert listed[name].description == TOOLS[name].description["en"]
        for tool in listed.values():
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is True
            assert tool.annotations.open_world_hint is (tool.name != "websearch_local")
            Draft202012Validator.check_schema(tool.input_schema)
            Draft202012Validator.check_schema(tool.output_schema or {})

    run(work)


@pytest.mark.parametrize("mode", MODES)
def test_a_search_returns_text_the_contract_and_links(
    mode: Literal["auto", "legacy"], tmp_path: Path
) -> None:
    async def work() -> None:
        async with served(tmp_path) as here, Client(here.url, mode=mode) as client:
            result = await client.call_tool("websearch", {"query": "wie viele?"})
        text, link = (entry.model_dump(exclude_none=True) for entry in result.content)
        contract = result.structured_content
        assert not result.is_error
        assert contract is not None
        assert contract["llmContent"] == text["text"]
        assert f"{TEXT}[1]\n\nSources:\n[1] Köln in Zahlen ({COLOGNE.url})" in text["text"]
        assert contract["sources"] == [{"web": {"title": COLOGNE.title, "uri": COLOGNE.url}}]
        assert (link["type"], link["uri"], link["name"]) == ("resource_link", COLOGNE.url, COLOGNE.title)

    run(work)


@pytest.mark.parametrize("mode", MODES)
def test_a_page_that_a_search_found_can_be_read_and_no_other(
    mode: Literal["auto", "legacy"], tmp_path: Path
) -> None:
    async def work() -> None:
        async with served(tmp_path) as here, Client(here.url, mode=mode) as client:
            here.groundwire.web = {
                COLOGNE.url: Page(COLOGNE.url, "Köln", "Köln hat viele Einwohner.", "2026-01-01"),
                "https://elsewhere.example/": Page("https://elsewhere.example/", "Elsewhere", "secret"),
            }
            stored = Page("https://docs.example/", "Docs", "indexed here")
            here.groundwire.stored = {stored.url: stored}
            found = (await client.call_tool("search", {"query": "wie viele?"})).structured_content
            assert found is not None
            (hit,) = found["results"]
            assert (hit["title"], hit["url"]) == (COLOGNE.title, COLOGNE.url)
            for name in (hit["id"], hit["url"]):
                page = (await client.call_tool("fetch", {"id": name})).structured_content
                assert page == {
                    "id": name,
                    "title": "Köln",
                    "text": "Köln hat viele Einwohner.",
                    "url": COLOGNE.url,
                    "metadata": {"published": "2026-01-01"},
                }
            kept = await client.call_tool("fetch", {"id": stored.url})
            assert (kept.structured_content or {})["text"] == "indexed here"
            for name in (
                "https://elsewhere.example/",
                f"{hit['id']}x",
                f"x{hit['id']}",
                "file:///etc/passwd",
            ):
                refused = await client.call_tool("fetch", {"id": name})
                assert refused.is_error
                assert (refused.structured_content or {})["error"]["type"] == "FETCH_REFUSED"

    run(work)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("websearch_openrouter", {"query": "x"}, "MISSING_OPENROUTER_API_KEY"),
        ("websearch_gemini", {"query": " "}, "INVALID_QUERY"),
        ("websearch_gemini", {"query": "x", "model": "y"}, "INVALID_TOOL_ARGUMENTS"),
        ("websearch", {"query": "x", "provider": "unknown"}, "INVALID_TOOL_ARGUMENTS"),
        ("search", {"query": "x", "provider": "local"}, "INVALID_TOOL_ARGUMENTS"),
        ("search", {}, "INVALID_QUERY"),
        ("fetch", {}, "INVALID_TOOL_ARGUMENTS"),
        ("websearch_gemini", {"query": "x"}, "GEMINI_WEB_SEARCH_FAILED"),
    ],
)
def test_failures_are_tool_errors_that_contain_the_contract(
    mode: Literal["auto", "legacy"], tool: str, arguments: dict[str, Any], code: str, tmp_path: Path
) -> None:
    async def work() -> None:
        refusal = json_response({"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}, 400)
        async with served(tmp_path, refusal) as here, Client(here.url, mode=mode) as client:
            schemas = {entry.name: entry.output_schema for entry in (await client.list_tools()).tools}
            result = await client.call_tool(tool, arguments)
        contract = result.structured_content or {}
        assert result.is_error
        assert contract["error"]["type"] == code
        assert contract["llmContent"].startswith("Error: ")
        assert [entry.model_dump()["text"] for entry in result.content] == [contract["llmContent"]]
        Draft202012Validator(schemas.get(tool) or schemas["websearch"] or {}).validate(contract)

    run(work)


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_that_does_not_exist_is_an_error_of_the_protocol(
    mode: Literal["auto", "legacy"], tmp_path: Path
) -> None:
    async def work() -> None:
        async with served(tmp_path) as here, Client(here.url, mode=mode) as client:
            with pytest.raises(MCPError, match="Unknown tool 'nothing'"):
                await client.call_tool("nothing", {})

    run(work)


@pytest.mark.parametrize("mode", MODES)
def test_a_cancelled_call_reaches_the_provider(mode: Literal["auto", "legacy"], tmp_path: Path) -> None:
    async def work() -> None:
        async with served(tmp_path, SILENT) as here, Client(here.url, mode=mode) as client:
            call = asyncio.create_task(client.call_tool("websearch_gemini", {"query": "x"}))
            await here.upstream.received()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await here.upstream.disconnected()

    run(work)


@pytest.mark.parametrize("mode", MODES)
def test_progress_is_reported_during_the_search(mode: Literal["auto", "legacy"], tmp_path: Path) -> None:
    notifications: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        notifications.append((progress, message))

    async def work() -> None:
        async with served(tmp_path) as here, Client(here.url, mode=mode) as client:
            await client.call_tool("websearch_gemini", {"query": "x"}, progress_callback=note)

    run(work)
    assert notifications[0] == (1.0, "Asking")
    assert [progress for progress, _ in notifications] == sorted({progress for progress, _ in notifications})


@pytest.mark.parametrize("mode", MODES)
def test_a_slow_search_sends_keep_alives(
    mode: Literal["auto", "legacy"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "ProgressReporter", partial(ProgressReporter, heartbeat=0.01))
    notifications: list[float] = []
    enough = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        notifications.append(progress)
        if len(notifications) == 3:
            enough.set()

    async def work() -> None:
        async with served(tmp_path, SILENT) as here, Client(here.url, mode=mode) as client:
            call = asyncio.create_task(
                client.call_tool("websearch_gemini", {"query": "x"}, progress_callback=note)
            )
            await enough.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

    run(work)
    assert notifications[:3] == [1, 2, 3]


@pytest.mark.parametrize("mode", MODES)
def test_a_hundred_calls_at_once_are_all_answered(mode: Literal["auto", "legacy"], tmp_path: Path) -> None:
    async def work() -> None:
        async with served(tmp_path) as here, Client(here.url, mode=mode) as client:
            await client.list_tools()
            queries = [f"number {number}" for number in range(100)]
            results = await asyncio.gather(
                *(client.call_tool("websearch_gemini", {"query": query}) for query in queries)
            )
        displays = [(result.structured_content or {})["returnDisplay"] for result in results]
        assert displays == [f'Search results for "{query}" returned.' for query in queries]

    run(work)


async def post(here: RunningMcpServer, body: object, **headers: str) -> tuple[int, Any, dict[str, str]]:
    """Send a raw request; the response may be one server-sent event."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(here.url, json=body, headers={**ACCEPT, **headers}) as response,
    ):
        text = await response.text()
        if response.content_type == "text/event-stream":
            text = next(line[6:] for line in text.splitlines() if line.startswith("data: {"))
        lower = {name.lower(): item for name, item in response.headers.items()}
        return response.status, json.loads(text) if text else None, lower


def call(name: str, number: int = 1) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": name, "arguments": {"query": "x"}},
    }


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_every_protocol_version_with_initialize_is_supported(version: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with served(tmp_path) as here:
            hello = {
                "jsonrpc": "2.0",
                "id": 0,
                "method": "initialize",
                "params": {
                    "protocolVersion": version,
                    "capabilities": {},
                    "clientInfo": {"name": "t", "version": "1"},
                },
            }
            status, body, headers = await post(here, hello)
            assert (status, body["result"]["protocolVersion"]) == (200, version)
            assert body["result"]["serverInfo"]["name"] == "groundwire"
            session = headers["mcp-session-id"]
            named = {"mcp-session-id": session, "mcp-protocol-version": version}
            _, body, _ = await post(here, call("websearch_gemini"), **named)
            kinds = [entry["type"] for entry in body["result"]["content"]]
            assert kinds == (["text", "resource_link"] if version >= "2025-06-18" else ["text"])

    run(work)


def test_a_call_without_a_handshake_is_answered(tmp_path: Path) -> None:
    async def work() -> None:
        async with served(tmp_path) as here:
            status, body, _ = await post(here, call("websearch_gemini"))
            assert status == 200
            assert TEXT in body["result"]["structuredContent"]["llmContent"]

    run(work)


def test_the_probe_of_newer_clients_is_answered(tmp_path: Path) -> None:
    async def work() -> None:
        async with served(tmp_path) as here:
            probe = {"jsonrpc": "2.0", "id": 1, "method": "server/discover"}
            _, body, _ = await post(here, probe)
            assert body["error"]["code"] == -32601
            meta = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover"}
            _, body, _ = await post(here, {**probe, "params": {"_meta": meta}}, **headers)
            assert tuple(body["result"]["supportedVersions"]) == MODERN_PROTOCOL_VERSIONS

    run(work)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_post_is_allowed(method: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            served(tmp_path) as here,
            aiohttp.ClientSession() as session,
            session.request(method, here.url, headers=ACCEPT) as response,
        ):
            assert (response.status, response.headers["allow"]) == (405, "POST")

    run(work)


def test_a_cancellation_of_another_session_is_ignored(tmp_path: Path) -> None:
    async def work() -> None:
        async with served(tmp_path, SILENT) as here:
            mine, other = {"mcp-session-id": "mine"}, {"mcp-session-id": "other"}
            pending = asyncio.create_task(post(here, call("websearch_gemini", 7), **mine))
            await here.upstream.received()
            stop = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
            assert (await post(here, stop, **other))[0] == 202
            assert (await post(here, stop))[0] == 202
            listing = {"jsonrpc": "2.0", "id": 8, "method": "tools/list"}
            assert (await post(here, listing, **mine))[0] == 200
            assert here.upstream.open_connections == 1
            assert (await post(here, stop, **mine))[0] == 202
            await here.upstream.disconnected()
            _, body, _ = await pending
            assert body["error"]["message"] == "The call was cancelled."

    run(work)


def test_a_client_that_disconnects_cancels_its_search(tmp_path: Path) -> None:
    async def work() -> None:
        async with served(tmp_path, SILENT) as here:
            pending = asyncio.create_task(post(here, call("websearch_gemini")))
            await here.upstream.received()
            pending.cancel()
            await here.upstream.disconnected()

    run(work)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.thorough)])
async def test_no_task_remains_after_cancelled_calls(
    mode: Literal["auto", "legacy"], count: int, tmp_path: Path
) -> None:
    async def work() -> None:
        async with served(tmp_path, SILENT) as here, Client(here.url, mode=mode) as client:
            await client.list_tools()
            for begun in range(0, count, 20):
                calls = [
                    asyncio.create_task(client.call_tool("websearch_gemini", {"query": "x"}))
                    for _ in range(20)
                ]
                await here.upstream.received(begun + 20, timeout=20)
                for task in calls:
                    task.cancel()
                await asyncio.gather(*calls, return_exceptions=True)
                for number in range(begun + 1, begun + 21):
                    await here.upstream.disconnected(number)
            await here.upstream.closed()
            names = {getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()}
            assert not names & {"run_tool", "ProgressReporter.run"}

    await asyncio.wait_for(work(), BOUND + count / 4)


def test_urls_that_are_not_web_addresses_are_neither_linked_nor_fetched(tmp_path: Path) -> None:
    bad = ("javascript:alert(1)", "data:text/html,x", "file:///etc/passwd")
    pages = (COLOGNE, *(Source(url, "bad") for url in bad))

    async def work() -> None:
        async with (
            served(tmp_path, answer("gemini", answer_events(TEXT, *pages))) as here,
            Client(here.url) as client,
        ):
            result = await client.call_tool("websearch_gemini", {"query": "x"})
            links = [entry.uri for entry in result.content if isinstance(entry, ResourceLink)]
            assert links == [COLOGNE.url]
            assert not any(url in json.dumps(result.structured_content) for url in bad)
            for url in bad:
                assert (await client.call_tool("fetch", {"id": url})).is_error

    run(work)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"jsonrpc": "2.0"}', b"\xff" * 10])
def test_garbage_is_rejected_and_the_server_keeps_running(body: bytes, tmp_path: Path) -> None:
    async def work() -> None:
        async with served(tmp_path, ANSWER) as here, aiohttp.ClientSession() as session:
            headers = {**ACCEPT, "content-type": "application/json"}
            async with session.post(here.url, data=body, headers=headers) as response:
                assert 400 <= response.status < 500
            assert (await post(here, call("websearch_gemini")))[0] == 200

    run(work)
