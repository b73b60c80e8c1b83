"""How Claude Code is started."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.clients.driving import Run, drive
from tests.clients.installing import Package
from tests.clients.pages import QUESTION
from tests.clients.stage import Stage

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


def claude(package: Package, stage: Stage, home: Path, words: Sequence[str]) -> Run:
    """Ask our question without a terminal."""
    env = {**QUIET, "ANTHROPIC_BASE_URL": stage.url, "ANTHROPIC_API_KEY": "dummy-key"}
    return ask_claude(package, home, env, words)


def ask_claude(package: Package, home: Path, env: Mapping[str, str], words: Sequence[str]) -> Run:
    """The same with nothing but these variables."""
    return drive(package, ["-p", QUESTION, "--output-format", "stream-json", "--verbose", *words], home, env)


def result_of(run: Run) -> str:
    """The final text: what is printed without `stream-json`."""
    lines = [json.loads(line) for line in run.out.splitlines() if line.startswith("{")]
    return "".join(line.get("result", "") for line in lines if line["type"] == "result")


def searches_of(run: Run) -> list[dict[str, object]]:
    """What its own search tool has made of the answers."""
    lines = (json.loads(line) for line in run.out.splitlines() if line.startswith("{"))
    results = (line.get("tool_use_result") for line in lines)
    return [result for result in results if isinstance(result, dict) and "searchCount" in result]
