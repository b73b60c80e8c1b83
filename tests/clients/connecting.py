"""Setting a client up by `groundwire connect`, in its fresh home."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.clients.stage import BOUND, GROUNDWIRE, Stage

WAYS = ("stdio", "http")


def connect(client: str, stage: Stage, home: Path, *words: str, undo: bool = False) -> None:
    """Let groundwire write the client's configuration, or take it back."""
    env = {"PATH": stage.env["PATH"], "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    command = [GROUNDWIRE, "connect", client, "--undo" if undo else "--write", *words]
    done = subprocess.run(  # noqa: S603
        command, env=env, cwd=home, capture_output=True, text=True, timeout=BOUND, check=False
    )
    assert done.returncode == 0, done


def connect_server(client: str, way: str, stage: Stage, home: Path) -> None:
    """The MCP server: one that the client starts, which finds the pages of the stage, or the gateway's."""
    if way == "http":
        connect(client, stage, home, "--http", "--url", stage.url)
        return
    let_find_pages(stage, home)
    connect(client, stage, home)


def let_find_pages(stage: Stage, home: Path) -> None:
    """Whatever is started in this home searches the pages of the stage."""
    folder = home / ".config" / "groundwire"
    folder.mkdir(parents=True)
    data = stage.env["GROUNDWIRE_DATA_DIR"]
    (folder / "config.toml").write_text(f'data_dir = "{data}"\norder = ["local"]\n', "utf-8")
