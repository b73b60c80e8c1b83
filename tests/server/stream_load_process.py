"""Many streams in a separate process, so that a probe does not measure the work of the clients themselves.

The process serves the upstream and reads commands from standard input: `hold URL COUNT`, `report`, `leave`.
It prints its URL, and a line of JSON for each command.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.server.stream_load import EndlessUpstream, StreamReader, endless_upstream, listen

_AT_ONCE = 25
BOUND = 240.0


async def hold(url: str, count: int) -> list[StreamReader]:
    """Open `count` streams, a few at a time; each has begun."""
    held: list[StreamReader] = []
    while len(held) < count:
        few = await asyncio.gather(*(listen(url) for _ in range(min(_AT_ONCE, count - len(held)))))
        await asyncio.gather(*(one.begun for one in few))
        held += few
    return held


def report(held: list[StreamReader], upstream: type[EndlessUpstream]) -> dict[str, float]:
    """How many streams were dropped, the longest gaps between events, and how many the upstream serves."""
    gaps = sorted(one.gap for one in held) or [0.0]
    return {
        "dropped": sum(one.lost for one in held),
        "gap": gaps[int(len(gaps) * 0.99)],
        "upstream": upstream.open,
    }


def _print(found: object) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


async def main() -> None:
    """Run commands until the end of standard input."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held: list[StreamReader] = []
    async with endless_upstream(1.0) as (url, upstream):
        _print({"url": url})
        while command := (await asyncio.to_thread(sys.stdin.readline)).split():
            if command[0] == "hold":
                held += await hold(command[1], int(command[2]))
                for one in held:
                    one.gap = 0.0
            elif command[0] == "leave":
                for one in held:
                    one.transport.abort()
                held.clear()
                await asyncio.sleep(0)
            _print(report(held, upstream))


class StreamLoad:
    """Handle of the process."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self._process = process
        self.url = url

    async def do(self, *command: object) -> dict[str, float]:
        """Send a command, and wait until it is done."""
        assert self._process.stdin is not None
        self._process.stdin.write((" ".join(map(str, command)) + "\n").encode())
        found = await read_reply(self._process)
        return {name: float(str(figure)) for name, figure in found.items()}


async def read_reply(process: asyncio.subprocess.Process) -> dict[str, object]:
    assert process.stdout is not None
    async with asyncio.timeout(BOUND):
        line = await process.stdout.readline()
    assert line, "the process has exited"
    found = json.loads(line)
    assert isinstance(found, dict)
    return found


@asynccontextmanager
async def stream_load() -> AsyncIterator[StreamLoad]:
    """Run the process until the block ends."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.server.stream_load_process"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield StreamLoad(process, str((await read_reply(process))["url"]))
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(main())
