"""Worker processes that serve one address: supervision, sockets, garbage collection.

A worker that exits is replaced. A signal to the parent is passed on to all workers.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from time import monotonic, sleep
from types import FrameType

from groundwire.server.metrics import mark_worker_dead

log = logging.getLogger("groundwire.gateway")

_POLL_SECONDS = 0.1
_EARLY_EXIT_SECONDS = 2.0
"""A worker that exits sooner has failed to start."""
_MAX_EARLY_EXITS = 5
"""In a row: then another attempt will not help."""
_GC_THRESHOLDS = (10_000, 50, 100)
"""With Python's defaults every third request would start a collection of all that thousands of open streams
hold, tens of milliseconds in which the event loop is blocked. Requests create no cycles, and a connection one
of a few kilobytes, so there is little to collect."""


def tune_gc() -> None:
    """Exclude imported modules from garbage collection, and collect the rest less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)


def bind_socket(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A bound socket. `shared`: several workers bind one each, and the kernel distributes connections."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY on accepted sockets only if the protocol is named.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


class WorkerProcesses:
    """Forks workers and replaces those that exit. `work` gets a pipe that reaches its end when the parent
    dies."""

    def __init__(self, count: int, work: Callable[[int], int], drain: float) -> None:
        self._count = count
        self._work = work
        self._drain = drain
        self._started: dict[int, float] = {}
        """When each worker was started, by process id."""
        self._stop_signals = 0
        self._early_exits = 0
        self._parent_alive, self._write_end = os.pipe()

    def run(self) -> int:
        """Run until a signal stops it; returns the exit code."""
        before = {
            number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            while not self._stop_signals and self._early_exits < _MAX_EARLY_EXITS:
                while len(self._started) < self._count and not self._stop_signals:
                    self._fork()
                sleep(_POLL_SECONDS)
                self._reap()
            failed = not self._stop_signals
            if failed:
                log.error("workers exit as soon as they start; giving up")
            self._stop()
        finally:
            for number, action in before.items():
                signal.signal(number, action)
        return 1 if failed else 0

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        # A second interrupt skips the rest of the graceful shutdown.
        self._stop_signals += 2 if number == signal.SIGINT and self._stop_signals else 1

    def _fork(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process:
            self._started[process] = monotonic()
            return
        code = 1
        try:
            os.close(self._write_end)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the whole process group
            code = self._work(self._parent_alive)
        finally:
            os._exit(code)

    def _reap(self) -> None:
        for process in tuple(self._started):
            exited, status = os.waitpid(process, os.WNOHANG)
            if not exited:
                continue
            age = monotonic() - self._started.pop(process)
            self._early_exits = self._early_exits + 1 if age < _EARLY_EXIT_SECONDS else 0
            mark_worker_dead(process)
            if not self._stop_signals:
                log.warning("worker %d exited (%s); starting another", process, _reason(status))

    def _stop(self) -> None:
        self._send_signal(signal.SIGTERM)
        deadline = monotonic() + self._drain
        while self._started and monotonic() < deadline and self._stop_signals < 3:
            sleep(_POLL_SECONDS)
            self._reap()
        self._send_signal(signal.SIGKILL)
        while self._started:
            sleep(_POLL_SECONDS)
            self._reap()

    def _send_signal(self, number: signal.Signals) -> None:
        for process in self._started:
            os.kill(process, number)


def _reason(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"exit code {os.WEXITSTATUS(status)}"
