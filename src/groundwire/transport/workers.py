"""Worker processes for untrusted data: they can be killed at any time.

A worker is a Python module that reads requests from its standard input and writes responses to its standard
output, each as four bytes of length and the payload. Workers are started when they are needed, reused for the
next request, and killed when a request exceeds its time limit, which is not possible with threads. They get
only the environment variables that Python needs to find its modules.

`subprocess` runs no code between fork and exec, so this is safe in a program with threads.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from threading import Condition, Timer

from groundwire.errors import GroundwireError

PASSED_VARIABLES = (
    *("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT"),
    *("LANG", "LC_ALL", "COVERAGE_PROCESS_START"),
)
"""What Python needs to find its modules: no secrets."""
_LENGTH = 4
_LARGEST_RESPONSE = 64 * 1024 * 1024


class WorkerLost(GroundwireError):
    """The worker was killed at its deadline, or exited at a resource limit."""

    code = "WORKER_LOST"


class WorkerPool:
    """At most `most` processes of one module. Calls block: callers with an event loop use a thread."""

    def __init__(self, module: str, *, most: int = 6, patience: float = 0.1) -> None:
        self._module = module
        self._limit = most
        self._idle_wait = patience
        self._idle: list[_Worker] = []
        self._running = 0
        self._changed = Condition()

    def call(self, request: bytes, seconds: float) -> bytes:
        """The response; raises `WorkerLost` when there is none within `seconds`."""
        ends = time.monotonic() + seconds
        while True:
            worker, is_fresh = self._acquire(ends)
            response = worker.request(request, max(ends - time.monotonic(), 0.01))
            self._release(worker)
            if response is not None:
                return response
            if is_fresh or worker.is_killed:
                raise WorkerLost(f"it could not be read within {seconds:g} seconds and the memory it may use")
            # An idle worker may have exited just before the request.

    def warm(self, count: int) -> None:
        """Start workers in advance."""
        with self._changed:
            missing = min(count, self._limit) - self._running
            self._running += max(missing, 0)
        for _ in range(missing):
            self._release(self._start())

    def close_idle(self) -> None:
        """Kill the idle workers."""
        with self._changed:
            idle, self._idle = self._idle, []
            self._running -= len(idle)
        for worker in idle:
            worker.end()

    @property
    def running(self) -> int:
        """The number of worker processes."""
        return self._running

    def process_ids(self) -> list[int]:
        """Process ids of the idle workers."""
        with self._changed:
            return [worker.process_id for worker in self._idle]

    def _acquire(self, ends: float) -> tuple[_Worker, bool]:
        """An idle worker, or one that is idle soon, or a new one: a short wait is cheaper than a new
        process."""
        with self._changed:
            wait = self._idle_wait if self._running else 0.0
            self._changed.wait_for(lambda: self._idle, min(wait, max(ends - time.monotonic(), 0)))
            if not self._idle and self._running >= self._limit:
                self._changed.wait_for(
                    lambda: self._idle or self._running < self._limit, ends - time.monotonic()
                )
            if self._idle:
                return self._idle.pop(), False
            if self._running >= self._limit:
                raise WorkerLost("all workers are busy with other documents")
            self._running += 1
        return self._start(), True

    def _start(self) -> _Worker:
        try:
            return _Worker(self._module)
        except OSError as error:
            with self._changed:
                self._running -= 1
                self._changed.notify()
            raise WorkerLost(f"no process could be started: {error.strerror}") from error

    def _release(self, worker: _Worker) -> None:
        with self._changed:
            if worker.is_alive:
                self._idle.append(worker)
            else:
                self._running -= 1
            self._changed.notify()


class _Worker:
    """One worker process."""

    def __init__(self, module: str) -> None:
        # -P: no modules from the current directory. -B: no bytecode files are written.
        self._process = subprocess.Popen(  # noqa: S603  our own interpreter and module
            [sys.executable, "-P", "-B", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ},
            start_new_session=True,
        )
        self.process_id = self._process.pid
        self.is_alive = True
        self.is_killed = False

    def request(self, request: bytes, seconds: float) -> bytes | None:
        """Send a request; returns the response, or None if the process exited or was killed after
        `seconds`."""
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
                except OSError:  # unwritten data is discarded
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
