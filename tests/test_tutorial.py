"""The tutorial, followed word for word in a copy of the checkout: files are written as shown, commands are
run as shown, and their output is compared. `…` stands for any output."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.credentials.builders import write_private

pytestmark = pytest.mark.server

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
SECONDS = 240
STARTS_A_SERVER = "make serve"
PIP = """
import sys
from importlib.metadata import version

for package in sys.argv[3:]:
    version(package)
"""
"""`pip install --quiet PACKAGE…` where the packages are installed: pip itself takes seconds to see that."""


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _copy_checkout(folder: Path) -> None:
    """Copy what a checkout contains, and an environment in which the packages are already installed.

    Modules that are compiled already are copied as such: the commands would spend most of their time on it.
    """
    for name in ("Makefile", "pyproject.toml", "README.md"):
        shutil.copy2(ROOT / name, folder)
    for name in ("src", "requirements", "docs"):
        shutil.copytree(ROOT / name, folder / name)
    bin_folder = folder / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "activate").touch()
    for name, command in (("python", ""), ("pip", f" -c '{PIP}'"), ("groundwire", " -m groundwire")):
        program = bin_folder / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable}{command} "$@"\n')
        program.chmod(0o755)
    (folder / ".venv" / ".run").touch()


def _environment(folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder / "home"),
        "PATH": f"{folder / '.venv' / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(folder / "src"),
        "GROUNDWIRE_BUILD_INDEX": "0",
        "GROUNDWIRE_SEMANTIC": "0",
    }


def _assert_shown(command: str, shown: str, output: str) -> None:
    parts = re.split(r"\n?…\n?", shown.strip())
    pattern = ".*".join(map(re.escape, parts))
    assert re.fullmatch(pattern, output.strip(), re.DOTALL), f"$ {command}\n{output}\nshown:\n{shown}"


def _run(command: str, folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(  # noqa: S602  the tutorial's own command
        command,
        shell=True,
        executable="/bin/bash",
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def _wait_for_port(port: int) -> None:
    """Wait until the server accepts connections, as a reader does who changes to another terminal."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise TimeoutError("the gateway does not listen")


@contextmanager
def _server(command: str, shown: str, folder: Path, env: dict[str, str], port: int) -> Iterator[None]:
    process = subprocess.Popen(  # noqa: S602  the tutorial's own command
        f"exec {command}",
        shell=True,
        cwd=folder,
        env=env,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        _assert_shown(command, shown.partition("…")[0], process.stderr.readline())
        _wait_for_port(port)
        yield
    finally:
        os.killpg(process.pid, 15)
        process.communicate(timeout=60)


def test_the_tutorial_works_as_written(tmp_path: Path) -> None:
    port = _free_port()
    _copy_checkout(tmp_path)
    write_private(tmp_path / "home" / ".config" / "groundwire" / "config.toml", f"[gateway]\nport = {port}\n")
    env = _environment(tmp_path)
    text = (ROOT / "docs" / "tutorial.md").read_text("utf-8").replace("8484", str(port))
    with ExitStack() as servers:
        for language, name, body in BLOCK.findall(text):
            if name:
                (tmp_path / name).parent.mkdir(exist_ok=True)
                (tmp_path / name).write_text(body, "utf-8")
                continue
            assert language == "console"
            for command, shown in COMMAND.findall(body):
                if command == STARTS_A_SERVER:
                    servers.enter_context(_server(command, shown, tmp_path, env, port))
                else:
                    _assert_shown(command, shown, _run(command, tmp_path, env))
