"""File locks: one holder at a time, among threads and processes."""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from groundwire.errors import ConfigError, TimedOut
from groundwire.files.lock import locked, locked_async

pytestmark = pytest.mark.server

HOLDER = """
import asyncio, sys
from groundwire.files.lock import locked_async
async def main():
    async with locked_async(sys.argv[1], 5, 0.01):
        print("held", flush=True)
        sys.stdin.read()
asyncio.run(main())
"""


async def test_holders_take_turns_and_the_event_loop_is_not_blocked(tmp_path: Path) -> None:
    inside = 0
    most = 0

    async def hold() -> None:
        nonlocal inside, most
        async with locked_async(tmp_path / "a.lock", 5, 0.005):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    async def main() -> None:
        await asyncio.wait_for(asyncio.gather(*(hold() for _ in range(20))), 20)

    await main()
    assert most == 1


async def test_a_process_that_is_killed_leaves_the_lock_free(tmp_path: Path) -> None:
    path = str(tmp_path / "a.lock")
    command = [sys.executable, "-c", HOLDER, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:  # noqa: S603
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"

        async def take(timeout: float) -> None:
            async with locked_async(path, timeout, 0.01):
                pass

        with pytest.raises(TimedOut, match=r"another process has held .*a\.lock for 0\.05 s"):
            await take(0.05)
        holder.kill()
        await take(10)


async def test_the_lock_file_is_private_whatever_the_umask_and_stays(tmp_path: Path) -> None:
    before = os.umask(0)

    async def main() -> None:
        async with locked_async(tmp_path / "a.lock", 1, 0.01):
            pass

    try:
        await main()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.lock").stat().st_mode) == 0o600


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_lock_file_removed_by_another_program_does_not_admit_two_holders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    path = tmp_path / "a.lock"
    removed = False
    real_fstat = os.fstat

    def fstat(descriptor: int) -> os.stat_result:
        nonlocal removed
        if not removed:
            removed = True
            path.unlink()
            if replaced:
                path.touch()
        return real_fstat(descriptor)

    monkeypatch.setattr(os, "fstat", fstat)

    async def main() -> None:
        async with locked_async(tmp_path / "a.lock", 5, 0.01):
            assert path.exists()

    await main()
    assert removed


async def test_a_lock_that_cannot_be_created_is_an_error_with_advice(tmp_path: Path) -> None:
    (tmp_path / "a.lock").mkdir()
    (tmp_path / "b.lock").symlink_to(tmp_path / "elsewhere")

    async def main(name: str) -> None:
        async with locked_async(tmp_path / name, 1, 0.01):
            pass

    for name in ("a.lock", "b.lock", "none/c.lock"):
        with pytest.raises(ConfigError, match=r"cannot be locked .* make its directory writable"):
            await main(name)
    assert not (tmp_path / "elsewhere").exists()


async def test_a_file_system_without_locks_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)

    async def main() -> None:
        async with locked_async(tmp_path / "a.lock", 1, 0.01):
            pass

    with pytest.raises(ConfigError, match="No locks available"):
        await main()


def test_a_thread_waits_for_the_lock_until_its_timeout(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with locked(path, 1), pytest.raises(TimedOut, match="another process has held"), locked(path, 0.01):
        pass
    with locked(path, 1):
        pass
