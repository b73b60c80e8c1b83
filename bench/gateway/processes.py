"""Start and stop processes, and measure their CPU time and memory, children included."""

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

from gateway.load import Job, JobResult

BENCH = Path(__file__).parent.parent
GRACE = 10.0


class BenchmarkFailed(Exception):
    """A process did not start, or a job failed."""


class Running(NamedTuple):
    """A server process that accepts connections."""

    pid: int
    port: int

    def cpu(self) -> float:
        """Seconds of CPU time so far, user and system, in nanosecond resolution."""
        return sum(map(_cpu, tree(self.pid)))

    def memory(self) -> float:
        """Megabytes, with the share of this process in pages that several use (PSS)."""
        return sum(map(_proportional, tree(self.pid))) / 1e6


def tree(pid: int) -> list[int]:
    """The ids of a process and all its descendants."""
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
    # The clock of another process (clock_getcpuclockid): /proc/PID/stat has only hundredths of a second.
    with suppress(OSError):
        return clock_gettime((~pid << 3) | 2)
    return 0.0


def _proportional(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return int(rollup.partition("\nPss:")[2].split()[0]) * 1024
    return 0


def _start_time(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


def pin(pid: int, *, last: bool = False) -> None:
    """Bind a process to the first core or the last: contenders and the processes that drive them."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(pid, {cores[-1] if last else cores[0]})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return cast("int", probe.getsockname()[1])


@contextmanager
def started(
    command: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    port: int,
    timeout: float,
    *,
    pinned: bool = False,
) -> Iterator[Running]:
    """Start a server, wait until it listens, and stop it with its children at the end."""
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
        if pinned:
            pin(process.pid)
        try:
            _wait(process, port, log, timeout)
            yield Running(process.pid, port)
        finally:
            _stop(process)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path, timeout: float) -> None:
    deadline = monotonic() + timeout
    while monotonic() < deadline:
        if process.poll() is not None:
            break
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        sleep(0.05)
    output = log.read_text(errors="replace").strip()[-800:] or "none"
    state = "does not listen" if process.poll() is None else f"ended with {process.returncode}"
    raise BenchmarkFailed(f"{state}; its output: {output}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    descendants = [(pid, _start_time(pid)) for pid in tree(process.pid)[1:]]
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(GRACE)
    for pid, start_time in descendants:
        if start_time and _start_time(pid) == start_time:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class WorkerProcess:
    """A process of the benchmark that reads jobs from its standard input and exits when it is closed."""

    def __init__(self, module: str) -> None:
        path = os.pathsep.join(filter(None, (str(BENCH), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path}
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"gateway.{module}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,  # Ctrl-C must reach only the benchmark, which stops the others in order
        )
        pin(self._process.pid, last=True)

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        cast("TextIO", self._process.stdin).close()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(GRACE)
        cast("TextIO", self._process.stdout).close()

    def cpu(self) -> float:
        """Seconds of CPU time so far."""
        return _cpu(self._process.pid)

    def read_line(self) -> str:
        line = cast("TextIO", self._process.stdout).readline()
        if not line:
            raise BenchmarkFailed("a process of the benchmark ended early")
        return line

    def run(self, job: Job) -> JobResult:
        """Run a job and return its result; the load process enforces a timeout."""
        stdin = cast("TextIO", self._process.stdin)
        stdin.write(json.dumps(job._asdict()) + "\n")
        stdin.flush()
        result = json.loads(self.read_line())
        if "error" in result:
            raise BenchmarkFailed(result["error"])
        return cast("JobResult", result)
