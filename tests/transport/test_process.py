"""Processes: started exactly as specified, output bounded, never outliving their caller."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from groundwire.errors import InvalidArguments, TimedOut, Unreachable, UpstreamWireError
from groundwire.model.value import replace
from groundwire.transport.process import (
    MEGABYTE,
    ProcessCommand,
    ProcessLimits,
    ResourceLimits,
    start_process,
    with_resource_limits,
)

pytestmark = pytest.mark.server

PYTHON = os.path.realpath(sys.executable)
USUAL = ProcessLimits(seconds=30)
ENDLESS = ProcessLimits(seconds=600)
LATE = 30.0
"""What is started here sleeps for twice as long."""
SLEEP = "import time; time.sleep(60)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
GRANDCHILD = """
import os, time
child = os.fork()
if child == 0:
    time.sleep(60)
print(child, flush=True)
time.sleep(60)
"""


def python(code: str, *arguments: str, stdin: bytes = b"") -> ProcessCommand:
    return ProcessCommand((PYTHON, "-IS", "-c", code, *arguments), {"LANG": "C.UTF-8"}, "/", stdin)


def output_of(command: ProcessCommand, bounds: ProcessLimits = USUAL) -> tuple[list[bytes], int, bytes]:
    async def main() -> tuple[list[bytes], int, bytes]:
        async with start_process(command, bounds) as process:
            lines = [line async for line in process.lines()]
            code, errors = await process.end()
        assert len(asyncio.all_tasks()) == 1
        return lines, code, errors

    return asyncio.run(main())


def is_alive(pid: int) -> bool:
    """Does it run? A dead process that its new parent has not fetched yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def pids_with(argument: str) -> list[int]:
    """All live processes that have this argument."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                arguments = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if argument.encode() in arguments and is_alive(int(folder.name)):
                found.append(int(folder.name))
    return found


def wait_until(is_so: Callable[[], bool], seconds: float = 20.0) -> bool:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if is_so():
            return True
        time.sleep(0.01)
    return is_so()


def test_a_command_gets_its_arguments_environment_directory_and_input_and_nothing_else(
    tmp_path: Path,
) -> None:
    code = (
        "import os, sys; print(sys.argv[1:]); print(dict(os.environ)); print(os.getcwd());"
        "print(sys.stdin.buffer.read()); print(sorted(os.listdir('/proc/self/fd'))[:4])"
    )
    arguments = ("a b", "$(id)", "`id`", "-x", "'\"", "\n", "é", "")
    command = replace(python(code, *arguments, stdin=b"in\0put"), cwd=str(tmp_path))
    lines, exit_code, errors = output_of(command)
    assert lines == [
        repr(list(arguments)).encode(),
        b"{'LANG': 'C.UTF-8'}",
        str(tmp_path).encode(),
        b"b'in\\x00put'",
        b"['0', '1', '2', '3']",
    ]
    assert (exit_code, errors) == (0, b"")


def test_a_command_leads_its_own_session_and_process_group() -> None:
    lines, _, _ = output_of(
        python("import os; print(os.getpid() == os.getpgid(0) == os.getsid(0)); print(os.umask(0))")
    )
    assert lines == [b"True", b"63"]


def test_lines_end_at_line_feeds_alone_and_the_last_needs_none() -> None:
    code = r"import sys; sys.stdout.buffer.write(b'one\r\n\ntwo\xe2\x80\xa8\x85\x0bthree')"
    lines, _, _ = output_of(python(code))
    assert lines == [b"one\r", b"", b"two\xe2\x80\xa8\x85\x0bthree"]


async def test_lines_are_returned_as_they_arrive() -> None:
    code = "import sys\nprint('first', flush=True)\nsys.stdin.read()\n" + SLEEP
    async with start_process(python(code), ProcessLimits(seconds=10)) as process:
        async with aclosing(process.lines()) as lines:
            assert await anext(lines) == b"first"
        assert is_alive(process.pid)
    assert not is_alive(process.pid)


def test_exit_code_signal_and_error_output_are_returned() -> None:
    assert output_of(python("import sys; sys.stderr.write('sorry'); sys.exit(7)")) == ([], 7, b"sorry")
    assert output_of(python("import os; os.kill(os.getpid(), 9)"))[1] == -9


def test_unread_input_is_not_an_error() -> None:
    assert output_of(python("pass", stdin=b"x" * 900_000)) == ([], 0, b"")


def test_large_input_and_large_output_do_not_deadlock() -> None:
    code = "import sys\nfor line in sys.stdin: sys.stdout.write(line); sys.stderr.write(line)"
    data = b"".join(b"%d\n" % number for number in range(120_000))
    lines, _, errors = output_of(python(code, stdin=data))
    assert b"\n".join(lines) + b"\n" == errors == data


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_too_much_output_is_an_error_at_once(stream: str) -> None:
    argument = f"flood-{os.getpid()}"
    code = f"import sys\nwhile True: sys.{stream}.write('x' * 65536)"
    with pytest.raises(UpstreamWireError, match="larger than 2097152 bytes"):
        output_of(python(code, argument), ENDLESS)
    assert not pids_with(argument)


def test_output_up_to_the_bound_is_allowed() -> None:
    lines, _, _ = output_of(python(f"print('x' * {2 * MEGABYTE - 1})"))
    assert len(lines[0]) == 2 * MEGABYTE - 1


async def test_lines_before_the_overflow_are_returned() -> None:
    code = "print('one'); print('x' * 3000)"
    async with start_process(python(code), ProcessLimits(seconds=10, stdout=1000)) as process:
        lines = process.lines()
        assert await anext(lines) == b"one"
        with pytest.raises(UpstreamWireError):
            await anext(lines)


@pytest.mark.parametrize("code", [SLEEP, STUBBORN + SLEEP], ids=["ends on SIGTERM", "does not"])
def test_a_command_that_takes_too_long_is_ended(code: str) -> None:
    argument = f"late-{os.getpid()}"
    began = time.monotonic()
    with pytest.raises(TimedOut, match=r"within 0\.3 s"):
        output_of(python(code, argument), ProcessLimits(seconds=0.3))
    assert time.monotonic() - began < LATE
    assert not pids_with(argument)


def test_a_command_with_slow_output_is_ended_too() -> None:
    code = "import time\nwhile True: print('x', flush=True); time.sleep(0.02)"
    with pytest.raises(TimedOut):
        output_of(python(code), ProcessLimits(seconds=0.3))


@pytest.mark.parametrize("code", [GRANDCHILD, STUBBORN + GRANDCHILD], ids=["ends on SIGTERM", "does not"])
async def test_a_timeout_ends_grandchildren(code: str) -> None:
    grandchildren: list[int] = []

    async def main() -> None:
        async with start_process(python(code), ProcessLimits(seconds=0.5)) as process:
            grandchildren.append(int(await anext(process.lines())))
            await process.end()

    with pytest.raises(TimedOut):
        await main()
    assert len(grandchildren) == 1
    assert wait_until(lambda: not is_alive(grandchildren[0]))


def test_grandchildren_do_not_outlive_a_command_that_ends_by_itself() -> None:
    code = "import os, time\nchild = os.fork()\nif child == 0: time.sleep(60)\nprint(child)"
    began = time.monotonic()
    lines, code_, _ = output_of(python(code), ENDLESS)
    assert code_ == 0
    assert time.monotonic() - began < LATE
    assert wait_until(lambda: not is_alive(int(lines[0])))


def test_a_process_outside_the_group_cannot_hold_the_output_open() -> None:
    code = (
        "import os, time\nchild = os.fork()\n"
        "if child == 0:\n    os.setsid(); time.sleep(60); os._exit(0)\nprint(child)"
    )
    began = time.monotonic()
    lines, _, _ = output_of(python(code, stdin=b"x" * 900_000), ENDLESS)
    assert time.monotonic() - began < LATE
    os.kill(int(lines[0]), signal.SIGKILL)


@pytest.mark.parametrize("turns", [*range(12), 20, 40])
async def test_a_cancelled_caller_leaves_nothing_running_in_any_phase(turns: int) -> None:
    argument = f"cancelled-{os.getpid()}-{turns}"

    async def ask() -> None:
        async with start_process(python(GRANDCHILD, argument, stdin=b"x" * 500_000)) as process:
            async for _ in process.lines():
                pass

    async def main() -> None:
        task = asyncio.create_task(ask())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1

    began = time.monotonic()
    await main()
    assert wait_until(lambda: not pids_with(argument))
    assert time.monotonic() - began < LATE


async def test_a_caller_cancelled_twice_leaves_nothing_running() -> None:
    argument = f"twice-{os.getpid()}"

    async def ask(started: asyncio.Event) -> None:
        async with start_process(python(STUBBORN + GRANDCHILD, argument)) as process:
            async for _ in process.lines():
                started.set()

    async def main() -> None:
        started = asyncio.Event()
        task = asyncio.create_task(ask(started))
        await started.wait()
        task.cancel()
        await asyncio.sleep(0.05)  # inside the grace that follows SIGTERM
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    await main()
    assert wait_until(lambda: not pids_with(argument))


async def test_a_generator_closed_half_way_ends_the_command() -> None:
    argument = f"closed-{os.getpid()}"

    async def main() -> None:
        async def numbers() -> AsyncGenerator[bytes, None]:
            async with start_process(python(GRANDCHILD, argument)) as process:
                async for line in process.lines():
                    yield line

        async with aclosing(numbers()) as lines:
            async for _ in lines:
                break

    await main()
    assert wait_until(lambda: not pids_with(argument))


async def test_no_zombie_process_is_left() -> None:
    async def main() -> int:
        async with start_process(python("pass")) as process:
            await process.end()
        return process.pid

    pid = await main()
    assert wait_until(lambda: not Path(f"/proc/{pid}").exists())


def test_commands_run_from_any_thread() -> None:
    found: list[tuple[list[bytes], int, bytes]] = []
    thread = threading.Thread(target=lambda: found.append(output_of(python("print(1)"))))
    thread.start()
    thread.join(10)
    assert found == [([b"1"], 0, b"")]


def test_a_missing_program_is_named() -> None:
    with pytest.raises(Unreachable, match="cannot start /nowhere/copilot: No such file"):
        output_of(ProcessCommand(("/nowhere/copilot",), {}, "/"))


def test_a_file_that_is_not_executable_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(Unreachable, match=r"cannot start .*notes\.txt"):
        output_of(ProcessCommand((str(path),), {}, "/"))


@pytest.mark.parametrize(
    "command",
    [
        ProcessCommand((), {}, "/"),
        ProcessCommand(("",), {}, "/"),
        ProcessCommand(("true", "a\0b"), {}, "/"),
        ProcessCommand(("true",), {"A": "\0"}, "/"),
        ProcessCommand(("true",), {"A=B": ""}, "/"),
        ProcessCommand(("true",), {"": "x"}, "/"),
        ProcessCommand(("true",), {}, "/\0"),
        ProcessCommand(("true", "x" * 131_072), {}, "/"),
        ProcessCommand(("true", "\ud800"), {}, "/"),
        ProcessCommand(("true",), {}, "/", b"x" * (MEGABYTE + 1)),
    ],
)
def test_arguments_that_cannot_be_passed_are_refused_before_anything_starts(command: ProcessCommand) -> None:
    with pytest.raises(InvalidArguments):
        output_of(command)


def test_limits_are_set_by_prlimit_and_apply_to_child_processes() -> None:
    code = "import resource as r; print(*map(r.getrlimit, (r.RLIMIT_CPU, r.RLIMIT_FSIZE, r.RLIMIT_CORE)))"
    command = ProcessCommand((PYTHON, "-I", "-c", code), {}, "/")
    argv = with_resource_limits(
        command.argv, ResourceLimits(cpu_seconds=5, file_bytes=4096), "/usr/bin/prlimit"
    )
    assert output_of(replace(command, argv=argv))[0] == [b"(5, 5) (4096, 4096) (0, 0)"]


def test_without_prlimit_a_command_runs_without_limits() -> None:
    assert with_resource_limits(("true",), ResourceLimits(cpu_seconds=5), "") == ("true",)
    assert with_resource_limits(("true",), ResourceLimits(processes=9), "/bin/prlimit") == (
        *("/bin/prlimit", "--core=0", "--nproc=9"),
        "true",
    )
