"""Runs a client in an empty home, without input, with a timeout, and kills its process group."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.clients.packages import ClientPackage, program, search_path

SECONDS = 90.0
_KEPT = ("PATH", "LANG", "TERM")


@dataclass
class ClientRun:
    """The exit code and the output of a client."""

    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"exit code {self.code}\n{self.out[-6000:]}\n{self.err[-3000:]}"


def run_client(package: ClientPackage, words: Sequence[str], home: Path, env: Mapping[str, str]) -> ClientRun:
    """Run a client in a home directory, with the folder `work` in it as the current directory."""
    work = home / "work"
    work.mkdir(exist_ok=True)
    own = {name: os.environ[name] for name in _KEPT if name in os.environ}
    own["PATH"] = search_path(package, own["PATH"])
    process = subprocess.Popen(  # noqa: S603
        [str(program(package)), *words],
        env={**own, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), **env},
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        _end(process.pid)
        out, err = process.communicate()
        err += f"\nkilled after {SECONDS:.0f} s".encode()
    finally:
        _end(process.pid)
    return ClientRun(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def _end(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
