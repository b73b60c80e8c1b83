"""MCP's official conformance suite against the gateway; `mcp_conformance.yaml` lists what does not apply."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.clients.packages import CONFORMANCE
from tests.clients.run_client import run_client
from tests.clients.running_gateway import RunningGateway

BASELINE = Path(__file__).with_name("mcp_conformance.yaml")
APPLIES = (
    "server-initialize",
    "ping",
    "tools-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)


def test_the_server_conforms_in_every_scenario_that_applies(
    gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    words = ["server", "--url", f"{gateway.url}/mcp", "--suite", "all", "--expected-failures", str(BASELINE)]
    run = run_client(CONFORMANCE, words, home, {})
    summary = run.out.partition("=== SUMMARY ===")[2]
    show(f"{CONFORMANCE.label}, server --suite all", summary)
    assert run.code == 0, run
    for scenario in APPLIES:
        assert f"✓ {scenario}:" in summary, run
