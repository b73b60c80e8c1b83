"""Clients that `groundwire connect` has set up call our tool, by MCP and by OpenCode's tool files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients import codex, gemini_cli, opencode
from tests.clients.claude_code import claude, result_of
from tests.clients.connecting import WAYS, connect, connect_server
from tests.clients.installing import CLAUDE_NEW, CLAUDE_OLD, CODEX, GEMINI, OPENCODE, Package
from tests.clients.model import GROUNDED, Asked
from tests.clients.pages import ANSWER_URL
from tests.clients.stage import Stage
from tests.clients.wires import Call


def called(asked: list[Asked]) -> list[str]:
    """The tools that the model called, in order."""
    return ["/".join(filter(None, one.said.tool)) for one in asked if isinstance(one.said, Call)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("package", [CLAUDE_OLD, CLAUDE_NEW], ids=lambda package: package.version)
def test_claude_code_shows_what_our_tool_found(
    package: Package, way: str, stage: Stage, home: Path, show: Callable[[str, str], None]
) -> None:
    connect_server("claude-code", way, stage, home)
    run = claude(package, stage, home, ["--allowedTools", "mcp__groundwire__websearch"])
    assert run.code == 0, run
    show(f"{package.label}, MCP over {way}", result_of(run))
    assert ANSWER_URL in result_of(run), (run, stage.asked)
    assert "mcp__groundwire__websearch" in called(stage.asked)


@pytest.mark.parametrize("way", WAYS)
def test_codex_shows_what_our_tool_found(
    way: str, stage: Stage, home: Path, show: Callable[[str, str], None]
) -> None:
    codex.write_config(stage, home, search="disabled")
    connect_server("codex", way, stage, home)
    run = codex.ask_codex(home, codex.MCP_SETTINGS)
    assert run.code == 0, run
    show(f"{CODEX.label}, MCP over {way}", codex.printed_by(run))
    assert ANSWER_URL in codex.printed_by(run), (run, stage.asked)
    assert [item["tool"] for item in codex.items_of(run, "mcp_tool_call")] == ["websearch"]


@pytest.mark.parametrize("way", WAYS)
def test_gemini_cli_shows_what_our_tool_found(
    way: str, stage: Stage, home: Path, show: Callable[[str, str], None]
) -> None:
    connect_server("gemini-cli", way, stage, home)
    run = gemini_cli.ask_gemini(stage, home)
    assert run.code == 0, run
    show(f"{GEMINI.label}, MCP over {way}", gemini_cli.printed_by(run))
    assert ANSWER_URL in gemini_cli.printed_by(run), (run, stage.asked)
    assert called(stage.asked)[0] == "mcp_groundwire_websearch"


@pytest.mark.parametrize("way", WAYS)
def test_opencode_shows_what_our_tool_found(
    way: str, stage: Stage, home: Path, show: Callable[[str, str], None]
) -> None:
    opencode.write_config(stage, home, "openai_chat", "openai_chat/gpt-5.1")
    connect_server("opencode", way, stage, home)
    run = opencode.ask_opencode(home)
    assert run.code == 0, run
    show(f"{OPENCODE.label}, MCP over {way}", opencode.printed_by(run))
    assert ANSWER_URL in opencode.printed_by(run), (run, stage.asked)
    assert [part["tool"] for part in opencode.parts_of(run, "tool_use")] == ["groundwire_websearch"]


@pytest.mark.parametrize("tool", ["websearch_gemini", "geminisearch"])
def test_opencode_shows_what_our_tool_file_found(
    tool: str, stage: Stage, home: Path, show: Callable[[str, str], None]
) -> None:
    opencode.write_config(stage, home, "anthropic_messages", "anthropic/claude-opus-4-8")
    connect("opencode", stage, home, "--tools")
    names = ("GEMINI_API_KEY", "GROUNDWIRE_GEMINI_BASE_URL", "GROUNDWIRE_DATA_DIR")
    stage.script[:] = [tool]
    run = opencode.ask_opencode(home, {name: stage.env[name] for name in names})
    assert run.code == 0, run
    show(f"{OPENCODE.label}, tool file {tool}", opencode.printed_by(run))
    assert ANSWER_URL in opencode.printed_by(run), (run, stage.asked)
    assert [part["tool"] for part in opencode.parts_of(run, "tool_use")] == [tool]
    assert GROUNDED in [one.said for one in stage.asked]
