"""A gateway answers the first MCP requests before the package is imported, with the same responses."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from groundwire.faces.mcp.handshake import STATELESS_VERSION
from groundwire.faces.mcp.http import McpApp, mcp_app
from groundwire.server.asgi import AsgiMessage, Scope
from tests.faces.mcp.test_handshake import ENVELOPE, hello, library, probe, tools

pytestmark = pytest.mark.server

BOUND = 60.0
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
OLD = {"mcp-protocol-version": "2025-06-18"}
NEW = {"mcp-protocol-version": STATELESS_VERSION}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
FIRST: dict[str, tuple[Any, dict[str, str]]] = {
    "initialize": (hello("2025-11-25"), {}),
    "initialize of 2024": (hello("2024-11-05"), {}),
    "ready": (READY, OLD),
    "tools": (tools(None), OLD),
    "tools without a version": (tools({}), {}),
    "probe": (probe(ENVELOPE), {**NEW, "mcp-method": "server/discover"}),
    "tools of the newest version": (tools({"_meta": ENVELOPE}), {**NEW, "mcp-method": "tools/list"}),
}
NEEDS_THE_PACKAGE: dict[str, tuple[Any, dict[str, str]]] = {
    "a call": ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search"}}, OLD),
    "a ping": ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, OLD),
    "another method in the header": (probe(ENVELOPE), {**NEW, "mcp-method": "tools/list"}),
    "another version in the header": (probe(ENVELOPE), OLD),
    "the newest version in the header only": (tools(None), NEW),
    "an unknown version": (tools(None), {"mcp-protocol-version": "1999-01-01"}),
    "no event streams accepted": (hello("2025-11-25"), {"accept": "application/json"}),
    "another content type": (hello("2025-11-25"), {"content-type": "text/plain"}),
    "no JSON": (b"{", {}),
    "no UTF-8": (b"\xff", {}),
}


def send_to(app: McpApp, message: Any, more: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
    """Send one request, and close the application."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    inbox: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]
    outbox: list[Any] = []

    async def receive() -> AsgiMessage:
        return inbox.pop() if inbox else await asyncio.get_running_loop().create_future()

    async def send(message: AsgiMessage) -> None:
        outbox.append(message)

    async def work() -> None:
        headers = [(name.encode(), text.encode()) for name, text in {**HEADERS, **more}.items()]
        scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "headers": headers,
            "query_string": b"",
        }
        await app(scope, receive, send)
        await app.aclose()

    asyncio.run(asyncio.wait_for(work(), BOUND))
    head = {name.decode(): text.decode() for name, text in outbox[0]["headers"]}
    return outbox[0]["status"], head, b"".join(item.get("body", b"") for item in outbox[1:])


def message_in(body: bytes) -> Any:
    """The JSON of a response body, or of its last event."""
    text = body.decode()
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return json.loads(data[-1] if data else text) if text else None


async def never(*_: object) -> None:
    """Replaces the import of the package, and never finishes."""
    await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("name", FIRST)
def test_a_first_request_is_answered_before_the_package_is_loaded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message, more = FIRST[name]
    status, head, body = send_to(_loading(tmp_path, monkeypatch, never), message, more)
    monkeypatch.undo()
    loaded = _loading(tmp_path, monkeypatch, McpApp._run_manager, early_replies=False)
    expected = send_to(loaded, message, more)
    assert (status, message_in(body)) == (expected[0], message_in(expected[2]))
    assert ("mcp-session-id" in head) == ("mcp-session-id" in expected[1])


@pytest.mark.parametrize("name", NEEDS_THE_PACKAGE)
def test_everything_else_waits_for_the_package(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message, more = NEEDS_THE_PACKAGE[name]
    monkeypatch.setattr(sys.modules[__name__], "BOUND", 0.2)
    with pytest.raises(TimeoutError):
        send_to(_loading(tmp_path, monkeypatch, never), message, more)


def _loading(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    live: Callable[..., Awaitable[None]],
    *,
    early_replies: bool = True,
) -> McpApp:
    app = mcp_app(library(folder), secret=b"x")
    monkeypatch.setattr(McpApp, "_run_manager", live)
    if live is never:
        monkeypatch.setattr(McpApp, "aclose", _closed)
    if not early_replies:
        monkeypatch.setattr("groundwire.faces.mcp.http.early_reply", lambda *_, **__: None)
        monkeypatch.setattr("groundwire.faces.mcp.http.is_initialized_notification", lambda _: False)
    return app


async def _closed(app: McpApp) -> None:
    if app._manager_task is not None:
        app._manager_task.cancel()


def test_the_tool_list_is_returned_without_importing_the_package(tmp_path: Path) -> None:
    script = f"""
import sys
from pathlib import Path
from groundwire.client import Groundwire
from groundwire.config.load import load
from groundwire.faces.mcp.handshake import early_reply
from groundwire.faces.mcp.tool_list import tool_definitions
home = {str(tmp_path)!r}
backend = Groundwire(load({{}}, home, home), env={{"HOME": home}})
reply = early_reply({json.dumps(json.dumps(tools(None)))}, lambda: tool_definitions(backend), stateless=False)
sys.exit('mcp' in sys.modules or not reply["result"]["tools"])
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=BOUND, check=False)  # noqa: S603
    assert done.returncode == 0
