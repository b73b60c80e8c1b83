"""Checks that a block leaves no tasks, timers or sockets open."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

PATIENCE = 10.0


def _under_way() -> set[object]:
    loop = asyncio.get_running_loop()
    timers = {timer for timer in loop._scheduled if not timer.cancelled()}  # type: ignore[attr-defined]  # no other way
    return {*asyncio.all_tasks(), *timers, *_sockets()}


def _sockets() -> set[str]:
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{number}"))
    return {name for name in found if name.startswith("socket:")}


@asynccontextmanager
async def nothing_left() -> AsyncIterator[None]:
    """Tasks, timers and sockets created in the block must be gone at its end."""
    before = _under_way()
    yield
    loop = asyncio.get_running_loop()
    ends = loop.time() + PATIENCE
    while True:
        left = _under_way() - before
        if not left:
            return
        assert loop.time() < ends, f"still open: {left}"
        await asyncio.sleep(0.002)
