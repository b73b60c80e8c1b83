"""Setting a client up by `groundwire connect`, in its fresh home."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.clients.running_gateway import BOUND, GROUNDWIRE, RunningGateway

TRANSPORTS = ("stdio", "http")


def connect(client: str, gateway: RunningGateway, home: Path, *words: str, undo: bool = False) -> None:
    """Let groundwire write the client's configuration, or take it back."""
    env = {"PATH": gateway.env["PATH"], "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    command = [GROUNDWIRE, "connect", client, "--undo" if undo else "--write", *words]
    done = subprocess.run(  # noqa: S603
        command, env=env, cwd=home, capture_output=True, text=True, timeout=BOUND, check=False
    )
    assert done.returncode == 0, done


def connect_server(client: str, transport: str, gateway: RunningGateway, home: Path) -> None:
    """The MCP server: one that the client starts, which finds the pages of the stage, or the gateway's."""
    if transport == "http":
        connect(client, gateway, home, "--http", "--url", gateway.url)
        return
    configure_index(gateway, home)
    connect(client, gateway, home)


def configure_index(gateway: RunningGateway, home: Path) -> None:
    """Whatever is started in this home searches the pages of the stage."""
    folder = home / ".config" / "groundwire"
    folder.mkdir(parents=True)
    data = gateway.env["GROUNDWIRE_DATA_DIR"]
    (folder / "config.toml").write_text(f'data_dir = "{data}"\norder = ["local"]\n', "utf-8")
