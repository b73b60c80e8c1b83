"""Providers that disconnect during an answer, and what the client has received by then."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from groundwire.dialects.registry import dialect
from groundwire.model import Answer, Event, Source, TextDelta, assemble
from groundwire.model.value import replace
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Cut, Script, ScriptedResponse, answer
from groundwire.testing.upstream import Upstream
from tests.contracts.checkers import check_stream
from tests.faces.gateway.raw import INBOUND, RawResponse, check_error, fetch, request_of
from tests.faces.gateway.serving import provider_at, serving, wait_for_open_requests

FIRST = " ".join(f"The {word} stands on the first page." for word in ("sun", "moon", "sea", "wind", "rain"))
AT_ONCE = 16


class Kill(NamedTuple):
    """Where a stream breaks, how, and who listens."""

    inbound: str
    provider: str
    place: int
    """In bytes of the provider's stream."""
    cut: Cut


@dataclass
class KillResult:
    """What the client has after a kill."""

    kill: Kill
    got: RawResponse

    @property
    def answer(self) -> Answer:
        """The stream as its dialect reads it."""
        decoder = dialect(self.kill.inbound).decoder()
        return assemble([*decoder.feed(self.got.body), *decoder.close()])


def stream_of(provider: str, text: str = FIRST) -> bytes:
    """A stream of many small events in a provider's dialect, cited at its end."""
    events: list[Event] = []
    for event in answer_events(text, Source("https://alpha.example/"), query="nile"):
        pieces = _pieces(event.text) if isinstance(event, TextDelta) else ()
        events += [replace(event, text=piece) for piece in pieces] or [event]
    return answer(provider, events).stream or b""


def _pieces(text: str) -> Iterable[str]:
    return (text[start : start + 9] for start in range(0, len(text), 9))


def frame_ends(data: bytes) -> Iterator[int]:
    """Where each event ends, the last excepted."""
    place = data.find(b"\n\n")
    while 0 <= place < len(data) - 2:
        yield place + 2
        place = data.find(b"\n\n", place + 2)


def every_index(inbound: str, provider: str) -> list[Kill]:
    """A kill at every event."""
    return [Kill(inbound, provider, place, "fin") for place in (0, *frame_ends(stream_of(provider)))]


def anywhere(count: int, seed: int = 7) -> list[Kill]:
    """Kills at any byte, of anybody, by anybody."""
    random = Random(seed)  # the same kills in every run
    streams = {provider: stream_of(provider) for provider in INBOUND}
    return [
        Kill(
            random.choice(INBOUND),
            provider := random.choice(INBOUND),
            random.randrange(len(streams[provider])),
            random.choice(("fin", "rst")),
        )
        for _ in range(count)
    ]


async def survive(kills: list[Kill]) -> list[KillResult]:
    """Let all of them happen, each to a provider of its own."""
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(Upstream(_script(kills)))
        providers = {
            f"dying_{number}": provider_at(kill.provider, f"{upstream.url}/k{number}")
            for number, kill in enumerate(kills)
        }
        here = await stack.enter_async_context(serving(providers))
        turns = asyncio.Semaphore(AT_ONCE)

        async def ask(number: int, kill: Kill) -> KillResult:
            data = request_of(kill.inbound, f"dying_{number}/m", stream=True)
            async with turns:
                return KillResult(kill, await fetch(here.url, data))

        found = await asyncio.gather(*(ask(number, kill) for number, kill in enumerate(kills)))
        await upstream.closed()
        await wait_for_open_requests(here.gateway, 0)
        return found


def _script(kills: list[Kill]) -> Script:
    streams: Mapping[str, bytes] = {kill.provider: stream_of(kill.provider) for kill in kills}
    return Script(
        paths={
            f"/k{number}/*": (
                ScriptedResponse(
                    stream=streams[kill.provider], cut_at=kill.place, cut=kill.cut, framing="chunked"
                ),
            )
            for number, kill in enumerate(kills)
        }
    )


def fault_in(found: KillResult) -> str:
    """What is wrong with what is left of an answer; empty if it is a part of it, told as broken."""
    got, kill = found.got, found.kill
    try:
        assert got.complete, "the response does not end"
        if got.status != 200:
            check_error(kill.inbound, got.status, got.body)
            return ""
        check_stream(kill.inbound, got.body)
        answered = found.answer
        assert FIRST.startswith(answered.text), f"not what was said: {answered.text!r}"
        assert answered.error is not None or answered.text == FIRST, "a part is told as the whole"
    except AssertionError as problem:
        return f"{kill}: {problem}: {got.body[-150:]!r}"
    return ""
