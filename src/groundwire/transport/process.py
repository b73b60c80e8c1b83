"""External processes: the only module that starts programs of others (`workers.py` starts our own).

A command is a list of arguments, never a shell command line; it gets only the environment, the directory and
the input that it is given. It leads its own process group, and whatever ends its run (the end of output, the
deadline, too much output, a cancelled caller, a closed generator) ends the whole group: SIGTERM, then SIGKILL
after a grace period. A process that leaves the group (`setsid`) cannot be reached from here; a sandbox with
its own process namespace is needed for that. `run_detached` is the opposite: its process runs on whatever
becomes of us.

Built on the loop's subprocess transports, without tasks: a protocol buffers the output, within limits.
Resource limits are set by the program `prlimit`, because code between fork and exec is not safe in a program
with threads.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import cast

from groundwire.errors import InvalidArguments, TimedOut, Unreachable, UpstreamWireError
from groundwire.model.value import value

MEGABYTE = 1024 * 1024
_MAX_ARGUMENT = 128 * 1024 - 1  # what Linux takes for one argument, its final NUL included
_MAX_INPUT = MEGABYTE
_STDOUT, _STDERR = 1, 2
_NAMES = {_STDOUT: "output", _STDERR: "error output"}
_REAP_SECONDS = 1.0


@value
class ProcessCommand:
    """A command line with its environment, directory and input."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdin: bytes = b""


@value
class ProcessLimits:
    """How long a command may run (seconds), and how much output it may write (bytes)."""

    seconds: float = 60.0
    stdout: int = 2 * MEGABYTE
    stderr: int = 2 * MEGABYTE
    grace: float = 0.5
    """Seconds between SIGTERM and SIGKILL; also how long output may follow the exit of the command."""


@value
class ResourceLimits:
    """Limits of resources; None for no limit."""

    cpu_seconds: int | None = None
    file_bytes: int | None = None
    processes: int | None = None
    """Counted over all processes of the user (of the sandbox, if it has a user namespace)."""


def with_resource_limits(argv: tuple[str, ...], resources: ResourceLimits, prlimit: str) -> tuple[str, ...]:
    """The command with limits that its children inherit; unchanged where `prlimit` is not installed."""
    wanted = {"cpu": resources.cpu_seconds, "fsize": resources.file_bytes, "nproc": resources.processes}
    options = tuple(f"--{name}={limit}" for name, limit in wanted.items() if limit is not None)
    return (prlimit, "--core=0", *options, *argv) if prlimit else argv


class RunningProcess:
    """A running command."""

    def __init__(
        self,
        transport: asyncio.SubprocessTransport,
        protocol: _ProcessProtocol,
        limits: ProcessLimits,
        ends: float,
    ) -> None:
        self.pid = transport.get_pid()
        self._transport = transport
        self._protocol = protocol
        self._limits = limits
        self._ends = ends

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """The lines of its output as they arrive, without line ends. Only LF ends a line."""
        output = self._protocol.output[_STDOUT]
        while True:
            while (end := output.find(b"\n")) >= 0:
                line = bytes(output[:end])
                del output[: end + 1]
                yield line
            if not await self._more(_STDOUT):
                break
        if output:
            line = bytes(output)
            output.clear()
            yield line

    async def end(self) -> tuple[int, bytes]:
        """Its exit code (negative: the signal that killed it) and its error output."""
        while await self._more(_STDOUT):
            self._protocol.output[_STDOUT].clear()
        while await self._more(_STDERR):
            pass
        while self._protocol.code is None:
            await self._wait()
        return self._protocol.code, bytes(self._protocol.output[_STDERR])

    async def stop(self) -> None:
        """End the process group, and wait until it is gone."""
        protocol = self._protocol
        try:
            if protocol.code is None:
                self._signal(signal.SIGTERM)
                await self._until(lambda: protocol.code is not None, self._limits.grace)
        finally:
            # Also where the wait was cancelled: the group dies before anything else is waited for.
            self._signal(signal.SIGKILL)
            try:
                # If the transport is closed before its child is reaped, it reaps the child without the loop.
                await self._until(lambda: protocol.code is not None, _REAP_SECONDS)
            finally:
                self._close()
        await self._until(lambda: protocol.closed, _REAP_SECONDS)

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not condition():
                    await self._protocol.change()

    def _close(self) -> None:
        stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        if stdin.get_write_buffer_size():
            stdin.abort()  # the rest will not be read
        self._transport.close()

    async def _more(self, stream: int) -> bool:
        """Wait for more output of a stream; False at its end."""
        protocol = self._protocol
        if protocol.overflowed:
            limit = self._limits.stdout if protocol.overflowed == _STDOUT else self._limits.stderr
            raise UpstreamWireError(
                f"the command's {_NAMES[protocol.overflowed]} is larger than {limit} bytes"
            )
        if stream not in protocol.open:
            return False
        if protocol.code is None:
            await self._wait()
            return True
        # The command has exited. Kill its group too; a process outside it may hold the output open for ever.
        self._signal(signal.SIGKILL)
        now = asyncio.get_running_loop().time()
        self._ends = min(self._ends, now + self._limits.grace)
        try:
            await self._wait()
        except TimedOut:
            return False
        return True

    async def _wait(self) -> None:
        if asyncio.get_running_loop().time() >= self._ends:
            raise self._late()  # also where output always arrives and no wait could time out
        try:
            async with asyncio.timeout_at(self._ends):
                await self._protocol.change()
        except TimeoutError:
            raise self._late() from None

    def _late(self) -> TimedOut:
        return TimedOut(f"the command did not end within {self._limits.seconds:g} s")

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


_DEFAULT_LIMITS = ProcessLimits()


@asynccontextmanager
async def start_process(
    command: ProcessCommand, limits: ProcessLimits = _DEFAULT_LIMITS
) -> AsyncIterator[RunningProcess]:
    """Start a command; at the end of the block its process group is gone."""
    _check(command)
    ends = asyncio.get_running_loop().time() + limits.seconds
    started = await _start(command, limits, ends)
    try:
        started.feed(command.stdin)
        yield started
    finally:
        await started.stop()


async def _start(command: ProcessCommand, limits: ProcessLimits, ends: float) -> _StartedProcess:
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            lambda: _ProcessProtocol(limits),
            *command.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(command.env),
            cwd=command.cwd,
            start_new_session=True,
            umask=0o077,
        )
    )
    try:
        transport, protocol = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # The loop would kill only the leader of the group.
        with suppress(OSError, ValueError):
            await _StartedProcess(*await starting, limits, ends).stop()
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it cannot be executed"
        raise Unreachable(f"cannot start {command.argv[0]}: {reason}") from None
    return _StartedProcess(transport, protocol, limits, ends)


async def run_detached(command: ProcessCommand, descriptor: int) -> bytes:
    """Run a command that inherits a descriptor and has no terminal; returns its output.

    It runs to its end even if the caller is cancelled or this process exits.
    """
    _check(command)
    loop = asyncio.get_running_loop()
    result: asyncio.Future[bytes] = loop.create_future()
    try:
        process = subprocess.Popen(  # noqa: S603  an argument list, as everywhere here
            command.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(command.env),
            cwd=command.cwd,
            start_new_session=True,
            pass_fds=(descriptor,),
        )
    except OSError as error:
        raise Unreachable(f"cannot start {command.argv[0]}: {error.strerror}") from None

    def resolve(output: bytes) -> None:
        with suppress(asyncio.InvalidStateError):  # the caller was cancelled
            result.set_result(output)

    def communicate() -> None:
        output, _ = process.communicate(command.stdin)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(resolve, output)

    # In a daemon thread: a child of the loop would be killed with the loop.
    threading.Thread(target=communicate, daemon=True).start()
    return await result


class _StartedProcess(RunningProcess):
    """A process whose input has not been written yet."""

    def feed(self, data: bytes) -> None:
        stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        if data:
            stdin.write(data)
        stdin.close()  # once it is written


class _ProcessProtocol(asyncio.SubprocessProtocol):
    """Buffers the output of a process, within the limits, and records its exit."""

    def __init__(self, limits: ProcessLimits) -> None:
        self.output = {_STDOUT: bytearray(), _STDERR: bytearray()}
        self.open = {_STDOUT, _STDERR}
        self.code: int | None = None
        self.closed = False
        self.overflowed = 0
        self._left = {_STDOUT: limits.stdout, _STDERR: limits.stderr}
        self._changed = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None

    async def change(self) -> None:
        """Wait for output, the end of a stream, or the exit."""
        self._changed.clear()
        await self._changed.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if not self.overflowed:
            self.output[fd] += data[: self._left[fd]]
            self._left[fd] -= len(data)
            if self._left[fd] < 0:
                self._stop_reading(fd)
        self._changed.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        self.open.discard(fd)
        self._changed.set()

    def process_exited(self) -> None:
        self.code = self._transport.get_returncode() if self._transport else None
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.closed = True
        self._changed.set()

    def _stop_reading(self, fd: int) -> None:
        """Stop reading; the reader raises the error and ends the group."""
        self.overflowed = fd
        for number in self.open:
            pipe = self._transport.get_pipe_transport(number) if self._transport else None
            if pipe is not None:
                cast("asyncio.ReadTransport", pipe).pause_reading()


def _check(command: ProcessCommand) -> None:
    """Refuse arguments that no process can be started with, before anything is started."""
    if not command.argv or not command.argv[0]:
        raise InvalidArguments("there is no command to start")
    for text in (*command.argv, command.cwd, *command.env, *command.env.values()):
        if "\0" in text:
            raise InvalidArguments("a command cannot be given a NUL character")
        try:
            size = len(os.fsencode(text))
        except UnicodeEncodeError:
            raise InvalidArguments("a command cannot be given half a surrogate pair") from None
        if size > _MAX_ARGUMENT:
            raise InvalidArguments(f"an argument has {size} bytes, at most {_MAX_ARGUMENT} are possible")
    if any("=" in name or not name for name in command.env):
        raise InvalidArguments("the name of an environment variable is empty or has an equals sign")
    if len(command.stdin) > _MAX_INPUT:
        raise InvalidArguments(f"the input has {len(command.stdin)} bytes, at most {_MAX_INPUT} are possible")
