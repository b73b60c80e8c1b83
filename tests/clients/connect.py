"""Configures a client with `groundwire connect` in an empty home directory."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.clients.running_gateway import BOUND, GROUNDWIRE, RunningGateway

TRANSPORTS = ("stdio", "http")


def connect(client: str, gateway: RunningGateway, home: Path, *words: str, undo: bool = False) -> None:
    """Write the client's configuration, or undo it."""
    env = {"PATH": gateway.env["PATH"], "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    command = [GROUNDWIRE, "connect", client, "--undo" if undo else "--write", *words]
    done = subprocess.run(  # noqa: S603
        command, env=env, cwd=home, capture_output=True, text=True, timeout=BOUND, check=False
    )
    assert done.returncode == 0, done


def connect_server(client: str, transport: str, gateway: RunningGateway, home: Path) -> None:
    """Connect an MCP server: the gateway's over HTTP, or one that the client starts over stdio."""
    if transport == "http":
        connect(client, gateway, home, "--http", "--url", gateway.url)
        return
    configure_index(gateway, home)
    connect(client, gateway, home)


def configure_index(gateway: RunningGateway, home: Path) -> None:
    """Make every groundwire process in this home search the index of the gateway."""
    folder = home / ".config" / "groundwire"
    folder.mkdir(parents=True)
    data = gateway.env["GROUNDWIRE_DATA_DIR"]
    (folder / "config.toml").write_text(f'data_dir = "{data}"\norder = ["local"]\n', "utf-8")
