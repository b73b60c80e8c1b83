"""Reading a provider's answer: a stream as its bytes arrive, or a whole body.

The first bytes decide which it is, because servers ignore `stream` and name the wrong content type.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from groundwire.dialects.base import Dialect, StreamDecoder
from groundwire.dialects.fields import as_object
from groundwire.dialects.framing import FrameReader
from groundwire.dialects.jsontext import load_json
from groundwire.errors import GroundwireError, Interrupted, UpstreamWireError
from groundwire.model import Event, Failed, Finished, Started, UsageSeen, Verbatim, Warned
from groundwire.providers.base import Batches
from groundwire.providers.glancing import GLANCES, glance_at_body, glance_at_frames, is_settled

if TYPE_CHECKING:
    from groundwire.transport.connections import Exchange

_INVISIBLE = (Started, Warned, UsageSeen)
_CUT = "the stream ended before the answer was complete"


Form: TypeAlias = Literal["", "body", "stream"]


async def read_answer(language: Dialect, exchange: Exchange, *, verbatim: Form = "") -> Batches:
    """The answer when its first bytes are there. If it has the form `verbatim` also the bytes that told its
    events, ahead of them: in another form they are of no use to who asked, and are only read."""
    head = await exchange.head()
    if not head:
        raise UpstreamWireError("the answer is empty")
    if head.startswith(b"<"):
        raise UpstreamWireError("a web page came in the place of an answer; check the base_url")
    if head.startswith(b"{"):
        return _read_body(language, exchange, verbatim=verbatim == "body")
    if verbatim == "stream" and language.name in GLANCES and not head.startswith(b"["):
        return _read_frames(language, exchange)
    return _read_stream(language, exchange)


async def _read_body(language: Dialect, exchange: Exchange, *, verbatim: bool) -> Batches:
    data = await exchange.body()
    body = as_object(load_json(data, UpstreamWireError))
    if verbatim and (seen := glance_at_body(language, body)) is not None:
        yield [Verbatim(data), *seen]
        return
    told = language.decode_response(body)
    if _is_blank(told):
        raise UpstreamWireError(f"there is no answer in it, only: {', '.join(body)[:100] or 'nothing'}")
    yield [Verbatim(data), *told] if verbatim else told


def _is_blank(events: list[Event]) -> bool:
    """Is this an end without a reason, of an answer without a word? Then the document was something else."""
    return Finished("other") in events and all(
        isinstance(event, Started | Warned | UsageSeen | Finished) for event in events
    )


async def _read_stream(language: Dialect, exchange: Exchange) -> Batches:
    decoder = language.decoder()
    failure: GroundwireError | None = None
    try:
        while chunk := await exchange.next():
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
    watch = _Watch(language)
    failure: GroundwireError | None = None
    half = b""
    try:
        while chunk := await exchange.next():
            whole, half = _split_frames(half, chunk)
            if not whole:
                continue
            told = watch.look(whole)
            yield [Verbatim(whole), *told]
            if told and isinstance(told[-1], Finished | Failed):
                if after := half + await exchange.settle():
                    yield [Verbatim(after)]
                return
    except GroundwireError as error:
        failure = error
    half = half if _is_frame(half) else b""
    told = _ending(watch.end(half), failure)
    # A last frame without its blank line is a frame nonetheless, if the answer is complete with it.
    yield [Verbatim(half + b"\n\n"), *told] if half and isinstance(told[-1], Finished) else told


class _Watch:
    """Reads a stream up to its first visible event, because until then somebody else could be asked; after
    that it only glances."""

    __slots__ = ("_decoder", "_language", "_settled")

    def __init__(self, language: Dialect) -> None:
        self._language = language
        self._decoder: StreamDecoder | None = language.decoder()
        self._settled = False

    def look(self, whole: bytes) -> list[Event]:
        """What whole frames tell."""
        self._settled = self._settled or is_settled(self._language, whole)
        told: list[Event] = []
        while self._decoder is not None and whole:
            frame, rest = _first_frame(whole)
            told += self._decoder.feed(frame)
            if any(not isinstance(event, _INVISIBLE) for event in told):
                self._decoder = None  # this frame may be the last one too, and is glanced at
            else:
                whole = rest
        if not whole or (told and isinstance(told[-1], Finished | Failed)):
            return told
        return told + glance_at_frames(self._language, whole)

    def end(self, half: bytes) -> list[Event]:
        """What is left when the bytes have ended."""
        if self._decoder is not None:
            return [*self._decoder.feed(half), *self._decoder.close()]
        if half and (told := glance_at_frames(self._language, half)):
            return told
        if self._settled:
            return [Verbatim(GLANCES[self._language.name].formality), Finished()]
        return [Failed(Interrupted(_CUT))]


def _is_frame(half: bytes) -> bool:
    """Is it whole but for its blank line, rather than torn?"""
    reader = FrameReader()
    frames = [*reader.feed(half), *reader.close()]
    try:
        for frame in frames:
            if frame.data != b"[DONE]":
                load_json(frame.data, UpstreamWireError)
    except UpstreamWireError:
        return False
    return bool(frames)


_BLANK_LINE = re.compile(rb"\n\n|\r\n\r\n|\r\r")


def _first_frame(data: bytes) -> tuple[bytes, bytes]:
    """The first frame of several, and the rest."""
    match = _BLANK_LINE.search(data)
    return (data[: match.end()], data[match.end() :]) if match else (data, b"")


def _split_frames(half: bytes, chunk: bytes) -> tuple[bytes, bytes]:
    """What is whole, and the beginning of the next frame."""
    data = half + chunk
    end = 0
    for match in _BLANK_LINE.finditer(data, max(len(half) - 3, 0)):
        end = match.end()
    return data[:end], data[end:]


def _ending(rest: list[Event], failure: GroundwireError | None) -> list[Event]:
    """What the decoder still held was said before the end, whatever the end was."""
    if failure is None:
        return rest
    return [Failed(failure) if isinstance(event, Failed) else event for event in rest]
