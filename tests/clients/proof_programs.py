"""Qwen Code, Cline, Kilo and Continue show our sources through the gateway, Continue also through MCP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.connect import TRANSPORTS, configure_index
from tests.clients.packages import CONTINUE
from tests.clients.pages import ANSWER_URL
from tests.clients.programs import PROGRAMS, Program, ask_continue
from tests.clients.proof_mcp import called_tools
from tests.clients.running_gateway import GROUNDWIRE, RunningGateway

_CONTINUE = """\
name: test
version: 1.0.0
schema: v1
models:
  - name: groundwire
    provider: openai
    model: {model}
    apiBase: {url}/v1
    apiKey: groundwire
    capabilities: [tool_use]
    requestOptions:
      headers:
        x-groundwire-render: markers
{servers}"""
_SERVERS = {
    "stdio": f"""mcpServers:
  - name: groundwire
    command: {GROUNDWIRE}
    args: [mcp]
""",
    "http": """mcpServers:
  - name: groundwire
    type: streamable-http
    url: {url}/mcp
""",
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_prints_the_sources_of_an_answer_of_the_gateway(
    program: Program, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    program.use_gateway(gateway, home)
    run = program.ask(home, "local")
    assert run.code == 0, run
    show(f"{program.package.label}, through the gateway, model local", run.out)
    assert ANSWER_URL in run.out, (run, gateway.log.read_text())


def _write_continue(gateway: RunningGateway, home: Path, model: str, servers: str = "") -> Path:
    config = home / "continue.yaml"
    text = _CONTINUE.format(model=model, url=gateway.url, servers=servers.replace("{url}", gateway.url))
    config.write_text(text, "utf-8")
    return config


def test_continue_prints_the_sources_of_an_answer_of_the_gateway(
    gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    run = ask_continue(home, _write_continue(gateway, home, "local"))
    assert run.code == 0, run
    show(f"{CONTINUE.label}, model local", run.out)
    assert ANSWER_URL in run.out, (run, gateway.log.read_text())


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_continue_prints_what_our_tool_found(
    transport: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    configure_index(gateway, home)
    run = ask_continue(home, _write_continue(gateway, home, "openai_chat/gpt-5.1", _SERVERS[transport]))
    assert run.code == 0, run
    show(f"{CONTINUE.label}, MCP over {transport}", run.out)
    assert ANSWER_URL in run.out, (run, gateway.model_requests)
    assert any("websearch" in name for name in called_tools(gateway.model_requests))
