"""Graceful shutdown: streams that wait for a provider end with an error, others do not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from groundwire.errors import TurnedAway
from groundwire.model import Event, TextDelta
from groundwire.server.shutdown import ActiveStreams


class EventSource:
    """Yields some text, then waits for ever; records whether it was closed."""

    def __init__(self, count: int = 2) -> None:
        self.count = count
        self.closed = False

    async def batches(self) -> AsyncGenerator[Sequence[Event], None]:
        try:
            for number in range(self.count):
                yield [TextDelta(0, str(number))]
            await asyncio.Event().wait()
        finally:
            self.closed = True


async def test_a_waiting_answer_ends_with_an_error_and_its_provider_is_closed() -> None:
    async def run() -> tuple[int, bool, int]:
        running, source, received = ActiveStreams(), EventSource(), 0
        asyncio.get_running_loop().call_later(0.05, running.close)
        try:
            async for _ in running.track(source.batches()):
                received += 1
        except TurnedAway:
            task = asyncio.current_task()
            assert task is not None
            return received, source.closed, task.cancelling()
        raise AssertionError("the stream did not end")

    assert await run() == (2, True, 0)


async def test_a_running_answer_ends_at_its_next_batch() -> None:
    async def run() -> int:
        running, source, received = ActiveStreams(), EventSource(10), 0
        try:
            async for _ in running.track(source.batches()):
                received += 1
                if received == 3:
                    running.close()
                    await asyncio.sleep(0.02)  # the client reads; this must not be interrupted
        except TurnedAway:
            return received
        raise AssertionError("the stream did not end")

    assert await run() == 3


async def test_a_client_that_disconnects_gets_no_closing_error() -> None:
    async def run() -> bool:
        running, source = ActiveStreams(), EventSource()

        async def listen() -> None:
            async for _ in running.track(source.batches()):
                pass

        task = asyncio.create_task(listen())
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        running.close()
        return source.closed

    assert await run()


async def test_no_answer_begins_after_shutdown() -> None:
    running = ActiveStreams()
    running.close()
    with pytest.raises(TurnedAway):
        async for _ in running.track(EventSource().batches()):
            pass
