"""Blocking calls in threads: results and errors are returned, and calls that never end are not awaited."""

from __future__ import annotations

import asyncio
import threading

import pytest

from groundwire.transport.threads import run_in_thread


async def test_the_result_of_a_call_is_returned() -> None:
    assert await run_in_thread(lambda: threading.current_thread().daemon) is True


async def test_the_exception_of_a_call_is_raised() -> None:
    empty: dict[str, int] = {}
    with pytest.raises(KeyError, match="x"):
        await run_in_thread(lambda: empty["x"])


async def test_a_program_does_not_wait_for_an_abandoned_call_at_exit() -> None:
    ended = threading.Event()
    returned: list[bool] = []

    async def main() -> None:
        async with asyncio.timeout(0.05):
            await run_in_thread(lambda: returned.append(ended.wait(60)))

    with pytest.raises(TimeoutError):
        await main()
    assert returned == []
    ended.set()  # its result finds the loop closed
