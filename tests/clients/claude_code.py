"""Runs Claude Code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.clients.packages import ClientPackage
from tests.clients.pages import QUESTION
from tests.clients.run_client import ClientRun, run_client
from tests.clients.running_gateway import RunningGateway

QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_BUG_COMMAND": "1",
    "API_TIMEOUT_MS": "60000",
    "CLAUDE_CODE_MAX_RETRIES": "1",
    "MCP_CONNECTION_NONBLOCKING": "0",
}


def claude(package: ClientPackage, gateway: RunningGateway, home: Path, words: Sequence[str]) -> ClientRun:
    """Ask the question without a terminal, through the gateway."""
    env = {**QUIET, "ANTHROPIC_BASE_URL": gateway.url, "ANTHROPIC_API_KEY": "dummy-key"}
    return ask_claude(package, home, env, words)


def ask_claude(package: ClientPackage, home: Path, env: Mapping[str, str], words: Sequence[str]) -> ClientRun:
    """Ask the question without a terminal, with only these variables."""
    return run_client(
        package, ["-p", QUESTION, "--output-format", "stream-json", "--verbose", *words], home, env
    )


def result_of(run: ClientRun) -> str:
    """The final text, which is printed without `stream-json`."""
    lines = [json.loads(line) for line in run.out.splitlines() if line.startswith("{")]
    return "".join(line.get("result", "") for line in lines if line["type"] == "result")


def searches_of(run: ClientRun) -> list[dict[str, object]]:
    """The results of its own search tool."""
    lines = (json.loads(line) for line in run.out.splitlines() if line.startswith("{"))
    results = (line.get("tool_use_result") for line in lines)
    return [result for result in results if isinstance(result, dict) and "searchCount" in result]
