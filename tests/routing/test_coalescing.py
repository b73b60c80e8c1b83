"""Request coalescing: one running answer, read by several clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import aclosing
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.errors import Overloaded
from groundwire.model import Event, Failed, Finished, Started, TextDelta
from groundwire.routing.coalescing import SharedStream

T = TypeVar("T")
ROOM = 2**20
EVENTS: list[Event] = [Started("1", "m"), *(TextDelta(0, f"{number} ") for number in range(6)), Finished()]


class ScriptedSource:
    """Yields its events one by one; records how many, and whether it was stopped."""

    def __init__(self, events: Sequence[Event], *, error: BaseException | None = None) -> None:
        self.events = events
        self.error = error
        self.emitted = 0
        self.stopped = False
        self.go = asyncio.Event()
        self.go.set()

    async def batches(self) -> AsyncGenerator[Sequence[Event], None]:
        try:
            for event in self.events:
                await self.go.wait()
                await asyncio.sleep(0)
                self.emitted += 1
                yield [event]
            if self.error is not None:
                raise self.error
        except (GeneratorExit, asyncio.CancelledError):
            self.stopped = True
            raise


def run(work: Coroutine[None, None, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(10):
            found = await work
        assert asyncio.all_tasks() == {asyncio.current_task()}, "a task is still running"
        return found

    return asyncio.run(bounded())


def shared_stream_of(source: ScriptedSource, limit: int = ROOM) -> tuple[SharedStream, list[SharedStream]]:
    closed: list[SharedStream] = []
    return SharedStream(source.batches(), limit, closed.append), closed


async def read(shared: SharedStream, *, first: int = 0, pause: int = 0, most: int = 99) -> list[Event]:
    """Start after `first` turns of the loop, read with pauses, and disconnect after `most` events."""
    for _ in range(first):
        await asyncio.sleep(0)
    found: list[Event] = []
    if most == 0:
        return found
    async with aclosing(shared.follow()) as batches:
        async for batch in batches:
            found += batch
            if len(found) >= most:
                break
            for _ in range(pause):
                await asyncio.sleep(0)
    return found


async def test_a_late_reader_gets_the_same_batches_as_the_first() -> None:
    async def work() -> tuple[list[Event], list[Event]]:
        shared, _ = shared_stream_of(ScriptedSource(EVENTS))
        one, other = await asyncio.gather(read(shared), read(shared, first=5))
        return one, other

    one, other = await work()
    assert one == other == EVENTS


@given(
    st.lists(st.integers(0, 4), max_size=8),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5), st.integers(1, 12)), min_size=1, max_size=6),
    st.sampled_from([0, 300, 600, ROOM]),
)
def test_every_reader_gets_the_same_batches_while_it_reads(
    sizes: list[int], readers: list[tuple[int, int, int]], limit: int
) -> None:
    events: list[Event] = [Started(), *(TextDelta(0, "x" * size) for size in sizes), Finished()]

    async def work() -> list[list[Event]]:
        shared, closed = shared_stream_of(ScriptedSource(events), limit)

        async def later(first: int, pause: int, most: int) -> list[Event]:
            for _ in range(first):
                await asyncio.sleep(0)
            return [] if closed else await read(shared, pause=pause, most=most)

        return list(
            await asyncio.gather(
                read(shared), *(later(*reader) for reader in readers), return_exceptions=False
            )
        )

    first, *others = run(work())
    assert first == events
    for found, (_, _, most) in zip(others, readers, strict=True):
        assert found in ([], events[:most])


async def test_the_provider_is_read_no_faster_than_the_fastest_reader() -> None:
    async def work() -> tuple[int, int]:
        source = ScriptedSource(EVENTS)
        shared, _ = shared_stream_of(source)
        async with aclosing(shared.follow()) as one, aclosing(shared.follow()) as other:
            for _ in range(3):
                await anext(one)
            await anext(other)
            for _ in range(50):
                await asyncio.sleep(0)
            before = source.emitted
            await anext(one)
            return before, source.emitted

    assert await work() == (3, 4)


async def test_an_answer_beyond_the_limit_is_read_as_fast_as_the_slowest_reader() -> None:
    async def work() -> tuple[int, int, int]:
        source = ScriptedSource([TextDelta(0, "x" * 1000) for _ in range(50)])
        shared, closed = shared_stream_of(source, 5000)

        async def eager() -> int:
            async with aclosing(shared.follow()) as batches:
                return len([batch async for batch in batches])

        async with aclosing(shared.follow()) as slow:
            await anext(slow)
            task = asyncio.create_task(eager())
            for _ in range(500):
                await asyncio.sleep(0)
            emitted = source.emitted
            assert len(closed) == 1
            assert closed[0].complete == ()
            held = [len(shared) async for _ in slow]
        assert max(held) <= 6
        return emitted, len(held), await task

    emitted, rest, eager = await work()
    assert emitted <= 6
    assert (rest, eager) == (49, 50)


async def test_a_reader_that_disconnects_does_not_affect_the_others() -> None:
    async def work() -> list[Event]:
        shared, _ = shared_stream_of(ScriptedSource(EVENTS))
        staying = asyncio.create_task(read(shared, pause=3))
        assert await read(shared, most=2) == EVENTS[:2]
        leaving = asyncio.create_task(read(shared, pause=9))
        await asyncio.sleep(0)
        leaving.cancel()
        return await staying

    assert await work() == EVENTS


async def test_the_upstream_request_is_cancelled_when_the_last_reader_disconnects() -> None:
    async def work() -> ScriptedSource:
        source = ScriptedSource(EVENTS)
        shared, closed = shared_stream_of(source)
        await asyncio.gather(read(shared, most=2), read(shared, most=3))
        assert source.stopped
        assert [item.complete for item in closed] == [()]
        return source

    assert (await work()).emitted < len(EVENTS)


def test_an_error_is_raised_to_every_reader() -> None:
    async def work() -> list[object]:
        error = Overloaded("gone")
        shared, closed = shared_stream_of(ScriptedSource(EVENTS[:3], error=error))
        found = await asyncio.gather(read(shared), read(shared, first=2), return_exceptions=True)
        assert [item.complete for item in closed] == [()]
        return list(found)

    assert [str(item) for item in run(work())] == ["gone", "gone"]


@pytest.mark.parametrize("end", [Failed(Overloaded("gone")), Finished("length"), Finished("filtered")])
def test_an_interrupted_response_is_not_complete(end: Event) -> None:
    async def work() -> list[SharedStream]:
        shared, closed = shared_stream_of(ScriptedSource([*EVENTS[:-1], end]))
        assert (await read(shared))[-1] == end
        return closed

    assert [item.complete for item in run(work())] == [()]


def test_a_response_is_complete_as_soon_as_its_end_was_recorded() -> None:
    async def work() -> SharedStream:
        shared, closed = shared_stream_of(ScriptedSource(EVENTS))
        assert await read(shared, most=len(EVENTS)) == EVENTS  # disconnects without reading past the end
        return closed[0]

    assert [event for batch in run(work()).complete for event in batch] == EVENTS


async def test_a_response_that_exceeds_the_limit_at_its_end_is_not_complete() -> None:
    completed: list[object] = []

    async def work() -> list[Event]:
        source = ScriptedSource([Finished()]).batches()
        shared = SharedStream(source, 1, lambda closed: completed.append(closed.complete))
        return await read(shared)

    assert await work() == [Finished()]
    assert completed == [()]
