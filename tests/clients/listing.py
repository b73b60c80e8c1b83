"""How each client is asked which MCP servers it knows, and what its own file looks like before that."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.clients import claude_code, opencode
from tests.clients.driving import Run, drive
from tests.clients.installing import CLAUDE_NEW, CLAUDE_OLD, CODEX, GEMINI, OPENCODE, Package

OTHER = "harbour"
"""A server that the user has already."""
STATES = ("missing", "empty", "existing", "with comments", "connected")


class Listing(NamedTuple):
    """A client, its file, and its word for "what have you got?"."""

    client: str
    package: Package
    file: str
    words: tuple[str, ...]
    env: Mapping[str, str]
    existing: str
    commented: str
    """Empty where the client itself takes a comment for damage."""
    servers: Callable[[Run], dict[str, str]]
    """What is printed about each server."""


def ask_for_servers(listing: Listing, home: Path) -> Run:
    """Let the client tell."""
    return drive(listing.package, listing.words, home, {**listing.env, "CODEX_HOME": str(home / ".codex")})


def _lines(run: Run) -> dict[str, str]:
    """`name: command - state`, one to a line, perhaps with a mark before it."""
    said = (line.lstrip("✓✔✘✗○… ").partition(": ") for line in (run.out + run.err).splitlines())
    return {name: rest for name, colon, rest in said if colon and " - " in rest}


def _codex(run: Run) -> dict[str, str]:
    return {entry["name"]: json.dumps(entry["transport"]) for entry in json.loads(run.out)}


def _opencode(run: Run) -> dict[str, str]:
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
  "privacy": {"usageStatisticsEnabled": false}, /* nobody's business */
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

# nobody's business
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
  "share": "disabled", /* nobody's business */
  "mcp": {
    // ships that are in
    "harbour": {"type": "local", "command": ["false"], "enabled": false},
  },
}
"""
_ASK_GEMINI = {"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"}

LISTINGS = (
    *(
        Listing(
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
    Listing(
        "gemini-cli",
        GEMINI,
        ".gemini/settings.json",
        ("mcp", "list"),
        _ASK_GEMINI,
        _GEMINI,
        _GEMINI_COMMENTED,
        _lines,
    ),
    Listing(
        "codex",
        CODEX,
        ".codex/config.toml",
        ("mcp", "list", "--json"),
        {},
        _CODEX,
        _CODEX_COMMENTED,
        _codex,
    ),
    Listing(
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


def text_in(listing: Listing, state: str) -> str | None:
    """What stands in the file before it is connected; None if there is no file."""
    texts = {"missing": None, "empty": "", "with comments": listing.commented}
    return texts.get(state, listing.existing)
