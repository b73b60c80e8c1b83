"""Run a coroutine with a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 60.0
"""Beyond this nothing is slow any more: it hangs."""


def run(main: Coroutine[None, None, T]) -> T:
    """Run to the end with a time limit; fails if a task is left running."""

    async def bounded() -> T:
        async with asyncio.timeout(PATIENCE):
            result = await main
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks still running: {left}"
        return result

    return asyncio.run(bounded())
