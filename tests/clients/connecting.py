"""Setting a client up by `groundwire connect`, in its fresh home."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.clients.stage import BOUND, GROUNDWIRE, Stage

WAYS = ("stdio", "http")


def connect(client: str, stage: Stage, home: Path, *words: str) -> None:
    """Let groundwire write the client's configuration."""
    env = {"PATH": stage.env["PATH"], "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    command = [GROUNDWIRE, "connect", client, "--write", *words]
    done = subprocess.run(  # noqa: S603
        command, env=env, cwd=home, capture_output=True, text=True, timeout=BOUND, check=False
    )
    assert done.returncode == 0, done


def connect_server(client: str, way: str, stage: Stage, home: Path) -> None:
    """The MCP server: one that the client starts, which finds the pages of the stage, or the gateway's."""
    if way == "http":
        connect(client, stage, home, "--http", "--url", stage.url)
        return
    folder = home / ".config" / "groundwire"
    folder.mkdir(parents=True)
    data = stage.env["GROUNDWIRE_DATA_DIR"]
    (folder / "config.toml").write_text(f'data_dir = "{data}"\norder = ["local"]\n', "utf-8")
    connect(client, stage, home)
