"""Several processes for one address, watched: who dies is replaced, and who is asked to end passes it on."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from time import monotonic, sleep
from types import FrameType

log = logging.getLogger("groundwire.gateway")

_TICK = 0.1
_YOUNG = 2.0
"""Seconds; who dies younger than that had no chance to work."""
_TOO_MANY = 5
"""Such deaths in a row: something is wrong that another attempt does not mend."""


def listener_for(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket at an address. Workers that share it have one each, and the kernel spreads connections."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio switches off Nagle's algorithm on what is accepted.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind((host, port))
    except OSError:
        made.close()
        raise
    return made


class Workers:
    """So many processes that do the same work. `work` gets the end of a pipe that closes when we are gone."""

    def __init__(self, count: int, work: Callable[[int], int], drain: float) -> None:
        self._count = count
        self._work = work
        self._drain = drain
        self._began: dict[int, float] = {}
        self._asked = 0
        self._young = 0
        self._life, self._held = os.pipe()

    def run(self) -> int:
        """Work until asked to end; the result is the exit code."""
        before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            while not self._asked and self._young < _TOO_MANY:
                while len(self._began) < self._count and not self._asked:
                    self._start()
                sleep(_TICK)
                self._bury()
            failed = not self._asked
            if failed:
                log.error("workers end as soon as they begin; giving up")
            self._end()
        finally:
            for number, action in before.items():
                signal.signal(number, action)
        return 1 if failed else 0

    def _ask(self, number: int, _: FrameType | None) -> None:
        # A second interrupt means now.
        self._asked += 2 if number == signal.SIGINT and self._asked else 1

    def _start(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process:
            self._began[process] = monotonic()
            return
        code = 1
        try:
            os.close(self._held)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all of us
            code = self._work(self._life)
        finally:
            os._exit(code)

    def _bury(self) -> None:
        for process in tuple(self._began):
            ended, status = os.waitpid(process, os.WNOHANG)
            if not ended:
                continue
            age = monotonic() - self._began.pop(process)
            self._young = self._young + 1 if age < _YOUNG else 0
            if not self._asked:
                log.warning("worker %d ended (%s); another takes its place", process, _reason(status))

    def _end(self) -> None:
        self._tell(signal.SIGTERM)
        ends = monotonic() + self._drain
        while self._began and monotonic() < ends and self._asked < 3:
            sleep(_TICK)
            self._bury()
        self._tell(signal.SIGKILL)
        while self._began:
            sleep(_TICK)
            self._bury()

    def _tell(self, number: signal.Signals) -> None:
        for process in self._began:
            os.kill(process, number)


def _reason(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"exit code {os.WEXITSTATUS(status)}"
