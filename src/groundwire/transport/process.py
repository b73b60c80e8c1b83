"""Processes of others: the only module that starts any (`workers.py` starts our own).

A command is a list of arguments, never a line for a shell; it gets the environment, the directory and the
input it is given and nothing else. It leads a process group of its own, and whatever ends its run (the last
line, the deadline, too much output, a cancelled caller, a generator closed half-way) ends the whole group:
SIGTERM, then SIGKILL after a moment. What leaves the group (`setsid`) is out of reach from here; who must
hold that too starts the command in a sandbox with a process space of its own. `run_detached` is the opposite:
what it starts is left to itself whatever becomes of us.

Built on the loop's transports, without tasks: what comes in is kept by a protocol, bounded, and read by
whoever asks for lines. Limits on resources are set by the program `prlimit`, because code that runs between
fork and exec is not safe in a program with threads.
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
_LONGEST_ARGUMENT = 128 * 1024 - 1  # what Linux takes for one argument, its final NUL included
_LONGEST_INPUT = MEGABYTE
_STDOUT, _STDERR = 1, 2
_NAMES = {_STDOUT: "output", _STDERR: "error output"}
_GONE = 1.0


@value
class ProcessCommand:
    """What to start, and everything it will know."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdin: bytes = b""


@value
class ProcessLimits:
    """How long a command may run (seconds), and how much it may say (bytes)."""

    seconds: float = 60.0
    stdout: int = 2 * MEGABYTE
    stderr: int = 2 * MEGABYTE
    grace: float = 0.5
    """Between SIGTERM and SIGKILL; also how long output may follow the end of the command."""


@value
class ResourceLimits:
    """What a command may use; None where nothing is said."""

    cpu_seconds: int | None = None
    file_bytes: int | None = None
    processes: int | None = None
    """Counted over all processes of the user (of the sandbox, where it has users of its own)."""


def with_resource_limits(argv: tuple[str, ...], resources: ResourceLimits, prlimit: str) -> tuple[str, ...]:
    """The same command with limits that hold for all it starts; as it is where `prlimit` is not installed."""
    said = {"cpu": resources.cpu_seconds, "fsize": resources.file_bytes, "nproc": resources.processes}
    limits = tuple(f"--{name}={limit}" for name, limit in said.items() if limit is not None)
    return (prlimit, "--core=0", *limits, *argv) if prlimit else argv


class RunningProcess:
    """A command that has been started."""

    def __init__(
        self, transport: asyncio.SubprocessTransport, watch: _Watch, bounds: ProcessLimits, ends: float
    ) -> None:
        self.pid = transport.get_pid()
        self._transport = transport
        self._watch = watch
        self._bounds = bounds
        self._ends = ends

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """The lines of its output without their ends, as they come. Only LF ends a line."""
        output = self._watch.kept[_STDOUT]
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
            self._watch.kept[_STDOUT].clear()
        while await self._more(_STDERR):
            pass
        while self._watch.code is None:
            await self._wait()
        return self._watch.code, bytes(self._watch.kept[_STDERR])

    async def stop(self) -> None:
        """End the whole group, and wait until it is gone."""
        watch = self._watch
        try:
            if watch.code is None:
                self._signal(signal.SIGTERM)
                await self._until(lambda: watch.code is not None, self._bounds.grace)
        finally:
            # Also where the wait was cancelled: the group dies before anything else is waited for.
            self._signal(signal.SIGKILL)
            try:
                # Closed before its child is reaped, the transport would reap it behind the loop's back.
                await self._until(lambda: watch.code is not None, _GONE)
            finally:
                self._close()
        await self._until(lambda: watch.gone, _GONE)

    async def _until(self, is_so: Callable[[], bool], seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not is_so():
                    await self._watch.change()

    def _close(self) -> None:
        stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        if stdin.get_write_buffer_size():
            stdin.abort()  # nobody will read the rest
        self._transport.close()

    async def _more(self, stream: int) -> bool:
        """Wait for more of an output; False at its end."""
        watch = self._watch
        if watch.flooded:
            limit = self._bounds.stdout if watch.flooded == _STDOUT else self._bounds.stderr
            raise UpstreamWireError(f"the command's {_NAMES[watch.flooded]} is larger than {limit} bytes")
        if stream not in watch.open:
            return False
        if watch.code is None:
            await self._wait()
            return True
        # The command is gone. Its group goes too; who left the group may hold the output open for ever.
        self._signal(signal.SIGKILL)
        now = asyncio.get_running_loop().time()
        self._ends = min(self._ends, now + self._bounds.grace)
        try:
            await self._wait()
        except TimedOut:
            return False
        return True

    async def _wait(self) -> None:
        if asyncio.get_running_loop().time() >= self._ends:
            raise self._late()  # also where output always comes and no wait could run out
        try:
            async with asyncio.timeout_at(self._ends):
                await self._watch.change()
        except TimeoutError:
            raise self._late() from None

    def _late(self) -> TimedOut:
        return TimedOut(f"the command did not end within {self._bounds.seconds:g} s")

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


_USUAL = ProcessLimits()


@asynccontextmanager
async def start_process(command: ProcessCommand, bounds: Bounds = _USUAL) -> AsyncIterator[RunningProcess]:
    """Start a command; when the block is left, nothing of it runs any more."""
    _check(command)
    ends = asyncio.get_running_loop().time() + bounds.seconds
    started = await _started(command, bounds, ends)
    try:
        started.feed(command.stdin)
        yield started
    finally:
        await started.stop()


async def _started(command: ProcessCommand, bounds: ProcessLimits, ends: float) -> _Started:
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            lambda: _Watch(bounds),
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
        transport, watch = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Half-started, the loop would end the leader of the group alone.
        with suppress(OSError, ValueError):
            await _Started(*await starting, bounds, ends).stop()
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it cannot be executed"
        raise Unreachable(f"cannot start {command.argv[0]}: {reason}") from None
    return _Started(transport, watch, bounds, ends)


async def run_detached(command: ProcessCommand, descriptor: int) -> bytes:
    """The output of a command that inherits a descriptor, belongs to no terminal, and runs to its end
    whether we wait for it or not."""
    _check(command)
    loop = asyncio.get_running_loop()
    told: asyncio.Future[bytes] = loop.create_future()
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

    def tell(output: bytes) -> None:
        if not told.done():
            told.set_result(output)

    def listen() -> None:
        output, _ = process.communicate(command.stdin)
        with suppress(RuntimeError):  # the loop has ended, and nobody waits
            loop.call_soon_threadsafe(tell, output)

    # A thread that nobody waits for: the loop's own child would be killed with the loop.
    threading.Thread(target=listen, daemon=True).start()
    return await told


class _Started(RunningProcess):
    """A command whose input is still to be given."""

    def feed(self, data: bytes) -> None:
        stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        if data:
            stdin.write(data)
        stdin.close()  # once it is written


class _Watch(asyncio.SubprocessProtocol):
    """Keeps what the command says, up to the bounds, and what became of it."""

    def __init__(self, bounds: ProcessLimits) -> None:
        self.kept = {_STDOUT: bytearray(), _STDERR: bytearray()}
        self.open = {_STDOUT, _STDERR}
        self.code: int | None = None
        self.gone = False
        self.flooded = 0
        self._left = {_STDOUT: bounds.stdout, _STDERR: bounds.stderr}
        self._changed = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None

    async def change(self) -> None:
        """Wait until something happens."""
        self._changed.clear()
        await self._changed.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if not self.flooded:
            self.kept[fd] += data[: self._left[fd]]
            self._left[fd] -= len(data)
            if self._left[fd] < 0:
                self._drown(fd)
        self._changed.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        self.open.discard(fd)
        self._changed.set()

    def process_exited(self) -> None:
        self.code = self._transport.get_returncode() if self._transport else None
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.gone = True
        self._changed.set()

    def _drown(self, fd: int) -> None:
        """Too much: read no more. The reader, or whoever leaves, ends the group."""
        self.flooded = fd
        for number in self.open:
            pipe = self._transport.get_pipe_transport(number) if self._transport else None
            if pipe is not None:
                cast("asyncio.ReadTransport", pipe).pause_reading()


def _check(command: ProcessCommand) -> None:
    """Refuse what no command can be started with, before anything is started."""
    if not command.argv or not command.argv[0]:
        raise InvalidArguments("there is no command to start")
    for text in (*command.argv, command.cwd, *command.env, *command.env.values()):
        if "\0" in text:
            raise InvalidArguments("a command cannot be given a NUL character")
        try:
            size = len(os.fsencode(text))
        except UnicodeEncodeError:
            raise InvalidArguments("a command cannot be given half a surrogate pair") from None
        if size > _LONGEST_ARGUMENT:
            raise InvalidArguments(f"an argument has {size} bytes, at most {_LONGEST_ARGUMENT} are possible")
    if any("=" in name or not name for name in command.env):
        raise InvalidArguments("the name of an environment variable is empty or has an equals sign")
    if len(command.stdin) > _LONGEST_INPUT:
        raise InvalidArguments(
            f"the input has {len(command.stdin)} bytes, at most {_LONGEST_INPUT} are possible"
        )
