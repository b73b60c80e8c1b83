"""The application behind the doors of the gateway: Host, Origin and keys are checked there."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from mcp import Client

from groundwire.testing.answers import told
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.serving import serving, speaking
from tests.faces.mcp.served import COLOGNE, TEXT

BOUND = 30.0
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"accept": "application/json, text/event-stream"}


@asynccontextmanager
async def mounted() -> AsyncIterator[str]:
    async with (
        Upstream(answer("gemini", told(TEXT, COLOGNE))) as upstream,
        serving({"scripted": speaking("gemini", upstream.url)}) as here,
    ):
        yield f"{here.url}/mcp"


def test_a_client_searches_through_the_gateway() -> None:
    async def work() -> None:
        async with mounted() as url, Client(url) as client:
            result = await client.call_tool("websearch", {"query": "x", "provider": "scripted"})
            assert TEXT in (result.structured_content or {})["llmContent"]

    asyncio.run(asyncio.wait_for(work(), BOUND))


def test_there_is_no_stream_to_listen_to() -> None:
    async def work() -> None:
        async with (
            mounted() as url,
            aiohttp.ClientSession() as session,
            session.get(url, headers=ACCEPT) as response,
        ):
            assert response.status == 405

    asyncio.run(asyncio.wait_for(work(), BOUND))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_strangers_are_turned_away_before_mcp_is_spoken(headers: dict[str, str], status: int) -> None:
    async def work() -> None:
        async with (
            mounted() as url,
            aiohttp.ClientSession() as session,
            session.post(url, json=LISTING, headers={**ACCEPT, **headers}) as response,
        ):
            assert response.status == status

    asyncio.run(asyncio.wait_for(work(), BOUND))


def test_a_gateway_without_the_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "groundwire.faces.mcp.server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel.server", None)

    async def work() -> None:
        async with mounted() as url, aiohttp.ClientSession() as session:
            for _ in range(2):
                async with session.post(url, json=LISTING, headers=ACCEPT) as response:
                    assert response.status == 501
                    assert "pip install 'groundwire[mcp]'" in (await response.json())["error"]["message"]

    asyncio.run(asyncio.wait_for(work(), BOUND))


def test_the_package_is_not_imported_before_the_first_request() -> None:
    script = (
        "import sys, groundwire.faces.mcp.http, groundwire.faces.mcp.mounting, groundwire.faces.mcp.calls; "
        "sys.exit('mcp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=BOUND, check=False).returncode == 0  # noqa: S603
