"""Runs the command line of the MCP Inspector."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.clients.packages import INSPECTOR
from tests.clients.run_client import ClientRun, run_client
from tests.clients.running_gateway import GROUNDWIRE, RunningGateway

ERAS = ("legacy", "modern")
"""Protocol versions that start with `initialize`, and the version that does not."""


def target_of(transport: str, gateway: RunningGateway) -> list[str]:
    """The target of the Inspector: a command, or a URL."""
    return [f"{gateway.url}/mcp"] if transport == "http" else [GROUNDWIRE, "mcp"]


def inspect(home: Path, target: Sequence[str], era: str, method: str, *words: str) -> ClientRun:
    """Send one request to a server."""
    options = ["--method", method, "--quiet", "--protocol-era", era, "--connect-timeout", "60000"]
    return run_client(INSPECTOR, ["--cli", *target, *options, *words], home, {})


def inspect_call(
    home: Path, target: Sequence[str], era: str, tool: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Call a tool and return the printed result."""
    words = ["--tool-name", tool, "--tool-args-json", json.dumps(arguments)]
    run = inspect(home, target, era, "tools/call", *words)
    assert run.code == 0, run
    return printed_by(run)


def printed_by(run: ClientRun) -> dict[str, Any]:
    """The JSON on standard output."""
    printed = json.loads(run.out)
    assert isinstance(printed, dict), run
    return printed
