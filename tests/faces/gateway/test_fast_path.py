"""The fast path: content that arrives event by event gives the same response as content that arrives at once,
and does not pass through the layers."""

from __future__ import annotations

import asyncio
import re
from asyncio import StreamReader, StreamWriter
from collections.abc import Sequence

import pytest

from groundwire.dialects.registry import dialect
from groundwire.faces.gateway import handler
from groundwire.model import Event, Source, TextDelta
from groundwire.model.value import replace
from groundwire.testing.answers import answer_events, encode_answer
from tests.faces.gateway.raw import INBOUND, fetch, request_of
from tests.faces.gateway.serving import provider_at, run, serving
from tests.faces.gateway.test_chunks import plain
from tests.transport.raw_server import ConnectionHandler, request
from tests.transport.raw_server import serving as serving_raw

pytestmark = pytest.mark.server

WORDS = [f"word{number} für {number}. " for number in range(20)]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def frames_of(name: str) -> list[bytes]:
    """The frames of an answer in many deltas."""
    events: list[Event] = []
    for event in answer_events("".join(WORDS), Source("https://a.example/x", "A")):
        split = isinstance(event, TextDelta)
        events += [replace(event, text=word) for word in WORDS] if split else [event]
    stream = encode_answer(name, events).stream
    return [frame + b"\n\n" for frame in stream.split(b"\n\n") if frame]


def sends(frames: Sequence[bytes], pause: float = 0.0, *, ends: bool = True) -> ConnectionHandler:
    """A provider that sends each frame as a chunk; with a pause between them, each arrives alone."""

    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        await request(reader)
        writer.write(HEAD)
        for frame in frames:
            writer.write(b"%x\r\n%b\r\n" % (len(frame), frame))
            if pause:
                await writer.drain()
                await asyncio.sleep(pause)
        if ends:
            writer.write(b"0\r\n\r\n")
        await writer.drain()

    return handle


async def answered(inbound: str, outbound: str, *providers: ConnectionHandler) -> list[bytes]:
    """The bodies of the gateway's responses, one for each provider."""
    left = list(providers)

    async def provider(reader: StreamReader, writer: StreamWriter) -> None:
        await left.pop(0)(reader, writer)

    async with (
        serving_raw(provider) as port,
        serving({"mine": provider_at(outbound, f"http://127.0.0.1:{port}")}) as here,
    ):
        request_bytes = request_of(inbound, "mine/m", stream=True)
        return [(await fetch(here.url, request_bytes)).body for _ in providers]


@pytest.mark.parametrize("outbound", INBOUND)
@pytest.mark.parametrize("inbound", INBOUND)
def test_the_response_does_not_depend_on_how_fast_events_arrive(inbound: str, outbound: str) -> None:
    frames = frames_of(outbound)
    at_once, one_by_one = run(answered(inbound, outbound, sends(frames), sends(frames, 0.002)))
    assert b"word19" in at_once
    assert plain(one_by_one) == plain(at_once)


class _CountedStream(handler._ResponseStream):
    """Counts the batches that pass through the layers."""

    batches = 0

    def feed(self, received: Sequence[Event]) -> bytes:
        type(self).batches += 1
        return super().feed(received)


@pytest.mark.parametrize("outbound", ["openai_chat", "openai_responses"])
def test_content_does_not_pass_through_the_layers(monkeypatch: pytest.MonkeyPatch, outbound: str) -> None:
    """In lockstep with the client, so that each frame arrives alone."""
    monkeypatch.setattr(handler, "_ResponseStream", _CountedStream)
    monkeypatch.setattr(_CountedStream, "batches", 0)
    frames = frames_of(outbound)

    async def main() -> None:
        arrived: asyncio.Queue[bytes] = asyncio.Queue()

        async def provider(reader: StreamReader, writer: StreamWriter) -> None:
            await request(reader)
            writer.write(HEAD)
            for frame in frames:
                writer.write(b"%x\r\n%b\r\n" % (len(frame), frame))
                if b"word" in frame:
                    await arrived.get()
            writer.write(b"0\r\n\r\n")
            await writer.drain()

        async with (
            serving_raw(provider) as port,
            serving({"mine": provider_at(outbound, f"http://127.0.0.1:{port}")}) as here,
        ):
            reader, writer = await asyncio.open_connection(*here.url.removeprefix("http://").split(":"))
            writer.write(request_of(outbound, "mine/m", stream=True))
            while data := await reader.read(65_536):
                for _ in range(data.count(b"word")):
                    arrived.put_nowait(data)
            writer.close()

    run(main())
    assert sum(b"word" in frame for frame in frames) >= 20
    assert _CountedStream.batches < 12, "the beginning and the end"


@pytest.mark.parametrize("inbound", INBOUND)
def test_a_stream_that_breaks_off_ends_with_one_error_after_its_content(inbound: str) -> None:
    frames = frames_of(inbound)
    half = next(index for index, frame in enumerate(frames) if b"word12" in frame)
    (body,) = run(answered(inbound, inbound, sends(frames[:half], 0.002, ends=False)))
    sent = b"".join(frames[:half])
    assert body.startswith(sent)
    decoder = dialect(inbound).decoder()
    events = [*decoder.feed(body), *decoder.close()]
    assert [type(event).__name__ for event in events].count("Failed") == 1
    numbers = [int(number) for number in re.findall(rb'"sequence_number": ?(\d+)', body)]
    assert numbers == list(range(len(numbers)))


def test_unsafe_urls_are_removed_in_the_middle_of_a_stream() -> None:
    frames = frames_of("openai_chat")
    at = next(index for index, frame in enumerate(frames) if b"word7" in frame)
    bad = frames[at].replace(b'"delta":{', b'"delta":{"url":"javascript:alert(1)",', 1)
    assert b"javascript" in bad
    changed = [*frames[:at], bad, *frames[at:]]
    (body,) = run(answered("openai_chat", "openai_chat", sends(changed, 0.002)))
    assert b"javascript" not in body
    assert body.count(b"word7") == 2
