"""Streaming and time: events as bytes arrive, deadlines for every wait, immediate disconnects."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator

import pytest

from groundwire.dialects.registry import dialect
from groundwire.errors import Overloaded, TimedOut, Unreachable
from groundwire.model import Event, Finished, Source, TextDelta
from groundwire.model.value import replace
from groundwire.providers.spec import flatten
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Dribble, Script, ScriptedResponse, answer, text_response
from groundwire.transport.http import Deadlines
from tests.providers.harness import (
    PROVIDER_CASES,
    STREAMING,
    ProviderCase,
    ProviderWorld,
    case_named,
    question,
    sampled,
    world,
)

pytestmark = pytest.mark.server

EVENTS = answer_events("The Nile is 6650 km long.", Source("https://alpha.example/"), query="nile")
NEVER = float("inf")


def first_text(case: ProviderCase) -> tuple[int, list[Event]]:
    """The number of bytes until the first text is emitted, and the events up to then."""
    stream = answer(case.dialect, EVENTS).stream or b""
    decoder = dialect(case.dialect).decoder()
    events: list[Event] = []
    for at in range(len(stream)):
        events += decoder.feed(stream[at : at + 1])
        if any(isinstance(event, TextDelta) for event in events):
            return at + 1, events
    raise AssertionError("no text was emitted")


@pytest.mark.parametrize("case", sampled(STREAMING))
async def test_the_first_text_is_emitted_while_the_rest_is_still_missing(case: ProviderCase) -> None:
    size, expected = first_text(case)
    assert size < len(answer(case.dialect, EVENTS).stream or b"")

    async with world(case, replace(answer(case.dialect, EVENTS), stall_at=size)) as here:
        events = flatten(here.provider().batches(question(stream=True)))
        assert [await anext(events) for _ in expected] == expected
        stalled = await here.upstream.stalled()
        assert stalled.sent == size
        await events.aclose()
        await here.upstream.disconnected()


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("case", sampled(STREAMING))
async def test_a_stream_split_anywhere_gives_the_same_answer(case: ProviderCase, size: int) -> None:
    whole = answer(case.dialect, EVENTS)
    decoder = dialect(case.dialect).decoder()
    expected = [*decoder.feed(whole.stream or b""), *decoder.close()]

    async with world(case, replace(whole, dribble=Dribble(size, 0.0))) as here:
        assert (await here.ask(question(stream=True))).events == expected


def quick(**changes: float) -> Deadlines:
    """Deadlines of which the given ones are short; the others would outlast the test."""
    return replace(Deadlines(connect=600, first_byte=600, idle=600, total=600), **changes)


def is_binary(case: ProviderCase) -> bool:
    return case.dialect == "bedrock_converse"


DEADLINES: list[tuple[str, Script, Deadlines, type]] = [
    ("closed", Script(port_state="closed"), quick(), Unreachable),
    ("unresponsive", Script(port_state="unresponsive"), quick(connect=0.2), TimedOut),
    ("silent", Script((ScriptedResponse(delay=NEVER),)), quick(first_byte=0.2), TimedOut),
    ("semi-silent", Script((ScriptedResponse(body=b'{"a": 1}', stall_at=3),)), quick(idle=0.2), TimedOut),
    ("blank", Script((ScriptedResponse(repeat=b" \n", every=0.02),)), quick(idle=0.2, total=0.3), TimedOut),
    (
        "comments",
        Script((ScriptedResponse(repeat=b": x\n\n", every=0.02),)),
        quick(idle=0.2, total=0.3),
        TimedOut,
    ),
    ("flood", Script((ScriptedResponse(repeat=b": x\n\n" * 999),)), quick(idle=0.2, total=0.3), TimedOut),
]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("script", "deadlines", "kind"), [row[1:] for row in DEADLINES], ids=[row[0] for row in DEADLINES]
)
async def test_every_wait_ends_at_its_deadline(
    script: Script, deadlines: Deadlines, kind: type, stream: bool
) -> None:
    async def answered(case: ProviderCase) -> None:
        async with world(case, script) as here:
            outcome = await here.ask(question(stream=stream), deadlines)
            assert type(outcome.error) is kind, (case.name, outcome)
            if here.upstream.requests:
                await here.upstream.disconnected()

    # Comments are no messages of Amazon's event stream, so they are an error there.
    repeats = script.responses[0].repeat if script.responses else b""
    cases = [case for case in PROVIDER_CASES if not (repeats.startswith(b":") and is_binary(case))]
    await asyncio.gather(*map(answered, cases))


async def test_a_slow_stream_does_not_extend_the_total_and_what_arrived_is_kept() -> None:
    async def answered(case: ProviderCase) -> None:
        size, _ = first_text(case)
        response = answer(case.dialect, EVENTS)
        slow = replace(response, stream=(response.stream or b"")[:size], repeat=b": x\n\n", every=0.05)
        async with world(case, slow) as here:
            outcome = await here.ask(question(stream=True), quick(total=2))
            assert isinstance(outcome.error, TimedOut), case.name
            assert len(outcome.ends) == 1
            assert outcome.raised is None
            assert outcome.answer.text

    await asyncio.gather(*(answered(case) for case in STREAMING if not is_binary(case)))


async def test_a_gemini_stream_that_stalls_after_its_finish_reason_is_complete() -> None:
    case = case_named("gemini")
    response = answer(case.dialect, EVENTS)

    async with world(case, replace(response, stall_at=len(response.stream or b""))) as here:
        outcome = await here.ask(question(stream=True), quick(idle=0.2))
        assert outcome.error is None
        assert [type(end) for end in outcome.ends] == [Finished]
        assert outcome.answer.finish == "stop"


PHASES: dict[str, ScriptedResponse] = {
    "before the headers": ScriptedResponse(delay=NEVER),
    "after the headers": ScriptedResponse(
        body=b"x", stall_at=0, headers={"content-type": "text/event-stream"}
    ),
    "quiet": text_response(": hello\n\n"),
    "in an error": ScriptedResponse(500, body=b'{"error": 1}', stall_at=8),
}


async def reach(here: ProviderWorld, phase: str) -> None:
    if phase == "before the headers":
        await here.upstream.received()
    else:
        await here.upstream.stalled()
        await asyncio.sleep(0.01)  # for the bytes to be read; it makes no difference if they are not


def scripted(phase: str) -> ScriptedResponse:
    response = PHASES[phase]
    return replace(response, stall_at=len(response.body)) if phase == "quiet" else response


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
async def test_a_cancelled_caller_is_a_disconnect_for_the_provider(
    case: ProviderCase, phase: str, stream: bool
) -> None:
    async with world(case, scripted(phase)) as here:
        task = asyncio.create_task(here.ask(question(stream=stream)))
        await reach(here, phase)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await here.upstream.disconnected()
        await here.upstream.closed()
        assert len(asyncio.all_tasks()) == 1 + here.upstream.open_connections


@pytest.mark.parametrize("way", ["closed", "cancelled", "forgotten"])
@pytest.mark.parametrize("case", sampled(STREAMING))
async def test_closing_the_events_in_the_middle_of_a_stream_closes_the_connection(
    case: ProviderCase, way: str
) -> None:
    size, expected = first_text(case)
    gc.freeze()  # only what this test leaves is looked at below: the whole heap takes a second

    async def read(events: AsyncGenerator[Event, None], seen: list[Event]) -> None:
        async for event in events:
            seen.append(event)  # noqa: PERF401  what was seen before the end is looked at

    async with world(case, replace(answer(case.dialect, EVENTS), stall_at=size)) as here:
        events = flatten(here.provider().batches(question(stream=True)))
        seen: list[Event] = []
        if way == "cancelled":
            reading = asyncio.create_task(read(events, seen))
            await here.upstream.stalled()
            while len(seen) < len(expected):
                await asyncio.sleep(0)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
        else:
            seen += [await anext(events) for _ in expected]
            await here.upstream.stalled()
            if way == "closed":
                await events.aclose()
        del events
        gc.collect()
        assert seen == expected
        await here.upstream.disconnected()
        await here.upstream.closed()


async def test_cancelling_while_connecting_leaves_nothing_open() -> None:
    for case in PROVIDER_CASES:
        async with world(case, Script(port_state="unresponsive")) as here:
            task = asyncio.create_task(here.ask())
            for _ in range(5):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert len(asyncio.all_tasks()) == 1


async def test_fifty_disconnecting_callers_are_all_noticed() -> None:
    case = case_named("anthropic")

    async with world(case, ScriptedResponse(delay=NEVER)) as here:
        tasks = [asyncio.create_task(here.ask()) for _ in range(50)]
        await here.upstream.received(50)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for nth in range(1, 51):
            await here.upstream.disconnected(nth)
        await here.upstream.closed()


@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
async def test_one_connection_serves_answers_and_errors_one_after_the_other(case: ProviderCase) -> None:
    good = answer(case.dialect, EVENTS)
    async with world(case, [good, ScriptedResponse(503, body=b"busy"), good, good]) as here:
        for stream in (False, True, True, False):
            await here.ask(question(stream=stream))
        assert len(here.upstream.requests) == 4
        assert here.upstream.connections == 1


async def test_a_server_that_disconnects_between_two_requests_gets_a_new_connection() -> None:
    case = case_named("openai")

    good = replace(answer(case.dialect, EVENTS), framing="close")
    async with world(case, good) as here:
        for number in (1, 2):
            assert (await here.ask()).error is None
            await here.upstream.closed()
            assert here.upstream.connections == number


async def test_concurrent_requests_get_their_own_answers() -> None:
    case = case_named("gemini")
    texts = [f"answer number {number}" for number in range(30)]
    script = Script(
        paths={
            f"/v1beta/models/m{number}:*": (answer("gemini", answer_events(text)),)
            for number, text in enumerate(texts)
        }
    )

    async with world(case, script) as here:
        answered = [
            here.ask(replace(question(stream=bool(number % 2)), model=f"m{number}"))
            for number in range(len(texts))
        ]
        assert [outcome.answer.text for outcome in await asyncio.gather(*answered)] == texts


async def test_closing_the_connections_ends_active_requests() -> None:
    case = case_named("openai")

    async with world(case, ScriptedResponse(delay=NEVER)) as here:
        task = asyncio.create_task(here.ask())
        await here.upstream.received()
        await here.http.aclose()
        outcome = await task
        assert isinstance(outcome.raised, Unreachable | Overloaded)
