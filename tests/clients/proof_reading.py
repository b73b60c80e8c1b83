"""Clients find pages by `search` and read one by `fetch`, with the id that the first gave the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.clients import codex, gemini_cli, opencode
from tests.clients.claude_code import claude, result_of
from tests.clients.connecting import connect_server
from tests.clients.driving import Run
from tests.clients.installing import CLAUDE_NEW, CLAUDE_OLD, CODEX, GEMINI, OPENCODE, Package
from tests.clients.pages import ANSWER_URL
from tests.clients.stage import Stage
from tests.clients.wires import Call

SCRIPT = ("search", "fetch")
Asking: TypeAlias = Callable[[Package, Stage, Path], tuple[Run, str]]


def _claude(package: Package, stage: Stage, home: Path) -> tuple[Run, str]:
    connect_server("claude-code", "stdio", stage, home)
    allowed = ",".join(f"mcp__groundwire__{name}" for name in SCRIPT)
    run = claude(package, stage, home, ["--allowedTools", allowed])
    return run, result_of(run)


def _codex(_: Package, stage: Stage, home: Path) -> tuple[Run, str]:
    codex.write_config(stage, home, search="disabled")
    connect_server("codex", "stdio", stage, home)
    run = codex.ask_codex(home, codex.MCP_SETTINGS)
    return run, codex.printed_by(run)


def _gemini(_: Package, stage: Stage, home: Path) -> tuple[Run, str]:
    connect_server("gemini-cli", "stdio", stage, home)
    run = gemini_cli.ask_gemini(stage, home)
    return run, gemini_cli.printed_by(run)


def _opencode(_: Package, stage: Stage, home: Path) -> tuple[Run, str]:
    opencode.write_config(stage, home, "openai_chat", "openai_chat/gpt-5.1")
    connect_server("opencode", "stdio", stage, home)
    run = opencode.ask_opencode(home)
    return run, opencode.printed_by(run)


ASKING: Mapping[Package, Asking] = {
    CLAUDE_OLD: _claude,
    CLAUDE_NEW: _claude,
    CODEX: _codex,
    GEMINI: _gemini,
    OPENCODE: _opencode,
}


@pytest.mark.parametrize("package", ASKING, ids=lambda package: package.label)
def test_a_client_reads_the_page_that_it_has_found(
    package: Package, stage: Stage, home: Path, show: Callable[[str, str], None]
) -> None:
    stage.script[:] = SCRIPT
    run, printed = ASKING[package](package, stage, home)
    assert run.code == 0, run
    show(f"{package.label}, MCP over stdio, search and fetch", printed)
    assert ANSWER_URL in printed, (run, stage.asked)
    calls = [one.said for one in stage.asked if isinstance(one.said, Call)]
    named = [call for call in calls if call.tool[1] != "ToolSearch"]
    assert [call.tool[1].rpartition("_")[2] for call in named] == list(SCRIPT), stage.asked
    assert named[1].arguments["id"].endswith(ANSWER_URL)
