"""Worker processes: work on data of strangers, in processes that may be killed at any time.

A worker is a Python module that reads requests from its standard input and writes responses to its standard
output, each as four bytes of length and so many bytes. Workers are started when they are needed, used again
for the next request, and killed when a request takes longer than it may, which no thread can be.
Nothing of our environment goes along but what Python needs to find its modules.

`subprocess` starts them without code between fork and exec, so that this is safe in a program with threads.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from threading import Condition, Timer

from groundwire.errors import GroundwireError

_KEPT = (
    *("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT"),
    *("LANG", "LC_ALL", "COVERAGE_PROCESS_START"),
)
_LENGTH = 4
_LARGEST_RESPONSE = 64 * 1024 * 1024


class WorkerLost(GroundwireError):
    """The worker was killed at its deadline, or ended by itself at a limit."""

    code = "WORKER_LOST"


class WorkerPool:
    """At most `most` processes of one module. Calls block: callers with an event loop use a thread."""

    def __init__(self, module: str, *, most: int = 6, patience: float = 0.1) -> None:
        self._module = module
        self._most = most
        self._patience = patience
        self._idle: list[_Worker] = []
        self._running = 0
        self._turn = Condition()

    def call(self, request: bytes, seconds: float) -> bytes:
        """The response; raises `WorkerLost` when there is none within `seconds`."""
        ends = time.monotonic() + seconds
        while True:
            worker, is_fresh = self._taken(ends)
            response = worker.ask(request, max(ends - time.monotonic(), 0.01))
            self._returned(worker)
            if response is not None:
                return response
            if is_fresh or worker.is_killed:
                raise WorkerLost(f"it could not be read within {seconds:g} seconds and the memory it may use")
            # An idle worker may have ended just before it was asked.

    def warm(self, count: int) -> None:
        """Start workers that will be needed in a moment."""
        with self._turn:
            missing = min(count, self._most) - self._running
            self._running += max(missing, 0)
        for _ in range(missing):
            self._returned(self._started())

    def close_idle(self) -> None:
        """End the workers that have nothing to do."""
        with self._turn:
            idle, self._idle = self._idle, []
            self._running -= len(idle)
        for worker in idle:
            worker.end()

    @property
    def running(self) -> int:
        """How many workers there are."""
        return self._running

    def process_ids(self) -> list[int]:
        """Of the workers that have nothing to do."""
        with self._turn:
            return [worker.process_id for worker in self._idle]

    def _taken(self, ends: float) -> tuple[_Worker, bool]:
        """An idle worker, soon idle or new: waiting a moment is cheaper than starting a process."""
        with self._turn:
            wait = self._patience if self._running else 0.0
            self._turn.wait_for(lambda: self._idle, min(wait, max(ends - time.monotonic(), 0)))
            if not self._idle and self._running >= self._most:
                self._turn.wait_for(lambda: self._idle or self._running < self._most, ends - time.monotonic())
            if self._idle:
                return self._idle.pop(), False
            if self._running >= self._most:
                raise WorkerLost("all workers are busy with other documents")
            self._running += 1
        return self._started(), True

    def _started(self) -> _Worker:
        try:
            return _Worker(self._module)
        except OSError as error:
            with self._turn:
                self._running -= 1
                self._turn.notify()
            raise WorkerLost(f"no process could be started: {error.strerror}") from error

    def _returned(self, worker: _Worker) -> None:
        with self._turn:
            if worker.is_alive:
                self._idle.append(worker)
            else:
                self._running -= 1
            self._turn.notify()


class _Worker:
    """One process."""

    def __init__(self, module: str) -> None:
        # -P: the directory we are in is no place to look for modules. -B: it may not write any file.
        self._process = subprocess.Popen(  # noqa: S603  our own interpreter and module
            [sys.executable, "-P", "-B", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            start_new_session=True,
        )
        self.process_id = self._process.pid
        self.is_alive = True
        self.is_killed = False

    def ask(self, request: bytes, seconds: float) -> bytes | None:
        """The response; None if the process ended first, which it does at the latest after `seconds`."""
        deadline = Timer(seconds, self._kill)
        deadline.daemon = True
        deadline.start()
        try:
            self._write(request)
            response = self._read()
        except (OSError, ValueError):  # a broken pipe, or one closed by `end`
            response = None
        finally:
            deadline.cancel()
        if response is None or self.is_killed:
            self.end()
        return response

    def end(self) -> None:
        """Kill the process, and wait until it is gone."""
        self.is_alive = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # what was not written yet goes nowhere
                    continue

    def _kill(self) -> None:
        self.is_killed = True
        self._process.kill()

    def _write(self, request: bytes) -> None:
        pipe = self._process.stdin
        if pipe is not None:
            pipe.write(len(request).to_bytes(_LENGTH))
            pipe.write(request)
            pipe.flush()

    def _read(self) -> bytes | None:
        pipe = self._process.stdout
        head = pipe.read(_LENGTH) if pipe is not None else b""
        if pipe is None or len(head) < _LENGTH:
            return None
        length = int.from_bytes(head)
        body = pipe.read(length) if length <= _LARGEST_RESPONSE else b""
        return body if len(body) == length else None
