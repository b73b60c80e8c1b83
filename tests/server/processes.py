"""`groundwire serve` as a subprocess with a test configuration."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import aiohttp

BOUND = 60.0
SOURCE = Path(__file__).parents[2] / "src"
NO_ENV: Mapping[str, str] = MappingProxyType({})
PROGRAM = ("-m", "groundwire")
_ADDRESS = re.compile(r"serving at (http://\S+)")


@dataclass
class ServeProcess:
    """The process, its URL, and the lines of its log so far."""

    process: asyncio.subprocess.Process
    url: str
    lines: list[str]

    async def serving(self) -> None:
        """Wait until it answers; fails if it ends before."""
        async with asyncio.timeout(BOUND):
            while not (found := _ADDRESS.search("\n".join(self.lines))):
                assert self.process.returncode is None, self.lines
                await asyncio.sleep(0.01)
        self.url = found[1]
        await _answers(self.url)

    async def ended(self, timeout: float = BOUND) -> int:
        """Wait for the exit code."""
        async with asyncio.timeout(timeout):
            return await self.process.wait()

    async def wait_for_log(self, text: str, count: int = 1) -> None:
        """Wait until so many lines of the log contain a text."""
        async with asyncio.timeout(BOUND):
            while sum(text in line for line in self.lines) < count:
                await asyncio.sleep(0.02)


def command_env(folder: Path) -> dict[str, str]:
    """The environment of the command line with the configuration and the data of a folder."""
    return {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(SOURCE),
        "GROUNDWIRE_CONFIG": str(folder / "config.toml"),
        "GROUNDWIRE_DATA_DIR": str(folder / "data"),
        "GROUNDWIRE_BUILD_INDEX": "0",
        "GROUNDWIRE_SEMANTIC": "0",
    }


@asynccontextmanager
async def running_serve(
    folder: Path, *arguments: str, config: str = "", program: Sequence[str] = PROGRAM
) -> AsyncIterator[ServeProcess]:
    """Run `groundwire serve` on a free port until the block ends."""
    async with start_serve(folder, ["--port", "0", *arguments], config=config, program=program) as one:
        await one.serving()
        yield one


@asynccontextmanager
async def start_serve(
    folder: Path,
    arguments: Sequence[str],
    *,
    config: str = "",
    env: Mapping[str, str] = NO_ENV,
    program: Sequence[str] = PROGRAM,
    wrapper: Sequence[str] = (),
) -> AsyncIterator[ServeProcess]:
    """Start `groundwire serve`, which may also fail; it is killed when the block ends. `wrapper` is a command
    that replaces itself by the program."""
    (folder / "config.toml").write_text(config, "utf-8")
    process = await asyncio.create_subprocess_exec(
        *(*wrapper, sys.executable, *program, "serve", *arguments),
        env={**command_env(folder), **env},
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    one = ServeProcess(process, "", [])
    reading = asyncio.create_task(_read(process, one.lines))
    try:
        yield one
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):  # it may just have exited
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        async with asyncio.timeout(BOUND):
            await reading


async def _read(process: asyncio.subprocess.Process, lines: list[str]) -> None:
    assert process.stderr is not None
    while line := await process.stderr.readline():
        lines.append(line.decode())


async def _answers(url: str) -> None:
    async with asyncio.timeout(BOUND), aiohttp.ClientSession() as client:
        while True:
            try:
                async with client.get(f"{url}/healthz") as response:
                    assert response.status == 200
                    return
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.02)
