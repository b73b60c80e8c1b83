"""Clients configured by `groundwire connect` call our tools, through MCP and OpenCode's tool files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients import codex, gemini_cli, opencode
from tests.clients.claude_code import claude, result_of
from tests.clients.connect import TRANSPORTS, connect, connect_server
from tests.clients.model import GROUNDED, ModelRequest
from tests.clients.packages import CLAUDE_NEW, CLAUDE_OLD, CODEX, GEMINI, OPENCODE, ClientPackage
from tests.clients.pages import ANSWER_URL
from tests.clients.running_gateway import RunningGateway
from tests.clients.vendor_apis import Call


def called_tools(model_requests: list[ModelRequest]) -> list[str]:
    """The tools that the model called, in order."""
    return [
        "/".join(filter(None, request.output.tool))
        for request in model_requests
        if isinstance(request.output, Call)
    ]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("package", [CLAUDE_OLD, CLAUDE_NEW], ids=lambda package: package.version)
def test_claude_code_shows_what_our_tool_found(
    package: ClientPackage,
    transport: str,
    gateway: RunningGateway,
    home: Path,
    show: Callable[[str, str], None],
) -> None:
    connect_server("claude-code", transport, gateway, home)
    run = claude(package, gateway, home, ["--allowedTools", "mcp__groundwire__websearch"])
    assert run.code == 0, run
    show(f"{package.label}, MCP over {transport}", result_of(run))
    assert ANSWER_URL in result_of(run), (run, gateway.model_requests)
    assert "mcp__groundwire__websearch" in called_tools(gateway.model_requests)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_codex_shows_what_our_tool_found(
    transport: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    codex.write_config(gateway, home, search="disabled")
    connect_server("codex", transport, gateway, home)
    run = codex.ask_codex(home, codex.MCP_SETTINGS)
    assert run.code == 0, run
    show(f"{CODEX.label}, MCP over {transport}", codex.printed_by(run))
    assert ANSWER_URL in codex.printed_by(run), (run, gateway.model_requests)
    assert [item["tool"] for item in codex.items_of(run, "mcp_tool_call")] == ["websearch"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_gemini_cli_shows_what_our_tool_found(
    transport: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    connect_server("gemini-cli", transport, gateway, home)
    run = gemini_cli.ask_gemini(gateway, home)
    assert run.code == 0, run
    show(f"{GEMINI.label}, MCP over {transport}", gemini_cli.printed_by(run))
    assert ANSWER_URL in gemini_cli.printed_by(run), (run, gateway.model_requests)
    assert called_tools(gateway.model_requests)[0] == "mcp_groundwire_websearch"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_opencode_shows_what_our_tool_found(
    transport: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    opencode.write_config(gateway, home, "openai_chat", "openai_chat/gpt-5.1")
    connect_server("opencode", transport, gateway, home)
    run = opencode.ask_opencode(home)
    assert run.code == 0, run
    show(f"{OPENCODE.label}, MCP over {transport}", opencode.printed_by(run))
    assert ANSWER_URL in opencode.printed_by(run), (run, gateway.model_requests)
    assert [part["tool"] for part in opencode.parts_of(run, "tool_use")] == ["groundwire_websearch"]


@pytest.mark.parametrize("tool", ["websearch_gemini", "geminisearch"])
def test_opencode_shows_what_our_tool_file_found(
    tool: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    opencode.write_config(gateway, home, "anthropic_messages", "anthropic/claude-opus-4-8")
    connect("opencode", gateway, home, "--tools")
    names = ("GEMINI_API_KEY", "GROUNDWIRE_GEMINI_BASE_URL", "GROUNDWIRE_DATA_DIR")
    gateway.script[:] = [tool]
    run = opencode.ask_opencode(home, {name: gateway.env[name] for name in names})
    assert run.code == 0, run
    show(f"{OPENCODE.label}, tool file {tool}", opencode.printed_by(run))
    assert ANSWER_URL in opencode.printed_by(run), (run, gateway.model_requests)
    assert [part["tool"] for part in opencode.parts_of(run, "tool_use")] == [tool]
    assert GROUNDED in [request.output for request in gateway.model_requests]
