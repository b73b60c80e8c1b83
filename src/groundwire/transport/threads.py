"""Run blocking calls in daemon threads, without blocking the event loop.

The loop's default executor is not used: at exit it waits for all its threads, also for a DNS lookup that
never returns. A cancelled caller leaves its thread running; it ends with the program.
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
    """Run a blocking call in a thread; returns its result or raises its error."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def resolve(set_outcome: Callable[[], None]) -> None:
        with suppress(asyncio.InvalidStateError):  # the caller was cancelled
            set_outcome()

    def report(set_outcome: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(resolve, set_outcome)

    def run() -> None:
        with _CatchAll(lambda error: report(lambda: future.set_exception(error))):
            result = call()
            report(lambda: future.set_result(result))

    Thread(target=run, name=name, daemon=True).start()
    return await future


class _CatchAll:
    """Passes an error to a callback instead of letting it end the thread."""

    def __init__(self, on_error: Callable[[BaseException], None]) -> None:
        self._on_error = on_error

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None:
            self._on_error(error)
        return error is not None


def is_loop_running() -> bool:
    """Is an event loop running in this thread?"""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run_in_loop_thread(main: Callable[[], Coroutine[object, object, T]]) -> T:
    """Run a coroutine in another thread with its own event loop; returns its result.

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
