"""Clients read what `groundwire connect --write` writes into their files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.connect import configure_index, connect
from tests.clients.running_gateway import GROUNDWIRE, RunningGateway
from tests.clients.server_lists import OTHER, SERVER_LISTS, STATES, ServerList, ask_for_servers, text_in

OURS = "groundwire"
STARTED = {"claude-code": "Connected", "gemini-cli": "Connected"}
"""The state that is printed by clients that connect to a server before they list it."""


def _cases() -> list[object]:
    return [
        pytest.param(server_list, state, id=f"{server_list.package.label}-{state}")
        for server_list in SERVER_LISTS
        for state in STATES
        if state != "with comments" or server_list.commented
    ]


def _write_file(server_list: ServerList, state: str, home: Path) -> Path:
    file = home / server_list.file
    file.parent.mkdir(parents=True, exist_ok=True)
    if (text := text_in(server_list, state)) is not None:
        file.write_text(text, "utf-8")
    return file


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


@pytest.mark.parametrize(("server_list", "state"), _cases())
def test_the_client_lists_the_server_until_it_is_undone(
    server_list: ServerList, state: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    configure_index(gateway, home)
    file = _write_file(server_list, state, home)
    before = _bytes(file)
    for _ in range(2 if state == "connected" else 1):
        connect(server_list.client, gateway, home)
    written = _bytes(file)
    connect(server_list.client, gateway, home, undo=True)
    assert _bytes(file) == before

    connect(server_list.client, gateway, home)
    assert _bytes(file) == written
    run = ask_for_servers(server_list, home)
    assert run.code == 0, run
    servers = server_list.servers(run)
    show(f"{server_list.package.label}, {' '.join(server_list.words)}, file {state}", _shown(servers))
    assert GROUNDWIRE in servers[OURS]
    assert STARTED.get(server_list.client, "") in servers[OURS]
    assert "failed" not in servers[OURS]
    assert (OTHER in servers) == (before not in (None, b""))

    connect(server_list.client, gateway, home, undo=True)
    if before == b"":
        return  # not every client accepts an empty file
    run = ask_for_servers(server_list, home)
    assert run.code == 0, run
    assert server_list.servers(run).keys() == servers.keys() - {OURS}


@pytest.mark.parametrize("server_list", SERVER_LISTS, ids=lambda server_list: server_list.package.label)
def test_the_client_lists_the_server_of_a_gateway(
    server_list: ServerList, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    _write_file(server_list, "existing", home)
    connect(server_list.client, gateway, home, "--http", "--url", gateway.url)
    run = ask_for_servers(server_list, home)
    assert run.code == 0, run
    servers = server_list.servers(run)
    show(f"{server_list.package.label}, {' '.join(server_list.words)}, --http", _shown(servers))
    assert f"{gateway.url}/mcp" in servers[OURS]
    assert STARTED.get(server_list.client, "") in servers[OURS]
    assert "failed" not in servers[OURS]
    assert OTHER in servers


def _shown(servers: dict[str, str]) -> str:
    return "\n".join(f"{name}: {what}" for name, what in servers.items())
