"""The route `/mcp` of the gateway: Host, Origin and keys are checked."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import aiohttp
import pytest
from mcp import Client, MCPError

from groundwire.model.access import KeyRights, KeyScope
from groundwire.model.value import replace
from groundwire.server.keys import KeyFile
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.asgi_client import AsgiResponse, FixedBackend, app_in, send_request
from tests.faces.gateway.serving import provider_at, serving
from tests.faces.mcp.served import COLOGNE, SILENT, TEXT
from tests.server.processes import running_serve
from tests.server.test_auth import NAMED, TABLE

pytestmark = pytest.mark.server

BOUND = 30.0
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"accept": "application/json, text/event-stream"}


@asynccontextmanager
async def mounted() -> AsyncIterator[str]:
    async with (
        Upstream(answer("gemini", answer_events(TEXT, COLOGNE))) as upstream,
        serving({"scripted": provider_at("gemini", upstream.url)}) as here,
    ):
        yield f"{here.url}/mcp"


async def test_a_client_searches_through_the_gateway() -> None:
    async def work() -> None:
        async with mounted() as url, Client(url) as client:
            result = await client.call_tool("websearch", {"query": "x", "provider": "scripted"})
            assert TEXT in (result.structured_content or {})["llmContent"]

    await asyncio.wait_for(work(), BOUND)


async def test_there_is_no_stream_to_listen_to() -> None:
    async def work() -> None:
        async with (
            mounted() as url,
            aiohttp.ClientSession() as session,
            session.get(url, headers=ACCEPT) as response,
        ):
            assert response.status == 405

    await asyncio.wait_for(work(), BOUND)


@pytest.mark.parametrize("with_key", [False, True], ids=["no key needed", "key shown"])
async def test_only_allowed_hosts_and_origins_reach_mcp(with_key: bool, tmp_path: Path) -> None:
    gateway = app_in(tmp_path, config=NAMED)
    key = KeyFile(str(tmp_path)).create("me", 0)[0] if with_key else "anything"
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()

    async def ask() -> list[tuple[str, str | None, int]]:
        statuses = []
        for host, origin, _ in TABLE:
            head = {
                **ACCEPT,
                "content-type": "application/json",
                "host": host,
                "authorization": f"Bearer {key}",
            }
            head |= {} if origin is None else {"origin": origin}
            answer = await send_request(gateway, "POST", "/mcp", head, ping)
            assert (b'"result"' in answer.body) == (answer.status == 200)
            assert answer.headers.get("access-control-allow-origin") in (None, "https://app.example")
            statuses.append((host, origin, answer.status))
        for close in gateway.on_close:
            await close()
        return statuses

    assert len(TABLE) >= 60
    assert await asyncio.wait_for(ask(), BOUND) == list(TABLE)


async def test_without_a_key_mcp_is_refused(tmp_path: Path) -> None:
    gateway = app_in(tmp_path, config=NAMED)
    KeyFile(str(tmp_path)).create("me", 0)
    head = {**ACCEPT, "host": "localhost", "authorization": "Bearer another"}
    answer = await send_request(gateway, "POST", "/mcp", head, json.dumps(LISTING).encode())
    assert answer.status == 401


async def test_a_key_uses_only_the_tools_providers_and_searches_of_its_scope(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    keys = {
        name: KeyFile(str(tmp_path)).create(name, 0, KeyRights(scope=scope))[0]
        for name, scope in (
            ("free", KeyScope()),
            ("mute", KeyScope(may_search=False)),
            ("other", KeyScope(providers=("anthropic",))),
            ("narrow", KeyScope(allowed_domains=("a.example",))),
        )
    }

    async def call(key: str, method: str, params: dict[str, object]) -> AsgiResponse:
        head = {
            **ACCEPT,
            "content-type": "application/json",
            "host": "localhost",
            "authorization": f"Bearer {keys[key]}",
            "mcp-protocol-version": "2025-06-18",
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await send_request(gateway, "POST", "/mcp", head, json.dumps(body).encode())

    async def work() -> None:
        search: dict[str, object] = {"name": "websearch", "arguments": {"query": "q"}}
        named: dict[str, object] = {"name": "websearch_gemini", "arguments": {"query": "q"}}
        backend = gateway.groundwire
        assert isinstance(backend, FixedBackend)
        for params in (search, named):
            assert b"Yes, it does" in (await call("free", "tools/call", params)).body
        before = len(backend.requests)
        assert b"may not search the web" in (await call("mute", "tools/call", search)).body
        assert b"no provider that can be used" in (await call("other", "tools/call", search)).body
        assert b"may not use 'gemini'" in (await call("other", "tools/call", named)).body
        fetch: dict[str, object] = {"name": "fetch", "arguments": {"id": "https://b.example/"}}
        assert b"reads only pages of a.example" in (await call("narrow", "tools/call", fetch)).body
        assert len(backend.requests) == before
        await call("narrow", "tools/call", search)
        assert backend.requests[-1].search is not None
        assert backend.requests[-1].search.allowed_domains == ("a.example",)
        listed = {key: (await call(key, "tools/list", {})).body for key in ("free", "other")}
        assert b"websearch_gemini" in listed["free"]
        assert b"websearch_gemini" not in listed["other"]
        for close in gateway.on_close:
            await close()

    await asyncio.wait_for(work(), BOUND)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_client_gets_a_clear_error_if_the_gateway_is_killed_during_a_call(
    mode: Literal["auto", "legacy"], tmp_path: Path
) -> None:
    """How the official client reports a broken connection depends on the version; it never hangs."""

    async def work() -> None:
        async with Upstream(SILENT) as upstream:
            config = f'[providers.scripted]\ndialect = "gemini"\nbase_url = "{upstream.url}"\nmodel = "m"\n'
            async with (
                running_serve(tmp_path, config=config) as gateway,
                Client(f"{gateway.url}/mcp", mode=mode) as client,
            ):
                arguments = {"query": "x", "provider": "scripted"}
                call = asyncio.create_task(client.call_tool("websearch", arguments))
                await upstream.received(timeout=20)
                gateway.process.kill()
                async with asyncio.timeout(20):
                    await call

    with pytest.raises((MCPError, ExceptionGroup)) as caught:
        await asyncio.wait_for(work(), BOUND)
    expected = "SSE stream ended without a response|Server disconnected|peer closed connection"
    for error in _single(caught.value):
        assert re.search(expected, str(error)), error


async def test_a_running_call_is_answered_by_a_gateway_that_shuts_down(tmp_path: Path) -> None:
    slow = replace(answer("gemini", answer_events(TEXT, COLOGNE)), delay=2.0)

    async def work() -> None:
        async with Upstream(slow) as upstream:
            config = f'[providers.scripted]\ndialect = "gemini"\nbase_url = "{upstream.url}"\nmodel = "m"\n'
            params = {"name": "websearch", "arguments": {"query": "x", "provider": "scripted"}}
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            async with (
                running_serve(tmp_path, config=config) as gateway,
                aiohttp.ClientSession() as session,
                session.post(f"{gateway.url}/mcp", json=call, headers=ACCEPT) as reply,
            ):
                await upstream.received(timeout=BOUND)
                gateway.process.terminate()
                assert reply.status == 200
                assert TEXT in await reply.text()
                assert await gateway.ended() == 0

    await asyncio.wait_for(work(), 2 * BOUND)


class ExitingServer:
    """Another uvicorn server that is exiting, and whose signal handler is still installed."""

    should_exit = True

    def handle(self, *_: object) -> None: ...


async def test_stopping_another_server_in_the_process_does_not_end_answers(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    head = {**ACCEPT, "content-type": "application/json", "host": "localhost"}
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()

    async def work() -> AsgiResponse:
        reply = await send_request(gateway, "POST", "/mcp", head, ping)
        for close in gateway.on_close:
            await close()
        return reply

    before = signal.signal(signal.SIGTERM, ExitingServer().handle)
    try:
        reply = await asyncio.wait_for(work(), BOUND)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert reply.status == 200
    assert b'"result"' in reply.body


def _single(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _single(one)
    else:
        yield error


async def test_a_gateway_without_the_package_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "groundwire.faces.mcp.server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)

    async def work() -> None:
        async with mounted() as url, aiohttp.ClientSession() as session:
            for _ in range(2):
                async with session.post(url, json=LISTING, headers=ACCEPT) as response:
                    assert response.status == 501
                    message = (await response.json())["error"]["message"]
                    assert "pip install --force-reinstall groundwire" in message

    await asyncio.wait_for(work(), BOUND)


def test_the_package_is_not_imported_before_the_first_request() -> None:
    script = (
        "import sys, groundwire.faces.mcp.http, groundwire.faces.mcp.http, groundwire.faces.mcp.calls; "
        "sys.exit('mcp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=BOUND, check=False).returncode == 0  # noqa: S603
