"""`DirectFuture`: the waiting task continues inside the callback, and cancellation works as everywhere."""

from __future__ import annotations

import asyncio

import pytest

from groundwire.transport.direct_future import DirectFuture


async def test_the_waiting_task_continues_before_wake_returns() -> None:
    loop = asyncio.get_running_loop()
    future = DirectFuture(loop=loop)
    order: list[str] = []

    async def wait() -> None:
        await future
        order.append("task")

    def callback() -> None:
        order.append("before")
        future.wake()
        order.append("after")

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    loop.call_soon(callback)
    await task
    assert order == ["before", "task", "after"]


async def test_inside_another_task_the_waiting_one_continues_later() -> None:
    future = DirectFuture(loop=asyncio.get_running_loop())
    order: list[str] = []

    async def wait() -> None:
        await future
        order.append("task")

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    future.wake()  # this test is a task
    order.append("after")
    await task
    assert order == ["after", "task"]


@pytest.mark.parametrize("wakes", [False, True])
async def test_a_cancelled_task_is_cancelled_even_if_it_is_woken_at_the_same_time(*, wakes: bool) -> None:
    loop = asyncio.get_running_loop()
    future = DirectFuture(loop=loop)

    async def wait() -> None:
        await future

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)

    def callback() -> None:
        task.cancel()
        if wakes:
            future.wake()

    loop.call_soon(callback)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def test_a_future_that_is_complete_does_not_wait() -> None:
    future = DirectFuture(loop=asyncio.get_running_loop())
    future.wake()
    future.wake()
    async with asyncio.timeout(5):
        await future
        await asyncio.wait([future])


async def test_a_future_does_not_keep_its_task() -> None:
    loop = asyncio.get_running_loop()
    future = DirectFuture(loop=loop)

    async def wait() -> None:
        await future

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    loop.call_soon(future.wake)
    await task
    assert future._waiting is None
    assert future._context is None
