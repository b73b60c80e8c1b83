"""Runs Gemini CLI."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.clients.packages import GEMINI
from tests.clients.pages import QUESTION
from tests.clients.run_client import ClientRun, run_client
from tests.clients.running_gateway import RunningGateway

_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "general": {
        "enableAutoUpdate": False,
        "enableAutoUpdateNotification": False,
        "maxAttempts": 2,
        "retryFetchErrors": False,
    },
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}


def write_settings(home: Path) -> None:
    """Add settings without telemetry and updates to the existing ones."""
    path = home / ".gemini" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    existing = json.loads(path.read_text("utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**existing, **_SETTINGS}), "utf-8")


def ask_gemini(
    gateway: RunningGateway | None,
    home: Path,
    words: Sequence[str] = (),
    more: Mapping[str, str] | None = None,
) -> ClientRun:
    """Ask the question without a terminal; without a gateway, its own files select the provider."""
    write_settings(home)
    env = {
        **({"GOOGLE_GEMINI_BASE_URL": gateway.url} if gateway else {}),
        "GEMINI_API_KEY": "dummy-key",
        "GEMINI_CLI_HOME": str(home),
        "GEMINI_CLI_NO_RELAUNCH": "true",
        **(more or {}),
    }
    flags = ["-o", "stream-json", "--approval-mode", "yolo", "--skip-trust"]
    return run_client(GEMINI, ["-p", QUESTION, *flags, *words], home, env)


def printed_by(run: ClientRun) -> str:
    """The text of the model that was printed."""
    lines = [json.loads(line) for line in run.out.splitlines() if line.startswith("{")]
    output = (line for line in lines if line["type"] == "message" and line["role"] == "assistant")
    return "".join(line["content"] for line in output)
