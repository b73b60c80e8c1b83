"""With `groundwire connect --gateway`, clients search through the gateway."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients import codex, gemini_cli, opencode
from tests.clients.claude_code import QUIET, ask_claude, result_of
from tests.clients.connect import connect
from tests.clients.packages import CLAUDE_NEW, CLAUDE_OLD, CODEX, GEMINI, OPENCODE, ClientPackage
from tests.clients.pages import ANSWER_URL
from tests.clients.running_gateway import RunningGateway

QUIET_CODEX = """\
# how I like it
model = "gpt-5.1"
approval_policy = "never"
sandbox_mode = "read-only"
web_search = "live"

[analytics]
enabled = false
"""


def _connect_gateway(client: str, gateway: RunningGateway, home: Path) -> None:
    connect(client, gateway, home, "--gateway", "--url", gateway.url)


@pytest.mark.parametrize("package", [CLAUDE_OLD, CLAUDE_NEW], ids=lambda package: package.version)
def test_claude_code_searches_through_the_gateway_of_its_settings(
    package: ClientPackage, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    _connect_gateway("claude-code", gateway, home)
    key = {"ANTHROPIC_AUTH_TOKEN": "groundwire"}
    run = ask_claude(package, home, {**QUIET, **key}, ["--allowedTools", "WebSearch"])
    assert run.code == 0, run
    show(f"{package.label}, connect --gateway", result_of(run))
    assert ANSWER_URL in result_of(run), (run, gateway.model_requests)


def test_codex_searches_through_the_gateway_of_its_configuration(
    gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(QUIET_CODEX, "utf-8")
    _connect_gateway("codex", gateway, home)
    run = codex.ask_codex(home, ["-c", "model_provider=groundwire"])
    assert run.code == 0, run
    show(f"{CODEX.label}, connect --gateway", codex.printed_by(run))
    assert ANSWER_URL in codex.printed_by(run), (run, gateway.model_requests)


@pytest.mark.parametrize("model", ["auto", "local"])
def test_opencode_searches_through_the_gateway_of_its_configuration(
    model: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    _connect_gateway("opencode", gateway, home)
    run = opencode.ask_opencode(home, words=("-m", f"groundwire/{model}"))
    assert run.code == 0, run
    show(f"{OPENCODE.label}, connect --gateway, model {model}", opencode.printed_by(run))
    assert ANSWER_URL in opencode.printed_by(run), (run, gateway.log.read_text())


def test_gemini_cli_searches_through_the_gateway_of_its_variables(
    gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    _connect_gateway("gemini-cli", gateway, home)
    run = gemini_cli.ask_gemini(None, home)
    assert run.code == 0, run
    show(f"{GEMINI.label}, connect --gateway", gemini_cli.printed_by(run))
    assert ANSWER_URL in gemini_cli.printed_by(run), (run, gateway.model_requests)
