"""Calls that block, beside the loop. Who stops waiting leaves the thread to itself.

The loop's own executor is not used: a program that ends would wait there for every name server that never
answers. These threads end with the program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from threading import Thread
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")


async def run_in_thread(call: Callable[[], T], name: str = "groundwire") -> T:
    """What the call returns, or what it raises."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(told: Callable[[], None]) -> None:
        if not future.done():  # nobody waits any more
            told()

    def tell(told: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, told)

    def run() -> None:
        with _Carried(lambda error: tell(lambda: future.set_exception(error))):
            result = call()
            tell(lambda: future.set_result(result))

    Thread(target=run, name=name, daemon=True).start()
    return await future


class _Carried:
    """Hands an error to somebody else instead of letting it end the thread."""

    def __init__(self, tell: Callable[[BaseException], None]) -> None:
        self._tell = tell

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None:
            self._tell(error)
        return error is not None


def is_loop_running() -> bool:
    """Does an event loop run in this thread?"""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run_in_loop_thread(main: Callable[[], Coroutine[object, object, T]]) -> T:
    """The result of a coroutine that runs in a thread with an event loop of its own.

    An interrupt (Ctrl-C, a notebook's stop button) cancels it.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  few need it

    loops: list[asyncio.AbstractEventLoop] = []

    def work() -> T:
        with asyncio.Runner() as runner:
            loops.append(runner.get_loop())
            return runner.run(main())

    def cancel(loop: asyncio.AbstractEventLoop) -> None:
        for task in asyncio.all_tasks(loop):
            task.cancel()

    with ThreadPoolExecutor(1, "groundwire") as pool:
        future = pool.submit(work)
        try:
            return future.result()
        finally:
            if not future.done():  # the wait was interrupted
                for loop in loops:
                    loop.call_soon_threadsafe(cancel, loop)
