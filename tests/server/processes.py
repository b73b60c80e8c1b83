"""`groundwire serve` as a subprocess with a test configuration."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp

BOUND = 20.0
_ADDRESS = re.compile(r"serving at (http://\S+)")


@dataclass
class ServeProcess:
    """The process, where it listens, and what it has said so far."""

    process: asyncio.subprocess.Process
    url: str
    said: list[str]

    async def ended(self, timeout: float = BOUND) -> int:
        """Its exit code."""
        async with asyncio.timeout(timeout):
            return await self.process.wait()

    async def tells(self, what: str, count: int = 1) -> None:
        """Wait until it has said something so often."""
        async with asyncio.timeout(BOUND):
            while sum(what in line for line in self.said) < count:
                await asyncio.sleep(0.02)


@asynccontextmanager
async def running_serve(folder: Path, *words: str, config: str = "") -> AsyncIterator[ServeProcess]:
    """Run `groundwire serve` on a free port until the block ends."""
    async with start_serve(folder, ["--port", "0", *words], config=config) as one:
        async with asyncio.timeout(BOUND):
            while not (found := _ADDRESS.search("\n".join(one.said))):
                assert one.process.returncode is None, one.said
                await asyncio.sleep(0.01)
        one.url = found[1]
        await _answers(one.url)
        yield one


@asynccontextmanager
async def start_serve(folder: Path, words: Sequence[str], *, config: str = "") -> AsyncIterator[ServeProcess]:
    """The process, whatever it does."""
    (folder / "config.toml").write_text(config, "utf-8")
    env = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "GROUNDWIRE_CONFIG": str(folder / "config.toml"),
        "GROUNDWIRE_DATA_DIR": str(folder / "data"),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "groundwire", "serve", *words),
        env=env,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    one = ServeProcess(process, "", [])
    reading = asyncio.create_task(_read(process, one.said))
    try:
        yield one
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):  # it may have ended without our having heard of it
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        async with asyncio.timeout(BOUND):
            await reading


async def _read(process: asyncio.subprocess.Process, said: list[str]) -> None:
    assert process.stderr is not None
    while line := await process.stderr.readline():
        said.append(line.decode())


async def _answers(url: str) -> None:
    async with asyncio.timeout(BOUND), aiohttp.ClientSession() as client:
        while True:
            try:
                async with client.get(f"{url}/healthz") as response:
                    assert response.status == 200
                    return
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.02)
