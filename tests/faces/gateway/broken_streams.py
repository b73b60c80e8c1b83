"""Providers that disconnect during an answer, and the responses that clients get."""

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
CONCURRENCY = 16


class StreamBreak(NamedTuple):
    """Where and how the stream of a provider breaks, for a client of a dialect."""

    inbound: str
    provider: str
    offset: int
    """In bytes of the provider's stream."""
    cut: Cut


@dataclass
class BrokenResult:
    """The response to a client after a break."""

    stream_break: StreamBreak
    response: RawResponse

    @property
    def answer(self) -> Answer:
        """The decoded answer."""
        decoder = dialect(self.stream_break.inbound).decoder()
        return assemble([*decoder.feed(self.response.body), *decoder.close()])


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
    """The end of each event but the last, as offsets."""
    offset = data.find(b"\n\n")
    while 0 <= offset < len(data) - 2:
        yield offset + 2
        offset = data.find(b"\n\n", offset + 2)


def breaks_at_every_event(inbound: str, provider: str) -> list[StreamBreak]:
    """A break at every event."""
    return [StreamBreak(inbound, provider, offset, "fin") for offset in (0, *frame_ends(stream_of(provider)))]


def random_breaks(count: int, seed: int = 7) -> list[StreamBreak]:
    """Breaks at random bytes, for random pairs of dialects."""
    random = Random(seed)  # the same breaks in every run
    streams = {provider: stream_of(provider) for provider in INBOUND}
    return [
        StreamBreak(
            random.choice(INBOUND),
            provider := random.choice(INBOUND),
            random.randrange(len(streams[provider])),
            random.choice(("fin", "rst")),
        )
        for _ in range(count)
    ]


async def fetch_broken(breaks: list[StreamBreak]) -> list[BrokenResult]:
    """Send a request for each break, each to a provider of its own."""
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(Upstream(_script(breaks)))
        providers = {
            f"breaking_{number}": provider_at(stream_break.provider, f"{upstream.url}/k{number}")
            for number, stream_break in enumerate(breaks)
        }
        here = await stack.enter_async_context(serving(providers))
        turns = asyncio.Semaphore(CONCURRENCY)

        async def ask(number: int, stream_break: StreamBreak) -> BrokenResult:
            data = request_of(stream_break.inbound, f"breaking_{number}/m", stream=True)
            async with turns:
                return BrokenResult(stream_break, await fetch(here.url, data))

        found = await asyncio.gather(
            *(ask(number, stream_break) for number, stream_break in enumerate(breaks))
        )
        await upstream.closed()
        await wait_for_open_requests(here.gateway, 0)
        return found


def _script(breaks: list[StreamBreak]) -> Script:
    streams: Mapping[str, bytes] = {
        stream_break.provider: stream_of(stream_break.provider) for stream_break in breaks
    }
    return Script(
        paths={
            f"/k{number}/*": (
                ScriptedResponse(
                    stream=streams[stream_break.provider],
                    cut_at=stream_break.offset,
                    cut=stream_break.cut,
                    framing="chunked",
                ),
            )
            for number, stream_break in enumerate(breaks)
        }
    )


def fault_in(found: BrokenResult) -> str:
    """Why a response is wrong; empty if it is a prefix of the answer that ends with an error."""
    response, stream_break = found.response, found.stream_break
    try:
        assert response.complete, "the response does not end"
        if response.status != 200:
            check_error(stream_break.inbound, response.status, response.body)
            return ""
        check_stream(stream_break.inbound, response.body)
        answered = found.answer
        assert FIRST.startswith(answered.text), f"not a prefix of the answer: {answered.text!r}"
        assert answered.error is not None or answered.text == FIRST, "a partial answer without an error"
    except AssertionError as problem:
        return f"{stream_break}: {problem}: {response.body[-150:]!r}"
    return ""
