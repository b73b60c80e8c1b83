"""Reading a provider's answer: a stream as its bytes arrive, or a whole body.

The first bytes decide which it is, because servers ignore `stream` and name the wrong content type.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from groundwire.dialects.base import Dialect
from groundwire.dialects.fields import as_object
from groundwire.dialects.jsontext import load_json
from groundwire.errors import GroundwireError, UpstreamWireError
from groundwire.model import Event, Failed, Finished, Started, UsageSeen, Verbatim, Warned
from groundwire.providers.base import Batches

if TYPE_CHECKING:
    from groundwire.transport.connections import Exchange


async def read_answer(language: Dialect, exchange: Exchange, *, verbatim: bool = False) -> Batches:
    """The events of an answer; with `verbatim` also the bytes that told them, ahead of them."""
    head = await exchange.head()
    if not head:
        raise UpstreamWireError("the answer is empty")
    if head.startswith(b"<"):
        raise UpstreamWireError("a web page came in the place of an answer; check the base_url")
    if head.startswith(b"{"):
        data = await exchange.body()
        body = as_object(load_json(data, UpstreamWireError))
        told = language.decode_response(body)
        if _is_blank(told):
            raise UpstreamWireError(f"there is no answer in it, only: {', '.join(body)[:100] or 'nothing'}")
        yield [Verbatim(data), *told] if verbatim else told
        return
    read = _read_frames(language, exchange) if verbatim else _read_stream(language, exchange)
    async with aclosing(read) as batches:
        async for batch in batches:
            yield batch


def _is_blank(events: list[Event]) -> bool:
    """Is this an end without a reason, of an answer without a word? Then the document was something else."""
    return Finished("other") in events and all(
        isinstance(event, Started | Warned | UsageSeen | Finished) for event in events
    )


async def _read_stream(language: Dialect, exchange: Exchange) -> Batches:
    decoder = language.decoder()
    failure: GroundwireError | None = None
    try:
        async with aclosing(exchange.chunks()) as chunks:
            async for chunk in chunks:
                if batch := decoder.feed(chunk):
                    yield batch
                    if isinstance(batch[-1], Finished | Failed):
                        await exchange.settle()
                        return
    except GroundwireError as error:
        failure = error
    if rest := _ending(decoder.close(), failure):
        yield rest


async def _read_frames(language: Dialect, exchange: Exchange) -> Batches:
    """The same with the bytes, whole frames at a time: half a frame is never passed on."""
    decoder = language.decoder()
    failure: GroundwireError | None = None
    half = b""
    try:
        async with aclosing(exchange.chunks()) as chunks:
            async for chunk in chunks:
                batch = decoder.feed(chunk)
                whole, half = _split_frames(half + chunk)
                told: list[Event] = [Verbatim(whole), *batch] if whole else batch
                if told:
                    yield told
                if batch and isinstance(batch[-1], Finished | Failed):
                    if half or (half := await exchange.settle()):
                        yield [Verbatim(half)]
                    return
    except GroundwireError as error:
        failure = error
    if rest := _ending(decoder.close(), failure):
        # A last frame without its blank line is a frame nonetheless, if it ends the answer.
        ended = half and isinstance(rest[-1], Finished)
        yield [Verbatim(half + b"\n\n"), *rest] if ended else rest


def _split_frames(data: bytes) -> tuple[bytes, bytes]:
    """What is whole, and the beginning of the next frame."""
    end = max(data.rfind(b"\n\n") + 2, data.rfind(b"\r\n\r\n") + 4, data.rfind(b"\r\r") + 2)
    return (data[:end], data[end:]) if end >= 4 or data[:end].strip() else (b"", data)


def _ending(rest: list[Event], failure: GroundwireError | None) -> list[Event]:
    """What the decoder still held was said before the end, whatever the end was."""
    if failure is None:
        return rest
    return [Failed(failure) if isinstance(event, Failed) else event for event in rest]
