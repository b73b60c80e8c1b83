"""The handshake without the package `mcp` gives the same responses as the package."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from groundwire.config.load import load
from groundwire.faces.mcp.calls import FetchAllowList
from groundwire.faces.mcp.handshake import (
    HANDSHAKE_VERSIONS,
    STATELESS_VERSION,
    handshake_reply,
    is_initialized_notification,
    tool_list_reply,
)
from groundwire.faces.mcp.server import SearchServer
from groundwire.faces.mcp.tool_list import tool_definitions
from tests.faces.mcp.served import Library

pytestmark = pytest.mark.server

BOUND = 30.0
CLIENT = {"name": "client", "version": "1", "title": "Client"}
META = "io.modelcontextprotocol/"
ENVELOPE = {f"{META}protocolVersion": STATELESS_VERSION, f"{META}clientCapabilities": {}}


def hello(version: object, **more: object) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {"roots": {}}, "clientInfo": CLIENT, **more}
    return {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params}


def tools(params: object) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": 8,
        "method": "tools/list",
        **({} if params is None else {"params": params}),
    }


def probe(meta: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": "seven", "method": "server/discover", "params": {"_meta": meta}}


def library(home: Path) -> Library:
    return Library(load({}, str(home), str(home)), env={"HOME": str(home)})


async def responses_of_the_package(home: Path, *requests: dict[str, Any]) -> list[object]:
    server = SearchServer(library(home), FetchAllowList(b"secret")).server
    responses: list[object] = []
    async with create_client_server_memory_streams() as (client, (reading, writing)):
        running = asyncio.create_task(
            server.run(reading, writing, server.create_initialization_options(), raise_exceptions=True)
        )
        incoming, outgoing = client
        for request in requests:
            await outgoing.send(SessionMessage(JSONRPCRequest.model_validate(request)))
            answer = await incoming.receive()
            assert isinstance(answer, SessionMessage)
            responses.append(json.loads(answer.message.model_dump_json(by_alias=True, exclude_unset=True)))
        await outgoing.aclose()
        await running
    return responses


def test_the_versions_are_those_of_the_package() -> None:
    assert HANDSHAKE_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert (STATELESS_VERSION,) == MODERN_PROTOCOL_VERSIONS


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS])
async def test_the_first_requests_get_the_same_responses_as_from_the_package(
    version: str, tmp_path: Path
) -> None:
    request = probe(ENVELOPE) if version == STATELESS_VERSION else hello(version)
    list_request = tools({"_meta": ENVELOPE} if version == STATELESS_VERSION else None)
    handshake = handshake_reply(json.dumps(request))
    assert handshake is not None
    assert handshake.id == request["id"]
    listed = tool_list_reply(json.dumps(list_request), handshake, lambda: tool_definitions(library(tmp_path)))
    expected = await asyncio.wait_for(responses_of_the_package(tmp_path, request, list_request), BOUND)
    assert [handshake.response, listed] == expected


@pytest.mark.parametrize(
    "first_request",
    [
        hello("2026-07-28"),
        hello("1999-01-01"),
        hello(None),
        hello("2025-06-18", clientInfo={"name": "t"}),
        hello("2025-06-18", capabilities=None),
        {**hello("2025-06-18"), "id": None},
        {**hello("2025-06-18"), "id": True},
        {**hello("2025-06-18"), "jsonrpc": "1.0"},
        {**hello("2025-06-18"), "method": ["initialize"]},
        {**hello("2025-06-18"), "params": None},
        probe({**ENVELOPE, f"{META}protocolVersion": "2027-01-01"}),
        probe({f"{META}protocolVersion": STATELESS_VERSION}),
        probe(None),
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        [hello("2025-06-18")],
        "initialize",
    ],
)
def test_everything_else_is_left_to_the_package(first_request: object) -> None:
    assert handshake_reply(json.dumps(first_request)) is None


@pytest.mark.parametrize(
    ("first_request", "list_request"),
    [
        (hello("2025-06-18"), tools({"cursor": "x"})),
        (hello("2025-06-18"), tools({"_meta": ENVELOPE})),
        (hello("2025-06-18"), tools({"_meta": {f"{META}protocolVersion": STATELESS_VERSION}})),
        (hello("2025-06-18"), tools([])),
        (hello("2025-06-18"), {"jsonrpc": "2.0", "method": "tools/list"}),
        (hello("2025-06-18"), {**tools(None), "method": "tools/call"}),
        (probe(ENVELOPE), tools(None)),
        (probe(ENVELOPE), tools({"_meta": {f"{META}protocolVersion": STATELESS_VERSION}})),
    ],
)
def test_after_the_handshake_only_a_plain_tool_list_request_is_answered(
    first_request: dict[str, Any], list_request: dict[str, Any]
) -> None:
    handshake = handshake_reply(json.dumps(first_request))
    assert handshake is not None
    assert tool_list_reply(json.dumps(list_request), handshake, list) is None


@pytest.mark.parametrize(
    ("message", "ready"),
    [
        ({"jsonrpc": "2.0", "method": "notifications/initialized"}, True),
        ({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}, False),
        ({"jsonrpc": "2.0", "id": 1, "method": "notifications/initialized"}, False),
        (None, False),
    ],
)
def test_the_initialized_notification_is_not_delayed(message: object, ready: bool) -> None:
    assert is_initialized_notification(json.dumps(message)) is ready


@pytest.mark.parametrize("line", ["", "{", "\ufffd", "[" * 100_000, '{"id": 1e999}'])
def test_invalid_json_is_left_to_the_package(line: str) -> None:
    assert handshake_reply(line) is None


def test_the_handshake_does_not_import_the_package() -> None:
    script = "import sys, groundwire.faces.mcp.stdio; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], timeout=BOUND, check=False).returncode == 0  # noqa: S603
