"""External server processes that run while the tests do."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

import pytest

START_LIMIT = 60.0
STOP_LIMIT = 20.0
_PR_SET_PDEATHSIG = 1


def free_port() -> int:
    """A free port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def program(name: str, folders: Sequence[Path], package: str) -> str:
    """The path of a program. If it is missing, the test fails and names its package."""
    found = shutil.which(name) or next((str(path / name) for path in folders if (path / name).exists()), "")
    if not found:
        pytest.fail(f"{name} is missing: apt-get install {package}", pytrace=False)
    return found


def unprivileged() -> str | None:
    """The user for servers that refuse to run as root; None if we are not root."""
    return "nobody" if os.geteuid() == 0 else None


def own_folder(name: str) -> Path:
    """A new folder that belongs to the user of the server."""
    folder = Path(tempfile.mkdtemp(prefix=f"groundwire-{name}-"))
    if user := unprivileged():
        entry = pwd.getpwnam(user)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    return folder


def run(command: Sequence[str]) -> None:
    """Run a program of the server to its end, as the user of the server."""
    result = subprocess.run(  # noqa: S603
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=START_LIMIT,
        user=unprivileged(),
        group=_group(),
        extra_groups=_groups(),
    )
    if result.returncode:
        pytest.fail(f"{Path(command[0]).name} failed: {result.stderr.strip()}", pytrace=False)


class ServerProcess:
    """A process that is ready after a while, and ends on `close` or when the tests die."""

    def __init__(self, command: Sequence[str], answers: Callable[[], bool], stop: signal.Signals) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the process
        self._stop = stop
        self._process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            preexec_fn=_end_with_parent,  # noqa: PLW1509  one prctl, no locks
            user=unprivileged(),
            group=_group(),
            extra_groups=_groups(),
        )
        self._await(answers)

    def close(self) -> None:
        """Stop the process, by its id, and wait for it."""
        if self._process.poll() is None:
            self._process.send_signal(self._stop)
            try:
                self._process.wait(STOP_LIMIT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(STOP_LIMIT)
        self._log.close()

    def signal(self, what: signal.Signals) -> None:
        """Send a signal to the process and to those it started."""
        name = self._process.pid
        children = Path(f"/proc/{name}/task/{name}/children").read_text().split()
        for process in (name, *map(int, children)):
            with suppress(ProcessLookupError):  # a connection that just ended
                os.kill(process, what)

    def kill(self) -> None:
        """End the process at once, and wait for it and for those it started."""
        name = self._process.pid
        children = Path(f"/proc/{name}/task/{name}/children").read_text().split()
        self._process.kill()
        self._process.wait(STOP_LIMIT)
        until = monotonic() + STOP_LIMIT
        while any(Path("/proc", child).exists() for child in children):
            assert monotonic() < until, "its children still run"
            sleep(0.01)
        self._log.close()

    def _await(self, answers: Callable[[], bool]) -> None:
        until = monotonic() + START_LIMIT
        while not answers():
            if self._process.poll() is not None or monotonic() > until:
                self._log.seek(0)
                log = self._log.read().decode(errors="replace")[-2000:]
                self.close()
                pytest.fail(f"{self._process.args!r} did not start:\n{log}", pytrace=False)
            sleep(0.02)


def _group() -> str | None:
    return "nogroup" if unprivileged() else None


def _groups() -> list[str] | None:
    return [] if unprivileged() else None


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
