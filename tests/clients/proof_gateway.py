"""What `groundwire connect --gateway` writes is enough for a client to search through the gateway."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients import codex, gemini_cli, opencode
from tests.clients.claude_code import QUIET, ask_claude, result_of
from tests.clients.connecting import connect
from tests.clients.installing import CLAUDE_NEW, CLAUDE_OLD, CODEX, GEMINI, OPENCODE, Package
from tests.clients.pages import ANSWER_URL
from tests.clients.stage import Stage

QUIET_CODEX = """\
# how I like it
model = "gpt-5.1"
approval_policy = "never"
sandbox_mode = "read-only"
web_search = "live"

[analytics]
enabled = false
"""


def _through(client: str, stage: Stage, home: Path) -> None:
    connect(client, stage, home, "--gateway", "--url", stage.url)


@pytest.mark.parametrize("package", [CLAUDE_OLD, CLAUDE_NEW], ids=lambda package: package.version)
def test_claude_code_searches_through_the_gateway_of_its_settings(
    package: Package, stage: Stage, home: Path, show: Callable[[str, str], None]
) -> None:
    _through("claude-code", stage, home)
    key = {"ANTHROPIC_AUTH_TOKEN": "groundwire"}
    run = ask_claude(package, home, {**QUIET, **key}, ["--allowedTools", "WebSearch"])
    assert run.code == 0, run
    show(f"{package.label}, connect --gateway", result_of(run))
    assert ANSWER_URL in result_of(run), (run, stage.asked)


def test_codex_searches_through_the_gateway_of_its_configuration(
    stage: Stage, home: Path, show: Callable[[str, str], None]
) -> None:
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(QUIET_CODEX, "utf-8")
    _through("codex", stage, home)
    run = codex.ask_codex(home, ["-c", "model_provider=groundwire"])
    assert run.code == 0, run
    show(f"{CODEX.label}, connect --gateway", codex.printed_by(run))
    assert ANSWER_URL in codex.printed_by(run), (run, stage.asked)


@pytest.mark.parametrize("model", ["auto", "local"])
def test_opencode_searches_through_the_gateway_of_its_configuration(
    model: str, stage: Stage, home: Path, show: Callable[[str, str], None]
) -> None:
    _through("opencode", stage, home)
    run = opencode.ask_opencode(home, words=("-m", f"groundwire/{model}"))
    assert run.code == 0, run
    show(f"{OPENCODE.label}, connect --gateway, model {model}", opencode.printed_by(run))
    assert ANSWER_URL in opencode.printed_by(run), (run, stage.log.read_text())


def test_gemini_cli_searches_through_the_gateway_of_its_variables(
    stage: Stage, home: Path, show: Callable[[str, str], None]
) -> None:
    _through("gemini-cli", stage, home)
    run = gemini_cli.ask_gemini(None, home)
    assert run.code == 0, run
    show(f"{GEMINI.label}, connect --gateway", gemini_cli.printed_by(run))
    assert ANSWER_URL in gemini_cli.printed_by(run), (run, stage.asked)
