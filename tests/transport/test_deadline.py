"""Deadlines: one timer for all of them, and each is exact."""

from __future__ import annotations

import asyncio

import pytest

from groundwire.transport.deadline import Deadline
from tests.routing.fake_clock import run_skipping_waits


def test_a_cancelled_request_stays_cancelled_even_at_its_deadline() -> None:
    async def main() -> bool:
        deadline = Deadline(asyncio.get_running_loop().time() + 5)

        async def work() -> None:
            with deadline:
                await asyncio.sleep(10)

        task = asyncio.create_task(work())
        asyncio.get_running_loop().call_later(5, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        deadline.close()
        return task.cancelled()

    cancelled, _ = run_skipping_waits(main())
    assert cancelled


def test_a_deadline_that_has_passed_stops_the_next_wait_at_once() -> None:
    async def main() -> None:
        deadline = Deadline(asyncio.get_running_loop().time())
        with pytest.raises(TimeoutError), deadline:
            await asyncio.sleep(1)

    _, took = run_skipping_waits(main())
    assert took == 0


def test_a_deadline_can_be_moved_later_and_sooner_while_it_runs() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        deadline = Deadline(began + 5)
        with deadline:
            await asyncio.sleep(1)
        deadline.ends = began + 20
        with deadline:
            await asyncio.sleep(10)
        deadline.ends = began + 12
        with pytest.raises(TimeoutError), deadline:
            await asyncio.sleep(100)
        return loop.time() - began

    found, _ = run_skipping_waits(main())
    assert found == pytest.approx(12)


def test_many_deadlines_share_a_timer_and_each_fires_at_its_own_time() -> None:
    async def main() -> tuple[list[float], list[int]]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        timers: list[int] = []

        async def wait(seconds: float, work: float) -> float:
            deadline = Deadline(began + seconds)
            try:
                with deadline:
                    timers.append(id(deadline._timer))
                    await asyncio.sleep(work)
            except TimeoutError:
                return loop.time() - began
            finally:
                deadline.close()
            return 0.0

        waits = [wait(9, 100), wait(3, 100), wait(6, 1), wait(6, 100), wait(4, 2)]
        return await asyncio.gather(*waits), timers

    (ended, timers), _ = run_skipping_waits(main())
    assert ended == pytest.approx([9, 3, 0, 6, 0])
    assert len(set(timers)) == 1
