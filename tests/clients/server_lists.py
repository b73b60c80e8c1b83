"""How each client lists its MCP servers, and sample contents of its configuration file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.clients import claude_code, opencode
from tests.clients.packages import CLAUDE_NEW, CLAUDE_OLD, CODEX, GEMINI, OPENCODE, QWEN, ClientPackage
from tests.clients.run_client import ClientRun, run_client

OTHER = "harbour"
"""A server that the user has already configured."""
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
STATES = ("missing", "empty", "existing", "with comments", "connected")


class ServerList(NamedTuple):
    """A client, its configuration file, and its command that lists servers."""

    client: str
    package: ClientPackage
    file: str
    words: tuple[str, ...]
    env: Mapping[str, str]
    existing: str
    commented: str
    """Empty if the client does not support comments."""
    servers: Callable[[ClientRun], dict[str, str]]
    """Parses what is printed about each server."""


def ask_for_servers(server_list: ServerList, home: Path) -> ClientRun:
    """Run the command that lists servers."""
    return run_client(
        server_list.package, server_list.words, home, {**server_list.env, "CODEX_HOME": str(home / ".codex")}
    )


def _lines(run: ClientRun) -> dict[str, str]:
    """Parse lines of `name: command - state`, possibly with a check mark before the name."""
    lines = _STYLE.sub("", run.out + run.err).splitlines()
    output = (line.lstrip("✓✔✘✗○… ").partition(": ") for line in lines)
    return {name: rest for name, colon, rest in output if colon and " - " in rest}


def _codex(run: ClientRun) -> dict[str, str]:
    return {entry["name"]: json.dumps(entry["transport"]) for entry in json.loads(run.out)}


def _opencode(run: ClientRun) -> dict[str, str]:
    return {name: json.dumps(entry) for name, entry in json.loads(run.out).get("mcp", {}).items()}


_CLAUDE = """\
{
  "numStartups": 3,
  "mcpServers": {
    "harbour": {"type": "stdio", "command": "false", "args": []}
  }
}
"""
_GEMINI = """\
{
  "mcpServers": {
    "harbour": {"command": "false", "args": ["--all"]}
  },
  "privacy": {"usageStatisticsEnabled": false}
}
"""
_GEMINI_COMMENTED = """\
// how I like it
{
  "privacy": {"usageStatisticsEnabled": false}, /* no telemetry */
  "mcpServers": {
    // ships that are in
    "harbour": {"command": "false", "args": ["--all"]}
  }
}
"""
_CODEX = """\
model = "gpt-5.1"

[mcp_servers.harbour]
command = "false"
args = ["--all"]

[analytics]
enabled = false
"""
_CODEX_COMMENTED = """\
# how I like it
model = "gpt-5.1" # for now

[mcp_servers.harbour] # ships that are in
command = "false"

# no telemetry
[analytics]
enabled = false
# the end
"""
_OPENCODE = """\
{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "harbour": {"type": "local", "command": ["false"], "enabled": false}
  },
  "share": "disabled"
}
"""
_OPENCODE_COMMENTED = """\
// how I like it
{
  "$schema": "https://opencode.ai/config.json",
  "share": "disabled", /* no telemetry */
  "mcp": {
    // ships that are in
    "harbour": {"type": "local", "command": ["false"], "enabled": false},
  },
}
"""
_ASK_GEMINI = {"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"}

SERVER_LISTS = (
    *(
        ServerList(
            "claude-code",
            package,
            ".claude.json",
            ("mcp", "list"),
            claude_code.QUIET,
            _CLAUDE,
            "",
            _lines,
        )
        for package in (CLAUDE_OLD, CLAUDE_NEW)
    ),
    ServerList(
        "gemini-cli",
        GEMINI,
        ".gemini/settings.json",
        ("mcp", "list"),
        _ASK_GEMINI,
        _GEMINI,
        _GEMINI_COMMENTED,
        _lines,
    ),
    ServerList(
        "qwen-code",
        QWEN,
        ".qwen/settings.json",
        ("mcp", "list"),
        {},
        _GEMINI,
        _GEMINI_COMMENTED,
        _lines,
    ),
    ServerList(
        "codex",
        CODEX,
        ".codex/config.toml",
        ("mcp", "list", "--json"),
        {},
        _CODEX,
        _CODEX_COMMENTED,
        _codex,
    ),
    ServerList(
        "opencode",
        OPENCODE,
        ".config/opencode/opencode.json",
        ("debug", "config"),
        opencode.QUIET,
        _OPENCODE,
        _OPENCODE_COMMENTED,
        _opencode,
    ),
)


def text_in(server_list: ServerList, state: str) -> str | None:
    """The content of the file before connecting; None if there is no file."""
    texts = {"missing": None, "empty": "", "with comments": server_list.commented}
    return texts.get(state, server_list.existing)
