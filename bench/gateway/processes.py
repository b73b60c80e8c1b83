"""Processes that are started, watched and stopped: their CPU time and memory, with their children's."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import clock_gettime, monotonic, sleep
from typing import NamedTuple, TextIO, cast

from gateway.load import Found, Job

BENCH = Path(__file__).parent.parent
GRACE = 10.0
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Failed(Exception):
    """A process did not start, or a job went wrong."""


class Running(NamedTuple):
    """A contender that listens."""

    pid: int
    port: int

    def cpu(self) -> float:
        """Seconds of CPU time so far: the sum of utime and stime, to the nanosecond."""
        return sum(map(_cpu, tree(self.pid)))

    def memory(self) -> float:
        """Resident megabytes."""
        return sum(map(_resident, tree(self.pid))) / 1e6


def tree(pid: int) -> list[int]:
    """A process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for parent in found:
        found += parents.get(parent, [])
    return found


def _cpu(pid: int) -> float:
    # The clock of another process (clock_getcpuclockid): /proc/PID/stat tells the same in hundredths.
    with suppress(OSError):
        return clock_gettime((~pid << 3) | 2)
    return 0.0


def _resident(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    return 0


def _born(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return cast("int", probe.getsockname()[1])


@contextmanager
def started(
    command: Sequence[str], environment: Mapping[str, str], log: Path, port: int, patience: float
) -> Iterator[Running]:
    """A server, from the moment it listens; stopped with its children at the end."""
    with (
        log.open("wb") as out,
        subprocess.Popen(
            command,
            env=dict(environment),
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            cwd=log.parent,
            start_new_session=True,
        ) as process,
    ):
        try:
            _wait(process, port, log, patience)
            yield Running(process.pid, port)
        finally:
            _stop(process)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path, patience: float) -> None:
    deadline = monotonic() + patience
    while monotonic() < deadline:
        if process.poll() is not None:
            break
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        sleep(0.05)
    said = log.read_text(errors="replace").strip()[-800:] or "nothing"
    state = "does not listen" if process.poll() is None else f"ended with {process.returncode}"
    raise Failed(f"{state}; it said: {said}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    descendants = [(pid, _born(pid)) for pid in tree(process.pid)[1:]]
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(GRACE)
    for pid, born in descendants:
        if born and _born(pid) == born:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Talking:
    """A process of ours that is told what to do by its standard input, and ends with it."""

    def __init__(self, module: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(BENCH)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"gateway.{module}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,  # Ctrl-C ends the benchmark, which ends everything else in order
        )

    def __enter__(self) -> Talking:
        return self

    def __exit__(self, *_: object) -> None:
        cast("TextIO", self._process.stdin).close()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(GRACE)
        cast("TextIO", self._process.stdout).close()

    def line(self) -> str:
        said = cast("TextIO", self._process.stdout).readline()
        if not said:
            raise Failed("a process of the benchmark ended early")
        return said

    def do(self, job: Job) -> Found:
        """What a job gives; the load process keeps to a deadline of its own."""
        stdin = cast("TextIO", self._process.stdin)
        stdin.write(json.dumps(job._asdict()) + "\n")
        stdin.flush()
        found = json.loads(self.line())
        if "error" in found:
            raise Failed(found["error"])
        return cast("Found", found)
