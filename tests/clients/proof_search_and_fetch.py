"""Clients call `search`, and then `fetch` with an id from its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.clients import codex, gemini_cli, opencode
from tests.clients.claude_code import claude, result_of
from tests.clients.connect import connect_server
from tests.clients.packages import CLAUDE_NEW, CLAUDE_OLD, CODEX, GEMINI, OPENCODE, ClientPackage
from tests.clients.pages import ANSWER_URL
from tests.clients.run_client import ClientRun
from tests.clients.running_gateway import RunningGateway
from tests.clients.vendor_apis import Call

SCRIPT = ("search", "fetch")
RunClient: TypeAlias = Callable[[ClientPackage, RunningGateway, Path], tuple[ClientRun, str]]


def _claude(package: ClientPackage, gateway: RunningGateway, home: Path) -> tuple[ClientRun, str]:
    connect_server("claude-code", "stdio", gateway, home)
    allowed = ",".join(f"mcp__groundwire__{name}" for name in SCRIPT)
    run = claude(package, gateway, home, ["--allowedTools", allowed])
    return run, result_of(run)


def _codex(_: ClientPackage, gateway: RunningGateway, home: Path) -> tuple[ClientRun, str]:
    codex.write_config(gateway, home, search="disabled")
    connect_server("codex", "stdio", gateway, home)
    run = codex.ask_codex(home, codex.MCP_SETTINGS)
    return run, codex.printed_by(run)


def _gemini(_: ClientPackage, gateway: RunningGateway, home: Path) -> tuple[ClientRun, str]:
    connect_server("gemini-cli", "stdio", gateway, home)
    run = gemini_cli.ask_gemini(gateway, home)
    return run, gemini_cli.printed_by(run)


def _opencode(_: ClientPackage, gateway: RunningGateway, home: Path) -> tuple[ClientRun, str]:
    opencode.write_config(gateway, home, "openai_chat", "openai_chat/gpt-5.1")
    connect_server("opencode", "stdio", gateway, home)
    run = opencode.ask_opencode(home)
    return run, opencode.printed_by(run)


CLIENTS: Mapping[ClientPackage, RunClient] = {
    CLAUDE_OLD: _claude,
    CLAUDE_NEW: _claude,
    CODEX: _codex,
    GEMINI: _gemini,
    OPENCODE: _opencode,
}


@pytest.mark.parametrize("package", CLIENTS, ids=lambda package: package.label)
def test_a_client_fetches_the_page_that_it_found(
    package: ClientPackage, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    gateway.script[:] = SCRIPT
    run, printed = CLIENTS[package](package, gateway, home)
    assert run.code == 0, run
    show(f"{package.label}, MCP over stdio, search and fetch", printed)
    assert ANSWER_URL in printed, (run, gateway.model_requests)
    calls = [request.output for request in gateway.model_requests if isinstance(request.output, Call)]
    named = [call for call in calls if call.tool[1] != "ToolSearch"]
    assert [call.tool[1].rpartition("_")[2] for call in named] == list(SCRIPT), gateway.model_requests
    assert named[1].arguments["id"].endswith(ANSWER_URL)
