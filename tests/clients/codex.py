"""Runs Codex."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.clients.packages import CODEX
from tests.clients.pages import QUESTION
from tests.clients.run_client import ClientRun, run_client
from tests.clients.running_gateway import RunningGateway

_CONFIG = """\
model = "{model}"
model_provider = "gw"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "read-only"
web_search = "{search}"

[analytics]
enabled = false

[feedback]
enabled = false

[otel]
exporter = "none"
metrics_exporter = "none"
trace_exporter = "none"

[model_providers.gw]
name = "gw"
base_url = "{url}/v1"
env_key = "GW_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
"""
STANDALONE = "supports_standalone_web_search = true\n"
MCP_SETTINGS = (
    "-c",
    'mcp_servers.groundwire.default_tools_approval_mode="approve"',
    "-c",
    "mcp_servers.groundwire.required=true",
)
"""Approves tools without a prompt, and makes the question wait until the server has started."""


def write_config(
    gateway: RunningGateway, home: Path, *, model: str = "gpt-5.1", search: str = "live", more: str = ""
) -> None:
    """Configure the gateway as the provider of the model."""
    path = home / ".codex" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(_CONFIG.format(model=model, search=search, url=gateway.url) + more, "utf-8")


def ask_codex(home: Path, words: Sequence[str] = (), more: Mapping[str, str] | None = None) -> ClientRun:
    """Ask the question without a terminal."""
    env = {"CODEX_HOME": str(home / ".codex"), "GW_KEY": "dummy-key", **(more or {})}
    quiet = ["--skip-git-repo-check", "--color", "never", "--disable", "plugins", "--disable", "apps"]
    return run_client(CODEX, ["exec", *quiet, "--json", *words, QUESTION], home, env)


def items_of(run: ClientRun, kind: str) -> list[dict[str, object]]:
    """The completed items of one kind that were printed."""
    lines = [json.loads(line) for line in run.out.splitlines() if line.startswith("{")]
    items = [line["item"] for line in lines if line["type"] == "item.completed"]
    return [item for item in items if item["type"] == kind]


def printed_by(run: ClientRun) -> str:
    """The text of the model that was printed."""
    return "\n".join(str(item["text"]) for item in items_of(run, "agent_message"))
